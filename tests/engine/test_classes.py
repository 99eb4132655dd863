"""Classes of queries on a live engine: who is named, what is shed, and how it shows."""

import json
import time
from dataclasses import dataclass, field, replace
from threading import Event
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.live import SECOND, Fed, caught_up, column, until
from headgate import Engine, InputError, Shed
from headgate import sink as sinks
from headgate.engine.log.files import STAMP
from headgate.engine.reader import seed_of
from headgate.policy.protocol import Why
from headgate.shed.droppers import Random, Stratified
from headgate.shed.protocol import Order
from headgate.shed.registry import MANAGERS, Listed


@dataclass
class Fixed:
    """A load manager that orders the same drop rate always."""

    drop: float = 0.0
    seen: list = field(default_factory=list)
    sheds: ClassVar = "read"

    def cycle(self, seen):
        self.seen.append(seen)
        return Order(self.drop, 1.0, Why("as it is told"))

    def rescale(self, ratio):
        pass


@pytest.fixture
def fixed(monkeypatch):
    """What orders a drop rate of 40 %, as a load manager by name."""
    listed = Listed("fixed", "tests", "d", Fixed, ("drop",))
    monkeypatch.setitem(MANAGERS, "fixed", listed)
    return Shed("separate", "fixed", {"drop": 0.4}, period=0.05)


def kept(n, percent, first=0, dropper=Random):
    """The positions that stay."""
    at = np.arange(first, first + n)
    return at[dropper(seed_of("s")).keep(at, percent / 100)].tolist()


def shedding(engine):
    """Wait until the drop rate is in force."""
    until(lambda: any(each.drop for each in engine.status().classes))


def test_a_class_is_named_once_before_its_queries_and_queries_have_classes_that_are_named(spark, tmp_path):
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", Fed(), event_time="t")
        engine.query("early", "SELECT v FROM s", cls="alerts")
        for wrong, got in (
            (lambda: engine.query_class("alerts"), "a second 'alerts'"),
            (lambda: engine.query_class("x", priority=0), "0"),
            (lambda: engine.query_class("x", delay_target="0s"), "'0s'"),
        ):
            with pytest.raises(InputError) as refused:
                wrong()
            assert str(refused.value.got) == got
        engine.query_class("boards", priority=3, delay_target="1s")
        with pytest.raises(InputError, match="Did you mean 'boards'"):
            engine.query("late", "SELECT v FROM s", cls="bords")
        for policy, mistake in (("cqs", "a known policy"), ("cqc", "a known option")):
            with pytest.raises(InputError, match=mistake):
                engine.start(policy, **({"no": 1} if policy == "cqc" else {}))
        with pytest.raises(InputError, match="a known load manager"):
            engine.start(shed=Shed("dilos", "alomo"))


def test_without_classes_nothing_is_shed_and_with_targets_it_is_dilos(spark, tmp_path):
    for target, managed, policy in ((None, False, "cqc"), ("1s", True, "cqc")):
        with Engine(spark, tmp_path / str(target)) as engine:
            engine.stream("s", Fed(), event_time="t")
            engine.query_class("alerts", priority=6, delay_target=target)
            engine.query("q", "SELECT v FROM s", cls="alerts")
            engine.start()
            found = engine.status()
            assert found.policy == policy
            (alerts,) = found.classes
            if managed:
                until(lambda e=engine: e.status().classes[0].share is not None)
            assert (engine.status().classes[0].share is not None) == managed
            assert (alerts.name, alerts.priority, alerts.delay_target) == ("alerts", 6, 1.0 if target else None)
            assert ("_kept" in engine.queries["q"].evaluation.schema.names) == managed


@pytest.mark.parametrize("lanes", ["auto", "jobs"])
def test_what_a_class_drops_is_counted_and_shown_with_every_result(spark, tmp_path, fixed, lanes):
    source = Fed()
    with Engine(spark, tmp_path, lanes=lanes) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="1s")
        engine.query("all", "SELECT v FROM s", cls="boards")
        engine.query("even", "SELECT v FROM s WHERE v % 2 = 0", cls="boards")
        engine.query(
            "sums",
            "SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k",
            window="100s",
            cls="boards",
            scale=True,
        )
        engine.query("most", "SELECT count(DISTINCT v) AS n FROM s", window="100s", cls="boards")
        engine.query("whole", "SELECT v FROM s")
        engine.start(shed=fixed)
        shedding(engine)
        source.feed(300, 700)
        caught_up(engine, "all", "even", "whole", position=1000)
        source.end()
        assert engine.wait(300)
        found = engine.status()
        stay = kept(1000, 40)
        assert column(engine, "all") == stay
        assert column(engine, "even") == [v for v in stay if v % 2 == 0]
        assert set(column(engine, "all", "_kept")) == {0.6}
        assert column(engine, "whole") == list(range(1000))
        windows = np.add.reduceat(np.isin(np.arange(1000), stay), np.arange(0, 1000, 100))
        assert column(engine, "most", "n") == windows.tolist()
        assert column(engine, "most", "_kept") == pytest.approx([0.6] * 10)
        sums = engine.results("sums")
        assert sum(sums.column("n").to_pylist()) == pytest.approx(len(stay) / 0.6)
        assert sum(sums.column("total").to_pylist()) == pytest.approx(sum(stay) / 0.6)
        assert sums.column_names[-5:] == ["n", "n_error", "total", "total_error", "_kept"]
        (n, error) = (sums.column(name).to_numpy() for name in ("n", "n_error"))
        assert error == pytest.approx(1.96 * np.sqrt(0.4 / 0.6 * n) + 1.92 * 0.4 / 0.6)
        by_name = {query.name: query for query in found.queries}
        for name, shed in (
            ("all", 1000 - len(stay)),
            ("even", 1000 - len(stay)),
            ("sums", 1000 - len(stay)),
            ("whole", 0),
        ):
            assert (by_name[name].tuples, by_name[name].shed, by_name[name].pending) == (1000, shed, 0)
        boards = next(each for each in found.classes if each.name == "boards")
        assert boards.offered == boards.processed + boards.shed + boards.pending
        assert boards.shed == 4 * (1000 - len(stay))
        assert found.accounting.shed == boards.shed


def test_after_a_restart_the_same_tuples_are_dropped_and_other_rates_hold_for_what_comes_then(spark, tmp_path, fixed):
    source = Fed()
    out = tmp_path / "out.jsonl"

    def opened():
        engine = Engine(spark, tmp_path / "state")
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="1s")
        engine.query("q", "SELECT v FROM s", cls="boards", sink=sinks.jsonl(out))
        return engine

    with opened() as engine:
        engine.start(shed=fixed)
        shedding(engine)
        source.feed(500)
        caught_up(engine, "q", position=500)
        assert engine.queries["q"].progress.shed == 500 - len(kept(500, 40))
    with opened() as engine:
        assert engine.queries["q"].progress.shed == 500 - len(kept(500, 40))
        engine.start(shed="none")
        source.feed(200)
        caught_up(engine, "q", position=700)
        last = engine.status().queries[0]
    assert (last.tuples, last.shed) == (700, 500 - len(kept(500, 40)))
    found = [json.loads(line)["v"] for line in out.read_text().splitlines()]
    assert found == kept(500, 40) + list(range(500, 700))


def test_a_query_of_a_class_that_nobody_planned_with_is_scheduled_when_it_comes(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("alerts", priority=6, delay_target="1s")
        engine.query("first", "SELECT v FROM s", cls="alerts")
        engine.start()
        source.feed(10)
        caught_up(engine, "first", position=10)
        engine.query("later", "SELECT v FROM s")
        source.feed(10)
        caught_up(engine, "first", "later", position=20)
        assert {each.name for each in engine.status().classes} == {"alerts", "default"}
        assert column(engine, "later") == list(range(10, 20))


def test_labels_are_classes_to_a_policy_that_goes_by_them_and_streams_may_come_later(spark, tmp_path):
    first, second = Fed(), Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", first, event_time="t")
        engine.query("q", "SELECT v FROM s", cls="one")
        engine.start("cqc", shed=Shed("common", "ctrl", {"target": 3600.0}, period=0.05))
        engine.stream("later", second, event_time="t")
        engine.query("r", "SELECT v FROM later", cls="two")
        first.feed(10)
        second.feed(20)
        until(lambda: len(column(engine, "q")) == 10 and len(column(engine, "r")) == 20)
        assert {each.name for each in engine.status().classes} == {"one", "two"}


def test_a_class_gets_another_priority_while_queries_run(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("alerts", priority=3, delay_target="60s")
        engine.query_class("boards", priority=1, delay_target="60s")
        engine.query("a", "SELECT v FROM s", cls="alerts")
        engine.query("b", "SELECT v FROM s", cls="boards")
        engine.prioritise("boards", 2)
        engine.start()
        source.feed(10)
        until(lambda: len(column(engine, "a")) == 10)
        engine.prioritise("alerts", 8)
        source.feed(10)
        until(lambda: len(column(engine, "a")) == 20 and len(column(engine, "b")) == 20)
        until(lambda: all(each.share for each in engine.status().classes))
        shown = {each.name: each for each in engine.status().classes}
        assert {name: each.priority for name, each in shown.items()} == {"alerts": 8, "boards": 2}
        assert {name: each.share for name, each in shown.items()} == pytest.approx({"alerts": 0.8, "boards": 0.2})
        for name, priority, got in (("alert", 2, "'alert'"), ("alerts", 0, "0")):
            with pytest.raises(InputError) as refused:
                engine.prioritise(name, priority)
            assert str(refused.value.got) == got


def test_a_control_period_sees_what_each_class_did(spark, tmp_path, monkeypatch):
    made = []

    def make(**options):
        made.append(Fixed(**options))
        return made[-1]

    monkeypatch.setitem(MANAGERS, "fixed", Listed("fixed", "tests", "d", make, ("drop",)))
    source = Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="1s")
        engine.query("q", "SELECT v FROM s", cls="boards")
        engine.start(shed=Shed("separate", "fixed", {"drop": 0.0}, period=0.05))
        source.feed(*[50] * 20)
        caught_up(engine, "q", position=1000)
        until(lambda: sum(each.departed for each in made[0].seen) == 1000)
        (manager,) = made
        assert sum(each.arrived for each in manager.seen) <= 1000
        assert sum(each.worked for each in manager.seen) > 0
        assert any(each.outputs for each in manager.seen)
        # One lane of each kind, until more has waited than they could do.
        assert all(0 < each.granted <= 2 for each in manager.seen)
        assert manager.seen[-1].queued == 0


class Held:
    """A source that gives its tables once it is let go."""

    def __init__(self, *tables):
        self._tables = tables
        self.go = Event()

    def schema(self, spark):
        return self._tables[0].schema

    def run(self, intake):
        while not self.go.is_set():
            if intake.wait(0.01):
                return
        for number, each in enumerate(self._tables):
            intake.append(each, {"next": number + 1})


@pytest.mark.parametrize("percent", [30, 80])
def test_a_scaled_aggregate_is_within_its_error_bar_of_the_truth_in_95_percent_of_all_cases(
    spark, tmp_path, monkeypatch, percent
):
    monkeypatch.setitem(MANAGERS, "fixed", Listed("fixed", "tests", "d", Fixed, ("drop",)))
    draw = np.random.default_rng(7)
    windows, size = 80, 400
    v, k = draw.exponential(10.0, windows * size), draw.integers(0, 3, windows * size)
    at = np.arange(windows * size) * (SECOND // size)
    source = Held(pa.table({"v": v, "k": k, "at": pa.array(at).cast(STAMP)}))
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="at")
        engine.query_class("boards", delay_target="1s")
        sql = "SELECT k, count(*) AS n, sum(v) AS total, count_if(v > 10) AS large FROM s GROUP BY k"
        engine.query("q", sql, window="1s", cls="boards", scale=True)
        engine.start(shed=Shed("separate", "fixed", {"drop": percent / 100}, period=0.05))
        shedding(engine)
        source.go.set()
        assert engine.wait(300)
        found = engine.results("q")
    truth = {}
    for window, key, value in zip(at // SECOND, k, v, strict=True):
        n, total, large = truth.get((window, key), (0, 0.0, 0))
        truth[window, key] = n + 1, total + value, large + (value > 10)
    starts = found.column("window_start").cast(pa.int64()).to_numpy() // SECOND
    within = []
    for i, (window, key) in enumerate(zip(starts, found.column("k").to_pylist(), strict=True)):
        for true, name in zip(truth[window, key], ("n", "total", "large"), strict=True):
            within.append(abs(found.column(name)[i].as_py() - true) <= found.column(f"{name}_error")[i].as_py())
    assert len(within) == 3 * 3 * windows
    assert np.mean(within) >= 0.93


@pytest.mark.parametrize("percent", [30, 80])
def test_in_strata_counts_and_sums_are_within_narrower_errors_than_their_bars(spark, tmp_path, monkeypatch, percent):
    monkeypatch.setitem(MANAGERS, "fixed", Listed("fixed", "tests", "d", Fixed, ("drop",)))
    draw = np.random.default_rng(8)
    windows, size = 60, 400
    v, k = draw.exponential(10.0, windows * size), draw.integers(0, 2, windows * size)
    at = np.arange(windows * size) * (SECOND // size)
    source = Held(pa.table({"v": v, "k": k, "at": pa.array(at).cast(STAMP)}))
    wanted = Shed("separate", "fixed", {"drop": percent / 100}, period=0.05, dropper="stratified")
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="at")
        engine.query_class("boards", delay_target="1s")
        engine.query("all", "SELECT count(*) AS n FROM s", window="1s", cls="boards", scale=True)
        sql = "SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k"
        engine.query("by_k", sql, window="1s", cls="boards", scale=True)
        engine.start(shed=wanted)
        shedding(engine)
        source.go.set()
        assert engine.wait(300)
        assert column(engine, "all", "n") == pytest.approx([size] * windows)
        found = engine.results("by_k")
    place = found.column("window_start").cast(pa.int64()).to_numpy() // SECOND * 2 + found.column("k").to_numpy()
    group = at // SECOND * 2 + k
    for name, weights in (("n", None), ("total", v)):
        truth = np.bincount(group, weights=weights)[place]
        off = np.abs(found.column(name).to_numpy() - truth)
        assert np.mean(off <= found.column(f"{name}_error").to_numpy()) >= 0.95


@pytest.mark.parametrize("lanes", ["auto", "jobs"])
def test_of_every_hundred_exactly_so_many_go_and_another_dropper_holds_for_what_comes_then(
    spark, tmp_path, fixed, lanes
):
    source = Fed()
    out = tmp_path / "out.jsonl"

    def opened():
        engine = Engine(spark, tmp_path / "state", lanes=lanes)
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="1s")
        engine.query("q", "SELECT v FROM s", cls="boards", sink=sinks.jsonl(out))
        engine.query("n", "SELECT count(*) AS n FROM s", window="100s", cls="boards")
        return engine

    with opened() as engine:
        engine.start(shed=replace(fixed, dropper="stratified"))
        shedding(engine)
        source.feed(130, 370)
        caught_up(engine, "q", "n", position=500)
        assert column(engine, "n", "n") == [60] * 4
        assert [each.progress.shed for each in engine.queries.values()] == [200, 200]
    with opened() as engine:
        assert engine.queries["q"].progress.shed == 200
        engine.start(shed=fixed)
        shedding(engine)
        source.feed(300)
        source.end()
        assert engine.wait(300)
        last = {each.name: each for each in engine.status().queries}
        # The window that was open has tuples of both droppers.
        later = np.bincount(np.array(kept(300, 40, 500)) // 100)[5:]
        assert column(engine, "n", "n") == [60, *later]
    found = [json.loads(line)["v"] for line in out.read_text().splitlines()]
    assert found == kept(500, 40, dropper=Stratified) + kept(300, 40, 500)
    assert (last["q"].tuples, last["q"].shed, last["q"].pending) == (800, 800 - len(found), 0)


@pytest.mark.parametrize("lanes", ["auto", "jobs"])
def test_protected_tuples_go_last_and_all_are_counted(spark, tmp_path, fixed, lanes):
    source = Fed()
    with Engine(spark, tmp_path, lanes=lanes) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="1s", protect={"s": {"k": [1]}}, keep_shed=True)
        engine.query_class("reports", delay_target="1s")
        engine.query("q", "SELECT v, k FROM s", cls="boards")
        engine.query("w", "SELECT k, count(*) AS n FROM s GROUP BY k", window="100s", cls="boards")
        engine.query("r", "SELECT v FROM s", cls="reports")
        engine.start(shed=fixed)
        source.feed(300)
        shedding(engine)
        begun = 300
        # What is protected is known once a period that sheds has seen tuples.
        until(lambda: _masses(engine))
        source.feed(900, 600)
        caught_up(engine, "q", "w", "r", position=1800)
        source.feed(10)
        source.end()
        assert engine.wait(300)
        found = engine.status()
        rows = engine.results("q")
        v, k, share = (rows.column(name).to_numpy() for name in ("v", "k", "_kept"))
        # Two of three tuples are not protected: 60 % of these are 40 % of all.
        assert set(share[(k == 1) & (v >= begun)]) == {1.0}
        assert set(np.round(share[(k != 1) & (v >= begun)], 2)) <= {0.39, 0.4, 0.41}
        assert [n for n in v[k == 1] if n >= begun] == [n for n in range(begun, 1810) if n % 3 == 1]
        lost = 1 - np.mean(np.isin(np.arange(begun, 1810), v))
        assert lost == pytest.approx(0.4, abs=0.05)
        by_name = {query.name: query for query in found.queries}
        processed = {"q": len(v), "w": sum(column(engine, "w", "n")), "r": len(column(engine, "r"))}
        for name, stayed in processed.items():
            assert (by_name[name].tuples, by_name[name].shed, by_name[name].pending) == (1810, 1810 - stayed, 0)
        windows = engine.results("w").column("window_start").cast(pa.int64()).to_numpy() // SECOND
        assert np.array(column(engine, "w", "n"))[windows >= begun].sum() == (v >= begun).sum()
        until(lambda: engine.status().streams[0].trains == 1)
        written = pq.read_table(tmp_path / "shed" / "boards").column("v").to_pylist()
        assert [n for n in sorted(written) if begun <= n < 1800] == sorted({*range(begun, 1800)} - {*v})


def _masses(engine):
    return engine._scheduler.shedding._masses._known


def test_by_the_road_map_units_of_a_class_drop_different_parts_and_all_are_counted(spark, tmp_path, fixed):
    source = Fed()
    with Engine(spark, tmp_path, lanes={"jobs": 1, "resident": 1}) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="60s")
        engine.query("light", "SELECT v FROM s WHERE v >= 0", cls="boards")
        # What the kernel cannot do is a Spark job of its own, and a tuple costs more in it.
        engine.query("dear", "SELECT v, sha2(repeat(CAST(v AS STRING), 500), 512) AS h FROM s", cls="boards")
        engine.start(shed=replace(fixed, place="lsrm"), fuse=False)
        assert engine.queries["dear"].compiled is None

        def apart():
            source.feed(2000)
            time.sleep(0.1)
            return _placed(engine) and min(_placed(engine).values()) < 40 < max(_placed(engine).values())

        # Which of them costs more is measured; that one drops more than the class is to, and the other one less.
        until(apart)
        source.feed(5000)
        source.end()
        assert engine.wait(300)
        found = {each.name: each for each in engine.status().queries}
        for name in ("light", "dear"):
            assert found[name].tuples == source.given
            assert found[name].tuples - found[name].shed == len(column(engine, name)), name


def _placed(engine):
    return engine._scheduler.shedding.control._placed


def test_what_is_protected_is_in_the_stream_and_is_not_scaled(spark, tmp_path):
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", Fed(), event_time="t")
        engine.query_class("boards", delay_target="1s", protect={"s": {"k": [1]}})
        engine.query_class("texts", delay_target="1s", protect={"s": {"k": ["one"]}})
        counted = "SELECT count(*) AS n FROM s"
        with pytest.raises(InputError, match="counts and sums are scaled where all tuples are dropped alike"):
            engine.query("q", counted, window="1s", cls="boards", scale=True)
        with pytest.raises(InputError, match="values to protect are of the type of 'k'"):
            engine.query("q", counted, window="1s", cls="texts")
        engine.query("q", counted, window="1s", cls="boards")


def test_what_is_shed_is_kept_elsewhere_where_a_class_wants_that(spark, tmp_path, fixed):
    source = Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("boards", delay_target="1s", keep_shed=True)
        engine.query_class("reports", delay_target="1s")
        engine.query("q", "SELECT v FROM s", cls="boards")
        engine.query("r", "SELECT v FROM s", cls="reports")
        engine.start(shed=fixed)
        shedding(engine)
        source.feed(500, 500, 10)
        caught_up(engine, "q", "r", position=1010)
        until(lambda: engine.status().streams[0].trains == 1)
        stay = kept(1000, 40)
        found = pq.read_table(tmp_path / "shed" / "boards")
        assert sorted(found.column("v").to_pylist()) == [v for v in range(1000) if v not in set(stay)]
        assert found.column("_position").to_pylist() == found.column("v").to_pylist()
        assert found.column_names == ["t", "k", "v", "_arrival", "_position"]
        assert not (tmp_path / "shed" / "reports").exists()

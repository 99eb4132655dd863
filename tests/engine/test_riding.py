"""Queries of several classes in one unit: who rides with whom, what becomes of their tuples, when they get off."""

import math
from collections import Counter
from types import SimpleNamespace

import pytest

from engine.live import Fed, caught_up, column, until
from headgate import Engine, Shed
from headgate import sink as sinks
from headgate.engine.riding import Riding
from headgate.engine.utility import Protected
from headgate.model.classes import QueryClass

SHARING = Shed("dilos+sharing", period=0.05)
ALERTS, BOARDS, REPORTS = (
    QueryClass("alerts", 6, 1.0),
    QueryClass("boards", 3, 5.0),
    QueryClass("reports", 1, 20.0),
)


def query(name, cls, where=("p",), keys=None, keeps_shed=False, protects=()):
    """As much of a query as says who it may ride with."""
    shape = SimpleNamespace(lookups=(), where=where, grouping=SimpleNamespace(keys=keys) if keys else None)
    compiled = SimpleNamespace(shape=shape)
    return SimpleNamespace(name=name, cls=cls, keeps_shed=keeps_shed, protects=dict(protects), compiled=compiled)


def names(groups):
    return [[each.name for each in group] for group in groups]


def test_a_query_rides_with_the_highest_class_that_reads_the_same_rows():
    riding = Riding([REPORTS, ALERTS, BOARDS], lambda _: 0)
    reports = [query("r1", "reports"), query("r2", "reports", ("q",)), query("r3", "reports", ("r",))]
    boards = [query("b1", "boards", ("q",)), query("b2", "boards", keys=("k",)), query("b3", "boards")]
    alerts = [query("a1", "alerts"), query("a2", "alerts")]
    assert names(riding.arranged([reports, boards, alerts])) == [["a1", "a2", "b3", "r1"], ["b1", "b2", "r2"], ["r3"]]


def test_who_keeps_what_is_shed_or_never_sheds_does_not_ride_with_one_that_may():
    calm = QueryClass("calm", 1, math.inf)
    riding = Riding([ALERTS, calm], lambda _: 0)
    alerts = [query("a", "alerts")]
    assert names(riding.arranged([alerts, [query("c", "calm")]])) == [["a"], ["c"]]
    first = QueryClass("first", 9, math.inf)
    riding = Riding([first, ALERTS], lambda _: 0)
    kept, plain = query("kept", "alerts", keeps_shed=True), query("plain", "alerts")
    assert names(riding.arranged([[kept, plain], [query("f", "first")]])) == [["f", "plain"], ["kept"]]


def test_nobody_rides_with_one_to_whom_other_tuples_are_worth_more():
    riding = Riding([ALERTS, BOARDS], lambda _: 0)
    gold, tin = ({"s": Protected("sym", (name,))} for name in ("gold", "tin"))
    boards = [query("same", "boards", protects=gold), query("other", "boards", protects=tin), query("none", "boards")]
    found = riding.arranged([[query("a", "alerts", protects=gold)], boards])
    assert names(found) == [["a", "same"], ["other", "none"]]


def test_a_host_that_sheds_is_alone_and_is_boarded_again_a_while_after():
    percent = {"alerts": 0, "boards": 0}
    riding = Riding([ALERTS, BOARDS], percent.get)
    both = frozenset(("alerts", "boards"))
    assert riding.suits("alerts", both)
    assert not riding.suits("boards", both)
    assert riding.open("alerts", 100.0)
    percent["alerts"] = 3
    assert not riding.suits("alerts", both)
    assert not riding.open("alerts", 101.0)
    percent["alerts"] = 0
    assert not riding.open("alerts", 130.0)
    assert riding.open("alerts", 132.0)


def classed(engine):
    for each in (ALERTS, BOARDS, REPORTS):
        engine.query_class(each.name, priority=each.priority, delay_target=each.delay_target)


def unit(engine, name):
    return {each.name: each.unit for each in engine.status().queries}[name]


@pytest.mark.parametrize("lanes", ["auto", "jobs"])
def test_riders_have_the_same_rows_as_alone_and_count_for_their_own_class(spark, tmp_path, lanes):
    source = Fed()
    with Engine(spark, tmp_path, lanes=lanes) as engine:
        engine.stream("s", source, event_time="t")
        classed(engine)
        engine.query("a", "SELECT v FROM s WHERE v % 3 = 0", cls="alerts")
        engine.query("b", "SELECT v, k FROM s WHERE v % 3 = 1", cls="boards")
        engine.query("r", "SELECT v FROM s WHERE v % 3 = 2", cls="reports")
        engine.query("own", "SELECT v FROM s WHERE v > 50", cls="reports")
        engine.query("a5", "SELECT k, sum(v) AS n FROM s GROUP BY k", window="50s", cls="alerts")
        engine.query("b5", "SELECT k, sum(v + 1) AS n FROM s GROUP BY k", window="50s", cls="boards")
        engine.start(shed=SHARING)
        units = {each.name: each.unit for each in engine.status().queries}
        assert units["a"] == units["b"] == units["r"]
        assert units["a5"] == units["b5"]
        assert len(set(units.values())) == 3
        source.feed(40, 60)
        caught_up(engine, "a", "b", "r", "own", position=100)
        source.end()
        assert engine.wait(300)
        for name, rest in (("a", 0), ("b", 1), ("r", 2)):
            assert sorted(column(engine, name)) == [v for v in range(100) if v % 3 == rest]
        assert sorted(column(engine, "own")) == list(range(51, 100))
        wholes = [Counter(), Counter()]
        for name, whole in zip(("a5", "b5"), wholes, strict=True):
            for k, n in zip(column(engine, name, "k"), column(engine, name, "n"), strict=True):
                whole[k] += n
        assert sum(wholes[0].values()) == sum(range(100))
        assert sum(wholes[1].values()) == sum(range(1, 101))
        found = engine.status()
        assert all(each.tuples == 100 for each in found.queries)
        assert all(each.response_p99 is not None for each in found.classes)


def test_who_comes_later_boards_and_who_is_told_to_gets_off_and_nothing_is_lost_or_repeated(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path / "state") as engine:
        engine.stream("s", source, event_time="t")
        classed(engine)
        engine.query("a", "SELECT v FROM s WHERE v % 2 = 0", cls="alerts")
        engine.start(shed=SHARING)
        source.feed(100)
        caught_up(engine, "a", position=100)
        out = sinks.parquet(tmp_path / "out")
        engine.query("b", "SELECT v FROM s WHERE v % 2 = 1", cls="boards", sink=out)
        until(lambda: unit(engine, "a") == unit(engine, "b"))
        source.feed(100)
        caught_up(engine, "a", "b", position=200)
        engine.switch(shed="dilos")
        until(lambda: unit(engine, "a") != unit(engine, "b"))
        source.feed(100)
        caught_up(engine, "a", "b", position=300)
        engine.switch(shed=SHARING)
        until(lambda: unit(engine, "a") == unit(engine, "b"))
        source.feed(50, 50)
        caught_up(engine, "a", "b", position=400)
        # The host goes, and who rode is of its own class.
        engine.remove("a")
        source.feed(100)
        caught_up(engine, "b", position=500)
        (left,) = engine._scheduler.units
        assert left.cls == "boards"
        source.end()
        assert engine.wait(300)
        assert {each.name: each.tuples for each in engine.status().queries} == {"b": 400}
    assert sorted(spark.read.parquet(str(tmp_path / "out")).toPandas()["v"]) == list(range(101, 500, 2))

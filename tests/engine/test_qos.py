"""QoS graphs on an engine: whose graph a query has, who decides by them, and what results were worth."""

import threading
from dataclasses import asdict

import pytest

from engine.live import Fed, until
from headgate import Engine, InputError, LatencyGraph, LossGraph, Shed, sink
from headgate.engine.evaluation.protocol import Waiting
from headgate.engine.looking import Kept
from headgate.engine.units import MOST_GRAPHS, model
from headgate.record import Follower, Planned, Ran, read

ALL = "SELECT v FROM s"
ALWAYS, HALF, NEVER = [(0, 1), ("1h", 1), ("2h", 0)], [(0, 0.5)], [(0, 0)]
JOBS = {"jobs": 1, "resident": 0}


@pytest.fixture
def engine(spark, tmp_path):
    """An engine over the stream s, fed by hand."""
    with Engine(spark, tmp_path, lanes=JOBS) as made:
        made.source = Fed()
        made.stream("s", made.source, event_time="t")
        yield made


def recorded(engine, kind):
    return [asdict(entry) for entry in Follower(engine.state).look() if isinstance(entry, kind)]


def status(engine):
    return {each.name: each for each in engine.status().queries}


def through(engine, *counts):
    """Feed trains, and wait until all is done."""
    engine.source.feed(*counts)
    engine.source.end()
    assert engine.wait(300)


# Whose graph a query has.


def test_a_query_has_its_own_graph_or_that_of_its_class_or_of_the_delay_target(engine):
    engine.query_class("drawn", delay_target="1s", qos=[(0, 1), ("300ms", 0)])
    engine.query_class("target", delay_target="1s")
    engine.query_class("plain")
    own = LatencyGraph.until(0.5, 2.0)
    engine.query("a", ALL, cls="drawn", qos=own)
    engine.query("b", ALL, cls="drawn")
    engine.query("c", ALL, cls="target")
    engine.query("d", ALL, cls="plain")
    engine.query("e", ALL, cls="plain", qos=[(0, 1), ("500ms", 1), (2, 0)])
    graphs = {name: query.qos for name, query in engine.queries.items()}
    assert graphs == {
        "a": own,
        "b": LatencyGraph(((0.0, 1.0), (0.3, 0.0))),
        "c": LatencyGraph.until(1.0, 2.0),
        "d": None,
        "e": own,
    }


def test_a_query_with_a_deadline_has_no_graph_also_not_that_of_its_class(engine):
    engine.query_class("drawn", qos=ALWAYS)
    windowed = {"window": 10, "slide": 10, "deadline": 5, "cls": "drawn"}
    with pytest.raises(InputError, match="a deadline or a QoS graph; got both"):
        engine.query("a", "SELECT count(*) AS n FROM s", qos=HALF, **windowed)
    engine.query("b", "SELECT count(*) AS n FROM s", **windowed)
    assert engine.queries["b"].qos is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"qos": "fast"}, "a QoS graph is a list of points; got fast"),
        ({"qos": 5}, "a QoS graph is a list of points; got 5"),
        ({"qos": [(0, 1), 2]}, "a pair that ends in a utility; got 2"),
        ({"qos": [(0, 1), ("soon", 0)]}, "a latency of a QoS graph is a finite time"),
        ({"qos": [(0, 1), ("1s", 2)]}, "utility never rises"),
        ({"qos": []}, "at least one point"),
        ({"loss": [(0, 1), (1, 0)]}, "utility never falls"),
        ({"loss": [(0, "all")]}, "a pair that ends in a utility"),
    ],
)
def test_a_mistake_in_a_graph_is_told_before_anything_has_changed(engine, given, said):
    with pytest.raises(InputError, match=said):
        engine.query("a", ALL, **given)
    assert not engine.queries


def test_a_policy_sees_the_graphs_of_a_unit_each_for_as_many_queries_as_have_it(engine):
    for i in range(7):
        engine.query(f"q{i}", ALL, qos=[(0, 1), ("2s" if i % 3 else "1s", 0)])
    engine.query("plain", ALL)
    engine.start()
    (unit,) = engine._scheduler.units
    first, second = LatencyGraph(((0, 1), (1, 0))), LatencyGraph(((0, 1), (2, 0)))
    assert model(unit, 0).graphs == (first.times(3), second.times(4))
    engine.remove("q1")
    engine.remove("q3")
    assert model(unit, 0).graphs == (first.times(2), second.times(3))


def test_of_many_different_graphs_a_policy_sees_some_that_are_worth_as_much_the_first_critical_points_first(engine):
    for i in range(2 * (MOST_GRAPHS + 2)):
        engine.query(f"q{i}", ALL, qos=[(0, 1), (f"{100 - i // 2}s", 0)])
    engine.start()
    (unit,) = engine._scheduler.units
    seen = model(unit, 0).graphs
    assert [(graph.deadline, graph.best) for graph in seen] == [
        *((91.0, 2), (92.0, 2), (93.0, 2), (94.0, 4), (96.0, 2), (97.0, 2), (98.0, 2), (99.0, 4))
    ]
    engine.remove("q19")
    engine.remove("q18")
    assert sum(graph.best for graph in model(unit, 0).graphs) == 2 * (MOST_GRAPHS + 1)


# Who decides.


def test_with_graphs_and_without_classes_the_graphs_decide_unless_a_policy_is_named(engine):
    engine.query("a", ALL)
    engine.start()
    assert engine.status().policy == "bsd"
    engine.query("b", ALL, qos=ALWAYS)
    assert engine.status().policy == "qos"
    engine.switch("lsf")
    engine.query("c", ALL, qos=HALF)
    assert engine.status().policy == "lsf"


def test_where_classes_are_named_they_decide_and_graphs_inside_a_class_if_that_is_asked_for(engine):
    engine.query_class("alerts", priority=2)
    engine.query("a", ALL, cls="alerts", qos=ALWAYS)
    engine.start()
    assert engine.status().policy == "cqc"
    engine.switch("cqc", inner="qos")
    through(engine, 10)
    assert {"class", "credit", "slope", "slack", "eol"} <= recorded(engine, Ran)[-1]["terms"].keys()


@pytest.mark.parametrize("policy", ["qos", "slope-slack", "bucketing", "fixed-priority"])
def test_decisions_are_recorded_with_the_terms_of_the_graph(engine, policy):
    engine.query("a", ALL, qos=ALWAYS)
    engine.query("b", "SELECT v FROM s WHERE v % 2 = 0")
    engine.start(policy, fuse=False)
    through(engine, 10, 20)
    assert {name: each.results for name, each in status(engine).items()} == {"a": 30, "b": 15}
    ran = recorded(engine, Ran)
    assert all({"slope", "slack", "eol", "ect"} <= each["terms"].keys() for each in ran)
    of_a = next(each["terms"] for each in ran if each["unit"] == "a")
    assert of_a["slope"] == 0.0
    assert of_a["slack"] == pytest.approx(3600 - of_a["eol"])


def test_whose_critical_point_comes_first_runs_first(engine):
    engine.query("loose", ALL, qos=ALWAYS, sink=None)
    engine.query("tight", ALL, qos=[(0, 1), ("10min", 1), ("11min", 0)])
    engine.start("qos", fuse=False)
    for unit in engine._scheduler.units:
        unit.busy = True
    engine._scheduler.wake()
    engine.source.feed(10)
    until(lambda: engine.status().streams[0].tuples == 10)

    def free():
        for unit in engine._scheduler.units:
            unit.busy = False

    engine._scheduler.call(free)
    engine.source.end()
    assert engine.wait(300)
    assert [each["unit"] for each in recorded(engine, Ran)][:2] == ["tight", "loose"]


def test_a_run_that_is_hardly_worth_its_overhead_waits_for_a_part_of_the_time_to_the_critical_point(engine):
    engine.query_class("target", delay_target="4s")
    engine.query_class("plain")
    engine.query("tight", ALL, cls="plain", qos=[(0, 1), ("1s", 1), ("2s", 0)])
    engine.query("loose", ALL, cls="target", qos=ALWAYS)
    engine.query("level", ALL, cls="plain", qos=HALF)
    engine.query("other", "SELECT v FROM s ORDER BY v", cls="plain", window=10)
    engine.start("qos", fuse=False, shed="none")
    scheduler = engine._scheduler
    # Without a critical point, or a graph, nobody knows how long it may wait.
    due = dict(zip([unit.name for unit in scheduler.units], scheduler.plan.due, strict=True))
    assert due == {"tight": 1.0, "loose": 4.0, "level": 0.0, "other": 0.0}
    now = 1000.0
    kept = Kept(scheduler.units, (False, True))
    kept.measure(scheduler.plan.models, scheduler.plan.due, scheduler._looking.overripe)
    kept.asked = [Waiting(1, now - 0.05, 0) for _ in scheduler.units]
    kept.show(range(len(due)), now)
    seen = {unit.name: queue.pending for unit, queue in zip(scheduler.units, kept.shown, strict=True)}
    assert seen == {"tight": 0, "loose": 0, "level": 1, "other": 1}
    kept.show([], now + 4.0)
    assert all(queue.pending for queue in kept.shown)


# What results were worth.


def test_what_results_were_worth_is_shown_by_query_and_over_all(engine):
    for name, graph in (("always", ALWAYS), ("half", HALF), ("never", NEVER)):
        engine.query(name, ALL, qos=graph)
    engine.query("tenth", "SELECT v FROM s WHERE v % 10 = 0", qos=[(0, 1)])
    engine.query("late", ALL, qos=[(0, 1), ("1us", 0.25)])
    engine.query("plain", ALL)
    engine.start("qos")
    assert engine.status().qos is None
    through(engine, 1000)
    found = status(engine)
    assert {name: each.qos for name, each in found.items()} == {
        "always": 1.0,
        "half": 0.5,
        "never": 0.0,
        "tenth": 1.0,
        "late": 0.25,
        "plain": None,
    }
    assert {name: each.qos_missed for name, each in found.items() if each.qos_missed} == {"late": 1000}
    assert (found["half"].qos_recent, found["tenth"].qos_recent) == (0.5, None)
    seen = engine.status().qos
    assert (seen.queries, seen.results, seen.missed) == (5, 4100, 1000)
    assert seen.average == pytest.approx((1 + 0.5 + 0 + 1 + 0.25) / 5)
    assert seen.per_result == pytest.approx((1000 + 500 + 0 + 100 + 250) / 4100)
    assert seen.recent is not None
    assert sum(each["utility"] or 0.0 for each in recorded(engine, Ran)) == pytest.approx(1850)
    planned = [tuple(map(tuple, points)) for each in recorded(engine, Planned) for points in each["graphs"]]
    assert ((0.0, 0.5),) in planned
    assert 5 in {each["valued"] for each in recorded(engine, Planned)}
    assert read(engine.state).measured.overall.qos == pytest.approx(seen.average)


def test_figures_begin_anew_with_another_policy_and_go_with_a_query_that_is_removed(engine):
    engine.query("half", ALL, qos=HALF)
    engine.query("never", ALL, qos=NEVER)
    engine.start("qos")
    engine.source.feed(10)
    until(lambda: (seen := engine.status().qos) is not None and seen.results == 20)
    assert engine.status().qos.average == 0.25
    engine.remove("never")
    assert engine.status().qos.average == 0.5
    engine.switch("bsd")
    assert engine.status().qos is None
    assert status(engine)["half"].qos is None


def test_a_query_that_is_removed_during_its_run_does_not_come_back_into_the_average(engine):
    began, go = threading.Event(), threading.Event()
    engine.query("half", ALL, qos=HALF)
    engine.query("slow", ALL, qos=NEVER, sink=sink.callback(lambda *_: began.set() or go.wait(300)))
    engine.start("qos", fuse=False)
    engine.source.feed(10)
    assert began.wait(300)
    removing = threading.Thread(target=engine.remove, args=("slow",))
    removing.start()
    until(lambda: engine.queries["slow"].status == "paused")
    go.set()
    removing.join(60)
    until(lambda: engine.status().qos is not None and engine.status().qos.results == 10)
    assert engine.status().qos.average == engine.status().qos.per_result == 0.5


def test_the_worth_of_results_is_told_by_class_of_the_queries_that_have_a_graph(engine):
    engine.query_class("mixed")
    engine.query_class("plain")
    for name, graph in (("half", HALF), ("never", NEVER), ("none", None)):
        engine.query(name, ALL, cls="mixed", qos=graph)
    engine.query("other", ALL, cls="plain")
    engine.start("qos")
    through(engine, 10)
    assert {each.name: each.qos for each in engine.status().classes if each.queries} == {"mixed": 0.25, "plain": None}


def test_what_a_loss_graph_makes_of_the_share_that_was_kept_is_shown(engine):
    engine.query_class("shed", delay_target="1h")
    engine.query("a", ALL, cls="shed", loss=LossGraph(((0.0, 0.0), (1.0, 1.0))))
    engine.query("b", ALL, cls="shed", loss=[(0.9, 0), (1, 1)])
    assert status(engine)["a"].qos_kept is None
    engine.start("qos", shed=Shed("common", "aurora", {"headroom": 1e-9}, period=0.05))
    engine.source.feed(*[50] * 20)
    until(lambda: status(engine)["a"].shed > 0)
    through(engine)
    for name, found in status(engine).items():
        kept = 1 - found.shed / found.tuples
        assert found.qos_kept == pytest.approx(kept if name == "a" else max(0.0, 10 * kept - 9))

import time
from types import SimpleNamespace

import pytest

from engine.in_process import InProcess
from engine.live import Fed, caught_up, column, until
from engine.log.logs import feed
from engine.test_fused import QUERIES, TIMES, place, views  # noqa: F401 - fixtures
from headgate import Engine
from headgate.engine.fusing import Fuser, Load, by_traversal, grouped, meet_again
from headgate.engine.running import run
from headgate.engine.scheduler import Scheduler
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit
from headgate.record import Recorder


@pytest.fixture
def scheduler(place):  # noqa: F811
    recorder = Recorder(place.folder)
    yield Scheduler([], place.manifest, recorder)
    recorder.close()


def put(scheduler, place, *names):  # noqa: F811
    units = [place.unit([place.live(name, QUERIES[name])]) for name in names]
    scheduler.add(units)
    return units


def test_queries_meet_where_the_first_of_them_is_even_if_it_goes_on_meanwhile(place, scheduler):  # noqa: F811
    units = put(scheduler, place, "filter", "null", "everything")
    queries, lane, fuser = [unit.queries[0] for unit in units], InProcess(), Fuser(scheduler)
    feed(place.log, TIMES)
    for unit, n in zip(units, (4, 3, 3), strict=True):
        assert run(unit, n, lane, place.manifest).error is None
    fuser.look(place.log, time.time())
    assert [unit.hold for unit in units] == [4, 4, 4]
    assert [unit.waiting(0.0).pending for unit in units] == [0, 1, 1]
    assert not scheduler.idle
    # A run that had been decided before is not held up.
    units[1].hold = None
    assert run(units[1], 2, lane, place.manifest).error is None
    fuser.look(place.log, time.time())
    assert [unit.hold for unit in units] == [5, 5, 5]
    for unit in (units[0], units[2]):
        assert run(unit, 100, lane, place.manifest).error is None
    fuser.look(place.log, time.time())
    (fused,) = scheduler.units
    assert {query.name for query in fused.queries} == {"filter", "null", "everything"}
    assert fused.hold is None
    assert fused.waiting(0.0).pending == 5
    assert run(fused, 100, lane, place.manifest).error is None
    fused.commit(place.manifest)
    assert scheduler.idle
    assert {q.name: sorted(q.sink.table().column("v").to_pylist()) for q in queries} == {
        "filter": [0, 2, 4, 6, 8],
        "null": [2, 5, 8],
        "everything": list(range(10)),
    }
    assert all(scheduler.unit_of(query) is fused for query in queries)


def test_a_fuser_that_is_closed_holds_nobody(place, scheduler):  # noqa: F811
    units, lane, fuser = put(scheduler, place, "filter", "null"), InProcess(), Fuser(scheduler)
    feed(place.log, TIMES)
    assert run(units[0], 3, lane, place.manifest).error is None
    fuser.look(place.log, time.time())
    assert [unit.hold for unit in units] == [3, 3]
    fuser.close()
    fuser.look(place.log, time.time())
    assert [unit.hold for unit in units] == [None, None]


def test_a_query_that_is_paused_is_not_waited_for(place, scheduler):  # noqa: F811
    units = put(scheduler, place, "filter", "null")
    units[0].queries[0].status = "paused"
    feed(place.log, TIMES)
    Fuser(scheduler).look(place.log, time.time())
    assert [unit.hold for unit in units] == [None, None]


def test_whoever_waits_for_a_unit_that_may_no_longer_be_fused_goes_on(place, scheduler):  # noqa: F811
    units, lane, fuser = put(scheduler, place, "filter", "null"), InProcess(), Fuser(scheduler)
    feed(place.log, TIMES)
    assert run(units[0], 3, lane, place.manifest).error is None
    fuser.look(place.log, time.time())
    assert [unit.hold for unit in units] == [3, 3]
    assert units[0].waiting(0.0).pending == 0
    units[1].queries[0].status = "paused"
    fuser.look(place.log, time.time())
    assert [unit.hold for unit in units] == [None, None]
    assert units[0].waiting(0.0).pending == 7


def measured(a, b, *shares):
    """A unit of queries that give so many results per tuple, as the scheduler has measured it."""
    cost = Cost(a, b)
    segments = tuple(Segment(f"q{i}", (Stage(b / len(shares), S),), cost.of(1)) for i, S in enumerate(shares))
    return Unit(0, Entry("u"), tuple(s.query for s in segments), segments, cost, Basis(segments, cost))


def names(groups):
    return [[query.name for query in group] for group in groups]


def queries(shapes):
    return [SimpleNamespace(name=f"q{i}", compiled=SimpleNamespace(shape=shape)) for i, shape in enumerate(shapes)]


def test_where_the_overhead_dominates_all_run_together():
    assert names(grouped(queries("abc"), measured(1.0, 1e-6, 1.0, 0.5, 0.2), 100, 1.0)) == [["q0", "q1", "q2"]]


def test_where_the_work_dominates_the_best_run_before_the_others():
    assert names(grouped(queries("abc"), measured(1e-3, 1.0, 0.1, 1.0, 0.01), 100, 1e-3)) == [["q1"], ["q0"], ["q2"]]


def test_under_clustered_bsd_units_are_its_clusters():
    unit = measured(1e-3, 1.0, 0.011, 1.0, 0.01, 0.9)
    assert names(grouped(queries("abcd"), unit, 100, 1e-3, clusters=2)) == [["q1", "q3"], ["q0", "q2"]]
    assert names(grouped(queries("abcd"), unit, 100, 1e-3, clusters=1)) == [["q0", "q1", "q2", "q3"]]


def test_under_qos_graphs_members_run_one_by_one_where_results_are_there_sooner_then():
    # Two members of 1 s: one by one after 1.5 and 3 s, at once after 2.5 s; results are in the ratio of S.
    assert by_traversal(1.0, [1.0, 1.0], 10, 0.5) == [[0], [1]]
    assert by_traversal(1.0, [1.0, 4.0], 10, 0.5) == [[1], [0]]
    # After 2 and 4 s at an overhead of 1 s: no sooner than at once after 3 s.
    assert by_traversal(1.0, [1.0, 1.0], 10, 1.0) == [[0, 1]]
    assert by_traversal(1.0, [1.0, 1.5], 10, 1.0) == [[1], [0]]
    # Nobody has results yet, and work that takes no time.
    assert by_traversal(0.0, [0.0, 0.0], 1, 1e-3) == [[0, 1]]


def test_a_superbox_is_its_members_by_shape():
    unit = measured(1e-3, 1.0, 0.2, 0.2, 0.3)
    assert names(grouped(queries("aab"), unit, 100, 1e-3, superboxes=True)) == [["q0", "q1"], ["q2"]]
    assert names(grouped(queries("aab"), unit, 1e-5, 1e-3, superboxes=True)) == [["q0", "q1", "q2"]]


def test_alike_queries_are_one_piece_of_work():
    assert names(grouped(queries("aab"), measured(1e-3, 1.0, 0.5, 0.5, 0.8), 100, 1e-3)) == [["q0", "q1"], ["q2"]]


@pytest.mark.parametrize(("works", "meet"), [([0.3, 0.1], True), ([0.3, 0.3], False), ([0.9, 0.9], False)])
def test_units_meet_again_once_their_work_is_far_below_what_took_them_apart(works, meet):
    assert meet_again([Load(None, 100, 0.1, work) for work in works]) == meet


def test_an_engine_fuses_units_again_that_were_kept_apart_and_have_little_work(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path, lanes="jobs") as engine:
        engine.stream("s", source)
        engine.query("even", "SELECT v FROM s WHERE v % 2 = 0")
        engine.query("third", "SELECT v FROM s WHERE v % 3 = 0")
        engine.start("bsd", fuse=False)
        engine.switch("bsd", fuse=True)
        engine._placing._fuser._kept_apart |= {"even", "third"}

        def units():
            source.feed(1)
            return {query.unit for query in engine.status().queries}

        until(lambda: len(units()) == 1)


@pytest.mark.parametrize("lanes", ["jobs", {"jobs": 1, "resident": 1}])
def test_an_engine_fuses_queries_and_takes_them_apart_when_one_is_paused_or_removed(spark, tmp_path, lanes):
    source = Fed()
    with Engine(spark, tmp_path, lanes=lanes) as engine:
        engine.stream("s", source)
        engine.query("even", "SELECT v FROM s WHERE v % 2 = 0")
        engine.query("third", "SELECT v FROM s WHERE v % 3 = 0")
        engine.start("bsd", fuse=True)
        engine.query("all", "SELECT v FROM s")

        def units():
            return {query.unit for query in engine.status().queries}

        def fused():
            if engine.status().streams[0].tuples == source.given:
                source.feed(1)
            return len(units()) == 1

        until(fused)
        source.feed(5)
        caught_up(engine, "even", "third", "all", position=source.given)
        engine.pause("third")
        assert "third" in units()
        assert len(units()) == 2
        source.feed(5)
        caught_up(engine, "even", "all", position=source.given)
        assert engine.queries["third"].progress.cursors["s"] == source.given - 5
        engine.resume("third")
        until(fused)
        engine.remove("all")
        until(fused)
        source.end()
        assert engine.wait(300)
        total = source.given
        assert sorted(column(engine, "even")) == list(range(0, total, 2))
        assert sorted(column(engine, "third")) == list(range(0, total, 3))


def test_an_engine_does_not_fuse_if_it_is_told_not_to(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path, lanes="jobs") as engine:
        engine.stream("s", source)
        engine.query("even", "SELECT v FROM s WHERE v % 2 = 0")
        engine.query("all", "SELECT v FROM s")
        engine.start(fuse=False)
        source.feed(10)
        source.end()
        assert engine.wait(300)
        assert {query.unit for query in engine.status().queries} == {"even", "all"}
        assert sorted(column(engine, "even")) == [0, 2, 4, 6, 8]

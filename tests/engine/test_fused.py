import time
from types import SimpleNamespace

import pytest

from engine.in_process import InProcess
from engine.log.logs import SCHEMA, feed, opened
from headgate.engine.compiled import compiled
from headgate.engine.drafts import Draft
from headgate.engine.evaluation import Setting, evaluation
from headgate.engine.fused import _CLOSING, KernelUnit
from headgate.engine.kernel.program import Answer
from headgate.engine.prepared import Views
from headgate.engine.query import LiveQuery
from headgate.engine.reader import PANES
from headgate.engine.resident.lane import LaneLostError
from headgate.engine.running import run
from headgate.engine.scheduler import Scheduler
from headgate.engine.session import session
from headgate.engine.sink import shared
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.units import SingleUnit
from headgate.engine.windows import Window
from headgate.errors import HeadgateError
from headgate.record import Recorder

QUERIES = {
    "filter": "SELECT v FROM s WHERE v % 2 = 0",
    "everything": "SELECT * FROM s",
    "never": "SELECT v FROM s WHERE v < 0",
    "null": "SELECT v FROM s WHERE nullif(k, 1) = 2",
    "null_result": "SELECT nullif(k, 1) AS k, v + 0.5 AS w FROM s WHERE v > 3",
    "names": "SELECT x.v AS `odd name`, upper(concat('a', x.v)) AS `as` FROM s x WHERE x.k IN (0, 1) OR x.v = 8",
    "twice": "SELECT v AS a, k AS a FROM s WHERE k = 1",
}
WINDOWED = {
    "counted": "SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k",
    "some": "SELECT k, max(v) AS most FROM s WHERE v % 2 = 1 GROUP BY k HAVING count(*) > 0",
    "all": "SELECT count(*) AS n, min(v) AS least, avg(v) AS mean FROM s",
}
TIMES = [[5, 4, 3, 2], [9, 1, 7], [11, 12, 13]]


@pytest.fixture(scope="module")
def views(spark):
    made = Views(session(spark))
    made.add_stream("s", SCHEMA)
    return made


class Held(MemoryTables):
    """A sink that takes results with the commit only."""

    guarantee = "exactly once"


@pytest.fixture
def place(views, tmp_path):
    """A log, ways to put queries on it, and the manifest that all are in."""
    log = opened(tmp_path)
    catalog = Catalog({"s": Relation(tuple(SCHEMA.names), "t")}, {})

    def live(name, sql, window=None, sink=None):
        planned = plan(sql, catalog, window)
        made = evaluation(planned, Setting(name, {"s": log}, views, tmp_path / "panes" / name))
        known = log.manifest.definition(name)
        progress = log.manifest.enter(name, {}, made.begin({"s": log.head}))
        out = sink or MemoryTables()
        out.open(Opening(name, made.schema, views.spark, progress.receipt if known is not None else None))
        draft = Draft(name, sql, window, planned, made, compiled(made), None)
        return LiveQuery(draft, "default", out, 60.0, progress, {"s": log})

    def unit(queries):
        return KernelUnit(queries, log, log.manifest)

    yield SimpleNamespace(log=log, live=live, unit=unit, manifest=log.manifest, folder=tmp_path)
    log.manifest.close()


def rows(query):
    return sorted(
        map(repr, query.sink.table().to_pylist() if query.name != "twice too" else query.sink.table().columns)
    )


def settle(unit, n, lane, manifest):
    """Run a unit until nothing waits, then commit what is left."""
    while unit.waiting(0.0).pending:
        assert run(unit, n, lane, manifest).error is None
    unit.commit(manifest)


@pytest.mark.parametrize("n", [1, 3, 100])
def test_fused_queries_give_what_spark_gives_for_each(place, n):
    alone = [place.live(name, sql) for name, sql in QUERIES.items()]
    together = [place.live(f"{name}_too", sql) for name, sql in QUERIES.items()]
    unit, lane = place.unit(together), InProcess()
    feed(place.log, TIMES)
    settle(unit, n, lane, place.manifest)
    for one, other in zip(alone, together, strict=True):
        settle(SingleUnit(one), n, lane, place.manifest)
        assert other.sink.table().columns == one.sink.table().columns
        assert other.sink.table().schema == one.sink.table().schema
        assert other.progress.results == other.sink.table().num_rows
        assert place.manifest.progress(other.name).results == one.progress.results
        assert place.manifest.progress(other.name).cursors == {"s": 10} == dict(other.progress.cursors)
        assert place.manifest.progress(other.name).tuples == 10 == other.progress.tuples


@pytest.mark.parametrize("n", [1, 4, 100])
def test_fused_window_aggregates_give_what_spark_gives_for_each(place, n):
    window = Window(4_000_000, 2_000_000)
    alone = [place.live(name, sql, window) for name, sql in WINDOWED.items()]
    together = [place.live(f"{name}_too", sql, window) for name, sql in WINDOWED.items()]
    unit, lane = place.unit(together), InProcess()
    feed(place.log, TIMES)
    settle(unit, n, lane, place.manifest)
    place.log.end()
    settle(unit, n, lane, place.manifest)
    for one, other in zip(alone, together, strict=True):
        settle(SingleUnit(one), n, lane, place.manifest)
        assert rows(other) == rows(one)
        assert one.sink.table().num_rows
        assert other.sink.table().schema == one.sink.table().schema
        assert other.progress.late == one.progress.late
        assert place.manifest.progress(other.name).closed == one.progress.closed


class SlowToClose(InProcess):
    """Takes longer to put the panes of a query together than a run has for all of them."""

    def answer(self, program, given):
        time.sleep(2 * _CLOSING * (program.source == PANES))
        return super().answer(program, given)


def test_windows_that_close_at_the_same_time_close_in_several_runs_if_that_takes_long(place):
    window = Window(4_000_000, 2_000_000)
    alone = [place.live(name, sql, window) for name, sql in WINDOWED.items()]
    together = [place.live(f"{name}_too", sql, window) for name, sql in WINDOWED.items()]
    unit, lane = place.unit(together), SlowToClose()
    feed(place.log, TIMES)
    place.log.end()
    for closed in (1, 2, 3):
        assert unit.waiting(0.0).pending
        assert run(unit, 100, lane, place.manifest).error is None
        unit.commit(place.manifest)
        assert sum(bool(query.sink.table().num_rows) for query in together) == closed
    assert not unit.waiting(0.0).pending
    for one, other in zip(alone, together, strict=True):
        settle(SingleUnit(one), 100, lane, place.manifest)
        assert rows(other) == rows(one)


def test_windows_that_are_left_open_wait_since_they_could_close_and_close_before_later_ones(place):
    queries = [place.live(name, WINDOWED[name], Window(4_000_000, 4_000_000)) for name in ("counted", "all")]
    unit, lane = place.unit(queries), SlowToClose()

    def read(*times):
        feed(place.log, [times])
        assert run(unit, 100, lane, place.manifest).error is None
        unit.commit(place.manifest)
        ends = [query.sink.table().column("window_end").to_pylist() for query in queries]
        return [sorted({end.timestamp() for end in each}) for each in ends]

    assert read(1_000_000, 5_000_000) == [[4.0], []]
    closable = place.log.oldest(1)
    assert unit.waiting(1e12).oldest == closable
    feed(place.log, [[6_000_000]])
    assert place.log.oldest(2) > closable
    assert (unit.waiting(1e12).pending, unit.waiting(1e12).oldest) == (1, closable)
    assert read(9_000_000) == [[4.0], [4.0, 8.0]]
    assert read(13_000_000) == [[4.0, 8.0, 12.0], [4.0, 8.0]]
    assert read(14_000_000) == [[4.0, 8.0, 12.0], [4.0, 8.0, 12.0]]
    assert unit.waiting(1e12).pending == 0


def test_a_crash_between_two_commits_repeats_what_was_in_memory_only(place):
    first, second = (
        place.live("a", QUERIES["everything"], sink=Held()),
        place.live("b", QUERIES["filter"], sink=Held()),
    )
    unit, lane = place.unit([first, second]), InProcess()
    feed(place.log, TIMES)
    assert unit.commit_due(1e12) is False
    assert run(unit, 4, lane, place.manifest).error is None
    kept = [query.sink.table().num_rows for query in (first, second)]
    assert kept == [4, 2]
    unit._next_commit = float("inf")
    assert run(unit, 4, lane, place.manifest).error is None
    assert [query.progress.cursors["s"] for query in (first, second)] == [8, 8]
    assert [query.sink.table().num_rows for query in (first, second)] == kept
    again = [
        place.live(name, QUERIES[sql], sink=query.sink)
        for name, sql, query in (("a", "everything", first), ("b", "filter", second))
    ]
    assert [query.progress.cursors["s"] for query in again] == [4, 4]
    settle(place.unit(again), 100, lane, place.manifest)
    assert sorted(first.sink.table().column("v").to_pylist()) == list(range(10))
    assert sorted(second.sink.table().column("v").to_pylist()) == [0, 2, 4, 6, 8]


class Broken(MemoryTables):
    def __init__(self, guarantee):
        super().__init__()
        self.guarantee, self.broken = guarantee, True

    def stage(self, run, rows):
        if self.broken:
            raise HeadgateError("there is no room")
        return super().stage(run, rows)


@pytest.mark.parametrize("guarantee", ["exactly once", "at least once"])
def test_a_query_whose_sink_fails_is_let_go_and_the_others_lose_nothing(place, guarantee):
    good, bad = (
        place.live("good", QUERIES["everything"]),
        place.live("bad", QUERIES["filter"], sink=Broken(guarantee)),
    )
    unit, lane = place.unit([good, bad]), InProcess()
    feed(place.log, TIMES)
    done = run(unit, 4, lane, place.manifest)
    assert set(done.bad) == {"bad"}
    if done.unstaged:
        unit.release([bad], unit.cohort.kept, place.manifest)
        bad.roll_back()
    else:
        unit.release([bad], 0, place.manifest)
    settle(unit, 100, lane, place.manifest)
    assert good.sink.table().column("v").to_pylist() == list(range(10))
    assert place.manifest.progress("bad").cursors == {"s": 0}
    bad.sink.broken = False
    settle(SingleUnit(bad), 100, lane, place.manifest)
    assert bad.sink.table().column("v").to_pylist() == [0, 2, 4, 6, 8]
    assert place.manifest.progress("bad") == bad.progress


def alerts(place, out):
    """Queries of one shape that share a sink, and one alike that has its own."""
    made = [place.live(f"above_{k}", f"SELECT k, v FROM s WHERE v > {k}", sink=out) for k in (1, 4, 8, 20)]
    return [*made, place.live("own", "SELECT k, v FROM s WHERE v > 5")]


EXPECTED = sorted((f"above_{k}", v) for k in (1, 4, 8) for v in range(10) if v > k)


def found(out):
    table = out.sink.table()
    return sorted(zip(table.column("query").to_pylist(), table.column("v").to_pylist(), strict=True))


@pytest.mark.parametrize("n", [1, 3, 100])
@pytest.mark.parametrize("sink", [MemoryTables, Held])
def test_results_for_a_shared_sink_stay_together_and_are_counted_by_query(place, n, sink):
    out = shared("all", sink())
    queries = alerts(place, out)
    unit, lane = place.unit(queries), InProcess()
    feed(place.log, TIMES)
    settle(unit, n, lane, place.manifest)
    assert found(out) == EXPECTED
    assert queries[-1].sink.table().column("v").to_pylist() == [6, 7, 8, 9]
    assert [query.progress.results for query in queries] == [8, 5, 1, 0, 4]
    for query in queries:
        assert place.manifest.progress(query.name).results == query.progress.results
        assert place.manifest.progress(query.name).run == query.progress.run == query.durable.run
        assert place.manifest.progress(query.name).tuples == 10 == query.progress.tuples


def test_response_times_of_a_batch_are_noted_by_query(place):
    queries = alerts(place, shared("all", MemoryTables()))
    unit = place.unit(queries)
    feed(place.log, TIMES)
    done = run(unit, 100, InProcess(), place.manifest)
    for answered in done.waited:
        answered.note()
    assert done.results == {"above_1": 8, "above_4": 5, "above_8": 1, "own": 4}
    assert [query.responses.count for query in queries] == [8, 5, 1, 0, 4] == [q.served.results for q in queries]
    for query in queries[:3]:
        assert 0 < query.responses.total == pytest.approx(query.served.response.total)
        assert query.responses.most == query.served.response.longest > 0
        assert query.served.response.squares <= query.responses.most * query.responses.total
    assert done.response.total == pytest.approx(sum(query.responses.total for query in queries))


@pytest.mark.parametrize("guarantee", ["exactly once", "at least once"])
def test_a_shared_sink_that_fails_holds_the_unit_until_it_is_mended(place, guarantee):
    out = shared("all", Broken(guarantee))
    queries = alerts(place, out)
    unit, lane = place.unit(queries), InProcess()
    feed(place.log, TIMES)
    for errors in (1, 2, 3):
        done = run(unit, 4, lane, place.manifest)
        assert (done.blocked, done.bad, done.error) == (True, {}, "there is no room")
        assert unit.rest(0.0) == errors
        # What has to go out first has been read; nothing comes on top of it.
        assert (unit.cohort.position, unit.cohort.kept) == (4, 0)
        assert all(place.manifest.progress(query.name).cursors == {"s": 0} for query in queries)
    out.sink.broken = False
    unit._until = 0.0
    settle(unit, 4, lane, place.manifest)
    assert found(out) == EXPECTED
    assert unit.rest(0.0) == 1
    assert [place.manifest.progress(query.name).results for query in queries] == [8, 5, 1, 0, 4]


@pytest.mark.parametrize("back", [True, False])
def test_who_is_let_go_between_commits_takes_its_rows_along_or_finds_them_again(place, back):
    out = shared("all", Held())
    queries = alerts(place, out)
    unit, lane = place.unit(queries), InProcess()
    feed(place.log, TIMES)
    unit._next_commit = float("inf")
    assert run(unit, 6, lane, place.manifest).error is None
    assert unit.unsaved
    gone = queries[0]
    unit.release([gone], unit.cohort.kept if back else 6, place.manifest)
    # A crash now would repeat what is not committed, for both.
    assert place.manifest.progress(gone.name).cursors == {"s": 0}
    settle(unit, 100, lane, place.manifest)
    assert found(out) == [row for row in EXPECTED if row[0] != gone.name]
    settle(SingleUnit(gone), 100, lane, place.manifest)
    assert found(out) == EXPECTED
    assert place.manifest.progress(gone.name).results == gone.progress.results == 8


def test_queries_join_and_leave_a_unit_between_two_runs(place):
    first, second = place.live("a", QUERIES["everything"]), place.live("b", QUERIES["filter"])
    unit, lane = place.unit([first]), InProcess()
    feed(place.log, TIMES[:1])
    for each in (unit, other := place.unit([second])):
        settle(each, 100, lane, place.manifest)
    assert unit.take_over([other], place.manifest) == [second]
    assert unit.name not in ("a", "b")
    feed(place.log, TIMES[1:2])
    settle(unit, 100, lane, place.manifest)
    unit.release([first], 7, place.manifest)
    feed(place.log, TIMES[2:])
    settle(unit, 100, lane, place.manifest)
    settle(place.unit([first]), 100, lane, place.manifest)
    assert first.sink.table().column("v").to_pylist() == list(range(10))
    assert second.sink.table().column("v").to_pylist() == [0, 2, 4, 6, 8]
    assert [place.manifest.progress(name).tuples for name in "ab"] == [10, 10]
    assert [query.progress.tuples for query in (first, second)] == [10, 10]


class Choosy(InProcess):
    """A lane on which some queries fail, or take the worker along, as long as they are in the program."""

    def __init__(self, unit, fails=(), kills=()):
        super().__init__()
        self.unit, self.fails, self.kills = unit, fails, kills

    def answer(self, program, given):
        there = {self.unit._number_of.get(name) for name in self.kills} - {None}
        if there:
            raise LaneLostError("its worker is gone")
        answer = super().answer(program, given)
        errors = {
            self.unit._number_of[name]: "it does not compute" for name in self.fails if name in self.unit._number_of
        }
        return Answer(answer.parts, errors)


@pytest.fixture
def scheduler(place):
    recorder = Recorder(place.folder)
    yield Scheduler([], place.manifest, recorder)
    recorder.close()


def note(scheduler, unit, n, lane, manifest):
    """A run, and what the scheduler makes of it."""
    done = run(unit, n, lane, manifest)
    scheduler._observe(lane, unit, n, done, 0.0, too_long=False)
    return done


def test_a_query_that_the_kernel_cannot_compute_goes_to_spark_and_the_others_lose_nothing(place, scheduler):
    queries = [place.live(name, QUERIES[name]) for name in ("everything", "filter", "null")]
    unit = place.unit(queries)
    scheduler.add([unit])
    feed(place.log, TIMES)
    assert note(scheduler, unit, 3, InProcess(), place.manifest).error is None
    done = note(scheduler, unit, 4, Choosy(unit, fails=["filter"]), place.manifest)
    assert done.failed == {"filter": "it does not compute"}
    assert {each.name for each in unit.queries} == {"everything", "null"}
    alone = scheduler.unit_of(queries[1])
    assert isinstance(alone, SingleUnit)
    assert queries[1].why_not == "it does not compute"
    assert queries[1].progress.cursors == {"s": 3}
    for each in (unit, alone):
        settle(each, 100, InProcess(), place.manifest)
    assert queries[0].sink.table().column("v").to_pylist() == list(range(10))
    assert queries[1].sink.table().column("v").to_pylist() == [0, 2, 4, 6, 8]
    assert queries[2].sink.table().column("v").to_pylist() == [2, 5, 8]
    assert {place.manifest.progress(query.name).cursors["s"] for query in queries} == {10}


def test_a_query_that_kills_its_lane_is_found_by_halves_and_goes_to_spark(place, scheduler):
    names = ("everything", "filter", "null", "never")
    queries = [place.live(name, QUERIES[name]) for name in names]
    scheduler.add([place.unit(queries)])
    feed(place.log, TIMES)
    for _ in range(20):
        for unit in list(scheduler.units):
            lane = Choosy(unit, kills=["null"]) if unit.in_kernel else InProcess()
            if unit in scheduler.units and unit.waiting(1e12).pending:
                note(scheduler, unit, 100, lane, place.manifest)
    assert isinstance(scheduler.unit_of(queries[2]), SingleUnit)
    assert [type(scheduler.unit_of(query)) for query in queries if query.name != "null"] == [KernelUnit] * 3
    for unit in scheduler.units:
        unit.commit(place.manifest)
    assert queries[0].sink.table().column("v").to_pylist() == list(range(10))
    assert queries[2].sink.table().column("v").to_pylist() == [2, 5, 8]
    assert {place.manifest.progress(name).cursors["s"] for name in names} == {10}

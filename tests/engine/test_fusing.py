from types import SimpleNamespace

import numpy as np
import pytest

from engine.live import Fed, caught_up, column, until
from engine.log.logs import SCHEMA, feed, opened
from headgate import Engine
from headgate.engine.evaluation import Setting, evaluation
from headgate.engine.fusing import Fuser
from headgate.engine.prepared import Views
from headgate.engine.query import LiveQuery
from headgate.engine.scheduler import Scheduler
from headgate.engine.session import session
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.units import FusedUnit, SingleUnit, fusable, fused_sql, run
from headgate.record import Recorder

QUERIES = {
    "filter": "SELECT v FROM s WHERE v % 2 = 0",
    "everything": "SELECT * FROM s",
    "never": "SELECT v FROM s WHERE v < 0",
    "null": "SELECT v FROM s WHERE nullif(k, 1) = 2",
    "null result": "SELECT nullif(k, 1) AS k, v + 0.5 AS w FROM s WHERE v > 3",
    "names": "SELECT x.v AS `odd name`, upper(concat('a', x.v)) AS `as` FROM s x WHERE x.k IN (0, 1) OR x.v = 8",
    "twice": "SELECT v AS a, k AS a FROM s WHERE k = 1",
}
NO_RESULTS = np.empty(0)
TIMES = [[5, 4, 3, 2], [9, 1, 7], [11, 12, 13]]


def execute(prepared, given):
    return prepared.run(given, "test")


@pytest.fixture(scope="module")
def views(spark):
    made = Views(session(spark))
    made.add_stream("s", SCHEMA)
    return made


@pytest.fixture
def place(views, tmp_path):
    """A log, ways to put queries on it, and the manifest that all are in."""
    log = opened(tmp_path)
    catalog = Catalog({"s": Relation(tuple(SCHEMA.names), "t")}, {})
    setting = Setting("all", {"s": log}, views, tmp_path)

    def live(name, sql):
        planned = plan(sql, catalog)
        made = evaluation(planned, setting)
        sink = MemoryTables()
        sink.open(Opening(name, made.schema, views.spark, None))
        progress = log.manifest.enter(name, {}, made.begin({"s": log.head}))
        return LiveQuery(name, "default", planned, made, sink, 60.0, progress, empty_job=0.05)

    yield SimpleNamespace(log=log, setting=setting, live=live, manifest=log.manifest, folder=tmp_path)
    log.manifest.close()


def test_fused_queries_give_what_each_gives_alone(place):
    alone = [place.live(name, sql) for name, sql in QUERIES.items()]
    together = [place.live(f"{name} too", sql) for name, sql in QUERIES.items()]
    feed(place.log, TIMES)
    prepared = place.setting.prepare(fused_sql("s", [fusable(query) for query in together]))
    assert prepared.reused
    fused = FusedUnit("fused", together, place.log, prepared)
    for n in (3, 100):
        done = run(fused, n, execute, place.manifest)
        assert done.error is None
        for unit in map(SingleUnit, alone):
            assert run(unit, n, execute, place.manifest).error is None
    assert fused.waiting(0.0).pending == 0
    for one, other in zip(alone, together, strict=True):
        assert other.sink.table() == one.sink.table()
        assert other.progress == one.progress == place.manifest.progress(other.name)
        assert other.progress.results == other.sink.table().num_rows
    assert {query.name: query.progress.results for query in alone} == {
        "filter": 5,
        "everything": 10,
        "never": 0,
        "null": 3,
        "null result": 6,
        "names": 8,
        "twice": 3,
    }


@pytest.fixture
def scheduler(place):
    recorder = Recorder(place.folder)
    yield Scheduler([], place.manifest, recorder)
    recorder.close()


def runs(unit, n, place):
    """A run, and what the scheduler would note of it."""
    done = run(unit, n, execute, place.manifest)
    assert done.error is None
    for query, waited in zip(unit.queries, done.waited, strict=True):
        query.succeeded(done.read, 0.01, waited)


def test_light_queries_meet_where_the_first_of_them_is_even_if_it_goes_on_meanwhile(place, scheduler):
    queries = [place.live(name, QUERIES[name]) for name in ("filter", "null", "everything")]
    for query in queries:
        scheduler.add(query)
    feed(place.log, TIMES)
    for unit, times in zip(scheduler.units, (4, 3, 3), strict=True):
        for _ in range(times):
            runs(unit, 1, place)
    fuser = Fuser(scheduler)
    fuser.look(place.log, place.setting)
    assert [query.hold for query in queries] == [4, 4, 4]
    assert [unit.waiting(0.0).pending for unit in scheduler.units] == [0, 1, 1]
    assert not scheduler.idle
    # A run that had been decided before is not held up.
    runs(scheduler.units[1], 2, place)
    fuser.look(place.log, place.setting)
    assert [query.hold for query in queries] == [5, 5, 5]
    assert [unit.waiting(0.0).pending for unit in scheduler.units] == [1, 0, 2]
    for unit in (scheduler.units[0], scheduler.units[2]):
        runs(unit, unit.waiting(0.0).pending, place)
    fuser.look(place.log, place.setting)
    (fused,) = scheduler.units
    assert {query.name for query in fused.queries} == {query.name for query in queries}
    assert [query.hold for query in queries] == [None, None, None]
    assert fused.waiting(0.0).pending == 5
    runs(fused, 100, place)
    assert scheduler.idle
    assert {q.name: sorted(q.sink.table().column("v").to_pylist()) for q in queries} == {
        "filter": [0, 2, 4, 6, 8],
        "null": [2, 5, 8],
        "everything": list(range(10)),
    }


@pytest.mark.parametrize("how", ["left", "paused", "closed"])
def test_a_meeting_that_comes_to_nothing_holds_nobody(place, scheduler, how):
    queries = [place.live(name, QUERIES[name]) for name in ("filter", "null")]
    for query in queries:
        scheduler.add(query)
    feed(place.log, TIMES)
    for _ in range(3):
        runs(scheduler.units[0], 1, place)
        runs(scheduler.units[1], 2, place)
    fuser = Fuser(scheduler)
    fuser.look(place.log, place.setting)
    assert [query.hold for query in queries] == [6, 6]
    if how == "left":
        fuser.leave(queries[1])
    elif how == "closed":
        fuser.close()
        fuser.look(place.log, place.setting)
    else:
        queries[1].status = "paused"
        fuser.look(place.log, place.setting)
    assert [query.hold for query in queries] == [None, None]
    assert len(scheduler.units) == 2


def test_heavy_queries_new_ones_and_those_that_failed_together_stay_apart(place, scheduler):
    names = ("filter", "null", "never", "everything")
    light, heavy, new, alone = (place.live(name, QUERIES[name]) for name in names)
    for query in (light, heavy, new, alone):
        scheduler.add(query)
        query.succeeded(10, 1.0, NO_RESULTS)
    for query in (light, heavy, alone):
        for _ in range(2):
            query.succeeded(10, 1.0, NO_RESULTS)
    heavy.succeeded(1_000_000, 1.0, NO_RESULTS)
    alone.alone = True
    feed(place.log, TIMES)
    Fuser(scheduler).look(place.log, place.setting)
    assert [query.hold for query in (light, heavy, new, alone)] == [None] * 4


def test_an_engine_fuses_light_queries_and_takes_them_apart_when_one_is_paused_or_removed(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path) as engine:
        engine.stream("s", source)
        engine.query("even", "SELECT v FROM s WHERE v % 2 = 0")
        engine.query("third", "SELECT v FROM s WHERE v % 3 = 0")
        engine.query("all", "SELECT v FROM s")
        engine.start("bsd", fuse=True)

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
        assert units() == {"even", "third", "all"}
        source.feed(5)
        caught_up(engine, "even", "all", position=source.given)
        assert engine.queries["third"].progress.cursors["s"] == source.given - 5
        engine.resume("third")
        until(fused)
        engine.remove("all")
        assert units() == {"even", "third"}
        until(fused)
        source.end()
        assert engine.wait(60)
        total = source.given
        assert sorted(column(engine, "even")) == list(range(0, total, 2))
        assert sorted(column(engine, "third")) == list(range(0, total, 3))

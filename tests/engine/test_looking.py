"""What is kept from one look to the next is what a look at all units would find, whatever happens in between."""

import math
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.in_process import InProcess
from engine.log.logs import SCHEMA, opened, table
from headgate.engine.compiled import compiled
from headgate.engine.drafts import Draft
from headgate.engine.evaluation import Setting, evaluation
from headgate.engine.evaluation.protocol import NOTHING
from headgate.engine.fused import KernelUnit
from headgate.engine.looking import EVERY, Looking
from headgate.engine.prepared import Views
from headgate.engine.query import LiveQuery
from headgate.engine.running import run
from headgate.engine.scheduler import Scheduler
from headgate.engine.session import session
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.units import SingleUnit
from headgate.engine.windows import Window
from headgate.model.operator import Cost
from headgate.policy.worthwhile import unripe
from headgate.record import Recorder

SECOND = 1_000_000
EVEN, COUNT = "SELECT v FROM {} WHERE v % 2 = 0", "SELECT count(*) AS n FROM {}"
WINDOW = Window(4 * SECOND, 2 * SECOND)
QUERIES = {
    "a": ("s", EVEN, None, True),
    "b": ("s", EVEN, None, True),
    "c": ("r", EVEN, None, True),
    "d": ("s", COUNT, WINDOW, True),
    "e": ("r", EVEN, None, False),
}
"""By name: its stream, its text, its window, and whether the kernel runs it."""
KINDS = {"resident": (True,), "jobs": (False,), "all": (False, True)}


class Held(MemoryTables):
    """A sink that takes results with the commit only, so that there is something to commit."""

    guarantee = "exactly once"


class Rows(InProcess):
    """A lane without Spark, on which plans give no rows; and nothing succeeds while it is `broken`."""

    broken = False

    def __call__(self, plan, given):
        if self.broken:
            raise ValueError("broken")
        return plan.schema.empty_table()

    def answer(self, program, given):
        if self.broken:
            raise ValueError("broken")
        return super().answer(program, given)


@pytest.fixture(scope="module")
def views(spark):
    made = Views(session(spark))
    for name in "rs":
        made.add_stream(name, SCHEMA)
    return made


class Bench:
    """Units over two streams, in a scheduler whose thread does not run; the clock is put forward by hand."""

    def __init__(self, folder, views, every=math.inf):
        self.s = opened(folder)
        self.logs = {"s": self.s, "r": opened(folder, self.s.manifest, name="r")}
        self.manifest, self.lane, self.passed = self.s.manifest, Rows(), 0.0
        self.recorder = Recorder(folder)
        self.scheduler = Scheduler([], self.manifest, self.recorder)
        self.plan = self.scheduler.plan
        self.looking = self.scheduler._looking = Looking(self.plan, every)
        self.queries = {name: self._query(folder, views, name) for name in QUERIES}
        self.scheduler.add([self._unit(name) for name in QUERIES])
        self.plan.targets = {"default": 0.5}
        self.plan.replace([], [])
        self.before = {}

    def _query(self, folder, views, name):
        stream, text, window, _ = QUERIES[name]
        catalog = Catalog({each: Relation(tuple(SCHEMA.names), "t") for each in self.logs}, {})
        sql = text.format(stream)
        planned = plan(sql, catalog, window)
        made = evaluation(planned, Setting(name, self.logs, views, folder / "panes" / name))
        progress = self.manifest.enter(name, {}, made.begin({stream: 0}))
        sink = Held()
        sink.open(Opening(name, made.schema, views.spark, None))
        draft = Draft(name, sql, window, planned, made, compiled(made), None)
        return LiveQuery(draft, "default", sink, 60.0, progress, self.logs, empty_job=0.01)

    def _unit(self, name):
        query = self.queries[name]
        return (
            KernelUnit([query], self.logs[QUERIES[name][0]], self.manifest) if QUERIES[name][3] else SingleUnit(query)
        )

    @property
    def units(self):
        return self.plan.units

    def close(self):
        self.recorder.close()
        self.manifest.close()

    # What happens

    def feed(self, stream, n):
        log = self.logs[stream]
        at = log.head
        log.append(table([(at + i) * SECOND for i in range(n)], first=at), {"at": at})

    def pass_time(self, stream, n):
        self.logs[stream].pass_time(time.time(), (self.logs[stream].head + n) * SECOND)

    def end_stream(self, stream):
        self.logs[stream].end()

    def begin(self, i):
        unit = self._nth(i)
        if not unit.busy:
            unit.busy = True
            self.looking.noted(unit)

    def finish(self, i, n, broken):
        """As a lane has it, and then the scheduler."""
        unit = self._nth(i)
        if unit.busy:
            self.lane.broken = broken
            done = run(unit, n, self.lane, self.manifest)
            self.scheduler._observe(self.lane, unit, n, done, 0.0, too_long=False)

    def wait(self, seconds):
        self.passed += seconds

    def hold(self, i, behind, patience):
        unit = self._nth(i)
        if isinstance(unit, KernelUnit):
            unit.patience = self.now + patience if patience else math.inf
            unit.hold = unit.cohort.position + behind
            self.scheduler.wake()

    def pause(self, i):
        self._nth(i).queries[0].status = "paused"
        self.scheduler.changed(self._nth(i).name, "paused")

    def resume(self, i):
        self._nth(i).queries[0].resume()
        self.scheduler.changed(self._nth(i).name, "resumed")

    def commit(self, i):
        unit = self._nth(i)
        if not unit.busy:
            self.scheduler.when_free(unit, lambda: unit.commit(self.manifest))

    def fuse(self):
        first, *others = [unit for unit in self.units if {q.name for q in unit.queries} & {"a", "b"}]
        if others:
            self.scheduler.merge(first, others, first.cohort.position)
        else:
            self.scheduler.split(first, [[query] for query in first.queries])

    def exchange(self):
        query = self.queries["c"]
        unit = self.scheduler.unit_of(query)
        if not unit.busy:
            self.scheduler.exchange(query, lambda: SingleUnit(query))

    def measure(self, i, b):
        models = list(self.plan.models)
        at = i % len(models)
        models[at] = replace(models[at], cost=Cost(models[at].cost.a, b))
        self.plan._prepare(models)

    def _nth(self, i):
        return self.units[i % len(self.units)]

    # What is seen

    @property
    def now(self):
        return time.time() + self.passed

    def look(self, kind):
        """The keys of what is shown, which is what a whole look finds; and all that is another is said to be."""
        now, units = self.now, self.units
        found = self.looking.look(kind, KINDS[kind], now)
        whole = [unit.waiting(now) if unit.in_kernel in KINDS[kind] else NOTHING for unit in units]
        green = unripe(now, whole, [model.cost for model in self.plan.models], self.plan.due, self.looking.overripe)
        shown = [key(queue) for queue in found.queues]
        assert shown == [key(NOTHING if i in green else queue) for i, queue in enumerate(whole)]
        assert found.running == {i for i, unit in enumerate(units) if unit.busy}
        before, told = self.before.get(kind), found.changed
        self.before[kind] = units, shown
        if told is None:
            assert before is None or before[0] is not units
        else:
            assert {i for i, (old, new) in enumerate(zip(before[1], shown, strict=True)) if old != new} <= set(told)
        return shown


def key(queue):
    return queue.pending, queue.oldest, queue.position


N, STREAM = st.integers(0, len(QUERIES) - 1), st.sampled_from(sorted("rs"))
EVENTS = st.one_of(
    st.tuples(st.just("feed"), STREAM, st.integers(1, 40)),
    st.tuples(st.just("begin"), N),
    st.tuples(st.just("finish"), N, st.sampled_from([1, 3, 100]), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([0.01, 0.06, 0.3, 2.0])),
    st.tuples(st.just("pass_time"), STREAM, st.integers(0, 8)),
    st.tuples(st.just("hold"), N, st.integers(0, 4), st.sampled_from([None, 0.1, 1.0])),
    st.tuples(st.sampled_from(["pause", "resume", "commit"]), N),
    st.tuples(st.sampled_from(["fuse", "exchange"])),
    st.tuples(st.just("measure"), N, st.sampled_from([1e-5, 1e-3, 0.1])),
    st.tuples(st.just("end_stream"), STREAM),
)


@settings(max_examples=25)
@given(st.lists(st.tuples(EVENTS, st.lists(st.sampled_from(sorted(KINDS)), max_size=2)), min_size=5, max_size=40))
def test_whatever_happens_decisions_are_shown_what_a_look_at_all_units_finds(tmp_path_factory, views, events):
    bench = Bench(tmp_path_factory.mktemp("bench"), views)
    try:
        for (what, *how), kinds in events:
            getattr(bench, what)(*how)
            for kind in kinds:
                bench.look(kind)
        for kind in KINDS:
            bench.look(kind)
    finally:
        bench.close()


def test_who_was_forgotten_waits_for_the_next_look_at_all_units_and_not_for_ever(tmp_path, views):
    bench = Bench(tmp_path, views, EVERY)
    try:
        bench.feed("s", 40)
        assert bench.looking.look("all", KINDS["all"], bench.now).queues[0].pending == 40
        bench.units[0].hold = bench.units[0].cohort.position + 7
        bench.wait(EVERY / 4)
        assert bench.looking.look("all", KINDS["all"], bench.now).queues[0].pending == 40
        bench.wait(EVERY)
        assert bench.looking.look("all", KINDS["all"], bench.now).queues[0].pending == 7
    finally:
        bench.close()


def test_only_units_with_news_are_asked(tmp_path, views, checked, monkeypatch):
    bench = Bench(tmp_path, views)
    asked = []
    monkeypatch.setattr(checked, "check", lambda *_: None)
    for each in (KernelUnit, SingleUnit):
        waiting = each.waiting
        monkeypatch.setattr(each, "waiting", lambda unit, now, old=waiting: asked.append(unit.name) or old(unit, now))

    def look():
        asked.clear()
        bench.looking.look("all", KINDS["all"], bench.now)
        return sorted(asked)

    try:
        assert look() == list("abcde")
        assert look() == []
        bench.feed("r", 30)
        assert look() == ["c", "e"]
        bench.begin(0)
        assert look() == ["a"]
        bench.finish(0, 10, broken=False)
        assert look() == ["a"]
        bench.hold(1, 2, None)
        assert look() == list("abcde")
    finally:
        bench.close()


def test_a_moment_that_a_unit_has_named_is_waited_for_until_it_has_come_or_the_unit_is_gone(tmp_path, views):
    bench = Bench(tmp_path, views)
    try:
        bench.feed("s", 40)
        bench.hold(0, 0, 1.0)
        bench.look("all")
        assert bench.looking.next("all") == bench.units[0].patience
        bench.wait(1.0)
        assert bench.look("all")[0][0] == 40
        assert bench.looking.next("all") == math.inf
        bench.hold(0, 0, 1.0)
        bench.look("all")
        bench.plan.replace(bench.units, [])
        assert bench.looking.next("all") == math.inf
    finally:
        bench.close()


def test_who_waits_since_now_is_asked_each_time(tmp_path, views):
    bench = Bench(tmp_path, views)
    unit = bench.units[0]
    try:
        bench.feed("s", 4)
        unit._next_commit = math.inf
        bench.begin(0)
        bench.finish(0, 100, broken=False)
        unit._next_commit = 0.0
        assert unit.unsaved
        bench.scheduler.wake()
        waits = []
        for _ in range(3):
            bench.look("resident")
            waits.append(bench.looking._kept["resident"].asked[0].oldest)
            bench.wait(0.01)
        assert waits == sorted(set(waits))
    finally:
        bench.close()

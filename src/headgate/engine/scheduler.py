"""The loop that drives the policy: at each scheduling point it asks what runs next, and gives that to a free lane."""

import logging
import math
import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from headgate.engine.evaluation.closed import Closed
from headgate.engine.evaluation.protocol import NOTHING, Waiting
from headgate.engine.fused import KernelUnit
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.lanes import Lane
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import Answered, LiveQuery
from headgate.engine.running import Done, message, run
from headgate.engine.shedding import Shedding
from headgate.engine.sql.plan import PerTrain
from headgate.engine.timekeeper import Timekeeper
from headgate.engine.units import MOST_SEGMENTS, LiveUnit, SingleUnit, model, segments
from headgate.model.unit import Unit
from headgate.monitor.responses import Punctuality, magnitudes
from headgate.monitor.statistics import Measured
from headgate.monitor.utility import AverageQos, Worth
from headgate.policy.classes.scheduler import WHOLE, ByClass
from headgate.policy.deadlines import DeadlinesFirst
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View
from headgate.policy.trains import Train
from headgate.policy.worthwhile import OVERRIPE, due_in, length, unripe
from headgate.record import Changed, Dropped, Managed, Planned, Ran, Reason, Recorder
from headgate.shed.droppers import Drop

_TICK = 0.2
"""Seconds after which the loop looks around even if nothing has happened: limits, rests, statistics."""

_AGAIN = 0.5
"""Seconds until a change is tried again that could not be written."""

_LOSSES, _ERRORS = 2, 3
"""So many lanes lost, or errors, in a row, and a unit is taken apart to find out whose fault it is."""

_log = logging.getLogger(__name__)


@dataclass
class _Assigned:
    """What a lane has to do: the runs of a decision that are left, in their order.

    A run is a unit, its number of tuples, and since when the oldest of them waits.
    """

    decision: Decision
    decided: float
    runs: deque[tuple[LiveUnit, int, float]]
    over: str | None
    since: float = 0.0
    too_long: bool = False


@dataclass
class Overhead:
    """Where the time of runs went that was not Spark's: deciding, and staging and committing.

    Of the time in which it was decided, the policy itself took what it was `choosing`.
    """

    runs: int = 0
    busy: float = 0.0
    decisions: int = 0
    choosing: float = 0.0
    deciding: float = 0.0
    around: float = 0.0

    @property
    def per_run(self) -> float:
        """Seconds per run."""
        return (self.deciding + self.around) / self.runs if self.runs else 0.0


class Scheduler:
    """One thread that decides, over lanes that run. All that concerns the plan is done in that thread."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        manifest: Manifest,
        recorder: Recorder,
        chores: Callable[[], None] = lambda: None,
        met: Callable[[], None] = lambda: None,
    ) -> None:
        """Does `chores` about once a second, and says when a unit has `met` the position at which it holds."""
        self.lanes = list(lanes)
        self.units: list[LiveUnit] = []
        self.overhead = Overhead()
        self.policy_name = ""
        self.shedding: Shedding | None = None
        self.keeper: Timekeeper | None = None
        self.targets: Mapping[str, float] = {}
        self.responses: dict[str, Punctuality] = {}
        self.ran: Callable[[LiveUnit, Done], None] = lambda _unit, _done: None
        """Told of every run that has gone well, while the unit does nothing."""
        self.qos = AverageQos()
        self._manifest, self._recorder, self._chores, self._met = manifest, recorder, chores, met
        self._make: Callable[[], Policy] | None = None
        self._policies: dict[str, Policy] = {}
        self._most, self._slice, self._overripe = math.inf, math.inf, OVERRIPE
        self._measured = Measured([], in_jobs=True)
        self._models: Sequence[Unit] = ()
        self._due: list[float] = []
        self._home: dict[str, LiveUnit] = {}
        self._assigned: dict[str, _Assigned] = {}
        self._retiring: set[str] = set()
        self._delayed: dict[str, tuple[float, LiveUnit, Callable[[], None]]] = {}
        self._todo: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._refreshed = 0.0
        self._thread = threading.Thread(target=self._loop, name="headgate-scheduler", daemon=True)

    # What the engine asks for

    def start(self) -> None:
        """Begin to schedule."""
        self._thread.start()

    def use(
        self,
        name: str,
        policy: Callable[[], Policy],
        bounds: Train = WHOLE,
        shedding: Shedding | None = None,
        keeper: Timekeeper | None = None,
        overripe: float = OVERRIPE,
    ) -> None:
        """Schedule by a policy, with trains in these bounds, and shed; once started, in its own thread.

        Each kind of lane has a policy of its own: what one of them can run is nothing to the other. Runs are put off
        for the part `overripe` of the time until results are due, at most.
        """
        self.policy_name, self._make, self.shedding, self.keeper = name, policy, shedding, keeper
        self._most, self._slice, self._overripe = bounds.most, bounds.slice, overripe
        self._policies, self.responses, self.qos = {}, {}, AverageQos()
        self.overhead = Overhead()
        models, self._models = self._models, ()
        self._prepare(models)

    def wake(self) -> None:
        """Say that something has changed: tuples came, or a lane is free."""
        self._wake.set()

    def call(self, change: Callable[[], None]) -> None:
        """Make a change in the scheduler's thread, between two decisions; returns when it is made."""
        if not self._thread.is_alive():
            change()
            return
        failed: list[Exception] = []

        def attempt() -> None:
            try:
                change()
            except Exception as error:  # noqa: BLE001 - whoever asked for the change is told
                failed.append(error)

        made = self._soon(attempt)
        while not made.wait(_TICK) and self._thread.is_alive():
            pass
        if failed:
            raise failed[0]

    def enlist(self, lane: Lane) -> None:
        """Have one more lane."""
        self.call(lambda: self.lanes.append(lane))

    def retire(self, lane: Lane) -> bool:
        """Give a lane nothing more to do, and cancel what it does. True once it is none of the lanes any more."""
        gone: list[bool] = []

        def change() -> None:
            self._retiring.add(lane.name)
            if lane.name in self._assigned:
                lane.cancel()
                return
            self.lanes.remove(lane)
            self._retiring.discard(lane.name)
            gone.append(True)

        self.call(change)
        return bool(gone)

    def keep(self, unit: DeadlineUnit, closed: Closed, counts: Mapping[str, int]) -> float:
        """The share of a window that a query with a deadline reads."""
        return self.keeper.keep(unit, closed, counts) if self.keeper else 1.0

    def longest(self, kind: Literal["jobs", "resident"], now: float) -> float:
        """Seconds that the longest run under way has taken on lanes of a kind."""
        lanes = {lane.name for lane in self.lanes if lane.kind == kind}
        return max((now - each.since for name, each in self._assigned.copy().items() if name in lanes), default=0.0)

    def add(self, units: Sequence[LiveUnit]) -> None:
        """Take units into the plan."""
        self.call(lambda: self._replace([], units))

    def remove(self, query: LiveQuery) -> None:
        """Take a query out of the plan, once its run is over."""
        query.status = "paused"
        self.qos.queries.pop(query.name, None)
        self.apart(query)
        unit = self._home.get(query.name)
        if unit is None:
            return

        def drop() -> None:
            if isinstance(unit, KernelUnit):
                unit.commit(self._manifest)
                unit.release([query], unit.cohort.position, self._manifest)
            self._replace([unit], [])
            self._home.pop(query.name, None)

        self.when_free(unit, drop)

    def apart(self, query: LiveQuery) -> None:
        """See that the query has a unit of its own, so that what happens to it happens to no other."""
        while (unit := self._home.get(query.name)) is not None and len(unit.queries) > 1:
            self.when_free(unit, partial(self._part, unit, [[query]]))

    def merge(self, first: KernelUnit, others: Sequence[KernelUnit], at: int) -> bool:
        """Take the queries of other units into one, if all stand at a position; False if they do not, or one runs."""
        made: list[bool] = []

        def change() -> None:
            if self._stand([first, *others], at):
                queries = first.take_over(others, self._manifest)
                self._replace(others, [])
                self._home.update({query.name: first for query in queries})
                made.append(True)

        self.call(change)
        return bool(made)

    def board(self, host: KernelUnit, unit: KernelUnit, riders: Sequence[LiveQuery]) -> bool:
        """Let queries of a unit ride with another from now on, if both stand at the same tuple and none runs."""
        made: list[bool] = []

        def change() -> None:
            if not self._stand([host, unit], host.cohort.position):
                return
            apart = unit if len(riders) == len(unit.queries) else unit.part(riders, self._manifest)
            host.take_over([apart], self._manifest)
            self._replace([unit] if apart is unit else [], [])
            self._home.update({query.name: host for query in riders})
            for each in (host, unit):
                each.hold, each.patience = None, math.inf
            made.append(True)

        self.call(change)
        return bool(made)

    def split(self, unit: KernelUnit, groups: Sequence[Sequence[LiveQuery]]) -> Sequence[LiveUnit]:
        """Take a unit apart into one for each group, the first of which stays; none if it runs."""
        made: list[LiveUnit] = []

        def change() -> None:
            if unit in self.units and not unit.busy:
                made.extend([unit, *self._part(unit, groups[1:])])

        self.call(change)
        return made

    def exchange(self, query: LiveQuery, make: Callable[[], LiveUnit]) -> None:
        """Give a query that has a unit of its own another one, between two runs."""
        unit = self.unit_of(query)

        def change() -> None:
            if isinstance(unit, KernelUnit):
                unit.commit(self._manifest)
                unit.release([query], unit.cohort.position, self._manifest)
            if not query.unsaved:
                self._replace([unit], [make()])

        self.when_free(unit, change)

    def unit_of(self, query: LiveQuery) -> LiveUnit:
        """The unit that runs a query."""
        return self._home[query.name]

    def home(self, query: LiveQuery) -> LiveUnit | None:
        """The unit that runs a query, if it has one yet."""
        return self._home.get(query.name)

    def when_free(self, unit: LiveUnit, change: Callable[[], object]) -> None:
        """Make a change that concerns a unit, between two of its runs; nothing if the unit is gone by then."""
        made = False

        def attempt() -> None:
            nonlocal made
            if unit not in self.units:
                made = True
            elif not unit.busy:
                change()
                made = True

        while not made:
            self.call(attempt)
            if not made:
                time.sleep(_TICK / 40)

    def _stand(self, units: Sequence[KernelUnit], at: int) -> bool:
        """Whether units stand at a position with nothing in memory and no drop rate decided behind it; none runs."""
        free = all(unit in self.units and not unit.busy and unit.cohort.position == at for unit in units)
        free = free and _alike([unit.reads for unit in units])
        return free and not any(u.cohort.rates.ahead(at) for u in units) and all(self._saved(u) for u in units)

    def settled(self, unit: LiveUnit) -> bool:
        """In the scheduler's thread: whether a unit does nothing and all that it did is committed, or is so now."""
        runs = (unit is each for assigned in self._assigned.copy().values() for each, _, _ in assigned.runs)
        free = unit in self.units and not unit.busy and not any(runs)
        return free and (not isinstance(unit, KernelUnit) or self._saved(unit))

    def _saved(self, unit: KernelUnit) -> bool:
        """Commit what a unit has in memory; False, with a warning, if that cannot be done now."""
        try:
            unit.commit(self._manifest)
        except Exception as error:  # noqa: BLE001 - a full disk, say: the next run meets it as well
            _log.warning("unit %s: %s", unit.name, message(error))
            return False
        return True

    def _part(self, unit: KernelUnit | LiveUnit, groups: Sequence[Sequence[LiveQuery]]) -> Sequence[LiveUnit]:
        """Give each group of a unit's queries a unit of its own; the rest stay."""
        if not isinstance(unit, KernelUnit) or not self._saved(unit):
            return ()
        made: list[LiveUnit] = []
        try:
            made.extend(unit.part(group, self._manifest) for group in groups)
        finally:
            self._replace([], made)
        return made

    def measured(self, name: str) -> Unit | None:
        """A unit as measured."""
        return next((unit for unit in self._models if unit.entry.operator == name), None)

    def changed(self, unit: str, what: Literal["added", "paused", "resumed", "removed", "failed"]) -> None:
        """Record that a unit was paused, resumed and so on."""
        self._recorder.append(Changed(time.time(), unit, what))
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing that could run waits."""
        if self._assigned or self._todo:
            return False
        now = time.time()
        # Whoever waits for others to be fused with may have tuples behind that position.
        return not any(
            unit.busy or unit.hold is not None or unit.unsaved or unit.resting(now) or unit.waiting(now).pending
            for unit in self.units
        )

    def running(self, lane: Lane) -> str | None:
        """The unit that a lane runs."""
        assigned = self._assigned.get(lane.name)
        return assigned.runs[0][0].name if assigned and assigned.runs else None

    def stop(self, grace: float) -> None:
        """Decide nothing more; let runs under way finish, and cancel those that take longer than the grace."""
        self._stopping = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join()
        limit = time.time() + grace
        while self._assigned and time.time() < limit:
            time.sleep(_TICK / 10)
        for lane in self.lanes:
            if lane.name in self._assigned:
                _log.warning("%s is rolled back: it did not end in %g s", self.running(lane), grace)
                lane.cancel()
            lane.close()
        self._catch_up()
        for unit in self.units:
            if isinstance(unit, KernelUnit) and unit.name not in self._delayed:
                self._saved(unit)

    # The loop

    def _loop(self) -> None:
        while not self._stopping:
            self._wake.wait(self._until())
            self._wake.clear()
            self._catch_up()
            self._look_around()
            for lane in self.lanes:
                if lane.name not in self._assigned and lane.name not in self._retiring and not self._stopping:
                    self._decide(lane)

    def _until(self) -> float:
        """Seconds to sleep at most: a unit may have something to commit, or a control period end."""
        due = min((unit.next_commit for unit in self.units if not unit.busy), default=math.inf)
        due = min(due, self.shedding.next) if self.shedding else due
        due = min(due, self.keeper.next) if self.keeper else due
        return min(_TICK, max(0.001, due - time.time()))

    def _soon(self, change: Callable[[], None]) -> threading.Event:
        made = threading.Event()
        self._todo.append((change, made))
        self.wake()
        return made

    def _catch_up(self) -> None:
        while self._todo:
            change, made = self._todo.popleft()
            try:
                change()
            except Exception as error:  # noqa: BLE001 - a full disk, say: whatever it is, the others go on
                _log.warning("could not take note: %s", message(error))
            finally:
                made.set()

    def _look_around(self) -> None:
        now = time.time()
        for lane in self.lanes:
            assigned = self._assigned.get(lane.name)
            if not assigned or not assigned.runs or assigned.too_long:
                continue
            if now - assigned.since > assigned.runs[0][0].limit:
                assigned.too_long = True
                lane.cancel()
        if self.shedding and now >= self.shedding.next:
            self._manage(self.shedding, now)
        if self.keeper and now >= self.keeper.next:
            self._keep_time(self.keeper, now)
        for name, (due, unit, change) in list(self._delayed.items()):
            if now >= due:
                del self._delayed[name]
                unit.busy = False
                change()
        if now - self._refreshed >= self._measured.period:
            self._refreshed = now
            self._prepare(self._measured.units())
            try:
                self._chores()
            except Exception as error:  # noqa: BLE001 - a full disk, say; nothing that could not wait
                _log.warning("could not tidy up: %s", error)

    def _keep_time(self, keeper: Timekeeper, now: float) -> None:
        """Look after deadlines. What other queries run on job lanes is in the way for as long as a run is to last."""
        due = [unit for unit in self.units if isinstance(unit, DeadlineUnit)]
        jobs = next((lane for lane in self.lanes if lane.kind == "jobs"), None)
        others = jobs and any(self._takes(jobs, unit) for unit in self.units if not isinstance(unit, DeadlineUnit))
        keeper.look(due, now, (self._slice if math.isfinite(self._slice) else 0.0) if others else None)

    def _manage(self, shedding: Shedding, now: float) -> None:
        """End a control period: what is dropped from now on, and what share of the time a class has."""
        costs = {unit.entry.operator: unit.cost for unit in self._models}
        try:
            others = [unit for unit in self.units if not isinstance(unit, DeadlineUnit)]
            found = shedding.cycle(others, lambda unit: costs.get(unit.name), now, self._manifest)
        except sqlite3.Error as error:
            _log.warning("drop rates stay as they are: %s", message(error))
            return
        for policy in self._policies.values():
            if found.changed and (by_class := _by_class(policy)):
                by_class.share(found.shares)
        orders = {name: Reason(order.why.formula, order.why.terms) for name, order in found.orders.items()}
        why = Reason(found.why.formula, found.why.terms)
        self._recorder.append(Managed(now, found.drops, found.shares, found.usage, orders, why))

    def _policy(self, lane: Lane) -> Policy | None:
        """What decides for lanes of this kind."""
        if self._make and self._models and lane.kind not in self._policies:
            made = self._make()
            made = self._policies[lane.kind] = DeadlinesFirst(made, self.keeper.order) if self.keeper else made
            made.prepare(self._models)
            if self.shedding and (by_class := _by_class(made)):
                by_class.share(self.shedding.management.shares)
        return self._policies.get(lane.kind)

    def _decide(self, lane: Lane) -> None:
        policy = self._policy(lane)
        if policy is None or not self._models:
            return
        began = time.perf_counter()
        now = time.time()
        queues = self._ripe([unit.waiting(now) if self._takes(lane, unit) else NOTHING for unit in self.units], now)
        alike = [each for each in self.lanes if each.kind == lane.kind]
        running = frozenset(i for i, unit in enumerate(self.units) if unit.busy)
        asked = time.perf_counter()
        decision = policy.choose(View(now, queues, alike.index(lane), len(alike), running))
        if decision is None:
            return
        self.overhead.choosing += time.perf_counter() - asked
        self.overhead.decisions += 1
        runs = deque(
            (self.units[r.unit], self._length(r, queues[r.unit].pending), queues[r.unit].oldest)
            for r in decision.runs
            if queues[r.unit].pending
        )
        over = self.units[decision.why.over].name if decision.why.over is not None else None
        for unit, _, _ in runs:
            unit.busy = True
        self.overhead.deciding += time.perf_counter() - began
        self._assigned[lane.name] = _Assigned(decision, now, runs, over)
        self._begin(lane)

    def _ripe(self, queues: list[Waiting], now: float) -> list[Waiting]:
        """The queues without those that are worth more later."""
        green = unripe(now, queues, [unit.cost for unit in self._models], self._due, self._overripe)
        return [NOTHING if i in green else queue for i, queue in enumerate(queues)]

    def _takes(self, lane: Lane, unit: LiveUnit) -> bool:
        """Spark plans run on job lanes; what the kernel runs goes to resident lanes, where there are any."""
        resident = unit.in_kernel and any(each.kind == "resident" for each in self.lanes)
        return lane.kind == ("resident" if resident else "jobs")

    def _length(self, run: Run, pending: int) -> int:
        """Tuples of a run; where some are dropped, so many more are passed."""
        kept = 1 - max((drop.percent for drop in self._drops(self.units[run.unit]).values()), default=0) / 100
        return length(run.train, pending, self._models[run.unit].cost, kept, self._most)

    def _drops(self, unit: LiveUnit) -> Mapping[str, Drop]:
        """What is dropped of each stream that a unit reads."""
        return self.shedding.drops(unit) if self.shedding and not isinstance(unit, DeadlineUnit) else {}

    def _begin(self, lane: Lane) -> None:
        assigned = self._assigned[lane.name]
        assigned.since = time.time()
        unit, n, _ = assigned.runs[0]
        drops = self._drops(unit)
        lane.assign(
            unit.name, lambda executor: self._ended(lane, unit, n, run(unit, n, executor, self._manifest, drops))
        )

    def _ended(self, lane: Lane, unit: LiveUnit, n: int, done: Done) -> None:
        """In the lane's thread: take note, and go on with the decision's next run or let the loop decide."""
        assigned = self._assigned[lane.name]
        self._record(assigned, lane, unit, done)
        too_long, assigned.too_long = assigned.too_long, False
        _, _, oldest = assigned.runs.popleft()
        self._soon(lambda: self._observe(lane, unit, n, done, oldest, too_long=too_long))
        if assigned.runs and not self._stopping:
            self._begin(lane)
            return
        for left, _, _ in assigned.runs:
            left.busy = False
        del self._assigned[lane.name]
        self.wake()

    def _observe(self, lane: Lane, unit: LiveUnit, n: int, done: Done, oldest: float, *, too_long: bool) -> None:
        unit.busy = False
        took = done.finished - done.started
        self.overhead.runs += 1
        self.overhead.busy += took
        self.overhead.around += took - done.spark
        if done.waited:
            answered = Answered.together(done.waited)
            answered.note()
            for query, graph, times in answered.valued():
                self.qos.queries.setdefault(query.name, Worth(graph))
                self.qos.add(query.name, times)
            responded = answered.by_class() if len(unit.classes) > 1 else {unit.cls: answered.times}
            for cls, times in responded.items() if not isinstance(unit, DeadlineUnit) else ():
                self.responses.setdefault(cls, Punctuality(self.targets.get(cls, math.inf))).add(times)
        if self.keeper and isinstance(unit, DeadlineUnit):
            self.keeper.ran(unit, done)
        if done.error is not None:
            self._failed(unit, n, done, too_long=too_long)
            return
        if bad := done.bad:
            self._expel(unit, n, done, [query for query in unit.queries if query.name in bad])
            return
        unit.served.ran(done.read, took)
        if unit.hold is not None and any(at >= unit.hold for _, at in done.positions.values()):
            self._met()
        if len(unit.queries) == 1:
            unit.queries[0].succeeded()
            unit.queries[0].served.ran(done.read, took)
        if unit in self.units and (policy := self._policies.get(lane.kind)):
            alone = len(unit.queries) <= MOST_SEGMENTS
            total = (sum(done.results.values()),)
            results = tuple(done.results.get(name, 0) for name in segments(unit)) if alone else total
            run = Run(self.units.index(unit), max(1, done.read - done.shed))
            outcome = Outcome(run, done.started, done.finished, results)
            if self.shedding and not isinstance(unit, DeadlineUnit):
                self.shedding.ran(unit, self._models[outcome.run.unit].cost, done, oldest)
            if not unit.fresh:
                self._measured.observe(outcome)
            unit.fresh = False
            policy.observe(outcome)
            if (by_class := _by_class(policy)) and done.waited and not isinstance(unit, DeadlineUnit):
                for cls, times in responded.items():
                    by_class.responded(cls, times)
        self.ran(unit, done)

    def _expel(self, unit: LiveUnit, n: int, done: Done, queries: Sequence[LiveQuery]) -> None:
        """Let queries go whose own part has failed, to run by themselves; the others have lost nothing.

        One that the kernel cannot compute is Spark's from now on, one whose sink fails until that is mended.
        """
        if not isinstance(unit, KernelUnit):
            for query in queries:
                self._note(query, done.bad[query.name], n)
            return
        made: list[LiveUnit] = []
        try:
            for query in queries:
                self._let_go(unit, query, done)
                made.append(SingleUnit(query))
                if query.name in done.failed:
                    _log.warning("query %s: %s; Spark runs it from now on", query.name, done.failed[query.name])
                    query.alone = done.failed[query.name]
                else:
                    self._note(query, done.bad[query.name], n)
        except sqlite3.Error as error:
            # Not even that can be written now. The unit has gone on without them, and must not be committed so.
            left = queries[len(made) :]
            for query in left:
                query.reason = f"{done.bad[query.name]}; and its state folder: {message(error)}"
            _log.warning("unit %s waits: %s", unit.name, message(error))
            self._put_off(unit, partial(self._expel, unit, n, done, left))
        finally:
            self._replace([] if unit.queries else [unit], made)

    def _let_go(self, unit: KernelUnit, query: LiveQuery, done: Done) -> None:
        ((low, high),) = done.positions.values()
        if query.name in done.unstaged:
            unit.release([query], unit.cohort.kept, self._manifest)
            query.roll_back()
        else:
            unit.release([query], high if query.name in done.hidden else low, self._manifest)

    def _put_off(self, unit: LiveUnit, change: Callable[[], None]) -> None:
        """Make a change that failed a little later; the unit does not run before."""
        unit.busy = True
        self._delayed[unit.name] = time.time() + _AGAIN, unit, change

    def _note(self, query: LiveQuery, error: str, n: int, *, too_long: bool = False) -> None:
        """Take note of an error that is the query's own."""
        before = query.status
        query.failed(error, n, time.time(), too_long=too_long)
        if query.status == "failed" != before:
            self.changed(query.name, "failed")

    def _failed(self, unit: LiveUnit, n: int, done: Done, *, too_long: bool) -> None:
        if isinstance(unit, KernelUnit) and (len(unit.queries) > 1 or done.lost):
            self._suspect(unit, n, done, too_long=too_long)
        else:
            self._note(unit.queries[0], done.error or "", n, too_long=too_long)

    def _suspect(self, unit: KernelUnit, n: int, done: Done, *, too_long: bool) -> None:
        """A unit of the kernel has failed as a whole: try again, and if that does not help, in two halves."""
        if too_long:
            unit.most = max(1, n // 4)
        unit.losses += done.lost
        errors = unit.rest(time.time())
        if done.blocked or (unit.losses < _LOSSES and errors < _ERRORS):
            _log.warning("unit %s: %s; trying again", unit.name, done.error)
            return
        unit.losses = 1
        if len(unit.queries) > 1:
            _log.warning("unit %s: %s; it goes on in two halves", unit.name, done.error)
            self._part(unit, [unit.queries[len(unit.queries) // 2 :]])
            return
        (query,) = unit.queries
        _log.warning("query %s: %s; Spark runs it from now on", query.name, done.error)
        if self._saved(unit):
            unit.release([query], unit.cohort.position, self._manifest)
        else:
            unit.release([query], unit.cohort.kept, self._manifest)
            query.roll_back()
        query.alone = done.error
        self._replace([unit], [SingleUnit(query)])

    # The plan

    def _replace(self, old: Sequence[LiveUnit], new: Sequence[LiveUnit]) -> None:
        """Put new units in the place of old ones. Units that stay may have other queries than before."""
        for unit in old:
            self.changed(unit.name, "removed")
            for query in unit.queries:
                self._home.pop(query.name, None)
        self.units = [*(unit for unit in self.units if unit not in old), *new]
        for unit in new:
            self._home.update(dict.fromkeys((query.name for query in unit.queries), unit))
        self._due = [self._due_in(unit) for unit in self.units]
        self._measured = self._measured.over([model(unit, i) for i, unit in enumerate(self.units)])
        self._models = ()
        self._prepare(self._measured.units())
        for unit in new:
            self.changed(unit.name, "added")

    def _due_in(self, unit: LiveUnit) -> float:
        """How long results may take: the delay target of the class, or where a QoS graph of the unit begins to fall.

        0 if there is neither, and for a deadline, which waits for nobody.
        """
        if isinstance(unit, DeadlineUnit):
            return 0.0
        return due_in(self.targets.get(unit.cls, math.inf), unit.graphs)

    def _prepare(self, models: Sequence[Unit]) -> None:
        """Take units as measured: record those that are new, and tell the policy."""
        if models is self._models:
            return
        now, old = time.time(), {unit.entry: unit for unit in self._models}
        self._models = models
        for unit, as_measured in zip(self.units, models, strict=True):
            if old.get(as_measured.entry) != as_measured and self._make:
                self._recorder.append(_planned(unit, as_measured, now))
        if models:
            for policy in self._policies.values():
                policy.prepare(models)

    def _record(self, assigned: _Assigned, lane: Lane, unit: LiveUnit, done: Done) -> None:
        why = assigned.decision.why
        parts = {stream: unit.rates[stream].parts(*passed) for stream, passed in done.positions.items()}
        dropped = {
            s: tuple(Dropped(lo, hi, *drop) for lo, hi, drop in some if drop.percent) for s, some in parts.items()
        }
        times = [magnitudes(each.times) for each in done.waited]
        self._recorder.append(
            Ran(
                assigned.decided,
                unit.name,
                done.positions,
                done.read,
                done.started,
                done.finished,
                self.lanes.index(lane),
                sum(done.results.values()),
                done.response,
                why.formula,
                dict(why.terms),
                assigned.over,
                done.error or (done.bad.get(unit.queries[0].name) if len(unit.queries) == 1 else None),
                done.shed,
                {stream: some for stream, some in dropped.items() if some},
                Counter(np.concatenate(times).tolist()) if times else {},
                utility=done.utility,
            )
        )


def _alike(reads: Sequence[Mapping[str, str]]) -> bool:
    """Whether all join with the same snapshots of tables."""
    together = {name: folder for each in reads for name, folder in each.items()}
    return all(together[name] == folder for each in reads for name, folder in each.items())


def _by_class(policy: Policy) -> ByClass | None:
    """The class scheduler among what decides, if it is one."""
    inner = policy.inner if isinstance(policy, DeadlinesFirst) else policy
    return inner if isinstance(inner, ByClass) else None


def _planned(unit: LiveUnit, measured: Unit, now: float) -> Planned:
    S = sum(segment.S for segment in measured.segments)
    first = unit.queries[0]
    at = dict(first.progress.cursors)
    kind: Literal["jobs", "resident"] = "resident" if unit.in_kernel else "jobs"
    alone = None if unit.in_kernel else first.why_not
    windows = not isinstance(first.draft.plan, PerTrain)
    graphs = tuple(graph.points for graph in measured.graphs)
    cost = measured.cost
    return Planned(now, unit.name, segments(unit), unit.cls, at, cost.a, cost.b, S, kind, alone, windows, graphs)

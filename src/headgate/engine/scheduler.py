"""The loop that drives the policy: at each scheduling point it asks what runs next, and gives that to a free lane."""

import logging
import math
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import compress
from operator import is_not
from typing import Literal, TypeVar

from headgate.engine.accounts import Accounts
from headgate.engine.assigned import Assigned
from headgate.engine.evaluation.closed import Closed
from headgate.engine.evaluation.protocol import NOTHING, Waiting
from headgate.engine.failing import Failing
from headgate.engine.fused import KernelUnit
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.lanes import Lane
from headgate.engine.live_plan import LivePlan
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.running import Done, message, run
from headgate.engine.shedding import Shedding
from headgate.engine.timekeeper import Timekeeper
from headgate.engine.units import MOST_SEGMENTS, LiveUnit, segments
from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import WHOLE, ByClass
from headgate.policy.deadlines import DeadlinesFirst
from headgate.policy.protocol import Outcome, Policy, Run, View
from headgate.policy.trains import Train
from headgate.policy.worthwhile import OVERRIPE, length, unripe
from headgate.record import Managed, Reason, Recorder
from headgate.shed.droppers import Drop

_T = TypeVar("_T")

_TICK = 0.2
"""Seconds after which the loop looks around even if nothing has happened: limits, rests, statistics."""

_FADES = 0.95
"""What the longest run of late still counts after the next one."""
_AGAIN = 1.0
"""Seconds until deadlines are planned for again after that has failed."""

_log = logging.getLogger(__name__)


class Scheduler:
    """One thread that decides, over lanes that run. All that concerns the plan is done in that thread."""

    def __init__(self, lanes: Sequence[Lane], manifest: Manifest, recorder: Recorder) -> None:
        self.lanes = list(lanes)
        self.plan = LivePlan(manifest, recorder, self.wake, self._prepare)
        self.accounts = Accounts()
        self.policy_name = ""
        self.shedding: Shedding | None = None
        self.keeper: Timekeeper | None = None
        self.ran: Callable[[LiveUnit, Done], None] = lambda _unit, _done: None
        """Told of every run that has gone well, while the unit does nothing."""
        self.chores: Callable[[], None] = lambda: None
        """Done about once a second."""
        self.met: Callable[[], None] = lambda: None
        """Told when a unit has come to the position at which it holds."""
        self.started = False
        self._manifest, self._recorder = manifest, recorder
        self._make: Callable[[], Policy] | None = None
        self._policies: dict[str, Policy] = {}
        self._shown: dict[str, Sequence[Waiting]] = {}
        """By kind of lane, the queues that its policy has seen last."""
        self._most, self._slice, self._overripe = math.inf, math.inf, OVERRIPE
        self._failing = Failing(self.plan, manifest)
        self._longest: dict[str, float] = {}
        """By unit, the longest run of late, in seconds."""
        self._assigned: dict[str, Assigned] = {}
        self._retiring: set[str] = set()
        self._todo: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._refreshed = 0.0
        self._thread = threading.Thread(target=self._loop, name="headgate-scheduler", daemon=True)

    @property
    def units(self) -> list[LiveUnit]:
        """The units of the plan."""
        return self.plan.units

    # What the engine asks for

    def start(self) -> None:
        """Begin to schedule."""
        self._thread.start()
        self.started = True

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
        self._policies, self.accounts = {}, Accounts()
        self.plan.schedule()

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

    def _asked(self, change: Callable[[], _T]) -> _T | None:
        """What a change in the scheduler's thread comes to; None if there is no such thread any more."""
        found: list[_T] = []
        self.call(lambda: found.append(change()))
        return found[0] if found else None

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
        self.call(lambda: self.plan.replace([], units))

    def remove(self, query: LiveQuery) -> None:
        """Take a query out of the plan, once its run is over."""
        query.status = "paused"
        self.apart(query)
        unit = self.home(query)
        if unit is not None:
            self.when_free(unit, partial(self._drop, unit, query))

    def _drop(self, unit: LiveUnit, query: LiveQuery) -> None:
        self.plan.drop(unit, query)
        self.accounts.qos.queries.pop(query.name, None)

    def apart(self, query: LiveQuery) -> None:
        """See that the query has a unit of its own, so that what happens to it happens to no other."""
        while (unit := self.home(query)) is not None and len(unit.queries) > 1:
            self.when_free(unit, partial(self.plan.part, unit, [[query]]))

    def merge(self, first: KernelUnit, others: Sequence[KernelUnit], at: int) -> bool:
        """Take the queries of other units into one, if all stand at a position; False if they do not, or one runs."""
        return bool(self._asked(lambda: self.plan.merge(first, others, at)))

    def board(self, host: KernelUnit, unit: KernelUnit, riders: Sequence[LiveQuery]) -> bool:
        """Let queries of a unit ride with another from now on, if both stand at the same tuple and none runs."""
        return bool(self._asked(lambda: self.plan.board(host, unit, riders)))

    def split(self, unit: KernelUnit, groups: Sequence[Sequence[LiveQuery]]) -> Sequence[LiveUnit]:
        """Take a unit apart into one for each group, the first of which stays; none if it runs."""
        return self._asked(lambda: self.plan.split(unit, groups)) or ()

    def exchange(self, query: LiveQuery, make: Callable[[], LiveUnit]) -> None:
        """Give a query that has a unit of its own another one, between two runs."""
        unit = self.unit_of(query)
        self.when_free(unit, partial(self.plan.exchange, unit, query, make))

    def unit_of(self, query: LiveQuery) -> LiveUnit:
        """The unit that runs a query."""
        return self.plan.homes[query.name]

    def home(self, query: LiveQuery) -> LiveUnit | None:
        """The unit that runs a query, if it has one yet."""
        return self.plan.homes.get(query.name)

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

    def settled(self, unit: LiveUnit) -> bool:
        """In the scheduler's thread: whether a unit does nothing and all that it did is committed, or is so now."""
        runs = (unit is each for assigned in self._assigned.copy().values() for each, _, _ in assigned.runs)
        free = unit in self.units and not unit.busy and not any(runs)
        return free and (not isinstance(unit, KernelUnit) or self.plan.saved(unit))

    def measured(self, name: str) -> Unit | None:
        """A unit as measured."""
        return self.plan.model(name)

    def changed(self, unit: str, what: Literal["added", "paused", "resumed", "removed", "failed"]) -> None:
        """Record that a unit was paused, resumed and so on."""
        self.plan.changed(unit, what)

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
        if self.keeper:
            self.keeper.overdue(time.time())
        for unit in self.units:
            if isinstance(unit, KernelUnit) and not self._failing.holds(unit):
                self.plan.saved(unit)

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
        self._failing.look(now)
        if now - self._refreshed >= self.plan.period:
            self._refreshed = now
            self.plan.refresh()
            try:
                self.chores()
            except Exception as error:  # noqa: BLE001 - a full disk, say; nothing that could not wait
                _log.warning("could not tidy up: %s", error)

    def _keep_time(self, keeper: Timekeeper, now: float) -> None:
        """Look after deadlines.

        What other queries run on job lanes is in the way for as long as a run is to last, or the longest of late.
        """
        due = [unit for unit in self.units if isinstance(unit, DeadlineUnit)]
        jobs = next((lane for lane in self.lanes if lane.kind == "jobs"), None)
        taken = self._taken(jobs) if jobs else ()
        others = [unit for unit in self.units if unit.in_kernel in taken and not isinstance(unit, DeadlineUnit)]
        blocked = self._slice if math.isfinite(self._slice) else max(map(self._lasts, others), default=0.0)
        try:
            keeper.look(due, now, blocked if others else None)
        except Exception as error:  # noqa: BLE001 - without this thread nothing would run any more
            keeper.next = now + _AGAIN
            _log.warning("deadlines go by the last plan: %s", message(error))

    def _lasts(self, unit: LiveUnit) -> float:
        """How long a run of a unit may last that nothing bounds: as the longest of late, or as a run over nothing."""
        return self._longest.get(unit.name, unit.queries[0].empty_job)

    def _manage(self, shedding: Shedding, now: float) -> None:
        """End a control period: what is dropped from now on, and what share of the time a class has."""
        costs = {unit.entry.operator: unit.cost for unit in self.plan.models}
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
        if self._make and self.plan.models and lane.kind not in self._policies:
            made = self._make()
            made = self._policies[lane.kind] = DeadlinesFirst(made, self.keeper.order) if self.keeper else made
            made.prepare(self.plan.models)
            if self.shedding and (by_class := _by_class(made)):
                by_class.share(self.shedding.management.shares)
        return self._policies.get(lane.kind)

    def _decide(self, lane: Lane) -> None:
        policy = self._policy(lane)
        if policy is None or not self.plan.models:
            return
        began = time.perf_counter()
        now = time.time()
        taken = self._taken(lane)
        queues = [unit.waiting(now) if unit.in_kernel in taken else NOTHING for unit in self.units]
        queues = self._ripe(queues, now)
        alike = [each for each in self.lanes if each.kind == lane.kind]
        running = frozenset(i for i, unit in enumerate(self.units) if unit.busy)
        before, self._shown[lane.kind] = self._shown.get(lane.kind, ()), queues
        changed = [*compress(range(len(queues)), map(is_not, queues, before))] if len(before) == len(queues) else None
        asked = time.perf_counter()
        decision = policy.choose(View(now, queues, alike.index(lane), len(alike), running, changed))
        if decision is None:
            return
        self.accounts.overhead.choosing += time.perf_counter() - asked
        self.accounts.overhead.decisions += 1
        runs = deque(
            (self.units[r.unit], self._length(r, queues[r.unit].pending), queues[r.unit].oldest)
            for r in decision.runs
            if queues[r.unit].pending
        )
        over = self.units[decision.why.over].name if decision.why.over is not None else None
        for unit, _, _ in runs:
            unit.busy = True
        self.accounts.overhead.deciding += time.perf_counter() - began
        self._assigned[lane.name] = Assigned(decision, now, runs, over)
        self._begin(lane)

    def _ripe(self, queues: list[Waiting], now: float) -> list[Waiting]:
        """The queues without those that are worth more later."""
        green = unripe(now, queues, [unit.cost for unit in self.plan.models], self.plan.due, self._overripe)
        return [NOTHING if i in green else queue for i, queue in enumerate(queues)]

    def _taken(self, lane: Lane) -> Collection[bool]:
        """The units that a lane takes, by whether they are the kernel's.

        Spark plans run on job lanes; what the kernel runs goes to resident lanes, where there are any.
        """
        if lane.kind == "resident":
            return (True,)
        return (False,) if any(each.kind == "resident" for each in self.lanes) else (False, True)

    def _length(self, run: Run, pending: int) -> int:
        """Tuples of a run; where some are dropped, so many more are passed."""
        kept = 1 - max((drop.percent for drop in self._drops(self.units[run.unit]).values()), default=0) / 100
        return length(run.train, pending, self.plan.models[run.unit].cost, kept, self._most)

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
        self._recorder.append(assigned.entry(self.lanes.index(lane), unit, done))
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
        responded = self.accounts.take(unit, done, self.plan.targets)
        if self.keeper and isinstance(unit, DeadlineUnit):
            self.keeper.ran(unit, done)
        if done.error is not None:
            self._failing.failed(unit, n, done, too_long=too_long)
            return
        if bad := done.bad:
            self._failing.expel(unit, n, done, [query for query in unit.queries if query.name in bad])
            return
        took = done.finished - done.started
        self._longest[unit.name] = max(took, _FADES * self._longest.get(unit.name, 0.0))
        unit.served.ran(done.read, took)
        if unit.hold is not None and any(at >= unit.hold for _, at in done.positions.values()):
            self.met()
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
                self.shedding.ran(unit, self.plan.models[outcome.run.unit].cost, done, oldest)
            if not unit.fresh:
                self.plan.observe(outcome)
            unit.fresh = False
            policy.observe(outcome)
            if (by_class := _by_class(policy)) and done.waited and not isinstance(unit, DeadlineUnit):
                for cls, times in responded.items():
                    by_class.responded(cls, times)
        self.ran(unit, done)

    def _prepare(self, models: Sequence[Unit]) -> None:
        """Tell what decides of the units as measured."""
        for policy in self._policies.values():
            policy.prepare(models)


def _by_class(policy: Policy) -> ByClass | None:
    """The class scheduler among what decides, if it is one."""
    inner = policy.inner if isinstance(policy, DeadlinesFirst) else policy
    return inner if isinstance(inner, ByClass) else None

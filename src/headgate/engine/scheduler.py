"""The loop that drives the policy: at each scheduling point it asks what runs next, and gives that to a free lane."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Literal

from headgate.engine.accounts import Accounts
from headgate.engine.assigned import Assigned
from headgate.engine.changing import Changing
from headgate.engine.evaluation.closed import Closed
from headgate.engine.failing import Failing
from headgate.engine.fused import KernelUnit
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.lanes import Lane
from headgate.engine.live_plan import LivePlan
from headgate.engine.log.manifest import Manifest
from headgate.engine.looking import Looking
from headgate.engine.mailbox import Mailbox
from headgate.engine.managing import keep_load, keep_time
from headgate.engine.policies import Policies
from headgate.engine.query import LiveQuery
from headgate.engine.running import Done, run
from headgate.engine.shedding import Shedding
from headgate.engine.timekeeper import Timekeeper
from headgate.engine.units import MOST_SEGMENTS, LiveUnit, segments
from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import WHOLE
from headgate.policy.deadlines import DeadlinesFirst
from headgate.policy.protocol import Outcome, Policy, Run, View
from headgate.policy.trains import Train
from headgate.policy.worthwhile import OVERRIPE, length
from headgate.record import Recorder
from headgate.shed.droppers import Drop

_TICK = 0.2
"""Seconds after which the loop looks around even if nothing has happened: limits, statistics."""

_FADES = 0.95
"""What the longest run of late still counts after the next one."""

_log = logging.getLogger(__name__)


class Scheduler(Changing):
    """One thread that decides, over lanes that run. All that concerns the plan is done in that thread."""

    def __init__(self, lanes: Sequence[Lane], manifest: Manifest, recorder: Recorder) -> None:
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headgate-scheduler", daemon=True)
        plan = LivePlan(manifest, recorder, self.wake, self._prepare)
        super().__init__(plan, Looking(plan), Mailbox(self._thread, self._wake.set))
        self.lanes = list(lanes)
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
        self._policies: Policies | None = None
        self._most, self._slice = math.inf, math.inf
        self._failing = Failing(self.plan, manifest)
        self._longest: dict[str, float] = {}
        """By unit, the longest run of late, in seconds."""
        self._assigned: dict[str, Assigned] = {}
        self._retiring: set[str] = set()
        self._stopping = False
        self._refreshed = 0.0

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

        Runs are put off for the part `overripe` of the time until results are due, at most.
        """
        self.policy_name, self.shedding, self.keeper = name, shedding, keeper
        self._most, self._slice, self._looking.overripe = bounds.most, bounds.slice, overripe
        shares = (lambda: shedding.management.shares) if shedding else None
        make = (lambda: DeadlinesFirst(policy(), keeper.order, keeper.suspended)) if keeper else policy
        self._policies, self.accounts = Policies(make, shares), Accounts()
        self.plan.schedule()

    def came(self) -> None:
        """Say that a stream has a new train."""
        self._wake.set()

    def wake(self) -> None:
        """Say that something has changed, whatever it is."""
        self._looking.anything()
        self._wake.set()

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

    def settled(self, unit: LiveUnit) -> bool:
        """In the scheduler's thread: whether a unit does nothing and all that it did is committed, or is so now."""
        runs = (unit is each for assigned in self._assigned.copy().values() for each, _, _ in assigned.runs)
        free = unit in self.units and not unit.busy and not any(runs)
        return free and (not isinstance(unit, KernelUnit) or self.plan.saved(unit))

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing that could run waits."""
        if self._assigned or self._mailbox:
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
        self._mailbox.catch_up()
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
            self._mailbox.catch_up()
            self._look_around()
            for lane in self.lanes:
                if self._free(lane) and not self._stopping:
                    self._decide(lane)

    def _free(self, lane: Lane) -> bool:
        return lane.name not in self._assigned and lane.name not in self._retiring

    def _until(self) -> float:
        """Seconds to sleep at most: a unit may have something to commit, or a control period end."""
        # Who is free has looked last; the others look when they are.
        free = {lane.kind for lane in self.lanes if self._free(lane)}
        due = min((self._looking.next(kind) for kind in free), default=math.inf)
        due = min(due, self.shedding.next) if self.shedding else due
        due = min(due, self.keeper.next) if self.keeper else due
        return min(_TICK, max(0.001, due - time.time()))

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
            keep_load(self.shedding, self.plan, self._policies, self._manifest, self._recorder, now)
        if self.keeper and now >= self.keeper.next:
            keep_time(self.keeper, self.plan, now, self._blocked())
        self._failing.look(now)
        if now - self._refreshed >= self.plan.period:
            self._refreshed = now
            self.plan.refresh()
            try:
                self.chores()
            except Exception as error:  # noqa: BLE001 - a full disk, say; nothing that could not wait
                _log.warning("could not tidy up: %s", error)
            self._looking.anything()

    def _blocked(self) -> float | None:
        """How long what other queries run on job lanes may be in the way of a deadline; None if there are none.

        That is as long as a run is to last, or the longest of late, in seconds.
        """
        jobs = next((lane for lane in self.lanes if lane.kind == "jobs"), None)
        taken = self._taken(jobs) if jobs else ()
        others = [unit for unit in self.units if unit.in_kernel in taken and not isinstance(unit, DeadlineUnit)]
        if not others:
            return None
        return self._slice if math.isfinite(self._slice) else max(map(self._lasts, others))

    def _lasts(self, unit: LiveUnit) -> float:
        """How long a run of a unit may last that nothing bounds: as the longest of late, or as a run over nothing."""
        return self._longest.get(unit.name, unit.queries[0].empty_job)

    def _decide(self, lane: Lane) -> None:
        if self._policies is None or not self.plan.models:
            return
        policy = self._policies.of(lane.kind, self.plan.models)
        began = time.perf_counter()
        now = time.time()
        shown = self._looking.look(lane.kind, self._taken(lane), now)
        alike = [each for each in self.lanes if each.kind == lane.kind]
        asked = time.perf_counter()
        decision = policy.choose(View(now, shown.queues, alike.index(lane), len(alike), shown.running, shown.changed))
        if decision is None:
            return
        self.accounts.overhead.choosing += time.perf_counter() - asked
        self.accounts.overhead.decisions += 1
        queues = shown.queues
        runs = deque(
            (self.units[r.unit], self._length(r, queues[r.unit].pending), queues[r.unit].oldest)
            for r in decision.runs
            if queues[r.unit].pending
        )
        over = self.units[decision.why.over].name if decision.why.over is not None else None
        for unit, _, _ in runs:
            unit.busy = True
            self._looking.noted(unit)
        self.accounts.overhead.deciding += time.perf_counter() - began
        self._assigned[lane.name] = Assigned(decision, now, runs, over)
        self._begin(lane)

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
        self._mailbox.put(lambda: self._observe(lane, unit, n, done, oldest, too_long=too_long))
        if assigned.runs and not self._stopping:
            self._begin(lane)
            return
        for left, _, _ in assigned.runs:
            left.busy = False
        del self._assigned[lane.name]
        self._wake.set()

    def _observe(self, lane: Lane, unit: LiveUnit, n: int, done: Done, oldest: float, *, too_long: bool) -> None:
        unit.busy = False
        self._looking.noted(unit)
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
        if self._policies and lane.kind in self._policies and unit in self.units:
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
            self._policies.observe(lane.kind, outcome, {} if isinstance(unit, DeadlineUnit) else responded)
        self.ran(unit, done)

    def _prepare(self, models: Sequence[Unit]) -> None:
        """Tell what decides of the units as measured."""
        if self._policies:
            self._policies.prepare(models)

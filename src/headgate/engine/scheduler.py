"""The loop that drives the policy: at each scheduling point it asks what runs next, and gives that to a free lane."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from headgate.engine.lanes import Lane
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.units import Done, LiveUnit, SingleUnit, model, run
from headgate.model.unit import Unit
from headgate.monitor.statistics import Measured
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View
from headgate.record import Changed, Planned, Ran, Recorder

_TICK = 0.2
"""Seconds after which the loop looks around even if nothing has happened: limits, rests, statistics."""

_log = logging.getLogger(__name__)


@dataclass
class _Assigned:
    """What a lane has to do: the runs of a decision that are left, in their order."""

    decision: Decision
    decided: float
    runs: deque[tuple[LiveUnit, int]]
    over: str | None
    since: float = 0.0
    too_long: bool = False


@dataclass
class Overhead:
    """Where the time of runs went that was not Spark's: deciding, and staging and committing."""

    runs: int = 0
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
    ) -> None:
        self.lanes = lanes
        self.units: list[LiveUnit] = []
        self.overhead = Overhead()
        self.policy_name = ""
        self._manifest, self._recorder, self._chores = manifest, recorder, chores
        self._policy: Policy | None = None
        self._most = math.inf
        self._measured = Measured([], in_jobs=True)
        self._models: Sequence[Unit] = ()
        self._assigned: dict[str, _Assigned] = {}
        self._todo: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._refreshed = 0.0
        self._thread = threading.Thread(target=self._loop, name="headgate-scheduler", daemon=True)

    # What the engine asks for

    def start(self) -> None:
        """Begin to schedule."""
        self._thread.start()

    def use(self, name: str, policy: Policy, most: float = math.inf) -> None:
        """Schedule by a policy, with trains of at most so many tuples. Once started, only in its own thread."""
        self.policy_name, self._policy, self._most = name, policy, most
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

    def add(self, query: LiveQuery) -> None:
        """Take a query into the plan."""
        self.call(lambda: self._replan([*self.units, SingleUnit(query)]))
        self.changed(query.name, "added")

    def remove(self, query: LiveQuery) -> None:
        """Take a query out of the plan, once its run is over."""
        query.status = "paused"
        unit = self.unit_of(query)
        while unit.busy:
            time.sleep(_TICK / 10)
        self.call(lambda: self._replace([unit], [SingleUnit(q) for q in unit.queries if q is not query]))
        self.changed(query.name, "removed")

    def swap(
        self, old: Sequence[LiveUnit], new: Sequence[LiveUnit], holds: Callable[[], bool] = lambda: True
    ) -> bool:
        """Put other units in the place of some, unless one of those is running or gone or something does not hold."""
        made: list[bool] = []

        def change() -> None:
            free = all(unit in self.units and not unit.busy for unit in old) and holds()
            if free:
                self._replace(old, new)
            made.append(free)

        self.call(change)
        return bool(made) and made[0]

    def unit_of(self, query: LiveQuery) -> LiveUnit:
        """The unit that runs a query."""
        return next(unit for unit in self.units if query in unit.queries)

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
        queries = [query for unit in self.units for query in unit.queries]
        # Whoever waits for others to be fused with has tuples behind that position.
        soon = any(q.hold is not None or (q.status == "running" and now < q.resting) for q in queries)
        return not soon and not any(unit.busy or unit.waiting(now).pending for unit in self.units)

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

    # The loop

    def _loop(self) -> None:
        while not self._stopping:
            self._wake.wait(_TICK)
            self._wake.clear()
            self._catch_up()
            self._look_around()
            for lane in self.lanes:
                if lane.name not in self._assigned and not self._stopping:
                    self._decide(lane)

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
            finally:
                made.set()

    def _look_around(self) -> None:
        now = time.time()
        for lane in self.lanes:
            assigned = self._assigned.get(lane.name)
            if assigned and assigned.runs and not assigned.too_long:
                limit = min(query.limit for query in assigned.runs[0][0].queries)
                if now - assigned.since > limit:
                    assigned.too_long = True
                    lane.cancel()
        if now - self._refreshed >= self._measured.period:
            self._refreshed = now
            self._prepare(self._measured.units())
            try:
                self._chores()
            except Exception as error:  # noqa: BLE001 - a full disk, say; nothing that could not wait
                _log.warning("could not tidy up: %s", error)

    def _decide(self, lane: Lane) -> None:
        if not self._policy or not self._models:
            return
        began = time.perf_counter()
        now = time.time()
        queues = [unit.waiting(now) for unit in self.units]
        decision = self._policy.choose(View(now, queues))
        if decision is None:
            return
        runs = deque(
            (self.units[r.unit], self._length(r, queues[r.unit].pending))
            for r in decision.runs
            if queues[r.unit].pending
        )
        over = self.units[decision.why.over].name if decision.why.over is not None else None
        for unit, _ in runs:
            unit.busy = True
        self.overhead.deciding += time.perf_counter() - began
        self._assigned[lane.name] = _Assigned(decision, now, runs, over)
        self._begin(lane)

    def _length(self, run: Run, pending: int) -> int:
        """Tuples of a run: at least as much work as the job itself, or a slice shorter than that would stall all."""
        cost = self._models[run.unit].cost
        least = cost.a / cost.b if cost.b else 0.0
        return max(run.train, int(min(least, pending, self._most)))

    def _begin(self, lane: Lane) -> None:
        assigned = self._assigned[lane.name]
        assigned.since = time.time()
        unit, n = assigned.runs[0]
        lane.assign(unit.name, lambda execute: self._ended(lane, unit, n, run(unit, n, execute, self._manifest)))

    def _ended(self, lane: Lane, unit: LiveUnit, n: int, done: Done) -> None:
        """In the lane's thread: take note, and go on with the decision's next run or let the loop decide."""
        assigned = self._assigned[lane.name]
        self._record(assigned, lane, unit, done)
        too_long, assigned.too_long = assigned.too_long, False
        assigned.runs.popleft()
        self._soon(lambda: self._observe(unit, n, done, too_long=too_long))
        if assigned.runs and not self._stopping:
            self._begin(lane)
            return
        for left, _ in assigned.runs:
            left.busy = False
        del self._assigned[lane.name]
        self.wake()

    def _observe(self, unit: LiveUnit, n: int, done: Done, *, too_long: bool) -> None:
        unit.busy = False
        self.overhead.runs += 1
        self.overhead.around += done.finished - done.started - done.spark
        if done.error is not None:
            self._failed(unit, n, done.error, too_long=too_long)
            return
        share = (done.finished - done.started) / len(unit.queries)
        for query, waited in zip(unit.queries, done.waited, strict=True):
            query.succeeded(done.read, share, waited)
        if unit in self.units and self._policy:
            number = self.units.index(unit)
            outcome = Outcome(Run(number, max(1, done.read)), done.started, done.finished, done.results)
            self._measured.observe(outcome)
            self._policy.observe(outcome)

    def _failed(self, unit: LiveUnit, n: int, error: str, *, too_long: bool) -> None:
        if len(unit.queries) > 1:
            # One of them is to blame; apart, it will fail alone.
            _log.warning("unit %s: %s; its queries go on one by one", unit.name, error)
            for query in unit.queries:
                query.alone = True
            if unit in self.units:
                self._replace([unit], [SingleUnit(query) for query in unit.queries])
            return
        (query,) = unit.queries
        before = query.status
        query.failed(error, n, time.time(), too_long=too_long)
        if query.status == "failed" != before:
            self.changed(unit.name, "failed")

    # The plan

    def _replace(self, old: Sequence[LiveUnit], new: Sequence[LiveUnit]) -> None:
        for unit in old:
            self.changed(unit.name, "removed")
        self._replan([*(unit for unit in self.units if unit not in old), *new])
        for unit in new:
            self.changed(unit.name, "added")

    def _replan(self, units: list[LiveUnit]) -> None:
        self.units = units
        self._measured = self._measured.over([model(unit, i) for i, unit in enumerate(units)])
        self._models = ()
        self._prepare(self._measured.units())

    def _prepare(self, models: Sequence[Unit]) -> None:
        """Take units as measured: record those that are new, and tell the policy."""
        if models is self._models:
            return
        now, old = time.time(), {unit.entry: unit for unit in self._models}
        self._models = models
        for unit, as_measured in zip(self.units, models, strict=True):
            for query in unit.queries:
                query.served.cost = as_measured.cost
            if old.get(as_measured.entry) != as_measured and self._policy:
                self._recorder.append(_planned(unit, as_measured, now))
        if self._policy and models:
            self._policy.prepare(models)

    def _record(self, assigned: _Assigned, lane: Lane, unit: LiveUnit, done: Done) -> None:
        why = assigned.decision.why
        self._recorder.append(
            Ran(
                assigned.decided,
                unit.name,
                done.positions,
                done.read,
                done.started,
                done.finished,
                self.lanes.index(lane),
                sum(done.results),
                done.response,
                why.formula,
                dict(why.terms),
                assigned.over,
                done.error,
            )
        )


def _planned(unit: LiveUnit, measured: Unit, now: float) -> Planned:
    S = sum(segment.S for segment in measured.segments)
    queries = tuple(query.name for query in unit.queries)
    first = unit.queries[0]
    at = dict(first.progress.cursors)
    return Planned(now, unit.name, queries, first.group, at, measured.cost.a, measured.cost.b, S)

"""The loop that drives the policy: at each scheduling point it asks what runs next, and gives that to a free lane."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.engine.lanes import Lane
from headgate.engine.query import Done, LiveQuery
from headgate.model.unit import Unit
from headgate.monitor.statistics import Measured
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View
from headgate.policy.registry import create
from headgate.record import Changed, Planned, Ran, Recorder

_TICK = 0.2
"""Seconds after which the loop looks around even if nothing has happened: limits, rests, statistics."""

_log = logging.getLogger(__name__)


@dataclass
class _Assigned:
    """What a lane has to do: the rest of a decision's runs, in their order."""

    decision: Decision
    decided: float
    runs: deque[tuple[LiveQuery, int]]
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

    def __init__(self, lanes: Sequence[Lane], recorder: Recorder, chores: Callable[[], None] = lambda: None) -> None:
        self.lanes = lanes
        self.queries: list[LiveQuery] = []
        self.overhead = Overhead()
        self.policy_name = ""
        self._recorder, self._chores = recorder, chores
        self._policy: Policy | None = None
        self._measured = Measured([], in_jobs=True)
        self._units: Sequence[Unit] = ()
        self._assigned: dict[str, _Assigned] = {}
        self._todo: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._refreshed = 0.0
        self._thread = threading.Thread(target=self._loop, name="headgate-scheduler", daemon=True)

    def start(self, policy: str, options: Mapping[str, Any]) -> None:
        """Begin to schedule."""
        self.policy_name = policy
        self._policy = create(policy, options)
        self._policy.prepare(self._units)
        self._thread.start()

    def wake(self) -> None:
        """Say that something has changed: tuples came, or a lane is free."""
        self._wake.set()

    def call(self, change: Callable[[], None]) -> None:
        """Make a change in the scheduler's thread, between two decisions; returns when it is made."""
        if not self._thread.is_alive():
            change()
            return
        made = threading.Event()
        self._todo.append((change, made))
        self.wake()
        while not made.wait(_TICK) and self._thread.is_alive():
            pass

    def add(self, query: LiveQuery) -> None:
        """Take a query into the plan."""
        self.call(lambda: self._replan([*self.queries, query]))
        self.changed(query, "added")

    def remove(self, query: LiveQuery) -> None:
        """Take a query out of the plan, once its run is over."""
        query.status = "paused"
        while query.busy:
            time.sleep(_TICK / 10)
        self.call(lambda: self._replan([each for each in self.queries if each is not query]))
        self.changed(query, "removed")

    def changed(self, query: LiveQuery, what: Any) -> None:  # noqa: ANN401 - the record knows the words
        """Record that a query was paused, resumed and so on."""
        self._recorder.append(Changed(time.time(), query.name, what))
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing that could run waits."""
        now = time.time()
        if self._assigned or self._todo:
            return False
        return not any(q.busy or q.waiting(now).pending or self._rests(q, now) for q in self.queries)

    def running(self, lane: Lane) -> str | None:
        """The query that a lane runs."""
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

    def unit(self, query: str) -> Unit | None:
        """The query's unit, as measured."""
        return next((unit for unit in self._units if unit.entry.operator == query), None)

    @staticmethod
    def _rests(query: LiveQuery, now: float) -> bool:
        return query.status == "running" and now < query.resting

    def _loop(self) -> None:
        while not self._stopping:
            self._wake.wait(_TICK)
            self._wake.clear()
            self._catch_up()
            self._look_around()
            for lane in self.lanes:
                if lane.name not in self._assigned and not self._stopping:
                    self._decide(lane)

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
            if assigned and not assigned.too_long and now - assigned.since > assigned.runs[0][0].limit:
                assigned.too_long = True
                lane.cancel()
        if now - self._refreshed >= self._measured.period:
            self._refreshed = now
            self._refresh()
            self._chores()

    def _refresh(self) -> None:
        units = self._measured.units()
        if units is not self._units and self._policy:
            self._prepare(units)

    def _prepare(self, units: Sequence[Unit]) -> None:
        now, old = time.time(), {unit.entry: unit for unit in self._units}
        self._units = units
        for query, unit in zip(self.queries, units, strict=True):
            query.served.cost = unit.cost
            if old.get(unit.entry) != unit:
                S = sum(s.S for s in unit.segments)
                at = dict(query.progress.cursors)
                self._recorder.append(
                    Planned(now, query.name, (query.name,), query.group, at, unit.cost.a, unit.cost.b, S)
                )
        if self._policy and units:
            self._policy.prepare(units)

    def announce(self) -> None:
        """Record the plan anew, at the start of a run."""
        units, self._units = self._units, ()
        self._prepare(units)

    def _replan(self, queries: list[LiveQuery]) -> None:
        self.queries = queries
        self._measured = self._measured.over([query.unit(i) for i, query in enumerate(queries)])
        self._units = ()
        self._prepare(self._measured.units())

    def _decide(self, lane: Lane) -> None:
        if not self._policy or not self._units:
            return
        began = time.perf_counter()
        now = time.time()
        queues = [query.waiting(now) for query in self.queries]
        decision = self._policy.choose(View(now, queues))
        if decision is None:
            return
        runs = deque((self.queries[run.unit], run.train) for run in decision.runs if queues[run.unit].pending)
        over = self.queries[decision.why.over].name if decision.why.over is not None else None
        for query, _ in runs:
            query.busy = True
        self.overhead.deciding += time.perf_counter() - began
        self._assigned[lane.name] = _Assigned(decision, now, runs, over)
        self._begin(lane)

    def _begin(self, lane: Lane) -> None:
        assigned = self._assigned[lane.name]
        assigned.since = time.time()
        query, n = assigned.runs[0]
        lane.assign(query.name, lambda execute: self._ended(lane, query, n, query.run(n, execute)))

    def _ended(self, lane: Lane, query: LiveQuery, n: int, done: Done) -> None:
        """In the lane's thread: take note, and go on with the decision's next run or wake the loop."""
        assigned = self._assigned[lane.name]
        self.overhead.runs += 1
        self.overhead.around += done.finished - done.started - done.spark
        self._record(assigned, lane, query, done)
        self.call_soon(lambda: self._observe(query, n, done, assigned))

        assigned.runs.popleft()
        if assigned.runs and not self._stopping:
            self._begin(lane)
            return
        for left, _ in assigned.runs:
            left.busy = False
        del self._assigned[lane.name]
        self.wake()

    def call_soon(self, change: Callable[[], None]) -> None:
        """Make a change in the scheduler's thread, without waiting for it."""
        self._todo.append((change, threading.Event()))
        self.wake()

    def _observe(self, query: LiveQuery, n: int, done: Done, assigned: _Assigned) -> None:
        failed = query.status
        query.ended(done, n, time.time(), too_long=assigned.too_long)
        if query.status == "failed" != failed:
            self.changed(query, "failed")
        if done.error is not None or query not in self.queries or not self._policy:
            return
        number = self.queries.index(query)
        outcome = Outcome(Run(number, max(1, done.read)), done.started, done.finished, (done.results,))
        self._measured.observe(outcome)
        self._policy.observe(outcome)

    def _record(self, assigned: _Assigned, lane: Lane, query: LiveQuery, done: Done) -> None:
        why = assigned.decision.why
        self._recorder.append(
            Ran(
                assigned.decided,
                query.name,
                done.positions,
                done.read,
                done.started,
                done.finished,
                self.lanes.index(lane),
                done.results,
                done.response,
                why.formula,
                dict(why.terms),
                assigned.over,
                done.error,
            )
        )

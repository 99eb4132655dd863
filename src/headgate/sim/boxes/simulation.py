"""The box kernel: boxes with queues between them, run by any policy on one processor.

The clock counts whole nanoseconds, so it shows exactly the work on tuples, the overhead and the idle time. A call
takes its overhead first; then its tuples are done one after the other. An output box hands each on at that moment;
what another box makes is seen by the next when the call has ended. Tuples that arrive during a call queue up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.policy.protocol import Decision, Outcome, Policy, Run, View
from headgate.policy.qos.bucketing import Bucketing
from headgate.sim.boxes.feeds import Feed
from headgate.sim.boxes.lines import SECOND, Line
from headgate.sim.boxes.overhead import NONE, Overhead
from headgate.sim.boxes.passing import Even, Passing
from headgate.sim.boxes.report import Memory, Report, Spent
from headgate.sim.boxes.trains import WHOLE, Trains
from headgate.sim.boxes.units import Plan

Shed = Callable[[int, Sequence[Line]], int]
"""Told the time and all lines, it takes tuples out and says how many."""
Superbox = Callable[[int, int, Sequence[Line]], Sequence[int]]
"""Told the time, a unit and all lines, it says which boxes a run calls; at least one of them has tuples."""


@dataclass
class Simulation:
    """One run until all that arrived is out.

    `plan` says what the units are and which boxes a run of each calls. A run that takes all that waits when it is
    chosen takes what waits when it begins, as `trains` allows. `passing` realises selectivities; `shed`, if there is
    one, acts at each scheduling point; `superbox` makes up the calls of a run for the moment. `remember` keeps the
    memory that queues take, after each change.
    """

    plan: Plan
    feed: Feed
    policy: Policy
    overhead: Overhead = NONE
    trains: Trains = WHOLE
    passing: Passing | None = None
    shed: Shed | None = None
    superbox: Superbox | None = None
    remember: bool = False
    on_decision: Callable[[float, Decision], None] | None = None
    on_call: Callable[[int, int, int], None] | None = None
    _clock: int = field(default=0, init=False)

    def run(self) -> Report:
        """Simulate, and report what was seen."""
        self._set_up()
        choose = self.policy.choose
        while True:
            self._ingest()
            if self.shed:
                self._spent.dropped += self.shed(self._clock, self._lines)
            decision = choose(View(self._clock / SECOND, self._queues))
            if decision is not None:
                self._follow(decision)
            elif self._next < len(self._times):
                self._idle()
            else:
                return self._report()

    def _set_up(self) -> None:
        boxes = self.plan.applications.boxes
        self._costs = [round(box.cost * SECOND) for box in boxes.boxes]
        self._sels = [box.sel for box in boxes.boxes]
        self._sizes = [box.tsize for box in boxes.boxes]
        self._feeds = boxes.feeds
        self._outputs = self.plan.applications.numbers
        self._times: list[int] = self.feed.times.tolist()
        self._entries = [boxes.leaves[i] for i in self.feed.inputs.tolist()]
        self._next = 0
        self._clock = 0
        self._lines = [Line(self._times) for _ in boxes.boxes]
        self._queues = self.plan.queues(self._lines)
        self._passes = self.passing or Even(len(boxes))
        self._prices = self._priced()
        self._spent = Spent()
        self._apps: list[int] = []
        self._items: list[int] = []
        self._at: list[int] = []
        self._held = 0.0
        self._memory: list[tuple[int, float]] = []
        self.policy.prepare(self.plan.units)

    def _priced(self) -> Overhead:
        if isinstance(self.policy, Bucketing):
            return self.overhead.bucketing
        return self.overhead.over(sum(map(len, self.plan.fronts)) / len(self.plan.units))

    def _ingest(self) -> None:
        times, i = self._times, self._next
        while i < len(times) and times[i] <= self._clock:
            box = self._entries[i]
            self._lines[box].put((i,), times[i])
            if self.remember:
                self._hold(self._clock, self._sizes[box])
            i += 1
        self._next = i

    def _idle(self) -> None:
        until = self._times[self._next]
        self._spent.idle += until - self._clock
        self._clock = until

    def _follow(self, decision: Decision) -> None:
        if self.on_decision:
            self.on_decision(self._clock / SECOND, decision)
        spent, queues = self._spent, self._queues
        spent.decisions += 1
        whole = [run.train >= queues[run.unit].pending for run in decision.runs]
        charge = self._prices.scheduling(decision.work)
        spent.scheduler += charge
        self._clock += charge
        for run, everything in zip(decision.runs, whole, strict=True):
            self._run(run, everything=everything)

    def _run(self, run: Run, *, everything: bool) -> None:
        """Call the boxes of a unit; those whose line is empty are passed over, and cost nothing."""
        started, spent, times = self._clock, self._spent, self._times
        made, entered = len(self._at), False
        calls = self.superbox(started, run.unit, self._lines) if self.superbox else self.plan.calls[run.unit]
        for box in calls:
            if self._next < len(times) and times[self._next] <= self._clock:
                self._ingest()
            n = self._lines[box].pending
            if not n:
                continue
            if not entered:
                entered = True
                spent.runs += 1
                spent.storage += self.overhead.storage
                self._clock += self.overhead.storage
                n = self.trains.length(n) if everything else min(run.train, n)
            self._call(box, n)
        if entered:
            results = (len(self._at) - made,)
            self.policy.observe(Outcome(run, started / SECOND, self._clock / SECOND, results))

    def _call(self, box: int, n: int) -> None:
        if self.on_call:
            self.on_call(self._clock, box, n)
        spent, feeds, cost = self._spent, self._feeds[box], self._costs[box]
        begin = self._clock + self.overhead.worker
        end = begin + n * cost
        train, total = self._lines[box].take(n)
        done: Sequence[int] = range(begin + cost, end + 1, cost) if cost else [begin] * n
        if self._sels[box] != 1:
            places = self._passes.places(box, self._sels[box], train)
            train, done = [train[place] for place in places], [done[place] for place in places]
            total = sum(map(self._times.__getitem__, train))
        for consumer in feeds:
            self._lines[consumer].put(train, total)
        if not feeds:
            self._apps.extend([self._outputs[box]] * len(train))
            self._items.extend(train)
            self._at.extend(done)
        spent.calls += 1
        spent.worker += self.overhead.worker
        spent.work += end - begin
        if self.remember:
            self._hold(self._clock, 0.0)
            self._hold(end, len(train) * sum(self._sizes[each] for each in feeds) - n * self._sizes[box])
        self._clock = end

    def _hold(self, at: int, change: float) -> None:
        self._held += change
        self._memory.append((at, self._held))

    def _report(self) -> Report:
        times, sizes = np.array(self._memory, np.float64).reshape(-1, 2).T
        return Report(
            self.feed,
            self.plan.applications.graphs,
            np.array(self._apps, np.int64),
            np.array(self._items, np.int64),
            np.array(self._at, np.int64),
            self._clock,
            self._spent,
            Memory(times / SECOND, sizes),
        )

"""A fluid model of a server with a load manager: FIFO queues, and tuples that are shed at read or at arrival.

Time goes in small steps; in each the stream brings an amount of tuples, and the server works off what its capacity
at the time allows, the oldest first. Several queues stand for groups of queries that a scheduler serves in unequal
shares; what one does not need goes to the other.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from headgate.monitor.operator_statistics import InputRate, OperatorStatistics
from headgate.monitor.outputs import OutputMonitor
from headgate.shed.protocol import Cycle

COST = 0.99 / 207
STEP = 0.01
NOTHING = 1e-12


def steps_up(time):
    """The stream S_c: below the capacity for 10 s, then far above it."""
    return 200.0 if time < 10 else 350.0


def steady(time):
    """The capacity of a machine that does nothing else."""
    return 0.99


def halved(time):
    """The capacity when background jobs start after 100 s."""
    return 0.99 if time < 100 else 0.495


@dataclass(frozen=True)
class Fluid:
    """What is fed in, what there is to work with, and how well it is measured.

    `noise` is the relative standard deviation of the cost of a period's tuples, `blur` that of its mean response time
    as it is measured. `believed` stands for the measured cost. `copies` is how often a tuple that was admitted once
    counts as departed. `latency` is what passes between the reading of a tuple and its result.
    """

    seconds: float = 400.0
    period: float = 0.5
    target: float = 2.0
    rate: Callable[[float], float] = steps_up
    capacity: Callable[[float], float] = steady
    shares: tuple[float, ...] = (1.0,)
    copies: int = 1
    latency: float = 0.0
    believed: float | None = None
    noise: float = 0.0
    blur: float = 0.0
    seed: int = 0


@dataclass
class Totals:
    """What happened so far, or in a control period."""

    offered: float = 0.0
    dropped: float = 0.0
    admitted: float = 0.0
    departed: float = 0.0
    worked: float = 0.0
    response: list[float] = field(default_factory=list)
    late: float = 0.0
    worst: float = 0.0


@dataclass
class Trace:
    """A run: what each control period showed and what was ordered then, one list entry per period."""

    fluid: Fluid
    periods: list[Totals] = field(default_factory=list)
    seen: list[Cycle] = field(default_factory=list)
    orders: list = field(default_factory=list)

    def part(self, begin=0.0, end=math.inf):
        """The periods between two times."""
        return [p for k, p in enumerate(self.periods) if begin <= k * self.fluid.period < end]

    def loss(self, begin=0.0, end=math.inf):
        """The share of what came to the shedder that was dropped, in percent."""
        part = self.part(begin, end)
        dropped = sum(p.dropped for p in part)
        return 100 * dropped / (dropped + sum(p.admitted for p in part))

    def violation(self, begin=0.0, end=math.inf):
        """The mean time above the target, over all results."""
        part = self.part(begin, end)
        return sum(p.late for p in part) / sum(p.departed for p in part)

    def worst(self, begin=0.0, end=math.inf):
        """The longest time above the target."""
        return max(p.worst for p in self.part(begin, end))

    def response(self, begin=0.0, end=math.inf, queue=0):
        """The mean over periods of the response time of a queue's results."""
        return float(np.mean([p.response[queue] for p in self.part(begin, end)]))

    def settled(self, since, within=1.1, lasting=10.0):
        """Periods from a time on until the response time stays within so many times the target for so long."""
        good = [p.response[0] <= within * self.fluid.target for p in self.part(since)]
        need = round(lasting / self.fluid.period)
        return next((k for k in range(len(good) - need) if all(good[k : k + need])), math.inf)


class Server:
    """The queues, what measures them, and the manager's last order."""

    def __init__(self, manager, fluid):
        self.manager, self.fluid = manager, fluid
        self.at_read = manager.sheds == "read"
        self.chance = np.random.default_rng(fluid.seed)
        self.queues = [deque() for _ in fluid.shares]
        self.waiting = [0.0 for _ in fluid.shares]
        self.outputs = [OutputMonitor(fluid.target, fewest=0) for _ in fluid.shares]
        self.statistics, self.rate = OperatorStatistics(), InputRate()
        self.drop, self.cost, self.blur = 0.0, COST, 1.0
        self.now = 0.0
        self.trace = Trace(fluid)
        self._begin()

    def run(self):
        per_period = round(self.fluid.period / STEP)
        for k in range(round(self.fluid.seconds / STEP)):
            self.now = k * STEP
            self._arrive()
            self._serve()
            if (k + 1) % per_period == 0:
                self.now = (k + 1) * STEP
                self._close()
        return self.trace

    def _begin(self):
        self.totals = Totals()
        self.sums = [[0.0, 0.0] for _ in self.queues]

    def _arrive(self):
        came = self.fluid.rate(self.now) * STEP
        kept = came if self.at_read else came * (1 - self.drop)
        self.totals.offered += came
        self.totals.dropped += came - kept
        if not self.at_read:
            self.totals.admitted += kept
            self.rate.add(came)
        if kept > NOTHING:
            for i, queue in enumerate(self.queues):
                queue.append([self.now, kept / len(self.queues)])
                self.waiting[i] += kept / len(self.queues)

    def _serve(self):
        passes = 1 - self.drop if self.at_read else 1.0
        for i, budget in enumerate(self._budgets(passes * self.cost)):
            self.totals.worked += budget
            can = budget / (passes * self.cost)
            queue = self.queues[i]
            while queue and can > NOTHING:
                since, amount = queue[0]
                read = min(amount, can)
                can -= read
                self.waiting[i] -= read
                if read < amount:
                    queue[0][1] -= read
                else:
                    queue.popleft()
                self._answer(i, read, read * passes, self.now + STEP - since + self.fluid.latency)

    def _budgets(self, cost):
        """The work that each queue gets done in this step."""
        needs = [cost * max(0.0, amount) for amount in self.waiting]
        free = self.fluid.capacity(self.now) * STEP
        got = [min(need, share * free) for need, share in zip(needs, self.fluid.shares, strict=True)]
        for i, need in enumerate(needs):
            got[i] += min(need - got[i], free - sum(got))
        return got

    def _answer(self, i, read, done, y):
        totals = self.totals
        totals.departed += done
        if self.at_read:
            totals.dropped += read - done
            totals.admitted += done
            self.rate.add(read)
        late = max(0.0, y - self.fluid.target)
        totals.late += done * late
        totals.worst = max(totals.worst, late)
        self.sums[i][0] += done * y
        self.sums[i][1] += done
        self.outputs[i].add(done * y * self.blur, done)

    def _close(self):
        totals, fluid = self.totals, self.fluid
        before = self.trace.periods[-1].response if self.trace.periods else [0.0] * len(self.queues)
        totals.response = [a / n if n else old for (a, n), old in zip(self.sums, before, strict=True)]
        self.statistics.add(totals.departed, totals.departed, totals.worked)
        self.statistics.close()
        oldest = min((queue[0][0] for queue in self.queues if queue), default=self.now)
        self.rate.close(oldest if self.at_read else self.now)
        cost = fluid.believed or self.statistics.cost
        seen = Cycle(
            seconds=fluid.period,
            offered=self.rate.rate * cost,
            outputs=tuple(out for out in [each.close() for each in self.outputs] if out),
            oldest=self.now - oldest,
            arrived=totals.offered,
            admitted=totals.admitted,
            departed=totals.departed * fluid.copies,
            cost=cost,
            queued=cost * max(0.0, sum(self.waiting)),
            worked=totals.worked,
        )
        order = self.manager.cycle(seen)
        self.drop = order.drop
        self.trace.periods.append(totals)
        self.trace.seen.append(seen)
        self.trace.orders.append(order)
        self.cost = COST * max(0.1, 1 + fluid.noise * self.chance.standard_normal())
        self.blur = max(0.1, 1 + fluid.blur * self.chance.standard_normal())
        self._begin()


def run(manager, **given):
    """A manager over the model."""
    return Server(manager, Fluid(**given)).run()

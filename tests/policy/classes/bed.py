"""Units with classes, and a tiny model of queues and lanes to drive a class scheduler with."""

import heapq
import math
from dataclasses import dataclass, field

from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit
from headgate.policy.classes.registry import create
from headgate.policy.protocol import Outcome, Run, View


def classes(*priorities):
    """Classes A, B, C … with these priorities."""
    return [QueryClass("ABCDEFGH"[k], priority) for k, priority in enumerate(priorities)]


def unit(number, cls="A", b=1.0, a=0.0, S=1.0, *, source=False, before=()):
    """A unit that carries one query of a class."""
    segments = (Segment(f"q{number}", (Stage(b, S),), a + b, tuple(before)),)
    cost = Cost(a, b)
    return Unit(
        number, Entry(f"op{number}"), (f"op{number}",), segments, cost, Basis(segments, cost), True, cls, source
    )


def units(**costs):
    """Units by class, one for each cost per tuple: `units(A=[1, 2], B=[3])`."""
    return [unit(i, cls, b) for i, (cls, b) in enumerate((cls, b) for cls, found in costs.items() for b in found)]


def prepared(name, priorities, made, **options):
    """A class scheduler by name, ready to choose among the units."""
    scheduler = create(name, classes(*priorities), options)
    scheduler.prepare(made)
    return scheduler


@dataclass
class Line:
    """A queue of tuples that came at time 0."""

    pending: int

    @property
    def oldest(self):
        return 0.0 if self.pending else math.inf

    @property
    def position(self):
        return 0

    def arrived(self, n):
        return 0.0


def looked_at(*pending, now=0.0, lane=0, lanes=1, running=()):
    """A scheduling point at which queues have these lengths."""
    return View(now, [Line(n) for n in pending], lane, lanes, frozenset(running))


@dataclass
class Bed:
    """Queues by their lengths, and lanes on which runs take `a + b·n` seconds.

    With `refill` a queue is as long as it was at the start again as soon as a run of its unit ends. With a `rate`,
    so many tuples a second come for each unit. A source passes what it reads on to the unit that `feeds` names.
    """

    scheduler: object
    units: list
    pending: list
    lanes: int = 1
    refill: bool = False
    rate: float = 0.0
    feeds: dict = field(default_factory=dict)
    now: float = 0.0
    trace: list = field(default_factory=list)
    """The runs as (time, lane, unit, train), and behind them the terms of their decisions."""
    terms: list = field(default_factory=list)
    passed: dict = field(default_factory=dict)
    """The most decisions in a row at which a class had something that could run, and another was chosen."""

    def __post_init__(self):
        self.full = list(self.pending)
        self.came = 0
        self.passed_now = {}
        self.ends = []
        self.running = {}

    def view(self, lane):
        others = frozenset(run.unit for at, run in self.running.items() if at != lane)
        queues = [Line(0 if i in others else n) for i, n in enumerate(self.pending)]
        return View(self.now, queues, lane, self.lanes, others)

    def go(self, decisions):
        """Let the lanes decide so many times, or until nothing is left to do; the units that ran, in order."""
        begun = len(self.trace)
        while len(self.trace) - begun < decisions:
            self.arrive()
            for lane in range(self.lanes):
                if lane not in self.running:
                    self.decide(lane)
            if self.ends:
                self.end()
            elif self.rate:
                self.now = (self.came + 1) / self.rate
            else:
                break
        return [i for _, _, i, _ in self.trace[begun:]][:decisions]

    def arrive(self):
        came = int(self.now * self.rate + 1e-9) - self.came
        self.came += came
        self.pending = [n + came for n in self.pending]

    def decide(self, lane):
        view = self.view(lane)
        decision = self.scheduler.choose(view)
        if decision is None:
            return
        chosen = self.units[decision.runs[0].unit].cls
        ready = {u.cls for u, queue in zip(self.units, view.queues, strict=True) if queue.pending}
        self.passed_now = {cls: self.passed_now.get(cls, 0) + 1 for cls in ready - {chosen}}
        self.passed |= {cls: max(n, self.passed.get(cls, 0)) for cls, n in self.passed_now.items()}
        assert decision.runs
        at = self.now
        for run in decision.runs:
            assert run.unit not in {other.unit for other in self.running.values()}
            assert 1 <= run.train <= self.pending[run.unit]
            self.trace.append((at, lane, run.unit, run.train))
            self.terms.append(decision.why.terms)
            at += self.units[run.unit].cost.of(run.train)
            heapq.heappush(self.ends, (at, lane, run))
        self.running[lane] = decision.runs[-1]

    def end(self):
        self.now, lane, run = heapq.heappop(self.ends)
        took = self.units[run.unit].cost.of(run.train)
        self.pending[run.unit] = self.full[run.unit] if self.refill else self.pending[run.unit] - run.train
        if run.unit in self.feeds:
            self.pending[self.feeds[run.unit]] += run.train
        self.scheduler.observe(Outcome(Run(*run), self.now - took, self.now, (run.train,)))
        if self.running.get(lane) == run:
            del self.running[lane]

"""Units of queries with a deadline: a run is a piece of an iteration, and the last of them commits its results."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.engine.evaluation.by_iteration import IterationEvaluation, Opened
from headgate.engine.evaluation.closed import Closed
from headgate.engine.evaluation.protocol import Waiting
from headgate.engine.evaluation.trial import LEAST_TRIED, Trial, Tried
from headgate.engine.lanes import Executor
from headgate.engine.query import LiveQuery
from headgate.engine.running import Done
from headgate.engine.thinning import Thinning
from headgate.engine.units import Evaluated, SingleUnit
from headgate.engine.windows import NEVER
from headgate.model.deadlines import Deadline
from headgate.model.operator import Cost
from headgate.monitor.estimators import RecentCost, Selectivity

Keep = Callable[["DeadlineUnit", Closed, Mapping[str, int]], float]
"""The share of a window that is kept, by its tuples; written down before the iteration begins."""

_UNKNOWN = 1e-6
"""Seconds that a tuple is taken to cost before it was tried."""
_ENOUGH = 3
"""Runs after which costs are known also without a trial."""
_HALVINGS = 20
"""Steps of the search for what can be read in a time."""
_OFTEN = 4
"""A query over several streams is not cut into more pieces: each of them reads the other streams again."""

_MICROS = 1_000_000
_NOTICED = 0.2
"""Seconds after its end by which it is known whether a window has tuples."""
_FAR_MORE = 1.2
"""What is so many times as much as was planned is told."""


@dataclass(slots=True)
class Iterating:
    """An iteration under way: when it was released and when it is due, and what its runs have come to.

    Of a whole window, so many tuples were `expected`, and `planned` seconds of work with them.
    """

    opened: Opened
    release: float
    due: float
    planned: float
    expected: float
    begin: float = math.inf
    worked: float = 0.0
    results: int = 0
    interrupted: int = 0
    given_up: bool = False

    def late(self, finish: float) -> str:
        """Why it was late, by where its time went."""
        waited, elsewhere = self.begin - self.release, finish - self.begin - self.worked
        work = f"its own work took {self.worked:.2f} s"
        parts = {
            f"it waited {waited:.2f} s before it began": waited,
            f"others ran for {elsewhere:.2f} s in between": elsewhere,
            work: self.worked,
        }
        most = max(parts, key=lambda part: parts[part])
        said = f"late by {finish - self.due:.2f} s{' and given up' if self.given_up else ''}: {most}"
        if self.worked > _FAR_MORE * self.planned > 0:
            said += f"{'' if most == work else f'; {work}'}, where {self.planned:.2f} s were planned"
        if self.opened.tuples > _FAR_MORE * self.expected > 0:
            said += f"; its window had {self.opened.tuples:,} tuples, {self.expected:,.0f} were planned"
        return said


@dataclass(frozen=True, slots=True)
class Work:
    """What an iteration takes: pieces, and the seconds of the longest and of all."""

    pieces: int
    longest: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Standing:
    """How a query stands: so many iterations are `waiting` that were released and have not begun, one that has takes
    `left` seconds more, the oldest of these is due at `first`, and the next is released at `next` or later.
    """

    waiting: int
    left: float
    first: float | None
    next: float


class DeadlineUnit(SingleUnit):
    """One query with a deadline. A run takes tuples for `slice` seconds at most, if the query can be divided.

    With `aborts`, an iteration is given up between two runs once it is late.
    """

    def __init__(self, query: LiveQuery, deadline: Deadline, evaluation: IterationEvaluation, keep: Keep) -> None:
        super().__init__(query)
        self.deadline, self.evaluation, self._keep = deadline, evaluation, keep
        self.slice = math.inf
        self.aborts = False
        self.cost = RecentCost(Cost(query.empty_job, _UNKNOWN))
        self._beside = 1.0
        self._runs = 0
        self.measured = False
        """Whether it has run over a window, and its cost is not only what a trial has shown."""
        self.unsure = False
        """Whether it is to be told apart what it takes in any case, by a run over nothing for a window left out."""
        self._weight = 0.0
        if query.tried:
            self._learn(query.tried)
        self.selectivity = Selectivity(evaluation.by_tuple)
        self.current: Iterating | None = None
        self.planned = (0.0, 0.0)
        """Seconds of an iteration, and its tuples, for which the plan is."""
        self.counts: Mapping[str, int] = dict.fromkeys(evaluation.streams, 0)
        """The tuples of its last window."""
        self._released = -math.inf
        """When the last window was released that is known of."""
        self._ahead: tuple[int, Mapping[str, int]] = 0, {}

    @property
    def rates(self) -> dict[str, Thinning]:
        """None: what is dropped of an iteration is dropped from its window only."""
        return {}

    @property
    def ahead(self) -> Mapping[str, int]:
        """The tuples of the window that is under way, or released and not begun; of no stream if there is none."""
        closed = self.evaluation.next(self._query.progress)
        if closed is None:
            return {}
        if self._ahead[0] != closed.end:
            try:
                found = {name: extent.tuples for name, extent in self.evaluation.extents(closed).items()}
            except OSError:
                # The run that reads the file will tell of it.
                return {}
            self._ahead = closed.end, found
        return self._ahead[1]

    def work(self, counts: Mapping[str, int | float], kept: float = 1.0) -> Work:
        """What an iteration over so many tuples of each stream takes, with such a share of them kept."""
        cost, divided = self.cost.cost, self.evaluation.divided
        across = kept * (counts[divided] if divided else 0.0)
        beside = self.weight(0.0, kept * sum(counts.values()) - across)
        pieces = 1
        if divided and cost.of(across + beside) > self.slice:
            room = self.slice - cost.of(beside)
            pieces = math.ceil(cost.b * across / room) if room > 0 else _OFTEN
            pieces = max(1, min(pieces, _OFTEN)) if beside else pieces
        seconds = pieces * cost.of(beside) + cost.b * across
        return Work(pieces, cost.of(beside) + cost.b * across / pieces, seconds)

    def affordable(self, counts: Mapping[str, int | float], seconds: float, piece: float = math.inf) -> float:
        """The share of so many tuples that can be read in such a time, by pieces that take as long at most."""

        def fits(kept: float) -> bool:
            work = self.work(counts, kept)
            return work.seconds <= seconds and work.longest <= piece

        if fits(1.0):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def weight(self, taken: float, beside: float) -> float:
        """So many tuples of the stream that is divided and of others, as tuples of the former that cost as much."""
        return taken + self._beside * beside

    def _learn(self, tried: Tried) -> None:
        self.cost, self._beside = RecentCost(tried.cost, tried.tuples), tried.beside
        self._runs = _ENOUGH if tried.whole else 0

    @property
    def each(self) -> float:
        """The seconds that a tuple of any of its streams takes, if as many come of each."""
        divided, streams = self.evaluation.divided, len(self.evaluation.streams)
        return self.cost.cost.b * self.weight(divided is not None, streams - (divided is not None)) / streams

    @property
    def known(self) -> bool:
        """Whether its costs are."""
        return self._runs >= _ENOUGH

    def waiting(self, now: float) -> Waiting:
        """The iteration that is released; before the first of them is, tuples to try the query out with."""
        found = super().waiting(now)
        if found.pending or self.known or self.busy or self._query.status != "running" or now < self._query.resting:
            return found
        return Waiting(1, now) if self.evaluation.least >= LEAST_TRIED else found

    def until(self, found: Waiting, now: float) -> float:  # noqa: ARG002 - whatever that is
        """Asked each time: what it waits for also depends on what is known of its costs."""
        return now

    def evaluate(self, n: int, executor: Executor) -> Evaluated:  # noqa: ARG002 - pieces have their own length
        """The next piece; or a trial, if there is none."""
        query, progress = self._query, self._query.progress
        if not self.known and self.evaluation.next(progress) is None:
            # What it took when it was registered was with all that is new about it.
            trial = Trial(self.evaluation)
            trial.run(executor, min(query.empty_job, self.evaluation.empty(executor)))
            self._learn(trial.found(self.cost.cost))
            return Evaluated([], {}, 0)
        opened = self.evaluation.opened(progress) or self._open()
        if opened and self.current and self.aborts and time.time() > self.current.due:
            self.current.given_up = True
            opened.give_up()
        elif opened and opened.kept <= 0 and self.unsure:
            self.unsure = False
            self.cost.observe(0, self.evaluation.empty(executor))
        taken, beside = (opened.taken, opened.beside) if opened else (0, 0)
        step = self.evaluation.step(progress, self._length(opened), executor)
        if opened is None:
            return Evaluated([(query, step)], {}, step.read)
        taken, beside = opened.taken - taken, opened.beside - beside
        self._weight = self.weight(taken, beside)
        return Evaluated([(query, step)], {}, taken + beside)

    def overdue(self, now: float, after: int) -> list[tuple[int, str]]:
        """The iterations that should be done and are not, by the ends of their windows after some time; and why."""
        query, current = self._query, self.current
        found: list[tuple[int, str]] = []
        for closed in self.evaluation.released(query.progress, after) if query.status == "running" else ():
            if self._release(closed) + self.deadline.due > now:
                break
            begun = current is not None and current.opened.closed.end == closed.end and math.isfinite(current.begin)
            found.append((closed.end, f"not done when it was due: it had {'' if begun else 'not '}begun"))
        return found

    @property
    def by_clock(self) -> bool:
        """Whether its windows end by the clock, so that it is known when the next one will."""
        return self.evaluation.plan.window.time == "arrival"

    def standing(self, now: float) -> Standing | None:
        """How it stands; None if it does not run."""
        query, current, window = self._query, self.current, self.evaluation.plan.window
        if query.status != "running":
            return None
        released = self.evaluation.released(query.progress, NEVER)
        begun = next(
            (i for i, each in enumerate(released) if current and current.opened.closed.end == each.end), None
        )
        left = 0.0
        if current and begun is not None:
            left = max(
                self.work(current.opened.counts, current.opened.kept).seconds - current.worked, self.cost.cost.a
            )
        first = self._release(released[0]) + self.deadline.due if released else None
        if not self.by_clock:
            # Windows end when the tuples say so, which the test takes to be a stride after the last one or later.
            self._released = max(self._released, *(self._release(each) for each in released[-1:]), -math.inf)
            following = max(now, self._released + self.deadline.stride)
            return Standing(len(released) - (begun is not None), left, first, following)
        last = released[-1].end if released else query.progress.closed
        ended = window.last_end(round(now * _MICROS) - window.size)
        # What has ended just now will be seen to be released in a moment.
        soon = last < ended and now - ended / _MICROS < _NOTICED
        following = (ended if soon else ended + window.slide) / _MICROS
        return Standing(len(released) - (begun is not None), left, first, following)

    def ran(self, done: Done) -> Iterating | None:
        """Take note of a run; gives the iteration if it is finished by that."""
        if done.read and done.error is None:
            self._runs += 1
            if not self.fresh:
                self.cost.observe(self._weight, done.finished - done.started)
                self.measured = True
        current = self.current
        if current is None:
            return None
        current.begin = min(current.begin, done.started)
        current.worked += done.finished - done.started
        current.results += sum(done.results.values())
        if done.error is not None or done.bad or self._query.progress.closed < current.opened.closed.end:
            return None
        self.current = None
        return current

    def _open(self) -> Opened | None:
        closed = self.evaluation.next(self._query.progress)
        if closed is None:
            return None
        extents = self.evaluation.extents(closed)
        counts = {name: extent.tuples for name, extent in extents.items()}
        opened = self.evaluation.open(closed, extents, self._keep(self, closed, counts))
        self._released = release = self._release(closed)
        self.current = Iterating(opened, release, release + self.deadline.due, *self.planned)
        return opened

    def _release(self, closed: Closed) -> float:
        # A stream that has ended closes windows before their time.
        return min(closed.at, closed.end / 1e6) if self.evaluation.plan.window.time == "arrival" else closed.at

    def _length(self, opened: Opened | None) -> int:
        """The tuples of a piece."""
        most = self._query.most
        if opened is None:
            return int(min(most, 2**62))
        pieces = self.work(opened.counts, opened.kept).pieces
        divided = self.evaluation.divided
        across = opened.counts[divided] if divided else 0
        beside = opened.tuples - across
        return int(min(most, math.ceil(opened.kept * (beside + across / pieces)) if pieces > 1 else 2**62))

"""What a query with a deadline costs, by runs over a few tuples; as far as they have come, if somebody waits."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.protocol import Warm
from headgate.model.operator import Cost

LEAST_TRIED, MOST_TRIED = 100, 2000
"""So many tuples of each stream have to be there for a query to be tried out, and with so many it is at most."""
_FURTHER, _LONG_ENOUGH, _FIRST_ENOUGH = 8, 0.05, 0.2
"""It begins with one and goes on with so many times as many, until they take so many seconds: somebody waits.

The first run also loads what it needs. If it takes far longer than that, it is done once more, and only this counts.
"""
_LONGEST = 0.2
"""With so many more that by the last run they would take longer than this, it does not go on."""
_BESIDE = 4
"""So many times as many are tried of what is only joined with."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a piece costs by the tuples of the stream that is divided, and what one `beside` them costs of that.

    So many `tuples` were the most that were tried, in such as one of that stream. A trial that was cut short is not
    the `whole` of it: what it had not come to is what others cost, or the least that it can be.
    """

    cost: Cost
    beside: float
    tuples: float
    whole: bool = True


@dataclass(frozen=True, slots=True)
class _Probe:
    """A run over n tuples of the stream that is divided and so many of each other one."""

    n: int
    beside: int
    seconds: float


class Trial:
    """Runs over more and more of the newest tuples; what they have shown can be asked for at any time.

    Once it is `ended` from outside, no further run begins.
    """

    def __init__(self, evaluation: IterationEvaluation, clock: Callable[[], float] = time.perf_counter) -> None:
        self._evaluation, self._clock = evaluation, clock
        self.ended = False
        self.whole = False
        self.empty: float | None = None
        """The seconds that an iteration over nothing takes."""
        self._probes: list[_Probe] = []
        self._under_way: tuple[int, int, float] | None = None

    def run(self, execute: Warm, empty: float | None = None) -> None:
        """All runs, one after the other. One over nothing has taken the `empty` seconds, if that is known."""
        made = self._evaluation
        if empty is None:
            # With the first of them all that is new about it is compiled.
            made.warm(execute)
            empty = made.empty(execute) if not self.ended else None
        self.empty = empty
        if empty is None or made.least < LEAST_TRIED:
            return
        most, n, a = min(made.least, MOST_TRIED), 1, self._of_a_piece(empty)
        took = self._timed(n, n, execute)
        if took - a >= _FIRST_ENOUGH and not self.ended:
            # On a machine that is busy, loading may take that long too, and would be taken for what a tuple costs.
            took = self._timed(n, n, execute)
            if took - a >= _FIRST_ENOUGH and not self.ended:
                # Whatever runs there may take that long by now, which is not what a tuple costs either.
                self.empty = empty = max(empty, made.empty(execute))
                a = self._of_a_piece(empty)
        while not self.ended and n < most and took - a < (_LONG_ENOUGH if n > 1 else _FIRST_ENOUGH):
            bound = int(n * _LONGEST / (took - a)) if took > a else most
            n = min(most, _FURTHER * n, max(2 * n, bound))
            took = self._timed(n, n, execute)
        if made.divided and self._others and not self.ended:
            # A tuple that is only joined with may be far cheaper than one of the stream whose conditions are costly:
            # so cheap that few of them are lost in what runs vary by.
            self._timed(1, min(made.least, _BESIDE * n), execute)
        self.whole = not self.ended

    def found(self, like: Cost) -> Tried:
        """What it costs as far as that is known by now; by what is `like` it where nothing is."""
        empty = like.a if self.empty is None else self.empty
        a, streams = self._of_a_piece(empty), len(self._evaluation.streams)
        alike = [probe for probe in self._probes if probe.n == probe.beside]
        least = self._at_least(a)
        if not alike:
            return Tried(Cost(empty, max(like.b, least)), 1.0, 0.0, whole=False)
        n, took = alike[-1].n, alike[-1].seconds
        each = Tried(Cost(empty, max(least, (took - a) / (n * streams), 0.0)), 1.0, n * streams, self.whole)
        apart = [probe for probe in self._probes if probe.beside > probe.n]
        if not apart:
            return each
        beside = max(0.0, apart[-1].seconds - a) / (apart[-1].beside * self._others)
        across = max(0.0, took - a - n * self._others * beside) / n
        if across <= beside:
            return each
        return Tried(Cost(a, across), beside / across, n + n * self._others * beside / across, self.whole)

    @property
    def _others(self) -> int:
        return len(self._evaluation.streams) - (self._evaluation.divided is not None)

    def _of_a_piece(self, empty: float) -> float:
        # Half of it was the job that puts panes together.
        return empty / 2 if self._evaluation.by_panes else empty

    def _at_least(self, a: float) -> float:
        """Seconds per tuple, by the run that is under way: it has taken so long already."""
        known = self._under_way
        if known is None:
            return 0.0
        n, beside, since = known
        so_far = self._clock() - since - a - (0.0 if self._probes else _FIRST_ENOUGH)
        return max(0.0, so_far) / ((n if self._evaluation.divided else 0) + self._others * beside)

    def _timed(self, n: int, beside: int, execute: Warm) -> float:
        began = self._clock()
        self._under_way = n, beside, began
        self._evaluation.probe(n, beside, execute)
        took = self._clock() - began
        self._probes.append(_Probe(n, beside, took))
        self._under_way = None
        return took

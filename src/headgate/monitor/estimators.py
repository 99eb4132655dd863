"""Online estimates that forget: the cost of a train as a + b·n, by all runs or by the last few; shares; results."""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.model.operator import Cost

FORGETTING = 0.98
VARIES = 0.1
"""The part of what it is expected to take by which a run varies."""


@dataclass
class TrainCost:
    """a + b·n by recursive least squares, begun at a guess.

    The guess is believed as far as it goes: a part that is guessed as 0 stays 0, so that runs of one length, which
    cannot tell a from b, do not invent a fixed cost where there is none. Unless it is said how far each part may be
    off (`spread`), it is by about as much as the part is. A run varies in proportion to what it is expected to take:
    the overhead is seen in short runs, and what long ones vary by is not taken for it.
    """

    guess: Cost
    spread: Cost | None = None
    forgetting: float = FORGETTING
    _theta: tuple[float, float] = field(init=False)
    _p: tuple[float, float, float] = field(init=False)
    _limit: float = field(init=False)

    def __post_init__(self) -> None:
        a, b = self.guess.a, self.guess.b
        self._theta = a, b
        spread = self.spread or self.guess
        self._p = (spread.a**2, 0.0, spread.b**2)
        self._limit = 10 * (self._p[0] + self._p[2])

    def observe(self, n: float, seconds: float) -> None:
        """Take one run of n tuples."""
        a, b = self._theta
        p, q, r = self._p
        gain = p + q * n, q + r * n
        expected = a + b * n
        # As of a run over one tuple that takes what was guessed: news that a machine is slower now count as much as
        # that it is faster. (Never 0: it is divided by.)
        longer = expected / (a + b) if a + b > 0 else 1.0
        noise = (VARIES * self.guess.of(1) * longer) ** 2 + 1e-30
        scale = noise + gain[0] + gain[1] * n
        error = seconds - expected
        ka, kb = gain[0] / scale, gain[1] / scale
        fresh = p - ka * gain[0], q - ka * gain[1], r - kb * gain[1]
        self._theta = _not_below_0(a + ka * error, b + kb * error, fresh)
        # Forgetting without news inflates the spread for ever; it stops at that of a wide prior.
        grow = 1 / self.forgetting if fresh[0] + fresh[2] < self._limit else 1.0
        self._p = fresh[0] * grow, fresh[1] * grow, fresh[2] * grow

    @property
    def cost(self) -> Cost:
        """The estimate."""
        return Cost(*self._theta)


def _not_below_0(a: float, b: float, p: tuple[float, float, float]) -> tuple[float, float]:
    """The estimate with a part that is below 0 set to it, and the other at what it is then expected to be.

    The parts are correlated: to cut one off and leave the other would blame the same runs on both.
    """
    if a < 0:
        a, b = 0.0, b - (p[1] / p[0] * a if p[0] else 0.0)
    if b < 0:
        a, b = a - (p[1] / p[2] * b if p[2] else 0.0), 0.0
    return max(0.0, a), max(0.0, b)


LASTING, TRIED, ANCHOR = 0.75, 0.3, 0.02
"""What a run still counts after the next one; what a trial does at first, and what a run over nothing always does."""
MOST_RUNS, SHORTEST = 16, 1e-6
"""Runs that are looked at, and seconds below which none is."""


@dataclass
class RecentCost:
    """a + b·n by the last few runs: for those that are rare, and get cheaper as the code that they run is compiled.

    It begins with what a trial over so many tuples has shown, which soon counts no more. Runs vary in proportion to
    their length, so errors count relative to it, and even less of what took long for once. Runs of one length cannot
    tell a from b; a is then what a run over nothing took, or the shortest of late if that was shorter.
    """

    guess: Cost
    tried: float = 0.0
    _runs: deque[tuple[float, float, float]] = field(init=False)
    _cost: Cost = field(init=False)

    def __post_init__(self) -> None:
        self._runs = deque(maxlen=MOST_RUNS)
        self._cost = self.guess
        if self.tried > 0:
            self._runs.append((self.tried, max(self.guess.of(self.tried), SHORTEST), TRIED))

    def observe(self, n: float, seconds: float) -> None:
        """Take one run of n tuples."""
        self._runs.append((n, max(seconds, SHORTEST), 1.0))
        found = self._fitted(Cost())
        self._cost = self._fitted(found)

    @property
    def cost(self) -> Cost:
        """The estimate."""
        return self._cost

    def _fitted(self, model: Cost) -> Cost:
        """The least squares of errors relative to what runs took, and to what a first model says they take."""
        aa = ab = bb = at = bt = 0.0
        for age, (n, t, counts) in enumerate(reversed(self._runs)):
            w = counts * LASTING**age / (t * max(model.of(n) or t, SHORTEST))
            aa, ab, bb, at, bt = aa + w, ab + w * n, bb + w * n * n, at + w * t, bt + w * n * t
        shortest = min(t for _, t, _ in self._runs)
        w = ANCHOR / shortest**2
        aa, at = aa + w, at + w * min(self.guess.a, shortest)
        determinant = aa * bb - ab * ab
        if determinant <= 0:
            # All of them were over nothing.
            return Cost(at / aa, self._cost.b)
        a, b = (at * bb - bt * ab) / determinant, (bt * aa - at * ab) / determinant
        if a < 0:
            return Cost(0.0, bt / bb)
        return Cost(a, b) if b >= 0 else Cost(at / aa, 0.0)


@dataclass
class Average:
    """A weighted mean that forgets a little with each observation, begun at a guess of weight `trust`."""

    guess: float
    trust: float = 20.0
    forgetting: float = FORGETTING
    _sum: float = field(init=False)
    _weight: float = field(init=False)

    def __post_init__(self) -> None:
        self._sum, self._weight = self.guess * self.trust, self.trust

    def observe(self, total: float, n: float = 1.0) -> None:
        """Take a total over a weight of n, such as the results of a train of n tuples."""
        self._sum = self._sum * self.forgetting + total
        self._weight = self._weight * self.forgetting + n

    @property
    def value(self) -> float:
        """The estimate."""
        return self._sum / self._weight


@dataclass
class Selectivity:
    """Results per tuple of a window, of each stream so many; 1 as long as there has been none.

    Where each result comes from one tuple of every stream (`by_tuple`), it is the share of all their combinations
    that stays the same: of a part of a window a join has far fewer results, and in a window of more tuples there are
    more for each of them. An aggregate has as many of a part of a window as of all.
    """

    by_tuple: bool
    _share: Average = field(default_factory=lambda: Average(0.0, trust=0.0), init=False)
    _seen: bool = field(default=False, init=False)

    def observe(self, results: int, counts: Mapping[str, int], kept: float = 1.0) -> None:
        """Take a window with so many tuples of each stream, of which such a share was read."""
        read = {name: (kept if self.by_tuple else 1.0) * n for name, n in counts.items()}
        self._share.observe(results, max(1.0, self._chances(read)))
        self._seen = True

    def of(self, counts: Mapping[str, float]) -> float:
        """The results per tuple of such a window."""
        total = sum(counts.values())
        return self._share.value * self._chances(counts) / total if self._seen and total > 0 else 1.0

    def _chances(self, counts: Mapping[str, float]) -> float:
        return math.prod(counts.values()) if self.by_tuple else sum(counts.values())

"""Online estimates that forget: the cost of a train as a + b·n, and a share."""

from dataclasses import dataclass, field

from headgate.model.operator import Cost

FORGETTING = 0.98


@dataclass
class TrainCost:
    """a + b·n by recursive least squares, begun at a guess.

    The guess is believed as far as it goes: a part that is guessed as 0 stays 0, so that runs of one length, which
    cannot tell a from b, do not invent a fixed cost where there is none. Unless it is said how far each part may be
    off (`spread`), it is by about as much as the part is.
    """

    guess: Cost
    spread: Cost | None = None
    forgetting: float = FORGETTING
    _theta: tuple[float, float] = field(init=False)
    _p: tuple[float, float, float] = field(init=False)
    _limit: float = field(init=False)
    _noise: float = field(init=False)

    def __post_init__(self) -> None:
        a, b = self.guess.a, self.guess.b
        self._theta = a, b
        spread = self.spread or self.guess
        self._p = (spread.a**2, 0.0, spread.b**2)
        self._limit = 10 * (self._p[0] + self._p[2])
        # A run varies by about a tenth; relative to that, the guess is a wide prior. (Never 0: it is divided by.)
        self._noise = (0.1 * self.guess.of(1)) ** 2 + 1e-30

    def observe(self, n: float, seconds: float) -> None:
        """Take one run of n tuples."""
        a, b = self._theta
        p, q, r = self._p
        gain = p + q * n, q + r * n
        scale = self._noise + gain[0] + gain[1] * n
        error = seconds - (a + b * n)
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

"""How many tuples of each stream come, and when: rates that are constant between the edges of bins.

A stream is the running total of its tuples, so what a window holds is a difference, and windows that follow one
another share no tuple and lose none. Times before 0 are the history from which the first windows are filled.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np

from headgate.errors import InputError
from headgate.sim.metrics import Floats

STREAMS = ("A", "B", "C")
BIN = 0.1
"""Seconds of a bin."""
HISTORY = 10.0
"""Seconds before 0: at least the longest window."""
_WHOLE = 1e-6
"""Sums of rates miss whole numbers by less than this."""


@dataclass(frozen=True)
class Stream:
    """Rates in tuples per second: the i-th from the i-th edge on, the last for ever, the first also before."""

    edges: Sequence[float]
    rates: Sequence[float]
    _totals: list[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.edges or len(self.edges) != len(self.rates) or min(self.rates) < 0:
            got = f"{len(self.edges)} edges, {len(self.rates)} rates"
            raise InputError("a stream has a rate of 0 or more from each edge on", got, "Give one rate per edge.")
        lengths = [after - before for before, after in pairwise(self.edges)]
        steps = (rate * length for rate, length in zip(self.rates, lengths, strict=False))
        object.__setattr__(self, "_totals", list(accumulate(steps, initial=0.0)))

    def rate(self, time: float) -> float:
        """Tuples per second at a time."""
        return self.rates[max(0, bisect_right(self.edges, time) - 1)]

    def total(self, time: float) -> int:
        """Whole tuples that have come until a time, counted from the first edge; negative before it."""
        i = max(0, bisect_right(self.edges, time) - 1)
        return math.floor(self._totals[i] + self.rates[i] * (time - self.edges[i]) + _WHOLE)

    def count(self, after: float, until: float) -> int:
        """Whole tuples that come after a time and until another, that one included."""
        return self.total(until) - self.total(after)


Rates = Mapping[str, Stream]
"""The streams by name."""


def steady(rate: float = 12_000.0, streams: Sequence[str] = STREAMS) -> Rates:
    """The same rate at all times."""
    return dict.fromkeys(streams, Stream((0.0,), (rate,)))


def stepped(
    first: float = 10_000.0,
    every: float = 1.0,
    until: float = 20.0,
    *,
    growth: float = 1.1,
    additive: bool = False,
    streams: Sequence[str] = STREAMS,
) -> Rates:
    """A rate that grows by a step every so many seconds: by a factor, or by the same amount each time."""
    count = math.ceil(until / every)
    levels = [first * (1 + k * (growth - 1) if additive else growth**k) for k in range(count)]
    return dict.fromkeys(streams, Stream([k * every for k in range(count)], levels))


def random(
    seed: int,
    mean: float = 12_000.0,
    until: float = 20.0,
    *,
    sigma: float = 0.5,
    rho: float = 0.9,
    poisson: bool = False,
    streams: Sequence[str] = STREAMS,
) -> Rates:
    """Rates whose logarithm wanders around a mean: a first-order autoregression, one for each stream.

    `sigma` is its deviation and `rho` what a bin of 100 ms keeps of the one before. With `poisson` the tuples of a
    bin are drawn as well, and otherwise they are what the rate says.
    """
    rng = np.random.default_rng([seed, 7])
    bins = round((HISTORY + until) / BIN)
    edges = [round(k * BIN - HISTORY, 9) for k in range(bins)]
    found = {}
    for stream in streams:
        z = rng.standard_normal(bins)
        x = np.empty(bins)
        x[0] = sigma * z[0]
        for n in range(1, bins):
            x[n] = rho * x[n - 1] + sigma * math.sqrt(1 - rho * rho) * z[n]
        levels = mean * np.exp(x - sigma * sigma / 2)
        found[stream] = Stream(edges, (drawn(levels, rng) if poisson else levels).tolist())
    return found


def drawn(levels: Floats, rng: np.random.Generator) -> Floats:
    """Rates at which each bin holds a Poisson number of tuples."""
    return rng.poisson(levels * BIN) / BIN


def traced(
    times: Floats, seed: int = 1, mean: float = 12_000.0, until: float = 20.0, streams: Sequence[str] = STREAMS
) -> Rates:
    """Recorded arrival times, in seconds from the start: stretches that follow one another, one for each stream.

    Each seed has stretches of its own as long as there are any, and begins again at the front after that. A stretch
    has its own bursts, counted in bins of 100 ms and scaled to the mean rate.
    """
    length = HISTORY + until
    available = int((float(times[-1]) - float(times[0])) // length) if len(times) else 0
    if available < 1:
        rule = f"a trace of at least {length:g} s"
        got = f"{float(times[-1] - times[0]):g} s" if len(times) else "no tuples"
        raise InputError(rule, got, "Use a longer one.")
    bins = round(length / BIN)
    edges = [round(k * BIN - HISTORY, 9) for k in range(bins)]
    found = {}
    for k, stream in enumerate(streams):
        start = float(times[0]) + ((seed - 1) * len(streams) + k) % available * length
        counts = np.histogram(times, bins, (start, start + length))[0]
        found[stream] = Stream(edges, (counts * (mean / max(float(counts.mean()), _WHOLE))).tolist())
    return found

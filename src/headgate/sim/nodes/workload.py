"""Streams whose load shifts between groups of queries: some streams are hot for a while, then others.

The load of all queries together follows a day's curve alone, so that what is lost is lost because of where queries
are, as long as that curve stays below the capacity of all nodes.
"""

from dataclasses import dataclass

import numpy as np

from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.sim.metrics import Floats, Ints

CLASSES = (QueryClass("gold", 6.0, 0.3), QueryClass("silver", 3.0, 0.4), QueryClass("bronze", 1.0, 0.5))
_MIX, _PARTS = (0.2, 0.3, 0.5), (0.25, 0.3, 0.45)
"""Of the queries, where a group leans to no class, and of the load, by class."""
_LEANING = 0.4
"""The part of the queries of a group of streams that are of one class, so that classes are hot in turn too."""
_WINDOWS = (0.0, 0.0, 2.0, 5.0, 10.0)
"""Overlaps of windows in seconds, one in five queries each; without a window there is none."""
_NOISE, _MEMORY = 0.1, 30.0
"""How far the rate of a stream wanders by chance, and for how many seconds it remembers."""


@dataclass(frozen=True)
class Day:
    """How long a run is, in seconds, and its night: from when to when the load is so small a part of what it was."""

    end: float
    night: tuple[float, float] | None = None
    dark: float = 0.2

    def level(self, times: Floats) -> Floats:
        """The part of the load that there is; it takes a minute to fall and to rise."""
        if self.night is None:
            return np.ones(len(times))
        begin, end = self.night
        return np.interp(times, [begin, begin + 60, end, end + 60], [1.0, self.dark, self.dark, 1.0])


@dataclass(frozen=True)
class Workload:
    """Queries by number: class, stream, seconds of work for a tuple, and the overlap of windows that a move repeats.

    `rates` are tuples per second, by control period and stream. To read a tuple takes `read` seconds on each node
    that runs a query of the stream, once for all of them.
    """

    classes: tuple[QueryClass, ...]
    cls: Ints
    stream: Ints
    cost: Floats
    overlap: Floats
    rates: Floats
    period: float
    read: Floats

    @property
    def queries(self) -> int:
        return len(self.cls)

    @property
    def mean(self) -> Floats:
        """The mean load of each query."""
        found: Floats = self.cost * self.rates.mean(axis=0)[self.stream]
        return found


def shifting(
    load: float,
    day: Day,
    seed: int,
    *,
    queries: int = 400,
    streams: int = 40,
    groups: int = 4,
    phase: float = 240.0,
    hot: float = 4.0,
    period: float = 0.15,
    reading: float = 0.01,
) -> Workload:
    """Queries of three classes whose load is so many seconds of work per second, where it is day.

    The streams of one group after the other are `hot` times as fast as otherwise, for a `phase` each. Reading a
    stream once is the part `reading` of the work of its queries.
    """
    if not load > 0:
        raise InputError("a load is above 0", load, "Give seconds of work per second, such as 6.8 for eight nodes.")
    draws, noise = (np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(2))
    stream = draws.integers(streams, size=queries)
    leans = draws.random(queries) < _LEANING
    cls = np.where(leans, stream % groups % len(CLASSES), draws.choice(len(CLASSES), queries, p=_MIX))
    cost = draws.lognormal(0.0, 0.8, queries)
    overlap = draws.choice(_WINDOWS, queries)
    times: Floats = period * np.arange(round(day.end / period), dtype=np.float64)
    base = 1.0 / (1 + draws.permutation(streams)) ** 0.5
    member = np.arange(streams) % groups
    warm = np.stack([_heat(times, g, groups, phase, hot) for g in range(groups)], axis=1)[:, member]
    rates = 1000 * base * warm * np.exp(_NOISE * _wander(len(times), streams, period, noise))
    for k, part in enumerate(_PARTS):
        mine = cls == k
        cost[mine] *= part * load / (cost[mine] * rates.mean(axis=0)[stream[mine]]).sum()
    work = rates @ np.bincount(stream, weights=cost, minlength=streams)
    rates *= (load * day.level(times) / work)[:, None]
    read: Floats = reading * np.bincount(stream, weights=cost, minlength=streams).astype(np.float64)
    return Workload(CLASSES, cls, stream, cost, overlap, rates, period, read)


def _heat(times: Floats, group: int, groups: int, phase: float, hot: float) -> Floats:
    """How hot a group is: it takes ten seconds to become so."""
    at = (times / phase - group) % groups
    ramp = 10.0 / phase
    return 1 + (hot - 1) * np.interp(at, [0, ramp, 1, 1 + ramp, groups], [0.0, 1.0, 1.0, 0.0, 0.0])


def _wander(steps: int, streams: int, period: float, rng: np.random.Generator) -> Floats:
    """Chance with memory, of variance one."""
    keep = float(np.exp(-period / _MEMORY))
    shocks = rng.standard_normal((steps, streams)) * np.sqrt(1 - keep**2)
    found = np.empty((steps, streams))
    level = rng.standard_normal(streams)
    for i in range(steps):
        level = keep * level + shocks[i]
        found[i] = level
    return found

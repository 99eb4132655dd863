"""What comes in: when each tuple arrives, at which input, and in which phase of the workload it was made."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from headgate.errors import InputError
from headgate.sim.arrivals import Arrivals, Constant, Poisson, take
from headgate.sim.boxes.lines import SECOND
from headgate.sim.metrics import Floats, Ints

Spacing = Literal["even", "poisson"]
UNDER, OVER = 0, 1
"""The phase that a tuple was made in: less than the processor can do, or more."""


@dataclass(frozen=True)
class Feed:
    """Tuples in the order of arrival: times in nanoseconds, input numbers, phases."""

    times: Ints
    inputs: Ints
    phases: Ints

    def __len__(self) -> int:
        """How many tuples come."""
        return len(self.times)


def feed(times: Floats, inputs: Ints, phases: Ints | None = None) -> Feed:
    """A feed of tuples at times in seconds; those of the same instant keep their order."""
    whole = np.rint(np.asarray(times) * SECOND).astype(np.int64)
    order = np.argsort(whole, kind="stable")
    found = np.zeros(len(whole), np.int64) if phases is None else phases
    return Feed(whole[order], np.asarray(inputs, np.int64)[order], found[order])


def together(counts: Sequence[int], at: float = 0.0) -> Feed:
    """So many tuples at each input, all at the same instant, in turns."""
    turns = [i for k in range(max(counts)) for i, n in enumerate(counts) if k < n]
    return feed(np.full(len(turns), at), np.array(turns, np.int64))


def steady(n: int, rate: float, inputs: int, rng: np.random.Generator, spacing: Spacing = "poisson") -> Feed:
    """So many tuples at a rate, each at an input by chance."""
    return feed(_times(n, rate, rng, spacing), rng.integers(0, inputs, n))


def in_turn(n: int, rate: float, inputs: int) -> Feed:
    """So many tuples at a rate, evenly spaced, the inputs one after the other."""
    return feed(_times(n, rate, np.random.default_rng(0), "even"), np.arange(n) % inputs)


def ticked(given: Feed, tick: float) -> Feed:
    """The same tuples, delivered together at the end of each tick of so many seconds."""
    whole = round(tick * SECOND)
    return replace(given, times=-(-given.times // whole) * whole)


def bursts(given: Feed, size: int) -> Feed:
    """The same tuples, those of each input gathered and delivered in groups of `size`: with the last of a group."""
    times = given.times.copy()
    for i in np.unique(given.inputs):
        at = np.flatnonzero(given.inputs == i)
        last = np.minimum(np.arange(len(at)) // size * size + size - 1, len(at) - 1)
        times[at] = given.times[at[last]]
    order = np.argsort(times, kind="stable")
    return Feed(times[order], given.inputs[order], given.phases[order])


def fluctuating(
    n: int,
    capacity: float,
    inputs: int,
    rng: np.random.Generator,
    levels: tuple[tuple[int, float], tuple[int, float]] = ((40_000, 0.6), (15_000, 1.3)),
    spacing: Spacing = "poisson",
) -> Feed:
    """Cycles of so many tuples at a share of the capacity and so many at another, which is more than it can do."""
    (low, under), (high, over) = levels
    phases = (np.arange(n) % (low + high) >= low).astype(np.int64)
    rates = np.where(phases == OVER, over, under) * capacity
    gaps = rng.standard_exponential(n) if spacing == "poisson" else np.ones(n)
    return feed(np.cumsum(gaps / rates), rng.integers(0, inputs, n), phases)


def merged(feeds: Sequence[Feed]) -> Feed:
    """Independent feeds as one; at the same instant the first comes first."""
    times = np.concatenate([each.times for each in feeds])
    order = np.argsort(times, kind="stable")
    inputs, phases = (np.concatenate([getattr(each, name) for each in feeds]) for name in ("inputs", "phases"))
    return Feed(times[order], inputs[order], phases[order])


def sustained(
    n: int,
    base: float,
    hot: tuple[int, float],
    inputs: int,
    rng: np.random.Generator,
    *,
    group: int = 1,
) -> Feed:
    """A base rate over all inputs but one, and that one at its own rate and in groups, for the whole run."""
    at, rate = hot
    share = round(n * rate / (base + rate))
    others = np.array([i for i in range(inputs) if i != at], np.int64)
    calm = steady(n - share, base, len(others), rng)
    busy = bursts(feed(_times(share, rate, rng, "poisson"), np.full(share, at)), group)
    return merged((replace(calm, inputs=others[calm.inputs]), replace(busy, phases=np.full(share, OVER))))


def _times(n: int, rate: float, rng: np.random.Generator, spacing: Spacing) -> Floats:
    if not (rate > 0 and math.isfinite(rate)):
        raise InputError("a feed has a rate above 0", rate, "Give tuples per second.")
    kinds: dict[str, type[Constant | Poisson]] = {"even": Constant, "poisson": Poisson}
    if spacing not in kinds:
        raise InputError("a known spacing of arrivals", f"'{spacing}'", f"Choose {', '.join(kinds)}.")
    process: Arrivals = kinds[spacing](rate)
    return take(process, n, rng)

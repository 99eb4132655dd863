"""Arrival processes: when the tuples of a stream come.

Every process yields chunks of absolute times in seconds, ascending (equal times can occur), no chunk empty.
What is held in memory depends on the parameters of the process, never on the length of the run. All
randomness comes from the generator that is passed in: the same seed gives the same times, to the bit.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError

FloatArray = NDArray[np.float64]

CHUNK = 4096
"""About how many times a chunk holds."""


class Arrivals(Protocol):
    """What the simulator needs to know about a stream."""

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        """Ascending arrival times in seconds, chunk by chunk; endless unless the process says it ends."""
        ...

    def mean_rate(self) -> float | None:
        """Tuples per second in the long run; None where that is unknown or undefined."""
        ...


def take(arrivals: Arrivals, n: int, rng: np.random.Generator) -> FloatArray:
    """The first `n` arrival times; fewer where the process ends before."""
    return np.concatenate([np.empty(0), *first(arrivals, n, rng)])


def first(arrivals: Arrivals, n: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The first `n` arrival times in chunks; fewer where the process ends before."""
    require(is_count(n, 0), "take: n is a whole number, 0 or more", n, "Give the number of arrivals.")
    missing = n
    source = arrivals.chunks(rng)
    while missing > 0 and (chunk := next(source, None)) is not None:
        yield chunk[:missing]
        missing -= len(chunk)


def until(arrivals: Arrivals, end: float, rng: np.random.Generator) -> FloatArray:
    """All arrival times before `end`."""
    return np.concatenate([np.empty(0), *before(arrivals, end, rng)])


def before(arrivals: Arrivals, end: float, rng: np.random.Generator) -> Iterator[FloatArray]:
    """All arrival times before `end` in chunks."""
    # An infinite or NaN end would never stop an endless process.
    require_not_negative("until", "seconds", end=end)
    for chunk in arrivals.chunks(rng):
        early = chunk[: np.searchsorted(chunk, end)]
        if len(early):
            yield early
        if len(early) < len(chunk):
            break


@dataclass(frozen=True)
class Poisson:
    """Independent exponential gaps at `rate` tuples per second."""

    rate: float

    def __post_init__(self) -> None:
        require_positive("Poisson", "tuples per second", rate=self.rate)

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        for unit in _unit_poisson(rng):
            yield unit / self.rate

    def mean_rate(self) -> float:
        return self.rate


@dataclass(frozen=True)
class Constant:
    """Equal gaps: the i-th tuple, counted from 1, comes at i/rate, so the first comes after one full gap."""

    rate: float

    def __post_init__(self) -> None:
        require_positive("Constant", "tuples per second", rate=self.rate)

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:  # noqa: ARG002 - as in the protocol
        for first in count(1, CHUNK):
            yield np.arange(first, first + CHUNK) / self.rate

    def mean_rate(self) -> float:
        return self.rate


@dataclass(frozen=True)
class OnOff:
    """Superposed on/off sources whose periods are heavy-tailed: bursty on every time scale.

    The periods of a source are Pareto (type I) with shape `alpha` and means `mean_on` and `mean_off` seconds;
    while it is on, it sends Poisson arrivals at `rate`. Each source begins with a fresh period at time 0, on
    with the probability of the long run. (For alpha up to 2, the rest of the period that a stationary source
    is in has no finite mean: now and then such a source would begin with a silence as long as the run.)
    """

    sources: int = 16
    alpha: float = 1.4
    mean_on: float = 1.0
    mean_off: float = 4.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        rule = "OnOff: sources is a whole number, 1 or more"
        require(is_count(self.sources, 1), rule, self.sources, "Give the number of sources, such as 16.")
        require_positive("OnOff", "a shape such as 1.4", alpha=self.alpha)
        rule = "OnOff: alpha is above 1, else the periods have no mean"
        require(self.alpha > 1, rule, self.alpha, "Give a shape such as 1.4.")
        require_positive("OnOff", "seconds", mean_on=self.mean_on, mean_off=self.mean_off)
        require_positive("OnOff", "tuples per second", rate=self.rate)

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        shortest = (self.alpha - 1) / self.alpha * (self.mean_on + self.mean_off)
        # Bounds a slice in two ways: the arrivals expected with all sources on, and the number of periods.
        slice_length = 4 * CHUNK / self.sources * min(1 / self.rate, shortest)
        on = rng.random(self.sources) < self._on_share()
        begin = np.zeros(self.sources)
        end = self._periods(on, rng)
        for i in count(1):
            horizon = i * slice_length
            starts: list[FloatArray] = []
            stops: list[FloatArray] = []
            moving = np.arange(self.sources)
            while moving.size:
                stop = np.minimum(end[moving], horizon)
                starts.append(begin[moving[on[moving]]])
                stops.append(stop[on[moving]])
                begin[moving] = stop
                moving = moving[end[moving] < horizon]
                on[moving] = ~on[moving]
                end[moving] += self._periods(on[moving], rng)
            start = np.concatenate(starts)
            length = np.concatenate(stops) - start
            # Given its count, a Poisson process is that many uniform times. It has no memory: cutting a
            # period at the horizon changes nothing.
            counts = rng.poisson(self.rate * length)
            times = np.repeat(start, counts) + np.repeat(length, counts) * rng.random(counts.sum())
            if times.size:
                # start + length may round to just above the horizon, where the next slice begins.
                yield np.minimum(np.sort(times), horizon)

    def mean_rate(self) -> float:
        return self.sources * self.rate * self._on_share()

    def _on_share(self) -> float:
        return self.mean_on / (self.mean_on + self.mean_off)

    def _periods(self, on: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
        scale = np.where(on, self.mean_on, self.mean_off) * ((self.alpha - 1) / self.alpha)
        # Generator.pareto is the Pareto of type II, which begins at 0.
        return np.asarray(scale * (1 + rng.pareto(self.alpha, on.size)))


@dataclass(frozen=True)
class BModel:
    """The b-model: self-similar traffic by a multiplicative cascade.

    An epoch of 2**levels bins of `bin` seconds has rate * bin * 2**levels arrivals. They are split between
    its halves, the part `bias` going to a random side, and so on down to single bins, where the times are
    uniform; then comes the next epoch. Counts are whole: an epoch hands its fraction of an arrival on to the
    next, and a split rounds at random, without bias. The fullest bin is held in memory at once.
    """

    rate: float
    bias: float = 0.65
    bin: float = 0.5
    levels: int = 10

    def __post_init__(self) -> None:
        require_positive("BModel", "tuples per second", rate=self.rate)
        require_positive("BModel", "seconds", bin=self.bin)
        rule = "BModel: bias is at least 0.5, which is even, and below 1"
        require(0.5 <= self.bias < 1, rule, self.bias, "Give the larger part of a split, such as 0.65.")
        rule = "BModel: levels is a whole number from 1 to 20, as the bins of an epoch are held in memory"
        valid = is_count(self.levels, 1) and self.levels <= 20
        require(valid, rule, self.levels, "Give the number of splits, such as 10.")

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        bins = 2**self.levels
        per_epoch = self.rate * self.bin * bins
        for epoch in count():
            total = math.floor((epoch + 1) * per_epoch) - math.floor(epoch * per_epoch)
            counts = self._cascade(total, rng)
            cuts = np.searchsorted(np.cumsum(counts), np.arange(CHUNK, total, CHUNK)) + 1
            for part in np.split(np.arange(bins), cuts):
                at = np.repeat(part, counts[part])
                if at.size:
                    yield np.sort(epoch * bins + at + rng.random(at.size)) * self.bin

    def mean_rate(self) -> float:
        return self.rate

    def _cascade(self, total: int, rng: np.random.Generator) -> NDArray[np.int64]:
        counts = np.array([total], dtype=np.int64)
        for _ in range(self.levels):
            part = np.where(rng.random(counts.size) < 0.5, self.bias, 1 - self.bias)
            left = np.floor(counts * part + rng.random(counts.size)).astype(np.int64)
            left = np.minimum(left, counts)
            counts = np.stack((left, counts - left), axis=1).ravel()
        return counts


@dataclass(frozen=True)
class Steps:
    """Poisson arrivals whose rate is constant by steps: `levels` holds (from_time, rate).

    Nothing comes before the first from_time; the last level lasts for ever. Rate 0 is a pause, and as the
    last level it is the end of the process.
    """

    levels: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for time, rate in self.levels:
            require_not_negative("Steps", "seconds", from_time=time)
            require_not_negative("Steps", "tuples per second", rate=rate)
        rule = "Steps: each from_time is later than the one before"
        for (before, _), (after, _) in pairwise(self.levels):
            require(before < after, rule, f"{after} after {before}", "Sort the levels; give each time once.")
        rule = "Steps: at least one level has a rate above 0"
        remedy = "Give levels such as ((0.0, 100.0), (60.0, 250.0))."
        require(any(rate > 0 for _, rate in self.levels), rule, self.levels, remedy)

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        edges = np.array([time for time, _ in self.levels])
        rates = np.array([rate for _, rate in self.levels])
        if rates[-1] > 0:
            edges = np.append(edges, math.inf)
        else:
            rates = rates[:-1]
        return _poisson_by_steps([(edges, rates)], rng)

    def mean_rate(self) -> float | None:
        """The last level's rate; None where that is 0, for the process then ends."""
        return self.levels[-1][1] or None


@dataclass(frozen=True)
class Ramp:
    """Poisson arrivals whose rate changes linearly during `duration` seconds and then stays at `end_rate`.

    An end_rate of 0 ends the process after `duration`.
    """

    start_rate: float
    end_rate: float
    duration: float

    def __post_init__(self) -> None:
        require_not_negative("Ramp", "tuples per second", start_rate=self.start_rate, end_rate=self.end_rate)
        rule = "Ramp: start_rate or end_rate is above 0"
        require(self.start_rate > 0 or self.end_rate > 0, rule, "0 for both", "Give tuples per second.")
        require_positive("Ramp", "seconds", duration=self.duration)

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        s, e, d = self.start_rate, self.end_rate, self.duration
        mass = (s + e) / 2 * d
        for unit in _unit_poisson(rng):
            ramping = unit[: np.searchsorted(unit, mass)]
            # Solves s·t + (e - s)·t²/2d = u for t, in the form that does not cancel when e is near s. Where
            # the rate falls to 0, rounding may take the argument of the root below 0.
            root = np.sqrt(np.maximum(s * s + 2 * (e - s) / d * ramping, 0.0))
            times = np.minimum(2 * ramping / (s + root), d)
            if e > 0:
                times = np.concatenate((times, d + (unit[ramping.size :] - mass) / e))
            if times.size:
                yield times
            if times.size < unit.size:
                return

    def mean_rate(self) -> float | None:
        """The end_rate; None where that is 0, for the process then ends."""
        return self.end_rate or None


@dataclass(frozen=True)
class ParetoIntervals:
    """Poisson arrivals at a rate drawn anew every `interval` seconds from a bounded Pareto on [low, high]."""

    low: float
    high: float
    interval: float
    skew: float = 1.0

    def __post_init__(self) -> None:
        require_positive("ParetoIntervals", "tuples per second", low=self.low, high=self.high)
        rule = "ParetoIntervals: low is below high"
        remedy = "Swap them, or use Poisson for a rate that does not vary."
        require(self.low < self.high, rule, f"low {self.low}, high {self.high}", remedy)
        require_positive("ParetoIntervals", "seconds", interval=self.interval)
        require_positive("ParetoIntervals", "a shape such as 1.0", skew=self.skew)

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:
        return _poisson_by_steps(self._blocks(rng), rng)

    def mean_rate(self) -> float:
        """The mean of the bounded Pareto, in the form that does not cancel when the skew is near 1."""
        span = math.log(self.high / self.low)
        a = self.skew
        tilted = span if a == 1 else math.expm1((1 - a) * span) / (1 - a)
        return self.low * a * tilted / -math.expm1(-a * span)

    def rates(self, n: int, rng: np.random.Generator) -> FloatArray:
        """The rates of `n` intervals, drawn by the inverse of the distribution function."""
        tail = 1 - rng.random(n) * (1 - (self.low / self.high) ** self.skew)
        return np.asarray(np.minimum(self.low * tail ** (-1 / self.skew), self.high))

    def _blocks(self, rng: np.random.Generator) -> Iterator[tuple[FloatArray, FloatArray]]:
        size = 256
        for first in count(0, size):
            yield np.arange(first, first + size + 1, dtype=np.float64) * self.interval, self.rates(size, rng)


def _unit_poisson(rng: np.random.Generator) -> Iterator[FloatArray]:
    """The Poisson process of rate 1; the others are made of it by stretching time."""
    last = 0.0
    while True:
        gaps = rng.standard_exponential(CHUNK)
        # Summing on from the last time, instead of adding it afterwards, rounds as one long sum would: the
        # times do not depend on the size of the chunks.
        gaps[0] += last
        times = np.cumsum(gaps)
        last = float(times[-1])
        yield times


def _poisson_by_steps(
    blocks: Iterable[tuple[FloatArray, FloatArray]], rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Poisson arrivals at `rates[i]` from `edges[i]` to `edges[i + 1]`, for adjoining blocks (edges, rates).

    Inverts the cumulative rate, called mass here: an arrival of the unit process at u comes at the time at
    which the mass reaches u.
    """
    source = _unit_poisson(rng)
    unit = next(source)
    reached = 0.0
    for edges, rates in blocks:
        mass = reached + np.concatenate(([0.0], np.cumsum(rates * np.diff(edges))))
        reached = mass[-1]
        while True:
            inside = unit[: np.searchsorted(unit, reached)]
            if inside.size:
                # From the right: of steps that begin at the same mass, all but the last have rate 0.
                i = np.searchsorted(mass, inside, side="right") - 1
                # Rounding must not carry a time into the next step, past times that come later.
                yield np.minimum(edges[i] + (inside - mass[i]) / rates[i], edges[i + 1])
            unit = unit[inside.size :]
            if unit.size:
                break
            unit = next(source)


def require(holds: bool, rule: str, got: object, remedy: str) -> None:
    """Raises the InputError of a rule that does not hold."""
    if not holds:
        raise InputError(rule, got, remedy)


def require_positive(owner: str, unit: str, **values: float) -> None:
    """Requires finite numbers above 0."""
    for name, value in values.items():
        holds = math.isfinite(value) and value > 0
        require(holds, f"{owner}: {name} is a finite number above 0", value, f"Give {unit}.")


def require_not_negative(owner: str, unit: str, **values: float) -> None:
    """Requires finite numbers, 0 or more."""
    for name, value in values.items():
        holds = math.isfinite(value) and value >= 0
        require(holds, f"{owner}: {name} is a finite number, 0 or more", value, f"Give {unit}.")


def is_count(value: object, least: int) -> bool:
    """Whether `value` is a whole number, `least` or more; a float is not, even if it is 2.0."""
    return isinstance(value, int | np.integer) and int(value) >= least

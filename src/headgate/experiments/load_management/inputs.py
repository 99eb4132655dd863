"""The inputs: how many tuples come, and when."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from headgate.experiments.load_management.networks import CAPACITY
from headgate.experiments.traces import Recorded, Synthetic
from headgate.sim.arrivals import OnOff, until
from headgate.sim.metrics import Floats

END = 400.0
"""Seconds of input; a run goes on for twenty more."""
BIN, TICK = 0.5, 0.02
"""Seconds: S_r is made bin by bin, and the tuples of S_c, S_r and S_step come at ticks, several at once."""
LOSS = 0.214
"""What a load manager that knows everything loses of S_r on QN-flat."""
TARGET = 2.0

Levels = Sequence[tuple[float, float]]

S_C: Levels = ((0.0, 200.0), (10.0, 350.0))
STEPS = (350.0, 500.0, 750.0, 1e3, 1.5e3, 2e3, 3e3, 4.5e3, 6.5e3, 9e3)
BATCHES: Levels = tuple((5.0 * k, 5000.0 * (k + 1)) for k in range(8))
"""The ramp of the experiment on batching, with steps of 5 s in place of 20 s."""

RISING = ((250.0, 300.0), (330.0, 390.0))
PEAK = 2.5

CLASS_1: tuple[tuple[float, float], ...] = (
    (300.0, 600.0),
    (200.0, 400.0),
    (1000.0, 1500.0),
    (600.0, 900.0),
    (300.0, 600.0),
    (1200.0, 1700.0),
    (800.0, 1100.0),
    (300.0, 600.0),
)
"""The ranges of SD_p for class 1, of 50 s each."""
CLASS_2, CLASS_3 = (800.0, 1300.0), (300.0, 800.0)


def evenly(levels: Levels, end: float) -> Floats:
    """Tuples at equal distances, the rate changing by steps of (from, rate)."""
    starts = [time for time, _ in levels] + [end]
    parts = [
        start + np.arange(1, int(rate * (min(stop, end) - start)) + 1) / rate
        for (start, rate), stop in zip(levels, starts[1:], strict=True)
        if start < end
    ]
    return np.concatenate(parts)


def steps(end: float) -> Levels:
    """S_step: 200 tuples/s for 10 s, then ever higher levels of equal length."""
    return ((0.0, 200.0), *((10.0 + (end - 10.0) / len(STEPS) * k, rate) for k, rate in enumerate(STEPS)))


def ticked(times: Floats) -> Floats:
    """The same tuples, at the next tick."""
    return np.ceil(times / TICK) * TICK


@cache
def bursty(trace: Synthetic | Recorded | None, seed: int, end: float = END) -> Floats:
    """S_r: a trace, or the surrogate of 64 on/off sources with two regions in which the rate rises; its last seconds.

    These are scaled so that ideal shedding on QN-flat loses what the publication's does.
    """
    rng = np.random.default_rng([seed, 6])
    bins = int(END / BIN)
    if trace is None:
        times = until(OnOff(sources=64, rate=20.0), END, rng)
        counts = np.bincount((times / BIN).astype(np.int64), minlength=bins)[:bins] * envelope()
    else:
        times = trace.times(1, 100_000)
        counts = np.bincount(np.minimum(bins - 1, times / times[-1] * bins).astype(np.int64), minlength=bins).astype(
            np.float64
        )
    counts = counts[bins - int(end / BIN) :]
    counts = counts * _factor(counts)
    whole = np.diff(np.floor(np.concatenate(([0.0], np.cumsum(counts))))).astype(np.int64)
    return ticked(np.sort(np.repeat(np.arange(len(whole)) * BIN, whole) + BIN * rng.random(int(whole.sum()))))


def envelope() -> Floats:
    """What the rate of the surrogate is multiplied by: in each region it rises to the peak and falls again."""
    at = np.arange(0.0, END, BIN) + BIN / 2
    found = np.ones(len(at))
    for lo, hi in RISING:
        found += (PEAK - 1) * np.clip(1 - np.abs(2 * (at - lo) / (hi - lo) - 1), 0.0, 1.0)
    return found


def ideal_loss(counts: Floats) -> float:
    """The part of the tuples that is lost if work goes on all the time, and what would be late is dropped."""
    per, room = CAPACITY * BIN, CAPACITY * TARGET
    waiting = lost = 0.0
    for n in counts:
        waiting = max(0.0, waiting + n - per)
        lost += max(0.0, waiting - room)
        waiting = min(waiting, room)
    return float(lost / counts.sum())


def _factor(counts: Floats) -> float:
    lo, hi = 0.0, 100 * CAPACITY * BIN / float(counts.mean())
    for _ in range(60):
        middle = (lo + hi) / 2
        lo, hi = (lo, middle) if ideal_loss(counts * middle) > LOSS else (middle, hi)
    return lo

"""Tuples into the intake when they are due: an open loop, in which a late pump does not hide the time of waiting."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.engine.source.protocol import Intake, Rejected, State
from headgate.errors import InputError

MOST_ROWS = 50_000
"""The most tuples of a train."""

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive tuples, when each is due, in seconds from the start and ascending, and what was refused.

    `state(n)` is where the source stands behind the first n tuples. A refused row comes with the number of tuples
    that stand before it.
    """

    rows: pa.Table
    due: Floats
    state: Callable[[int], State]
    rejected: Sequence[tuple[int, Rejected]] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """A rate, or several, each for some seconds and the last one for ever."""

    steps: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for seconds, rate in self.steps:
            if not (0 < rate < math.inf and seconds > 0):
                remedy = "Write rates as [(10, 1000), (10, 2000)]: 10 s of 1,000 tuples/s, then 2,000."
                raise InputError("a rate and its seconds are numbers above 0", (seconds, rate), remedy)

    @classmethod
    def of(cls, rate: float, rates: Sequence[tuple[float, float]] | None) -> "Pace":
        if rates is None and not 0 < rate < math.inf:
            raise InputError("rate is a number above 0", rate, "Give tuples per second, such as 1000.")
        return cls(tuple((float(seconds), float(each)) for seconds, each in rates or [(math.inf, rate)]))

    def due(self, numbers: Numbers) -> Floats:
        """When the tuples with these numbers are due, in seconds from the start."""
        seconds, rates = np.array(self.steps).T
        begins = np.concatenate([[0.0], np.cumsum(seconds[:-1])])
        firsts = np.concatenate([[0.0], np.cumsum(seconds[:-1] * rates[:-1])])
        step = np.searchsorted(firsts, numbers, side="right") - 1
        found: Floats = begins[step] + (numbers - firsts[step]) / rates[step]
        return found


def started(at: float) -> State:
    """The state before the first tuple of a schedule that begins then."""
    return {"origin": at}


def pump(intake: Intake, blocks: Iterator[Block], every: float, *, paced: bool = True) -> None:
    """Append what the blocks hold, about one train `every` seconds, or all of it as fast as it goes.

    The state has the wall clock at the start, so that the schedule goes on after a restart: what is overdue then
    comes at once.
    """
    origin = float((intake.state or {}).get("origin", intake.now()))
    block, done = next(blocks, None), 0
    while block is not None:
        until = intake.now() - origin if paced else math.inf
        room, state = MOST_ROWS, None
        rows: list[pa.Table] = []
        due: list[Floats] = []
        rejected: list[Rejected] = []
        while block is not None and room > 0:
            end = min(int(np.searchsorted(block.due, until, side="right")), done + room)
            whole = end == len(block.due)
            if end > done or whole:
                state = block.state(end)
            rows.append(block.rows[done:end])
            due.append(block.due[done:end])
            refused = [row for n, row in block.rejected if done <= n and (whole or n < end)]
            rejected += refused
            room -= end - done + len(refused)
            done = end
            if not whole:
                break
            block, done = next(blocks, None), 0
        if state is not None and room < MOST_ROWS:
            arrived = origin + np.concatenate(due) if paced else None
            intake.append(pa.concat_tables(rows), {**state, "origin": origin}, arrived=arrived, rejected=rejected)
        pause = (
            0.0 if room <= 0 or not paced or block is None else max(every, block.due[done] + origin - intake.now())
        )
        if intake.wait(pause):
            return

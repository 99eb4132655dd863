"""How well deadlines were met: rates and errors from the records of iterations.

    miss        of the iterations that are due, those that were not finished by then
    completion  of the iterations that were released, those that have finished, late or not
    useful      of the iterations that were released, those that finished in time and read a part worth having: one
                that was emptied is in time and complete, and of no use
    tardy       of the queries, those whose current iteration is past its deadline

Errors are tuples that were not processed by the deadline, and results that were not there by then. A late iteration
has delivered nothing, as the last operator runs last. Both are also given in percent of what a perfect run would have
had, with weights; what is due after the time in question counts in neither.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

USEFUL = 0.02
"""The least part of a window that is worth reading."""
ROUNDING = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Iterated:
    """One iteration as it went; `begin` and `finish` are infinite as long as they have not come.

    It read `kept` of its `tuples`, at `cost` seconds of which `remaining` were left at its deadline. `results` are
    those of the whole window and `given` those of what was kept; where they are not known the selectivity says.
    """

    query: str
    index: int
    release: float
    due: float
    tuples: float
    kept: float
    cost: float = 0.0
    begin: float = math.inf
    finish: float = math.inf
    remaining: float = 0.0
    weight: float = 1.0
    selectivity: float = 1.0
    results: float | None = None
    given: float | None = None

    @property
    def missed(self) -> bool:
        """Whether it was not finished by its deadline; to finish at the deadline is in time."""
        return self.finish > self.due + ROUNDING

    @property
    def tardiness(self) -> float:
        """How late it finished; 0 if in time."""
        return max(0.0, self.finish - self.due)

    @property
    def fraction(self) -> float:
        """The part of its window that it read; all of an empty one."""
        return self.kept / self.tuples if self.tuples > 0 else 1.0

    @property
    def whole(self) -> float:
        """The results of the whole window."""
        return self.results if self.results is not None else self.selectivity * self.tuples

    @property
    def unprocessed(self) -> float:
        """The processing error: tuples not processed by the deadline. Work is taken to go evenly over them."""
        dropped = self.tuples - self.kept
        if not self.missed:
            return dropped
        return dropped + self.kept * (min(1.0, self.remaining / self.cost) if self.cost > 0 else 1.0)

    @property
    def lost(self) -> float:
        """The output error: results that were not there by the deadline."""
        if self.missed or (self.kept <= 0 and self.tuples > 0):
            return self.whole
        given = self.given if self.given is not None else self.selectivity * self.kept
        return max(0.0, self.whole - given)


@dataclass(frozen=True, slots=True)
class Errors:
    """Weighted totals over the iterations that are due, and the same in percent of what there was to be had."""

    output: float
    processing: float
    output_percent: float
    processing_percent: float


@dataclass(frozen=True, slots=True)
class Curves:
    """All measures at the times `at`, one value for each; rates are parts of 1."""

    at: Floats
    miss: Floats
    weighted_miss: Floats
    completion: Floats
    useful: Floats
    tardy: Floats
    output_percent: Floats
    processing_percent: Floats


def miss(records: Iterable[Iterated], t: float = math.inf) -> float:
    """The part of the iterations due by t that were not finished by their deadline."""
    due = _due(records, t)
    return _part(sum(each.missed for each in due), len(due))


def weighted_miss(records: Iterable[Iterated], t: float = math.inf) -> float:
    """The same, where each iteration counts with its weight."""
    due = _due(records, t)
    return _part(sum(each.weight for each in due if each.missed), sum(each.weight for each in due))


def miss_by_query(records: Iterable[Iterated], t: float = math.inf) -> dict[str, float]:
    """The same for each query that had something due."""
    due = _due(records, t)
    return {name: miss(each for each in due if each.query == name) for name in dict.fromkeys(r.query for r in due)}


def completion(records: Iterable[Iterated], t: float) -> float:
    """The part of the iterations released before t that have finished by then."""
    out = _released(records, t)
    return _part(sum(each.finish <= t + ROUNDING for each in out), len(out), none=1.0)


def useful(records: Iterable[Iterated], t: float) -> float:
    """The part of the iterations released before t that finished in time and read enough to be of use."""
    out = _released(records, t)
    good = sum(each.finish <= t + ROUNDING and not each.missed and each.fraction >= USEFUL for each in out)
    return _part(good, len(out), none=1.0)


def tardiness(records: Iterable[Iterated], t: float = math.inf) -> Floats:
    """How late the late iterations are, in order; one that is unfinished at t is late by what has passed by t."""
    found = [min(each.finish, t) - each.due for each in _due(records, t) if each.missed]
    return np.sort(np.array(found, dtype=np.float64))


def tardy_now(records: Iterable[Iterated], t: float) -> float:
    """The part of the queries whose current iteration, the oldest that is unfinished, is past its deadline at t."""
    out = _released(records, t)
    late = {each.query for each in out if each.due < t - ROUNDING and each.finish > t + ROUNDING}
    return _part(len(late), len({each.query for each in out}))


def errors(records: Iterable[Iterated], t: float = math.inf) -> Errors:
    """The errors over the iterations due by t."""
    due = _due(records, t)
    output = sum(each.weight * each.lost for each in due)
    processing = sum(each.weight * each.unprocessed for each in due)
    return Errors(
        output,
        processing,
        100 * _part(output, sum(each.weight * each.whole for each in due)),
        100 * _part(processing, sum(each.weight * each.tuples for each in due)),
    )


def curves(records: Sequence[Iterated], step: float, horizon: float) -> Curves:
    """All measures every `step` up to the horizon."""
    at = step * np.arange(1, math.floor(horizon / step + ROUNDING) + 1, dtype=np.float64)
    late = at[:, None] + ROUNDING
    release, due, finish = (
        np.array([getattr(each, name) for each in records]) for name in ("release", "due", "finish")
    )
    weight = np.array([each.weight for each in records])
    missed = np.array([each.missed for each in records], dtype=bool)
    good = ~missed & np.array([each.fraction >= USEFUL for each in records], dtype=bool)
    is_due, out, done = due <= late, release < late - 2 * ROUNDING, finish <= late
    output = weight * np.array([each.lost for each in records])
    processing = weight * np.array([each.unprocessed for each in records])
    return Curves(
        at=at,
        miss=_parts(is_due @ missed.astype(float), is_due.sum(axis=1)),
        weighted_miss=_parts(is_due @ (weight * missed), is_due @ weight),
        completion=_parts((out & done).sum(axis=1), out.sum(axis=1), none=1.0),
        useful=_parts((out & done & good).sum(axis=1), out.sum(axis=1), none=1.0),
        tardy=np.array([tardy_now(records, t) for t in at]),
        output_percent=100 * _parts(is_due @ output, is_due @ (weight * [each.whole for each in records])),
        processing_percent=100 * _parts(is_due @ processing, is_due @ (weight * [each.tuples for each in records])),
    )


def _due(records: Iterable[Iterated], t: float) -> list[Iterated]:
    return [each for each in records if each.due <= t + ROUNDING]


def _released(records: Iterable[Iterated], t: float) -> list[Iterated]:
    return [each for each in records if each.release < t - ROUNDING]


def _part(some: float, whole: float, none: float = 0.0) -> float:
    return some / whole if whole else none


def _parts(some: NDArray[np.generic], whole: NDArray[np.generic], none: float = 0.0) -> Floats:
    a, b = some.astype(np.float64), whole.astype(np.float64)
    return np.divide(a, b, out=np.full_like(a, none), where=b != 0)

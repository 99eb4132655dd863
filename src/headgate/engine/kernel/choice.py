"""Which atoms of a family find its candidates, and in which order the others are tested on them.

Costs are in nanoseconds, as measured on one core: what counts is their ratio.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.engine.kernel.index import BITS, EACH, Path

PRIOR = {
    "=": 0.01,
    "null": 0.1,
    "range": 0.1,
    ">": 0.3,
    "<": 0.3,
    "true": 0.3,
    "<>": 0.9,
    "not null": 0.95,
}
"""The share of rows that an atom is taken to let through before it is measured."""

_INDEX, _EQUAL, _STEP = 20_000.0, 20_000.0, 20_000.0
_ROW_EQUAL, _ROW_STEP = 20.0, 8.0
_SLOT, _SLOT_ROW = 1_000.0, 2.0
_PAIR, _TEST = 25.0, 20.0
_LATE, _LATE_ROW = 30_000.0, 50.0
_CELLS, _CELLS_ROW = 10_000.0, 30.0
_WORD, _WORD_LEFT, _BIT = 2.0, 25.0, 25.0
_IN_WORD = 64
_MARGIN = 0.7
"""How much cheaper another path has to be before a family moves to it."""
_NEAR = 3.0
"""How many more candidates cells give than the ranges that touch them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A path, the atoms by which it goes, and those that are tested on its candidates."""

    path: Path
    by: tuple[int, ...]
    rest: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a family costs depends on: rows of a train, members, and what is there for others anyway."""

    rows: float
    members: int
    is_used: Callable[[Path], bool]
    cost_of: Callable[[int], float]
    """Nanoseconds that it takes to compute an operand for all rows, beyond what is computed anyway."""
    bits: int = 0
    """How many bits the members would be in bit sets; none if these are not an option."""
    sharing: Callable[[int], int] = lambda _: 0
    """How many families have an operand; none if it has its cells already."""


def choose(
    operands: Sequence[int],
    signs: Sequence[str],
    passing: NDArray[np.float64],
    at: Circumstances,
    now: Choice | None = None,
) -> Choice:
    """The cheapest choice; the present one, unless another is clearly cheaper."""
    every = list(options(operands, signs))
    costs = [
        _cost_of_bits(operands, passing, at) if option[0] == BITS else _cost(*option, operands, passing, at)
        for option in every
    ]
    path, by, decided = every[int(np.argmin(costs))]
    if now is not None:
        standing = next(k for k, option in enumerate(every) if option[:2] == (now.path, now.by))
        if min(costs) > _MARGIN * costs[standing]:
            path, by, decided = every[standing]
    return Choice(path, by, _rest(decided, operands, passing, at))


def options(operands: Sequence[int], signs: Sequence[str]) -> Iterator[tuple[Path, tuple[int, ...], tuple[int, ...]]]:
    """Paths, the atoms that they go by, and those of them that need no test any more."""
    equal = [k for k, sign in enumerate(signs) if sign in ("=", "null")]
    for first in (None, *equal):
        start = () if first is None else (first,)
        operand = None if first is None else operands[first]
        yield Path(operand), start, start
        for k, sign in enumerate(signs):
            if first is not None and sign in ("=", "null") and k > first:
                yield Path(operand, operands[k], "="), (*start, k), (*start, k)
            if sign in (">", "<"):
                yield Path(operand, operands[k], sign), (*start, k), (*start, k)
            if sign == "range":
                yield Path(operand, operands[k], "near"), (*start, k), start
    for k in range(len(signs)):
        yield EACH, (k,), (k,)
    if signs:
        yield BITS, (*range(len(signs)),), (*range(len(signs)),)


def _rest(
    decided: tuple[int, ...], operands: Sequence[int], passing: NDArray[np.float64], at: Circumstances
) -> tuple[int, ...]:
    """The atoms that are left, those first that are there anyway and let the least through."""
    left = (k for k in range(len(operands)) if k not in decided)
    return tuple(sorted(left, key=lambda k: (at.cost_of(operands[k]) > 0, passing[k])))


def _cost(
    path: Path,
    by: tuple[int, ...],
    decided: tuple[int, ...],
    operands: Sequence[int],
    passing: NDArray[np.float64],
    at: Circumstances,
) -> float:
    candidates = at.rows * at.members * float(np.prod(passing[list(by)])) * (_NEAR if path.by == "near" else 1.0)
    cost = candidates * _PAIR + sum(at.cost_of(operands[k]) for k in by)
    for k in _rest(decided, operands, passing, at):
        cost += candidates * _TEST
        if at.cost_of(operands[k]) > 0:
            cost += min(1.0, candidates) * _LATE + candidates * _LATE_ROW
        candidates *= float(passing[k])
    if path == EACH:
        cost += at.members * (_SLOT + _SLOT_ROW * at.rows)
    elif not at.is_used(path):
        cost += _INDEX
        if path.first is not None:
            cost += _EQUAL + _ROW_EQUAL * at.rows
            if path.second is not None:
                steps = math.log2(2 + at.members * float(passing[by[0]]))
                cost += steps * (_STEP + _ROW_STEP * at.rows)
    return cost


def _cost_of_bits(operands: Sequence[int], passing: NDArray[np.float64], at: Circumstances) -> float:
    """An operand that has no cells yet is paid for by all families that have it: most of them will come, or none."""
    if not at.bits:
        return math.inf
    words = max(1.0, at.bits / _IN_WORD) * at.rows
    in_word = min(at.bits, _IN_WORD) * at.members / at.bits
    cost = words * _WORD + at.rows * at.members * float(np.prod(passing)) * _BIT
    for share in np.cumprod(np.sort(passing))[:-1]:
        cost += words * min(1.0, in_word * float(share)) * _WORD_LEFT
    for operand in operands:
        if families := at.sharing(operand):
            cost += (at.cost_of(operand) + _CELLS + _CELLS_ROW * at.rows) / families
    return cost

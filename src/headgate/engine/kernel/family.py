"""Members whose atoms have the same operands and signs, and the ranges of keys that stand for their constants."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from headgate.engine.kernel.arrays import Flags, Growing, Ints
from headgate.engine.kernel.atoms import Atom, Term
from headgate.engine.kernel.batch import Formulas
from headgate.engine.kernel.choice import PRIOR, Choice, Circumstances, choose
from headgate.engine.kernel.index import Path
from headgate.engine.kernel.inverse import undone
from headgate.engine.kernel.ir import Column, Literal, Node
from headgate.engine.kernel.keys import MOST, NULL, Encoder, encoder, fits
from headgate.engine.kernel.types import arrow

_MEMORY = 0.7
"""What an earlier measurement counts against a new one."""
_CALL, _CALL_ROW, _TEXT_ROW = 15_000.0, 5.0, 30.0
"""Nanoseconds that it takes to compute an operand, and for each row of it; see `choice`."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What is compared, and how its values get their keys. A plain one is a column of numbers."""

    formula: int
    encoder: Encoder
    is_plain: bool
    is_number: bool

    def cost(self, rows: float) -> float:
        """Nanoseconds for all rows of a train."""
        return _CALL + rows * (_CALL_ROW + (0.0 if self.is_number else _TEXT_ROW))


class Operands:
    """Operands by number. Strings that are compared for order are others than those that have to be equal."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas
        self._numbers: dict[tuple[int, bool], int] = {}
        self._all: list[Operand] = []

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, number: int) -> Operand:
        return self._all[number]

    def enter(self, operand: Node, sign: str) -> int:
        """The number of an operand that is compared so."""
        formula = self.formulas.enter(operand)
        is_number = fits(operand.type)
        ordered = not is_number and sign not in ("=", "<>")
        if (formula, ordered) not in self._numbers:
            self._numbers[formula, ordered] = len(self._all)
            is_plain = is_number and isinstance(operand, Column)
            self._all.append(Operand(formula, encoder(operand.type, ordered), is_plain, is_number))
        return self._numbers[formula, ordered]

    def keys(self, numbers: Iterable[int], values: Mapping[int, pl.Series], n: int) -> dict[int, Ints]:
        """The keys of operands, of which the formulas have these values; NULL where one has none."""
        found = {}
        for number in numbers:
            operand = self._all[number]
            given = values.get(operand.formula)
            found[number] = np.full(n, NULL) if given is None else operand.encoder.keys(given)
        return found


@dataclass(slots=True)
class Bounds:
    """An atom, or several of one operand, as the lowest and the highest key that each member lets through."""

    operand: int
    sign: str
    low: Ints
    high: Ints

    def and_(self, other: "Bounds") -> "Bounds":
        """What both let through."""
        signs = {self.sign, other.sign} - {"not null"}
        sign = next(
            (each for each in ("=", "null") if each in signs),
            "range" if len(signs) > 1 else max(signs, default="not null"),
        )
        return Bounds(self.operand, sign, np.maximum(self.low, other.low), np.minimum(self.high, other.high))


def bounds(term: Term, count: int, of: Callable[[Atom], tuple[Bounds, Flags]]) -> tuple[list[Bounds], Flags]:
    """The bounds of members, one for each operand, from those of atoms; and which members may want anything."""
    merged: dict[int, Bounds] = {}
    others: list[Bounds] = []
    possible = np.ones(count, np.bool_)
    for atom in term:
        each, sane = of(atom)
        possible &= sane
        if each.sign == "<>":
            others.append(each)
        else:
            before = merged.get(each.operand)
            merged[each.operand] = each if before is None else before.and_(each)
    for each in merged.values():
        possible &= each.low <= each.high
    return sorted([*merged.values(), *others], key=lambda each: (each.operand, each.sign)), possible


def bounds_of(atom: Atom, constants: Sequence[pa.Array], count: int, operands: Operands) -> tuple[Bounds, Flags]:
    """The bounds of so many members with these constants; and of whom anything is known."""
    source, sign, steps = undone(atom.operand, atom.sign)
    number = operands.enter(source, sign)
    lowest, highest = np.full(count, NULL + 1), np.full(count, MOST)
    sane = np.ones(count, np.bool_)
    if atom.constant is None:
        match atom.sign:
            case "null":
                highest = lowest = np.full(count, NULL)
            case "true":
                highest = lowest = np.ones(count, np.int64)
        return Bounds(number, atom.sign, lowest, highest), sane
    if isinstance(atom.constant, Literal):
        given = pa.array([atom.constant.value], arrow(atom.constant.type))
    else:
        given = constants[atom.constant.number]
    keys = np.broadcast_to(operands[number].encoder.enter(pl.Series(given)), (count,))
    sane = keys != NULL
    match atom.sign:
        case "=" | "<>":
            lowest = highest = keys
        case ">":
            # Nothing is greater than the greatest key.
            sane &= keys != MOST
            lowest = keys + 1
        case ">=":
            lowest = keys
        case "<":
            highest = np.where(sane, keys, 0) - 1
        case _:
            highest = keys
    for step in steps:
        lowest, highest = step(lowest, highest)
    return Bounds(number, sign.removesuffix("=") or "=", lowest, highest), sane


class Family:
    """Slots that have a range of keys for each of the same operands, and how they are found."""

    def __init__(self, operands: tuple[int, ...], signs: tuple[str, ...]) -> None:
        self.operands, self.signs = operands, signs
        self.passing = np.array([PRIOR[sign] for sign in signs])
        """The share of pairs of a row and a slot that each atom lets through."""
        self.is_measured = False
        self._weighed = 0
        self.choice = Choice(Path(), (), ())
        self.slots, self._bits = Growing(), Growing()
        self._low = [Growing() for _ in operands]
        self._high = [Growing() for _ in operands]

    def extend(self, slots: Ints, bits: Ints, ranges: Iterable[tuple[Ints, Ints]]) -> None:
        """Add slots with their ranges, and the numbers of what would be their bits."""
        self.slots.extend(slots)
        self._bits.extend(bits)
        for low, high, (lowest, highest) in zip(self._low, self._high, ranges, strict=True):
            low.extend(lowest)
            high.extend(highest)
        # What is best for a few is not for many.
        self.is_measured &= len(self.slots) <= 2 * self._weighed

    def discard(self, dead: Flags) -> None:
        """Forget slots."""
        keep = ~dead[self.slots.values]
        if keep.all():
            return
        for each in (self.slots, self._bits, *self._low, *self._high):
            each.keep(keep)

    def reconsider(self, at: Circumstances) -> None:
        """Choose how candidates are found, by what is known by now."""
        now = self.choice if len(self.slots) else None
        self._weighed = len(self.slots)
        self.choice = choose(self.operands, self.signs, self.passing, at, now)

    def measure(self, keys: Sequence[Ints], members: int) -> None:
        """Try each atom on the keys of some rows, for some members."""
        some = np.unique(np.linspace(0, len(self.slots) - 1, members).astype(np.int64))
        seen = np.empty(len(self.operands))
        for k, values in enumerate(keys):
            column = values[:, None]
            inside = (column >= self._low[k].values[some]) & (column <= self._high[k].values[some])
            passed = ~inside & (column != NULL) if self.signs[k] == "<>" else inside
            seen[k] = (passed.sum() + 0.5) / (passed.size + 1)
        self.passing = _MEMORY * self.passing + (1 - _MEMORY) * seen if self.is_measured else seen
        self.is_measured = True

    def bits(self) -> int:
        """How many bits its slots would be."""
        return len(np.unique(self._bits.values))

    def tests(self, first: int) -> list[tuple[int, Ints, Ints, bool]]:
        """What is to be tested of the candidates, for the slots from one on."""
        return [self._test(k, first) for k in self.choice.rest]

    def expected(self, rows: float) -> dict[int, float]:
        """How often a train comes to the test of each operand, out of rows: at most once."""
        found: dict[int, float] = {}
        if not self.choice.rest:
            return found
        pairs = rows * len(self.slots) * float(np.prod(self.passing[list(self.choice.by)]))
        for k in self.choice.rest:
            found[self.operands[k]] = min(1.0, pairs)
            pairs *= float(self.passing[k])
        return found

    def tried(self, first: int) -> tuple[int, Ints, Ints, bool]:
        """What the slots from one on are tried on every row with, as a test."""
        return self._test(self.choice.by[0], first)

    def sets(self, first: int) -> tuple[Ints, list[tuple[int, Ints, Ints, bool]]]:
        """The bits of the slots from one on, and all that they accept, as tests."""
        return self._bits.values[first:], [self._test(k, first) for k in range(len(self.operands))]

    def _test(self, k: int, first: int) -> tuple[int, Ints, Ints, bool]:
        low, high = self._low[k].values[first:], self._high[k].values[first:]
        return self.operands[k], low, high, self.signs[k] == "<>"

    def entries(self, first: int) -> Iterator[tuple[Path, Flags | slice, Ints | None, Ints | None, Ints | None]]:
        """The paths of the slots from one on: which of them, the key that is equal, and the bounds of the second."""
        path, by = self.choice.path, list(self.choice.by)
        equal = self._low[by.pop(0)].values[first:] if path.first is not None else None
        if path.second is None:
            yield path, slice(None), equal, None, None
            return
        low, high = self._low[by[0]].values[first:], self._high[by[0]].values[first:]
        if path.by != "near":
            yield path, slice(None), equal, low, high
            return
        width = (high.view(np.uint64) - low.view(np.uint64)).astype(np.float64)
        # A cell is at least as wide as the range, even if that was rounded down, and at most four times as wide: so
        # it touches two cells at most, and there are few levels. At the last one there are no more than two cells.
        levels = np.minimum(63, 2 * np.ceil(np.log2(width * (1 + 1e-9) + 1) / 2)).astype(np.int64)
        for level in np.unique(levels):
            some = levels == level
            yield (
                Path(path.first, path.second, path.by, int(level)),
                some,
                None if equal is None else equal[some],
                low[some],
                high[some],
            )

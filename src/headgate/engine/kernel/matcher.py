"""Which rows each member of a unit wants, for all members at once.

A member has one list of atoms, or several of which one has to hold. An atom is a range of keys for an operand, so all
members are tested alike, whatever their shapes: one or two atoms find the candidates by an index, and the others are
tested on these alone; or all atoms find the rows at once, by bit sets. Which way it is goes by the share of rows that
the atoms let through, as measured.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pyarrow as pa

from headgate.engine.kernel.arrays import Flags, Growing, Ints
from headgate.engine.kernel.atoms import united, variants
from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.bitsets import Bitsets
from headgate.engine.kernel.choice import Circumstances
from headgate.engine.kernel.family import Bounds, Family, Operands, bounds, bounds_of
from headgate.engine.kernel.index import BITS, EACH, Indexes, Path
from headgate.engine.kernel.ir import Node
from headgate.engine.kernel.keyed import Keyed
from headgate.engine.kernel.ranges import Ranges

_SAMPLE = 128
"""Rows and members that atoms are tried on to see what they let through."""
_NEW = 100
"""Families that are tried for the first time in a train, so that none takes much longer than others."""
_EVERY = 8
"""Trains from one trial to the next."""
_SELDOM = 64
"""Trains after which it is asked again what is computed for all rows."""
_LATE = 150_000.0
"""Nanoseconds that it takes to compute an operand for some rows more."""
_SETS = 1 << 14
"""So many slots of a family may have bit sets."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An atom as it is evaluated: in an `index`, in `bits`, `tried` on every row, or `tested` on candidates."""

    operand: Node
    sign: str
    role: str
    passing: float
    """The share of rows that it was seen to let through, for a member on average."""


class Matcher:
    """The members of a unit, by number, and who of them wants which row."""

    def __init__(self, formulas: Formulas) -> None:
        self.operands = Operands(formulas)
        self.families: dict[tuple[tuple[int, ...], tuple[str, ...]], Family] = {}
        self.overlaps = False
        """Whether a row may be found twice for a member."""
        self._members = Growing()
        self._ranges = Ranges()
        self._indexes, self._bitsets = Indexes(), Bitsets()
        self._leaving: list[Ints] = []
        self._paths: Counter[Path] = Counter()
        self._uses: Counter[int] = Counter()
        self._sharing: Counter[int] = Counter()
        self._bits = 0
        self._ahead: list[int] | None = None
        self._rows = 1000.0
        self._turn = 0

    def add(self, where: tuple[Node, ...], constants: Sequence[pa.Array], members: Ints) -> None:
        """Enter members with one condition, and a row of constants each."""
        for terms, rows in variants(where, constants):
            mine = members if rows is None else members[rows]
            given = constants if rows is None else [each.take(pa.array(rows)) for each in constants]
            self.overlaps |= len(terms) > 1
            first, self._bits = self._bits, self._bits + len(terms) * len(mine)
            # Alternatives have most of their atoms in common.
            of = cache(partial(bounds_of, constants=given, count=len(mine), operands=self.operands))
            for term, group in zip(terms, united(terms), strict=True):
                self._enter(*bounds(term, len(mine), of), mine, np.arange(len(mine)) + first + group * len(mine))

    def remove(self, members: Ints) -> None:
        """Forget members."""
        self._leaving.append(members)

    def run(self, batch: Batch) -> tuple[Ints, Ints, dict[int, str]]:
        """Pairs of a row and a member that wants it, in any order; and the members that fail."""
        self._leave()
        self._watch(batch)
        keys = Keyed(self.operands, batch, self._needed_ahead())
        candidates = self._indexes.candidates(keys.of, keys.once, batch.n)
        kept = [self._ranges.passed(*pairs, keys.pairs) for pairs in candidates]
        kept += self._bitsets.pairs(keys.of, batch.n)
        nothing = np.empty(0, np.int64)
        rows = np.concatenate([nothing, *(pair[0] for pair in kept)])
        slots = np.concatenate([nothing, *(pair[1] for pair in kept)])
        members = self._members.values[slots]
        failed = self._failed(batch.failed) if batch.failed else {}
        if failed:
            fine = ~np.isin(members, list(failed))
            rows, members = rows[fine], members[fine]
        return rows, members, failed

    def seen(self) -> list[tuple[tuple[Seen, ...], int]]:
        """The atoms of members, in the order in which they are evaluated; and how many members have such."""
        return [(self._seen(family), len(family.slots)) for family in self.families.values()]

    def _seen(self, family: Family) -> tuple[Seen, ...]:
        by, rest = family.choice.by, [k for k in family.choice.rest if k not in family.choice.by]
        first = {EACH: "tried", BITS: "bits"}.get(family.choice.path, "index")
        if family.choice.path == BITS:
            by = tuple(sorted(by, key=family.passing.__getitem__))
        roles = [*((k, first) for k in by), *((k, "tested") for k in rest)]
        nodes = self.operands.formulas.nodes
        return tuple(
            Seen(nodes[self.operands[family.operands[k]].formula], family.signs[k], role, float(family.passing[k]))
            for k, role in roles
        )

    def _enter(self, ranges: Sequence[Bounds], possible: Flags, members: Ints, bits: Ints) -> None:
        members, bits = members[possible], bits[possible]
        if not len(members):
            return
        slots = np.arange(len(self._members), len(self._members) + len(members))
        self._members.extend(members)
        self._ranges.extend(len(members))
        operands, signs = tuple(each.operand for each in ranges), tuple(each.sign for each in ranges)
        family = self.families.get((operands, signs))
        if family is None:
            family = self.families[operands, signs] = Family(operands, signs)
            family.reconsider(self._circumstances(family, len(members)))
            self._sharing.update(set(operands))
            self._count(family, 1)
        before = len(family.slots)
        family.extend(slots, bits, [(each.low[possible], each.high[possible]) for each in ranges])
        if family.choice.path == BITS and not self._bitsets.has_room(operands, len(slots), len(slots)):
            self._move(family, replace(self._circumstances(family, len(family.slots)), bits=0))
        else:
            self._place(family, before)

    def _place(self, family: Family, first: int = 0) -> None:
        """Enter the slots of a family, from one on, where its choice says."""
        self._ahead = None
        slots = family.slots.values[first:]
        self._ranges.set(slots, family.tests(first))
        if family.choice.path == EACH:
            self._indexes.insert_dense(slots, *family.tried(first))
        elif family.choice.path == BITS:
            self._bitsets.insert(slots, *family.sets(first))
        else:
            for path, some, *keys in family.entries(first):
                self._indexes.insert(path, slots[some], *keys)

    def _leave(self) -> None:
        if not self._leaving:
            return
        leaving, self._leaving = np.concatenate(self._leaving), []
        dead = np.isin(self._members.values, leaving)
        self._indexes.discard(dead)
        self._bitsets.discard(dead)
        for name, family in list(self.families.items()):
            family.discard(dead)
            if not len(family.slots):
                self._count(family, -1)
                self._sharing.subtract(set(family.operands))
                del self.families[name]
        self._ahead = None

    def _needed_ahead(self) -> list[int]:
        """Operands that are computed for all rows: those of paths, and those that are cheaper so than one by one."""
        if self._ahead is None:
            paths = itertools.chain.from_iterable((path.first, path.second) for path in self._indexes)
            tested = Counter[int]()
            for family in self.families.values():
                tested.update(family.expected(self._rows))
            cheap = {each for each, times in tested.items() if self._is_cheap(each, times)}
            self._ahead = sorted({each for each in paths if each is not None} | {*self._bitsets.operands} | cheap)
        return self._ahead

    def _is_cheap(self, operand: int, times: float) -> bool:
        known = self.operands[operand]
        return known.is_plain or known.cost(self._rows) < times * _LATE

    def _watch(self, batch: Batch) -> None:
        """Measure what new families let through, and now and then one of the others; move those that want to."""
        self._rows += 0.1 * (batch.n - self._rows)
        self._turn += 1
        if self._turn % _SELDOM == 0:
            self._ahead = None
        families = [each for each in self.families.values() if not each.is_measured][:_NEW]
        if not families and self.families and self._turn % _EVERY == 0:
            families = [list(self.families.values())[self._turn // _EVERY % len(self.families)]]
        if not families or not batch.n:
            return
        rows = np.unique(np.linspace(0, batch.n - 1, _SAMPLE).astype(np.int64))
        wanted = {operand for family in families for operand in family.operands}
        values = batch.at(rows, (self.operands[each].formula for each in wanted))
        sample = self.operands.keys(wanted, values, len(rows))
        for family in families:
            family.measure([sample[each] for each in family.operands], _SAMPLE)
            self._move(family, self._circumstances(family, len(family.slots)))

    def _move(self, family: Family, at: Circumstances) -> None:
        """Let a family choose again."""
        old = family.choice
        self._count(family, -1)
        family.reconsider(at)
        self._count(family, 1)
        if family.choice == old:
            return
        moved = np.zeros(len(self._members), np.bool_)
        moved[family.slots.values] = True
        if old.path == BITS:
            self._bitsets.discard(moved)
        else:
            self._indexes.discard(moved, old.path)
        self._place(family)

    def _circumstances(self, family: Family, members: int) -> Circumstances:
        def cost(operand: int) -> float:
            known = self.operands[operand]
            return 0.0 if known.is_plain or self._uses[operand] > 0 else known.cost(self._rows)

        def sharing(operand: int) -> int:
            return 0 if operand in cut else self._sharing[operand]

        cut = self._bitsets.operands
        # Of what is not measured yet, most is best found by an index.
        bits = family.bits() if family.is_measured and family.operands and members <= _SETS else 0
        new = (0, 0) if family.choice.path == BITS else (members, bits)
        bits = bits if bits and self._bitsets.has_room(family.operands, *new) else 0
        return Circumstances(self._rows, members, lambda path: self._paths[path] > 0, cost, bits, sharing)

    def _count(self, family: Family, by: int) -> None:
        """Note what a family makes use of, and so makes cheap for others."""
        self._paths[family.choice.path] += by
        for k in family.choice.by:
            self._uses[family.operands[k]] += by

    def _failed(self, formulas: dict[int, str]) -> dict[int, str]:
        """The members that make use of formulas which failed."""
        found: dict[int, str] = {}
        for family in self.families.values():
            for operand in family.operands:
                if (message := formulas.get(self.operands[operand].formula)) is not None:
                    found |= dict.fromkeys(self._members.values[family.slots.values].tolist(), message)
        return found

"""Which rows each member of a unit wants, for all members at once.

A member has one list of atoms, or several of which one has to hold. An atom is a range of keys for an operand, so all
members are tested alike, whatever their shapes: one or two atoms find the candidates by an index, and the others are
tested on these alone. Which they are goes by the share of rows that they let through, as measured.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headgate.engine.kernel.arrays import Growing, Ints
from headgate.engine.kernel.atoms import Term, variants
from headgate.engine.kernel.batch import Batch, Formulas
from headgate.engine.kernel.choice import Circumstances
from headgate.engine.kernel.family import Family, Operands, bounds
from headgate.engine.kernel.index import EACH, Indexes, Path
from headgate.engine.kernel.ir import Node
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
_MATRIX = 1 << 22
"""So many keys are held at a time, of operands that are not needed for long."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An atom as it is evaluated: in an `index`, `tried` on every row, or `tested` on candidates of the others."""

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
        self._indexes = Indexes()
        self._leaving: list[Ints] = []
        self._paths: Counter[Path] = Counter()
        self._uses: Counter[int] = Counter()
        self._ahead: list[int] | None = None
        self._rows = 1000.0
        self._turn = 0

    def add(self, where: tuple[Node, ...], constants: Sequence[pa.Array], members: Ints) -> None:
        """Enter members with one condition, and a row of constants each."""
        for terms, rows in variants(where, constants):
            mine = members if rows is None else members[rows]
            given = constants if rows is None else [each.take(pa.array(rows)) for each in constants]
            self.overlaps |= len(terms) > 1
            for term in terms:
                self._enter(term, given, mine)

    def remove(self, members: Ints) -> None:
        """Forget members."""
        self._leaving.append(members)

    def run(self, batch: Batch) -> tuple[Ints, Ints, dict[int, str]]:
        """Pairs of a row and a member that wants it, in any order; and the members that fail."""
        self._leave()
        self._watch(batch)
        keys = _Keys(self.operands, batch, self._needed_ahead())
        candidates = self._indexes.candidates(keys.of, keys.once, batch.n)
        kept = [self._ranges.passed(*pairs, keys.pairs) for pairs in candidates]
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
        first = "tried" if family.choice.path == EACH else "index"
        roles = [*((k, first) for k in by), *((k, "tested") for k in rest)]
        nodes = self.operands.formulas.nodes
        return tuple(
            Seen(nodes[self.operands[family.operands[k]].formula], family.signs[k], role, float(family.passing[k]))
            for k, role in roles
        )

    def _enter(self, term: Term, constants: Sequence[pa.Array], members: Ints) -> None:
        ranges, possible = bounds(term, constants, len(members), self.operands)
        members = members[possible]
        if not len(members):
            return
        slots = np.arange(len(self._members), len(self._members) + len(members))
        self._members.extend(members)
        self._ranges.extend(len(members))
        operands, signs = tuple(each.operand for each in ranges), tuple(each.sign for each in ranges)
        family = self.families.get((operands, signs))
        if family is None:
            family = self.families[operands, signs] = Family(operands, signs)
            family.reconsider(self._circumstances(len(members)))
            self._count(family, 1)
        before = len(family.slots)
        family.extend(slots, [(each.low[possible], each.high[possible]) for each in ranges])
        self._place(family, before)

    def _place(self, family: Family, first: int = 0) -> None:
        """Enter the slots of a family, from one on, where its choice says."""
        self._ahead = None
        slots = family.slots.values[first:]
        self._ranges.set(slots, family.tests(first))
        if family.choice.path == EACH:
            self._indexes.insert_dense(slots, *family.tried(first))
            return
        for path, some, *keys in family.entries(first):
            self._indexes.insert(path, slots[some], *keys)

    def _leave(self) -> None:
        if not self._leaving:
            return
        leaving, self._leaving = np.concatenate(self._leaving), []
        dead = np.isin(self._members.values, leaving)
        self._indexes.discard(dead)
        for name, family in list(self.families.items()):
            family.discard(dead)
            if not len(family.slots):
                self._count(family, -1)
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
            self._ahead = sorted({each for each in paths if each is not None} | cheap)
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
            self._reconsider(family)

    def _reconsider(self, family: Family) -> None:
        old = family.choice
        self._count(family, -1)
        family.reconsider(self._circumstances(len(family.slots)))
        self._count(family, 1)
        if family.choice == old:
            return
        moved = np.zeros(len(self._members), np.bool_)
        moved[family.slots.values] = True
        self._indexes.discard(moved, old.path)
        self._place(family)

    def _circumstances(self, members: int) -> Circumstances:
        def cost(operand: int) -> float:
            known = self.operands[operand]
            return 0.0 if known.is_plain or self._uses[operand] > 0 else known.cost(self._rows)

        return Circumstances(self._rows, members, lambda path: self._paths[path] > 0, cost)

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


class _Keys:
    """The keys of a batch: of some operands for all rows, of the others for the rows that need them."""

    def __init__(self, operands: Operands, batch: Batch, ahead: list[int]) -> None:
        self._operands, self._batch = operands, batch
        values = batch.values(operands[each].formula for each in ahead)
        self._ahead = operands.keys(ahead, values, batch.n)
        self._places = np.full(len(operands), -1)
        self._places[ahead] = np.arange(len(ahead))
        self._matrix = np.empty((0, 0), np.int64)

    def of(self, operand: int) -> Ints:
        """The keys of all rows."""
        return self._ahead[operand]

    def pairs(self, operands: Ints, rows: Ints) -> Ints:
        """The keys of operands for rows, pair by pair."""
        if not len(self._matrix) and self._ahead:
            self._matrix = np.stack(list(self._ahead.values()))
        places = self._places[operands]
        late = np.flatnonzero(places < 0)
        if not len(late):
            found: Ints = self._matrix[places, rows]
            return found
        found = np.empty(len(rows), np.int64)
        early = np.flatnonzero(places >= 0)
        if len(early):
            found[early] = self._matrix[places[early], rows[early]]
        found[late] = self._late(operands[late], rows[late])
        return found

    def _late(self, operands: Ints, rows: Ints) -> Ints:
        """Each operand is computed for all rows that one of them is wanted for, in one go unless that is a lot."""
        numbers, which = np.unique(operands, return_inverse=True)
        places, where = np.unique(rows, return_inverse=True)
        found = np.empty(len(rows), np.int64)
        step = max(1, _MATRIX // len(places))
        for start in range(0, len(numbers), step):
            some = numbers[start : start + step].tolist()
            values = self._batch.at(places, (self._operands[each].formula for each in some))
            matrix = np.stack(list(self._operands.keys(some, values, len(places)).values()))
            mine = (which >= start) & (which < start + step)
            found[mine] = matrix[which[mine] - start, where[mine]]
        return found

    def once(self, operands: list[int]) -> Iterator[tuple[int, Ints]]:
        """Operands with the keys of all rows; those that are not kept, a few at a time."""
        for each in operands:
            if each in self._ahead:
                yield each, self._ahead[each]
        others = [each for each in operands if each not in self._ahead]
        step = max(1, _MATRIX // max(1, self._batch.n))
        for start in range(0, len(others), step):
            some = others[start : start + step]
            values = self._batch.values((self._operands[each].formula for each in some), keep=len(others) <= step)
            yield from self._operands.keys(some, values, self._batch.n).items()

"""Bit sets accept what their ranges do, whatever comes and goes; and cells tell keys apart where ranges end."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.kernel.atoms import Atom, united
from headgate.engine.kernel.bitsets import Bitsets
from headgate.engine.kernel.cells import Cells
from headgate.engine.kernel.ir import Column, Literal
from headgate.engine.kernel.keys import MOST, NULL

KEYS = st.one_of(st.integers(-4, 12), st.sampled_from([NULL, NULL + 1, -(2**40), 2**40, MOST - 1, MOST]))
ENDS = KEYS.filter(lambda key: key != NULL)
RANGES = st.one_of(st.tuples(ENDS, ENDS).map(sorted), st.just([NULL, NULL]))


def array(values):
    return np.array(list(values), np.int64)


@given(batches=st.lists(st.lists(RANGES, min_size=1, max_size=4), min_size=1, max_size=4), keys=st.lists(KEYS))
def test_keys_are_in_one_cell_if_no_range_tells_them_apart(batches, keys):
    cells, ranges = Cells(), []
    for batch in batches:
        before = cells.find(array(keys))
        old = cells.cut(array(low for low, _ in batch), array(high for _, high in batch))
        ranges += batch
        found = cells.find(array(keys))
        assert (found == before if old is None else old[found] == before).all()
        assert (found < len(cells)).all()
    for (one, cell), (other, its) in product(zip(keys, found.tolist(), strict=True), repeat=2):
        if cell == its:
            assert [low <= one <= high for low, high in ranges] == [low <= other <= high for low, high in ranges]
            assert (one == NULL) == (other == NULL)
        else:
            assert (cell < its) == (one < other)


SETS = st.tuples(RANGES, st.booleans()).map(lambda given: (given[0], given[1] and given[0][0] != NULL))
SLOTS = st.lists(st.tuples(SETS, SETS, st.integers(0, 3)), min_size=1, max_size=6)


def accepts(key, what):
    (low, high), outside = what
    return key != NULL and not low <= key <= high if outside else low <= key <= high


def entered(sets, slots, first):
    """Enter slots of which each has a bit for itself, one after the other."""
    for number, (one, other, kind) in enumerate(slots, first):
        tests = [
            (operand, array([what[0][0]]), array([what[0][1]]), what[1])
            for operand, what in ((0, one), (kind, other))
        ]
        sets.insert(array([number]), array([number]), tests)


@given(
    batches=st.lists(st.tuples(SLOTS, st.sets(st.integers(0, 23))), min_size=1, max_size=4),
    rows=st.lists(st.tuples(*[KEYS] * 4), max_size=12),
)
def test_slots_find_the_rows_that_they_accept_as_they_come_and_go(batches, rows):
    """The second operand is one of several, and may be the first one again."""
    sets, slots, gone = Bitsets(), [], set()
    keys = [array(row[operand] for row in rows) for operand in range(4)]
    for new, dead in batches:
        entered(sets, new, len(slots))
        slots += new
        gone |= {slot for slot in dead if slot < len(slots)}
        sets.discard(np.array([slot in gone for slot in range(len(slots))], np.bool_))
        assert len(sets) == len(slots) - len(gone)
        found = [
            pair
            for part in sets.pairs(keys.__getitem__, len(rows))
            for pair in zip(*(each.tolist() for each in part), strict=True)
        ]
        assert sorted(found) == [
            (number, slot)
            for (number, row), (slot, (one, other, kind)) in product(enumerate(rows), enumerate(slots))
            if slot not in gone and accepts(row[0], one) and accepts(row[kind], other)
        ]


@given(values=st.lists(st.lists(RANGES, min_size=1, max_size=4), min_size=1, max_size=80), keys=st.lists(KEYS))
def test_slots_that_share_a_bit_find_a_row_once(values, keys):
    sets, count = Bitsets(), 0
    owners = {}
    for bit, ranges in enumerate(values):
        slots = np.arange(count, count + len(ranges))
        owners |= dict.fromkeys(slots.tolist(), bit)
        low, high = (array(each) for each in zip(*ranges, strict=True))
        sets.insert(slots, np.full(len(ranges), bit), [(5, low, high, False)])
        count += len(ranges)
    found = [
        (row, owners[slot])
        for part in sets.pairs(lambda _: array(keys), len(keys))
        for row, slot in zip(*(each.tolist() for each in part), strict=True)
    ]
    assert sorted(found) == [
        (row, bit)
        for (row, key), (bit, ranges) in product(enumerate(keys), enumerate(values))
        if any(low <= key <= high for low, high in ranges)
    ]


def test_there_is_room_for_thousands_of_slots_and_not_for_any_number():
    sets = Bitsets()
    assert sets.has_room([0, 1], 2000, 2000)
    assert sets.has_room([0, 1], 10_000, 200)
    assert not sets.has_room([0, 1], 10_000, 10_000)
    slots = np.arange(3000)
    sets.insert(slots, slots, [(0, slots, slots, False), (1, slots, slots, False)])
    list(sets.pairs(lambda _: array([]), 0))
    assert sets.has_room([2], 100, 100)
    assert not sets.has_room([0, 1], 3000, 3000)
    sets.discard(np.ones(3000, np.bool_))
    assert sets.has_room([0, 1], 3000, 3000)
    assert sets.operands == []


X, Y = Column("x", "bigint"), Column("y", "bigint")


def atom(operand, sign, value):
    return Atom(operand, sign, Literal(value, "bigint"))


FIRST, SECOND, THIRD = atom(X, "=", 1), atom(X, ">", 5), atom(X, "<>", 7)
LEFT, RIGHT = atom(Y, "=", 1), atom(Y, "<>", 2)
UNITED = [
    # Terms, and the first of those that each is one with.
    ([(LEFT, FIRST)], [0]),
    ([(LEFT, FIRST), (LEFT, SECOND), (LEFT, THIRD)], [0, 0, 0]),
    ([(FIRST, LEFT), (FIRST, RIGHT), (SECOND, LEFT), (SECOND, RIGHT)], [0, 1, 0, 1]),
    ([(FIRST,), (LEFT,)], [0, 1]),
    ([(FIRST, LEFT), (SECOND,)], [0, 1]),
    ([(LEFT, FIRST), (LEFT, SECOND, THIRD)], [0, 1]),
    ([()], [0]),
]


@pytest.mark.parametrize(("terms", "numbers"), UNITED)
def test_terms_that_differ_in_one_operand_are_one(terms, numbers):
    assert united(terms) == numbers

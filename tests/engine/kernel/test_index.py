"""Keys keep Spark's order, and indexes find what a look at every entry finds."""

import math
from collections import deque
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kernel.segments import VALUES
from headgate.engine.kernel.arrays import bisect, search, spread
from headgate.engine.kernel.choice import Choice, Circumstances, choose
from headgate.engine.kernel.dictionary import Dictionary
from headgate.engine.kernel.expressions import arrow
from headgate.engine.kernel.family import Family
from headgate.engine.kernel.index import BITS, EACH, Indexes, Path
from headgate.engine.kernel.keys import NULL, Exhausted, Ranks, encoder, fits, is_extreme

KEYS = st.integers(-5, 20)


def array(values):
    return np.array(list(values), np.int64)


def series(values, kind):
    return pl.Series(pa.array(values, arrow(kind)))


def in_order(value):
    """By Spark's order: NaN is the greatest, -0.0 is 0.0, strings go by their bytes."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_keys_compare_as_values_do(kind, data):
    constants = [value for value in VALUES[kind] if not is_extreme(kind, value)]
    encoded = encoder(kind, ordered=True)
    known = {}
    for some in data.draw(
        st.lists(st.lists(st.sampled_from([None, *constants]), min_size=1), min_size=1, max_size=4)
    ):
        known |= {
            in_order(value): key
            for value, key in zip(some, encoded.enter(series(some, kind)).tolist(), strict=True)
            if value is not None
        }
    values = [*VALUES[kind], None]
    *keys, null = encoded.keys(series(values, kind)).tolist()
    assert null == NULL
    for (value, key), (constant, other) in product(zip(values, keys, strict=False), known.items()):
        assert (key < other, key == other) == (in_order(value) < constant, in_order(value) == constant)
        assert key > NULL


@pytest.mark.parametrize("kind", [kind for kind in VALUES if not fits(kind)])
def test_keys_that_are_only_equal_tell_constants_from_all_else(kind):
    first, second, *others = VALUES[kind]
    encoded = encoder(kind, ordered=False)
    one, two, null = encoded.enter(series([first, second, None], kind)).tolist()
    for count in (1, 2000):
        keys = encoded.keys(series([first, second, others[0], None] * count, kind)).tolist()
        assert keys[:2] == [one, two]
        assert keys[3] == null == NULL
        assert keys[2] not in (one, two, NULL)
        assert keys == keys[:4] * count


def test_keys_between_two_others_run_out_rather_than_be_wrong():
    ranks = Ranks("string")
    ranks.enter(pl.Series(["a", "c"]))
    words = (pl.Series(["b" * length]) for length in range(1, 100))
    with pytest.raises(Exhausted):
        deque(map(ranks.enter, words), maxlen=0)


@given(st.lists(st.lists(st.sampled_from([*range(40), -1, -(2**63), 2**63 - 1, 2**40]), min_size=1), max_size=6))
def test_a_dictionary_numbers_keys_in_their_order(batches):
    dictionary, expected = Dictionary(), {}
    for batch in batches:
        found = dictionary.enter(array(batch)).tolist()
        assert found == [expected.setdefault(key, len(expected)) for key in batch]
    wanted = [*range(-3, 45), -(2**63), 2**63 - 1, 2**40, 2**40 + 1]
    assert dictionary.find(array(wanted)).tolist() == [expected.get(key, -1) for key in wanted]


def test_a_dictionary_of_many_keys_that_come_one_after_the_other():
    keys = np.random.default_rng(1).integers(-(2**62), 2**62, 6000)
    dictionary = Dictionary()
    for start, end in ((0, 3000), (3000, 3100), (3100, 5000), (5000, 5001)):
        assert dictionary.enter(keys[start:end]).tolist() == list(range(start, end))
    assert dictionary.find(keys).tolist() == [*range(5001), *[-1] * 999]


@given(st.data())
def test_bisect_finds_the_place_within_each_range(data):
    ordered = array(sorted(data.draw(st.lists(KEYS, max_size=20))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ordered)), min_size=2, max_size=2)))
    values = array(data.draw(st.lists(KEYS, min_size=1, max_size=10)))
    low, high = (np.full(len(values), cut) for cut in cuts)
    for after, side in ((False, "left"), (True, "right")):
        expected = cuts[0] + np.searchsorted(ordered[slice(*cuts)], values, side)
        assert bisect(ordered, low, high, values, after).tolist() == expected.tolist()
        assert search(ordered, values, after).tolist() == np.searchsorted(ordered, values, side).tolist()


def test_search_among_many():
    rng = np.random.default_rng(2)
    ordered, values = np.sort(rng.integers(0, 500, 5000)), rng.integers(-10, 510, 10_000)
    assert (search(ordered, values, after=True) == np.searchsorted(ordered, values, "right")).all()


def test_spread_lists_the_places_of_ranges():
    which, places = spread(array([5, 0, 9]), array([2, 0, 3]))
    assert which.tolist() == [0, 0, 2, 2, 2]
    assert places.tolist() == [5, 6, 9, 10, 11]


PATHS = {
    "all": (Path(), lambda first, second, e: True),
    "equal": (Path(1), lambda first, second, e: first == e.first),
    "less": (Path(None, 2, "<"), lambda first, second, e: second <= e.high),
    "greater": (Path(None, 2, ">"), lambda first, second, e: second >= e.low),
    "equal and less": (Path(1, 2, "<"), lambda first, second, e: first == e.first and second <= e.high),
    "equal and greater": (Path(1, 2, ">"), lambda first, second, e: first == e.first and second >= e.low),
    "both equal": (Path(1, 2, "="), lambda first, second, e: first == e.first and second == e.low),
}


class Entry:
    def __init__(self, first, bounds):
        self.first, (self.low, self.high) = first, sorted(bounds)


ENTRIES = st.lists(st.builds(Entry, KEYS, st.tuples(KEYS, KEYS)), max_size=12)
ROWS = st.lists(st.tuples(KEYS, st.one_of(KEYS, st.just(NULL))), max_size=8)


def insert(indexes, path, slots, entries):
    keys = [array(getattr(e, name) for e in entries) for name in ("first", "low", "high")]
    first = None if path.first is None else keys[0]
    indexes.insert(path, array(slots), first, *(keys[1:] if path.second is not None else (None, None)))


def candidates(indexes, rows):
    keys = {1: array(first for first, _ in rows), 2: array(second for _, second in rows)}
    found = indexes.candidates(keys.__getitem__, lambda some: [(each, keys[each]) for each in some], len(rows))
    return sorted((row, slot) for part in found for row, slot in zip(*map(np.ndarray.tolist, part), strict=True))


@pytest.mark.parametrize("kind", PATHS)
@given(batches=st.lists(ENTRIES, max_size=5), rows=ROWS, dead=st.sets(st.integers(0, 59)))
def test_a_path_finds_what_a_look_at_every_entry_finds(kind, batches, rows, dead):
    path, wants = PATHS[kind]
    indexes, entries = Indexes(), []
    for batch in batches:
        insert(indexes, path, range(len(entries), len(entries) + len(batch)), batch)
        entries += batch
    for gone in (set(), dead):
        indexes.discard(np.array([slot in gone for slot in range(len(entries))], np.bool_))
        expected = [
            (row, slot)
            for (row, (first, second)), (slot, e) in product(enumerate(rows), enumerate(entries))
            if slot not in gone and (path.second is None or second != NULL) and wants(first, second, e)
        ]
        assert candidates(indexes, rows) == expected


@given(entries=ENTRIES, rows=ROWS, level=st.integers(3, 6))
def test_ranges_are_found_by_the_cells_that_they_touch(entries, rows, level):
    narrow = {slot: e for slot, e in enumerate(entries) if e.high - e.low <= 1 << level}
    indexes = Indexes()
    insert(indexes, Path(None, 2, "near", level), narrow, narrow.values())
    found = candidates(indexes, rows)
    assert len(found) == len(set(found))
    for (row, (_, second)), (slot, e) in product(enumerate(rows), narrow.items()):
        if e.low <= second <= e.high:
            assert (row, slot) in found


@given(entries=ENTRIES, rows=ROWS, outside=st.booleans(), dead=st.sets(st.integers(0, 11)))
def test_slots_that_are_tried_on_every_row_find_theirs(entries, rows, outside, dead):
    indexes = Indexes()
    if entries:
        bounds = (array(getattr(e, name) for e in entries) for name in ("low", "high"))
        indexes.insert_dense(np.arange(len(entries)), 2, *bounds, outside)
    indexes.discard(np.array([slot in dead for slot in range(len(entries))], np.bool_))
    expected = [
        (row, slot)
        for (row, (_, second)), (slot, e) in product(enumerate(rows), enumerate(entries))
        if slot not in dead and second != NULL and (e.low <= second <= e.high) != outside
    ]
    assert candidates(indexes, rows) == expected


def test_many_candidates_come_in_parts():
    indexes = Indexes()
    indexes.insert(Path(), np.arange(3000), None, None, None)
    parts = list(indexes.candidates(lambda _: array([]), lambda _: [], 2000))
    assert len(parts) > 1
    assert sum(len(rows) for rows, _ in parts) == 3000 * 2000
    assert {len(np.unique(slots)) for _, slots in parts} == {3000}


def circumstances(rows, members):
    return Circumstances(rows, members, lambda _: False, lambda _: 0.0)


CHOICES = [
    # Atoms, what they let through, rows, members; the path.
    ("=", [0.001], 1000, 1000, Path(0)),
    ("=", [0.001], 1000, 3, EACH),
    ("=>", [1e-6, 0.5], 1000, 100_000, Path(0)),
    ("=>", [0.2, 0.001], 1000, 100_000, Path(0, 1, ">")),
    ("<=", [1e-4, 0.9], 50_000, 1000, Path(None, 0, "<")),
    ("==", [0.1, 0.1], 1000, 100_000, Path(0, 1, "=")),
    ("", [], 1000, 10, Path()),
]


@pytest.mark.parametrize(("signs", "passing", "rows", "members", "path"), CHOICES)
def test_the_cheapest_path_is_chosen(signs, passing, rows, members, path):
    operands = range(len(signs))
    assert choose(operands, signs, np.array(passing), circumstances(rows, members)).path == path


def test_narrow_ranges_are_found_by_cells():
    assert choose([0], ["range"], np.array([1e-4]), circumstances(1000, 10_000)).path == Path(None, 0, "near")


WEAK = np.array([0.1, 0.03, 0.05])


@pytest.mark.parametrize(
    ("members", "passing", "bits", "families", "is_chosen"),
    [
        (50, WEAK, 50, 20, True),
        (50, WEAK, 0, 20, False),
        (1, WEAK, 1, 100, True),
        (1, WEAK, 1, 1, False),
        (5000, [0.0001, 0.3, 0.3], 5000, 20, False),
        (2500, [0.001, 0.03, 0.05], 50, 20, True),
    ],
)
def test_bit_sets_are_chosen_where_no_atom_lets_little_through_and_others_have_its_operands(
    members, passing, bits, families, is_chosen
):
    at = replace(circumstances(2000, members), bits=bits, sharing=lambda _: families)
    assert (choose([0, 1, 2], "=><", np.array(passing), at).path == BITS) == is_chosen


def test_a_family_stays_where_it_is_until_another_path_is_clearly_cheaper():
    at = circumstances(1000, 1000)
    chosen = choose([0, 1], "==", np.array([0.01, 0.02]), at)
    assert chosen.path.first == 0
    assert choose([0, 1], "==", np.array([0.011, 0.010]), at, chosen) == chosen
    assert choose([0, 1], "==", np.array([0.9, 0.001]), at, chosen).by[0] == 1


ENDS = st.one_of(st.integers(NULL + 1, 2**63 - 1), st.sampled_from([NULL + 1, -1, 0, 2**54, 2**54 + 1, 2**63 - 1]))


@given(st.lists(st.tuples(ENDS, ENDS), min_size=1))
def test_cells_are_wide_enough_for_any_range(ends):
    family = Family((0,), ("range",))
    low, high = (array(edge(pair) for pair in ends) for edge in (min, max))
    family.extend(np.arange(len(ends)), np.arange(len(ends)), [(low, high)])
    family.choice = Choice(Path(None, 0, "near"), (0,), (0,))
    for path, some, _, lowest, highest in family.entries(0):
        assert ((highest >> path.level) - (lowest >> path.level) <= 1).all()
        assert (low[some] == lowest).all()

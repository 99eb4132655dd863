"""Broadcast-disk programs: golden vectors, exact counts, bounded gaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.classes.programs import FINE, LONGEST, VARIANTS, frequencies, program

FREQUENCIES = st.lists(st.integers(1, 70), min_size=1, max_size=8)


def written(p, variant="ruler", ids="ABCDE"):
    return "".join(ids[i] for i in program(p, variant))


def waits(found, i):
    """The most slots of others between two turns of i, going round."""
    at = [k for k, each in enumerate(found) if each == i]
    return max(after - before - 1 for before, after in zip(at, [*at[1:], at[0] + len(found)], strict=True))


@pytest.mark.parametrize(
    ("p", "ids", "expected", "most"),
    [
        ((5, 4, 3, 2, 1), "ABCDE", "ABCDABACEABCDAB", (3, 4, 5, 8, 14)),
        ((3, 2, 1), "ABC", "ABACAB", (1, 3, 5)),
        ((6, 3, 1), "HCN", "HHCHCNHHCH", (2, 3, 9)),
        ((8, 4, 2, 1), "ABCD", "ABACABADABACABA", (1, 3, 7, 14)),
        ((4, 4), "AB", "ABABABAB", (1, 1)),
    ],
)
def test_the_ruler_programs_of_the_literature(p, ids, expected, most):
    assert written(p, ids=ids) == expected
    assert tuple(waits(program(p), i) for i in range(len(p))) == most


@pytest.mark.parametrize(
    ("p", "length", "most"),
    [
        ((30, 20, 10), 60, (1, 3, 7)),
        ((60, 30, 10), 100, (2, 3, 12)),
        ((50, 40, 30, 20, 10), 150, (4, 4, 6, 9, 18)),
    ],
)
def test_the_length_and_the_waits_of_longer_programs(p, length, most):
    found = program(p)
    assert len(found) == length
    assert tuple(waits(found, i) for i in range(len(p))) == most


@pytest.mark.parametrize(
    ("variant", "expected", "most"),
    [("ruler", "ABCDABACEABCDAB", 3), ("aligned", "ACECDABABCDABAB", 4), ("bitrev", "ABCDEAABCABCDAB", 4)],
)
def test_in_every_variant_the_first_of_five_waits_for_four_slots_at_most(variant, expected, most):
    assert written((5, 4, 3, 2, 1), variant) == expected
    assert waits(program((5, 4, 3, 2, 1), variant), 0) == most


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_entry_occurs_as_often_as_its_frequency_says(variant):
    rng = np.random.default_rng(3)
    for _ in range(1000):
        p = rng.integers(1, 70, int(rng.integers(1, 9))).tolist()
        found = program(p, variant)
        assert len(found) == sum(p)
        assert [found.count(i) for i in range(len(p))] == p


@pytest.mark.parametrize("variant", ["ruler", "aligned"])
@settings(max_examples=50)
@given(p=FREQUENCIES)
def test_between_two_turns_the_others_have_no_more_than_their_bits_allow(variant, p):
    found = program(p, variant)
    for i, n in enumerate(p):
        top = n.bit_length() - 1
        allowed = sum(max(1, 2 ** (b - top)) for other in p for b in range(other.bit_length()) if other >> b & 1)
        own = sum(1 for b in range(top) if n >> b & 1) + 1
        assert waits(found, i) <= allowed - own


@settings(max_examples=50)
@given(p=FREQUENCIES)
def test_between_two_turns_of_a_reversed_program_others_have_their_part_and_one(p):
    found = program(p, "bitrev")
    for i, n in enumerate(p):
        most = 1 << (n.bit_length() - 1)
        assert waits(found, i) <= sum(-(-other // most) + 1 for k, other in enumerate(p) if k != i)


def test_a_frequency_below_one_counts_as_one():
    assert written((2, 0, -3)) == written((2, 1, 1)) == "ABCA"


def test_a_single_entry_is_the_whole_program_and_none_is_an_empty_one():
    assert program((3,)) == [0, 0, 0]
    assert program(()) == []


def test_frequencies_are_not_divided_by_what_they_have_in_common():
    assert len(program((4, 4))) == 8


def test_an_unknown_variant_is_refused():
    with pytest.raises(InputError) as caught:
        program((1,), "rulers")
    assert str(caught.value) == "a known variant of programs; got 'rulers'. Choose ruler, aligned, bitrev."


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((6, 3, 1), [6, 3, 1]),
        ((50.0, 40.0), [50, 40]),
        ((0.6, 0.3, 0.1), [60, 30, 10]),
        ((5.5, 3.5, 1.0), [55, 35, 10]),
        ((0.998, 0.001, 0.001), [100, 1, 1]),
        ((9_000_000, 1_000_000), [900, 100]),
    ],
)
def test_frequencies_are_whole_numbers_in_proportion(weights, expected):
    assert frequencies(weights) == expected


@given(weights=st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=8))
def test_frequencies_stay_few_and_near_the_weights(weights):
    found = frequencies(weights)
    assert min(found) >= 1
    assert sum(found) <= max(LONGEST, FINE) + len(found)
    scale = sum(weights) / min(max(sum(weights), FINE), LONGEST)
    assert found == weights or all(abs(n * scale - w) <= scale for n, w in zip(found, weights, strict=True))

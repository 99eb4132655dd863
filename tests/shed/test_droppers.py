"""Droppers: the right share, the same tuples in every run, however the stream is cut."""

import ast
import itertools
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.shed import droppers
from headgate.shed.droppers import Random, Semantic, Stratified, Unprotected, by_utility, chance

KEYS = np.arange(1, 11)
LOW = Unprotected((9, 10))
RATES = st.integers(0, 100).map(lambda percent: percent / 100)
SEEDS = st.integers(-(2**63), 2**64)
EVERY = {"random": Random, "stratified": Stratified, "semantic": lambda seed: Semantic(LOW, 0.8, seed)}
MANY = np.arange(200_000)


def keys_of(positions):
    """Uniform keys, in an order without a pattern."""
    return KEYS[(chance(positions, 99) * len(KEYS)).astype(int)]


def kept(name, positions, rate, seed=0):
    return EVERY[name](seed).keep(positions, rate, keys_of(positions))


@pytest.mark.parametrize("name", EVERY)
@given(seed=SEEDS, rate=RATES, first=st.integers(0, 2**40), lengths=st.lists(st.integers(0, 150), max_size=8))
def test_how_a_stream_is_cut_changes_nothing(name, seed, rate, first, lengths):
    ends = first + np.cumsum([0, *lengths])
    cut = [kept(name, np.arange(a, b), rate, seed) for a, b in itertools.pairwise(ends)]
    whole = kept(name, np.arange(ends[0], ends[-1]), rate, seed)
    assert np.array_equal(np.concatenate([*cut, np.zeros(0, bool)]), whole)
    assert whole.dtype == bool


@pytest.mark.parametrize("name", EVERY)
@given(seed=SEEDS, rate=RATES, more=RATES)
def test_a_higher_rate_drops_what_a_lower_one_drops(name, seed, rate, more):
    positions = np.arange(1000)
    assert not (kept(name, positions, max(rate, more), seed) & ~kept(name, positions, min(rate, more), seed)).any()


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.2, 0.5, 0.85, 0.99, 1.0])
@pytest.mark.parametrize("name", EVERY)
def test_the_share_that_is_dropped_comes_to_the_rate(name, rate):
    # Four standard deviations of a binomial share.
    assert 1 - kept(name, MANY, rate).mean() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / len(MANY)) ** 0.5)


@given(seed=SEEDS, percent=st.integers(0, 100), block=st.integers(0, 2**40))
def test_in_strata_exactly_so_many_of_every_hundred_go(seed, percent, block):
    positions = np.arange(block * 100, block * 100 + 300)
    dropped = ~Stratified(seed).keep(positions, percent / 100)
    assert dropped.reshape(3, 100).sum(axis=1).tolist() == [percent] * 3


@given(percents=st.lists(st.integers(0, 100), min_size=1, max_size=300), first=st.integers(0, 2**40))
def test_in_strata_each_tuple_may_have_a_rate_of_its_own(percents, first):
    positions = np.arange(first, first + len(percents))
    found = Stratified(3).keep(positions, np.array(percents) / 100)
    each = [Stratified(3).keep(positions[i : i + 1], percent / 100)[0] for i, percent in enumerate(percents)]
    assert found.tolist() == each


def test_the_order_within_a_hundred_differs_from_one_to_the_next():
    blocks = Stratified().keep(np.arange(10_000), 0.5).reshape(100, 100)
    assert len(np.unique(blocks, axis=0)) == 100


@pytest.mark.parametrize("name", EVERY)
def test_another_seed_drops_other_tuples(name):
    one, other = kept(name, MANY, 0.3, 1), kept(name, MANY, 0.3, 2)
    assert 0.3 < (one != other).mean() < 0.5


def test_chances_are_uniform_and_neighbours_are_independent():
    drawn = chance(MANY, 5)
    assert 0 <= drawn.min() < 1e-4
    assert 1 - 1e-4 < drawn.max() < 1
    counts = np.bincount((drawn * 50).astype(int), minlength=50)
    assert ((counts - 4000) ** 2 / 4000).sum() < 86  # the 99.9th percentile of chi-square with 49 degrees
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.01
    assert abs(np.corrcoef(drawn, chance(MANY, 6))[0, 1]) < 0.01


def test_the_same_tuples_go_in_every_version():
    assert np.flatnonzero(~Random(7).keep(np.arange(40), 0.2)).tolist() == [5, 8, 11, 12, 19, 24, 25, 34, 39]
    assert np.flatnonzero(~Stratified(7).keep(np.arange(40), 0.2)).tolist() == [5, 8, 11, 12, 17, 19, 24, 25, 34, 39]


# By utility.


@pytest.mark.parametrize(
    ("rate", "mass", "low", "high"),
    [
        (0.2, 0.8, 0.25, 0.0),
        (0.0, 0.8, 0.0, 0.0),
        (0.8, 0.8, 1.0, 0.0),
        (0.9, 0.8, 1.0, 0.5),
        (0.5, 0.0, 1.0, 0.5),
        (0.0, 0.0, 0.0, 0.0),
        (0.5, 1.0, 0.5, 0.0),
        (1.0, 0.8, 1.0, 1.0),
    ],
)
def test_keys_of_low_utility_carry_what_is_dropped_as_far_as_they_can(rate, mass, low, high):
    assert by_utility(rate, mass) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("protected", [(9, 10), (1, 2)])
def test_a_fifth_of_ten_keys_with_two_protected_is_a_quarter_of_the_other_eight(protected):
    keys = keys_of(MANY)
    stay = Semantic(Unprotected(protected), 0.8).keep(MANY, 0.2, keys)
    for key in KEYS:
        dropped = 1 - stay[keys == key].mean()
        assert dropped == (0.0 if key in protected else pytest.approx(0.25, abs=0.015))


def test_utility_may_be_any_function_of_keys():
    words = np.array(["gold", "tin", "gold", "lead"] * 50)
    stay = Semantic(lambda keys: keys != "gold", 0.5).keep(np.arange(200), 0.5, words)
    assert np.array_equal(stay, words == "gold")


def test_protected_keys_may_be_words():
    assert Unprotected({"gold"})(np.array(["gold", "tin"])).tolist() == [False, True]


def test_without_keys_there_is_no_utility():
    with pytest.raises(TypeError, match="was given none"):
        Semantic(LOW, 0.8).keep(np.arange(3), 0.5)


# In workers.


def test_a_worker_needs_numpy_and_the_standard_library_only():
    tree = ast.parse(Path(droppers.__file__).read_text())
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {name.split(".")[0] for name in names} <= {"numpy", *sys.stdlib_module_names}


@pytest.mark.parametrize("name", EVERY)
def test_a_dropper_travels_to_a_worker(name):
    dropper = EVERY[name](3)
    assert pickle.loads(pickle.dumps(dropper)) == dropper

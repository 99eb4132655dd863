"""Draws: uniform, independent of one another, and the same in Python and in compiled code.

The seeds are fixed, so a test passes or fails always; a fair generator fails one with a probability of 1e-5.
"""

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headgate.bench import simpy_model
from headgate.sim import draws

WORDS = st.integers(0, 2**64 - 1)
RARE = 1e-5
N = 20_000


@nb.njit("float64[:](uint64, uint64, uint64, uint64, int64)")
def column(seed, first, step, operator, n):
    """Draws of n tuples at an operator, made in compiled code."""
    out = np.empty(n)
    for i in range(n):
        out[i] = draws.uniform(draws.key(seed, first + np.uint64(i) * step), operator)
    return out


def chance_of(counts):
    """The probability of counts as uneven as these if all cells are equally likely."""
    return stats.chisquare(np.ravel(counts)).pvalue


@pytest.mark.parametrize("seed", [0, 1, 2**63])
@pytest.mark.parametrize("operator", [0, 1, 1500])
@pytest.mark.parametrize(("first", "step"), [(0, 1), (2**40, 1), (0, 4096)], ids=["items", "other stream", "strided"])
def test_draws_at_an_operator_are_uniform(seed, operator, first, step):
    found = column(seed, first, step, operator, N)
    assert found.min() >= 0
    assert found.max() < 1
    assert chance_of(np.histogram(found, bins=64, range=(0, 1))[0]) > RARE
    assert stats.kstest(found, "uniform").pvalue > RARE


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((7, 0, 1, 1), (7, 0, 1, 2)),
        ((7, 0, 1, 1), (7, 0, 1, 1001)),
        ((7, 0, 1, 1), (8, 0, 1, 1)),
        ((7, 0, 1, 1), (7, 1, 1, 1)),
        ((7, 0, 1, 1), (7, 1, 1, 2)),
        ((7, 0, 1, 1), (7, 2**40, 1, 1)),
    ],
    ids=["next operator", "far operator", "next seed", "next item", "next item and operator", "other stream"],
)
def test_draws_are_independent_across(x, y):
    a, b = column(*x, N), column(*y, N)
    counts, *_ = np.histogram2d(a, b, bins=10, range=((0, 1), (0, 1)))
    assert chance_of(counts) > RARE
    assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(N)


def test_an_item_passes_two_filters_as_often_as_the_product_of_their_selectivities():
    passed = (column(3, 0, 1, 10, N) < 0.3) & (column(3, 0, 1, 11, N) < 0.6)
    assert passed.mean() == pytest.approx(0.18, abs=5 * np.sqrt(0.18 * 0.82 / N))


@given(seed=WORDS, item=WORDS, operator=st.integers(0, 2**32))
def test_compiled_draws_are_those_of_plain_integers(seed, item, operator):
    expected = simpy_model.draw(seed, item, operator)
    assert draws.draw(draws.Word(seed), draws.Word(item), draws.Word(operator)) == expected
    assert column(seed, item, 1, operator, 1)[0] == expected


@given(x=WORDS)
def test_the_finaliser_is_the_same_in_python_and_compiled(x):
    with np.errstate(over="ignore"):
        assert draws.mix.py_func(draws.Word(x)) == draws.mix(draws.Word(x)) == simpy_model._mix(x)


def test_the_finaliser_loses_nothing():
    assert len({int(draws.mix(draws.Word(x))) for x in range(10_000)}) == 10_000


def test_identities_of_different_streams_never_meet():
    assert draws.identity(0, 2**40 - 1) < draws.identity(1, 0)
    assert int(draws.identity(3, 5)) == 3 * 2**40 + 5


def test_a_match_has_an_identity_of_its_own_that_knows_left_from_right():
    word = draws.Word
    pairs = {int(draws.pair(word(x), word(y))) for x in range(100) for y in range(100)}
    assert len(pairs) == 10_000

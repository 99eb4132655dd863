"""The modules against priority inversion: the moves of the literature, and what holds for all of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policy.classes.inversion import CAP, MODULES, fix_ties, moved


@pytest.mark.parametrize(
    ("module", "before", "victim", "after"),
    [
        ("dvp", (50, 40, 30), 2, (50, 40, 29)),
        ("dvp", (60, 20, 1), 2, (60, 21, 1)),
        ("dvp", (30, 20, 19), 1, (60, 39, 38)),
        ("ivp", (50, 40, 30, 20, 10), 2, (50, 41, 30, 20, 10)),
        ("ivp", (41, 40, 30), 2, (42, 41, 30)),
        ("dsp", (50, 40, 30, 20, 10), 2, (50, 40, 29, 19, 9)),
        ("dsp", (3, 2, 1), 2, (4, 3, 1)),
        ("dsp", (5, 3, 2, 1), 2, (6, 4, 2, 1)),
        ("isp", (50, 40, 30, 20, 10), 2, (51, 41, 30, 20, 10)),
    ],
)
def test_the_moves_of_the_literature(module, before, victim, after):
    victims = [k + 1 == victim for k in range(len(before) - 1)]
    P = range(len(before), 0, -1)
    assert MODULES[module](before, victims, P) == list(after)


def test_equal_priorities_are_no_tie_to_mend():
    assert MODULES["dvp"]((80, 30, 30, 10, 10), [True, False, False, False], (80, 30, 30, 10, 10)) == [
        80,
        29,
        30,
        10,
        10,
    ]


def test_ties_are_mended_upwards_in_one_pass():
    assert fix_ties([3, 3, 3, 3], [4, 3, 2, 1]) == [6, 5, 4, 3]
    assert fix_ties([3, 3, 3], [2, 2, 1]) == [3, 4, 3]


@st.composite
def frequencies(draw):
    """Frequencies in the order of distinct priorities."""
    steps = draw(st.lists(st.integers(1, 12), min_size=2, max_size=6))
    return [sum(steps[i:]) for i in range(len(steps))]


@pytest.mark.parametrize("module", MODULES)
def test_a_move_keeps_the_order_stays_above_0_and_gets_somewhere(module):
    rng = np.random.default_rng(7)
    for _ in range(10_000):
        n = int(rng.integers(2, 7))
        f = np.cumsum(rng.integers(1, 12, n))[::-1].tolist()
        victim = (rng.random(n - 1) < 0.4).tolist()
        victim[int(rng.integers(n - 1))] = True
        g = MODULES[module](f, victim, range(n, 0, -1))
        assert all(before > after for before, after in pairwise(g))
        assert g[-1] >= 1
        assert g != f


@pytest.mark.parametrize("module", MODULES)
@settings(max_examples=60)
@given(f=frequencies())
def test_a_single_victim_gains_on_its_violator(module, f):
    for i in range(len(f) - 1):
        g = MODULES[module](f, [k == i for k in range(len(f) - 1)], range(len(f), 0, -1))
        assert g[i] * f[i + 1] > f[i] * g[i + 1]


@pytest.mark.parametrize("module", MODULES)
def test_without_a_victim_nothing_moves(module):
    assert MODULES[module]((5, 4, 1), [False, False], (3, 2, 1)) == [5, 4, 1]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_would_go_beyond_the_cap_is_exhausted(module):
    begun, victims, P = [3, 2, 1], [True, False], [3, 2, 1]
    f, seen = begun, [begun]
    while (g := moved(module, f, victims, P, begun)) is not None:
        assert max(g) <= CAP * max(begun)
        f = g
        seen.append(f)
        assert len(seen) < 1000
    assert max(MODULES[module](f, victims, P)) > CAP * max(begun)

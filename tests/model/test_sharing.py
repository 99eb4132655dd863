"""The value of a shared operator: Max, Sum, PDT and the best set there is."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.sharing import STRATEGIES, Branch, best_single, pdt, pdt_opt, value, whole_group
from headgate.model.unit import Sharing

POSITIVE = st.floats(1e-3, 1e3)
BRANCHES = st.lists(st.builds(Branch, POSITIVE, POSITIVE), min_size=1, max_size=8)
ROUND = 1 - 1e-12


def brute_force(branches, c):
    everything = range(len(branches))
    return max(
        value(branches, chosen, c)
        for size in range(1, len(branches) + 1)
        for chosen in combinations(everything, size)
    )


@given(branches=BRANCHES, c=POSITIVE)
def test_every_strategy_reports_the_value_of_what_it_chose(branches, c):
    for strategy in STRATEGIES.values():
        found = strategy(branches, c)
        assert found.value == pytest.approx(value(branches, found.chosen, c))
        assert len(set(found.chosen)) == len(found.chosen) > 0


@given(branches=BRANCHES, c=POSITIVE)
def test_pdt_is_worth_at_least_the_best_branch_alone(branches, c):
    assert pdt(branches, c).value >= best_single(branches, c).value * ROUND


@given(branches=BRANCHES, c=POSITIVE)
def test_the_optimal_tree_is_the_best_of_all_subsets(branches, c):
    found = pdt_opt(branches, c).value
    assert found == pytest.approx(brute_force(branches, c))
    assert found >= pdt(branches, c).value * ROUND


@given(branches=BRANCHES, c=POSITIVE)
def test_the_optimal_tree_is_never_below_max_or_sum(branches, c):
    assert pdt_opt(branches, c).value >= max(best_single(branches, c).value, whole_group(branches, c).value) * ROUND


@given(branches=BRANCHES, c=POSITIVE)
def test_the_greedy_tree_is_below_sum_only_where_it_misses_the_optimum(branches, c):
    greedy = pdt(branches, c).value
    assert greedy >= whole_group(branches, c).value * ROUND or greedy < pdt_opt(branches, c).value


@given(branches=BRANCHES, c=POSITIVE)
def test_max_is_the_best_set_of_one(branches, c):
    assert best_single(branches, c).value == max(a / (c + r) for a, r in branches)


@given(branches=BRANCHES, c=POSITIVE)
def test_sum_counts_the_shared_cost_once_so_it_is_below_the_sum_of_the_priorities(branches, c):
    found = whole_group(branches, c)
    assert found.value == pytest.approx(sum(a for a, _ in branches) / (c + sum(r for _, r in branches)))
    assert found.chosen == tuple(range(len(branches)))
    assert found.value <= sum(value(branches, [i], c) for i in range(len(branches))) / ROUND


@given(branches=BRANCHES, c=POSITIVE)
def test_a_branch_joins_the_tree_exactly_while_its_own_rate_exceeds_the_value(branches, c):
    found = pdt_opt(branches, c)
    inside = [branches[i].a / branches[i].r for i in found.chosen]
    outside = [b.a / b.r for i, b in enumerate(branches) if i not in found.chosen]
    assert min(inside) >= found.value * ROUND
    assert max(outside, default=0.0) <= found.value / ROUND


def test_a_branch_that_costs_nothing_more_always_helps():
    branches = [Branch(0.001, 0.0), Branch(5.0, 1.0)]
    assert set(pdt_opt(branches, 1.0).chosen) == {0, 1}
    assert set(pdt(branches, 1.0).chosen) == {0, 1}


def test_of_equal_branches_the_first_is_the_best():
    assert best_single([Branch(1.0, 1.0)] * 3, 1.0).chosen == (0,)


def test_an_unknown_strategy_is_refused_with_the_known_ones():
    with pytest.raises(InputError) as caught:
        Sharing("mean")
    assert caught.value.rule == "sharing: a known strategy"
    assert caught.value.got == "'mean'"
    assert caught.value.remedy == "Choose max, sum, pdt, pdt-opt."

"""Groups of copies: keys, representatives, allocations and refinement."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.freshness.kmeans import refine
from headgate.freshness.partitions import KEYS, partition
from headgate.freshness.problem import Problem, perceived, spent
from headgate.freshness.representatives import representatives, solve_groups
from headgate.freshness.solver import solve
from headgate.sim.freshness.worlds import change_rates, pareto_sizes, zipf


def world(seed, n=60, sized=True):
    rng = np.random.default_rng(seed)
    sizes = pareto_sizes(n, 1.5, rng) if sized else np.ones(n)
    return Problem.of(rng.permutation(zipf(n, 1.0)), change_rates(n, 2, 1, rng), n / 2, sizes)


seeds = st.integers(0, 2**32)
keys = st.sampled_from(list(KEYS))


def test_groups_follow_the_order_of_the_key():
    problem = Problem.of([0.4, 0.1, 0.3, 0.2], [1, 2, 3, 4], 2, [4, 3, 2, 1])
    assert partition(problem, "p", 2).tolist() == [1, 0, 1, 0]
    assert partition(problem, "lam", 2).tolist() == [0, 0, 1, 1]
    assert partition(problem, "size", 2).tolist() == [1, 1, 0, 0]
    assert partition(problem, "p/lam", 4).tolist() == [3, 0, 2, 1]


def test_what_never_changes_has_the_most_accesses_to_a_change():
    assert partition(Problem.of([0.0, 1.0], [0, 1], 1), "p/lam", 2).tolist() == [1, 0]


@given(seeds, keys, st.integers(1, 60))
def test_groups_are_of_equal_size_up_to_one(seed, key, groups):
    count = np.bincount(partition(world(seed), key, groups))
    assert len(count) == groups
    assert count.max() - count.min() <= 1


@given(seeds, keys, st.integers(1, 60), st.sampled_from(["ffa", "fba"]))
def test_every_allocation_spends_the_budget_and_is_at_most_the_optimum(seed, key, groups, allocation):
    problem = world(seed)
    f = solve_groups(problem, partition(problem, key, groups), allocation)
    assert spent(problem, f) == pytest.approx(problem.B)
    assert perceived(problem, f) <= perceived(problem, solve(problem).f) + 1e-12


@given(seeds, keys, st.sampled_from(["ffa", "fba"]))
def test_a_group_for_each_copy_is_the_optimum(seed, key, allocation):
    problem = world(seed)
    f = solve_groups(problem, partition(problem, key, len(problem)), allocation)
    assert f == pytest.approx(solve(problem).f, rel=1e-6, abs=1e-9)


@given(seeds, keys)
def test_one_group_refreshes_all_equally_often(seed, key):
    problem = world(seed)
    f = solve_groups(problem, partition(problem, key, 1))
    assert f == pytest.approx(np.full(len(problem), f[0]))


@given(seeds, st.integers(1, 60))
def test_with_equal_sizes_both_allocations_and_both_freshness_keys_are_the_same(seed, groups):
    problem = world(seed, sized=False)
    labels = partition(problem, "pf", groups)
    assert (labels == partition(problem, "pfs", groups)).all()
    assert solve_groups(problem, labels, "fba") == pytest.approx(solve_groups(problem, labels, "ffa"))


def test_a_representative_is_the_average_of_its_group():
    problem = Problem.of([0.1, 0.3, 0.6], [1, 3, 5], 2, [2, 4, 1])
    found = representatives(problem, np.array([0, 0, 1]))
    assert found.p.tolist() == pytest.approx([0.2, 0.6])
    assert found.lam.tolist() == [2, 5]
    assert found.s.tolist() == [3, 1]
    assert found.w.tolist() == [2, 1]


def test_bandwidth_shared_in_a_group_gives_small_copies_more_refreshes():
    problem = Problem.of([0.5, 0.5], [1, 1], 4, [1, 3])
    one = np.zeros(2, np.int64)
    assert solve_groups(problem, one, "ffa").tolist() == pytest.approx([1, 1])
    assert solve_groups(problem, one, "fba").tolist() == pytest.approx([2, 2 / 3])


def brute(problem, labels):
    """One round of k-means by all distances."""
    points = np.column_stack([each / each.sum() for each in (problem.p, problem.lam, problem.s)])
    centres = np.array([points[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
    nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return np.unique(nearest, return_inverse=True)[1]


@given(seeds, st.integers(1, 20))
def test_a_round_of_refinement_is_the_nearest_centre_of_all(seed, groups):
    problem = world(seed)
    labels = partition(problem, "pfs", groups)
    assert refine(problem, labels, 1).tolist() == brute(problem, labels).tolist()


@given(seeds, st.integers(1, 20))
def test_refinement_ends_where_nobody_moves(seed, groups):
    problem = world(seed)
    settled = refine(problem, partition(problem, "pf", groups), 1000)
    assert refine(problem, settled, 1).tolist() == settled.tolist()
    assert sorted(set(settled.tolist())) == list(range(settled.max() + 1))


def test_no_round_leaves_groups_as_they_are():
    problem = world(1)
    labels = partition(problem, "pf", 7)
    assert refine(problem, labels, 0) is labels


@pytest.mark.parametrize(
    ("key", "groups", "said"), [("rate", 2, "known key"), ("p", 0, "got 0"), ("p", 61, "got 61")]
)
def test_groups_that_cannot_be_are_refused(key, groups, said):
    with pytest.raises(InputError, match=said):
        partition(world(1), key, groups)

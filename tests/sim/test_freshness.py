"""The mirror event by event: it sees what the formulas say, and generators draw what they promise."""

import math

import numpy as np
import pytest

from headgate.errors import InputError
from headgate.freshness.problem import Problem, freshness, perceived
from headgate.freshness.solver import solve
from headgate.sim.freshness.refreshers import Learning, Planned, Split
from headgate.sim.freshness.simulation import Source, Span, poisson, settled, simulate
from headgate.sim.freshness.worlds import change_rates, ordered, pareto_sizes, zipf


def rng(seed=1):
    return np.random.default_rng(seed)


def world(n=60, theta=0.8, sized=False):
    sizes = pareto_sizes(n, 1.1, rng(2)) if sized else 1.0
    return Problem.of(zipf(n, theta), change_rates(n, 2, 1, rng()), n / 2, sizes)


def steady(problem):
    return Source([(0.0, problem.lam)])


@pytest.mark.parametrize(
    "problem",
    [
        Problem.of(np.arange(1, 6) / 15, np.arange(1, 6), 5),
        Problem.of(np.arange(5, 0, -1) / 15, np.arange(1, 6), 5),
        world(),
        world(theta=0.0, sized=True),
    ],
    ids=["aligned", "reverse", "zipf", "sizes"],
)
def test_what_users_see_is_what_the_formula_says(problem):
    f = solve(problem).f
    warm = settled(f)
    seen = simulate(problem, steady(problem), Planned(f), Span(warm + 400, warm, 50), rng())
    expected = perceived(problem, f)
    tolerance = 3 * math.sqrt(expected * (1 - expected) / seen.accesses) + 0.005
    assert abs(seen.sampled - expected) <= tolerance
    assert abs(seen.integrated(problem.p) - expected) <= tolerance
    assert seen.refreshes / 400 == pytest.approx(f.sum(), rel=0.02)


def test_each_copy_is_fresh_for_the_share_of_time_that_the_formula_says():
    problem = world(n=8)
    f = np.array([0, 0.5, 1, 2, 4, 1, 1, 3.0])
    seen = simulate(problem, steady(problem), Planned(f), Span(3000, 20, 1), rng())
    assert seen.fresh == pytest.approx(freshness(f, problem.lam), abs=0.02)


def test_the_same_seed_gives_the_same_run():
    problem = world()
    one, same = (
        simulate(problem, steady(problem), Planned(solve(problem).f), Span(60, 20, 50), rng(3)) for _ in range(2)
    )
    assert (one.hits, one.accesses, one.fresh.tolist()) == (same.hits, same.accesses, same.fresh.tolist())


def test_a_source_changes_at_other_rates_from_a_time_on():
    source = Source([(0.0, np.array([10.0, 0.0])), (50.0, np.array([0.0, 20.0]))])
    changes = source.changes(100.0, rng())
    assert (np.diff(changes.at) >= 0).all()
    assert set(changes.copy[changes.at < 50]) == {0}
    assert set(changes.copy[changes.at >= 50]) == {1}
    assert (changes.copy == 1).sum() == pytest.approx(1000, rel=0.15)


def test_events_come_at_the_rates_of_their_objects():
    rates = np.array([1.0, 0.0, 3.0])
    events = poisson(rates, 0.0, 2000.0, rng())
    assert np.bincount(events.copy, minlength=3) / 2000 == pytest.approx(rates, abs=0.15)


def test_a_refresher_that_learns_comes_close_to_one_that_knows():
    problem = world()
    learning = Learning(problem, guess=2.0, every=5.0, explore=0.1)
    span = Span(300, 150, 50)
    learned = simulate(problem, steady(problem), learning, span, rng()).integrated(problem.p)
    assert learned == pytest.approx(perceived(problem, solve(problem).f), abs=0.05)
    often = solve(problem).f > 1
    assert learning.estimates[often] == pytest.approx(problem.lam[often], rel=0.35)


def test_a_split_without_a_dynamic_part_is_the_plan():
    problem = world()
    span = Span(60, 20, 50)
    planned = simulate(problem, steady(problem), Planned(solve(problem).f), span, rng())
    split = simulate(problem, steady(problem), Split(problem, 1.0), span, rng())
    assert split.fresh.tolist() == pytest.approx(planned.fresh.tolist())


def test_a_dynamic_part_spends_what_the_plan_leaves_it():
    problem = world()
    seen = simulate(problem, steady(problem), Split(problem, 0.5), Span(220, 20, 50), rng())
    assert seen.refreshes / 200 == pytest.approx(problem.B, rel=0.02)


def test_change_rates_have_the_mean_and_the_deviation_asked_for():
    drawn = change_rates(200_000, 2.0, 1.0, rng())
    assert drawn.mean() == pytest.approx(2, rel=0.01)
    assert drawn.std() == pytest.approx(1, rel=0.01)
    assert change_rates(5, 2.0, 2.0, rng()).tolist() == rng().gamma(1.0, 2.0, 5).tolist()


def test_accesses_fall_with_the_rank_and_add_up_to_1():
    p = zipf(100, 1.2)
    assert p.sum() == pytest.approx(1)
    assert p[0] / p[9] == pytest.approx(10**1.2)
    assert zipf(4, 0).tolist() == [0.25] * 4


def test_sizes_have_a_mean_of_1_and_a_heavy_tail():
    sizes = pareto_sizes(100_000, 1.1, rng())
    assert sizes.mean() == pytest.approx(1)
    smallest = sizes.min()
    assert (sizes > 10 * smallest).mean() == pytest.approx(10**-1.1, rel=0.05)


def test_alignments_put_the_largest_first_last_or_anywhere():
    values = np.array([2.0, 3.0, 1.0, 5.0, 4.0])
    assert ordered(values, "aligned", rng()).tolist() == [5, 4, 3, 2, 1]
    assert ordered(values, "reverse", rng()).tolist() == [1, 2, 3, 4, 5]
    assert sorted(ordered(values, "shuffled", rng()).tolist()) == [1, 2, 3, 4, 5]


def test_a_run_has_to_be_longer_than_its_warm_up():
    with pytest.raises(InputError, match="warm-up"):
        Span(10, 10, 1)

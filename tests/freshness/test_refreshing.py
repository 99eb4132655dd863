"""Refreshing as it goes on: the budget holds, goes where it matters by what is learned, and nobody is forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import InputError
from headgate.freshness.problem import Problem
from headgate.freshness.refreshing import EXPLORED, LOOK, SAVED, Budget, Refreshing
from headgate.freshness.solver import solve

ways = st.sampled_from(["profile", "uniform", "change"])


def named(n):
    return [("t", str(i)) for i in range(n)]


def played(budget, lam, p, seconds, seed=1, step=0.5):
    """Copies that change at these rates per second and are accessed so: the share of fresh accesses, refreshes."""
    rng = np.random.default_rng(seed)
    lam, p = np.asarray(lam, float), np.asarray(p, float) / np.sum(p)
    made, names = Refreshing(budget), named(len(lam))
    for name in names:
        made.add(name, 0.0)
    stale, refreshes, hits, total = np.zeros(len(lam), bool), [], 0, 0
    for now in np.arange(step, seconds, step):
        stale |= rng.random(len(lam)) < -np.expm1(-lam * step)
        accessed = rng.choice(len(lam), size=10, p=p)
        for i in accessed:
            made.accessed(names[i], 1, now)
        if now > seconds / 4:
            hits, total = hits + int((~stale[accessed]).sum()), total + len(accessed)
        while (due := made.due(now)) is not None:
            i = int(due[1])
            made.refreshed(due, now, 1.0, changed=bool(stale[i]))
            stale[i] = False
            refreshes.append(i)
    return hits / total, refreshes


@given(st.integers(1, 12), st.floats(0.5, 50.0), ways, st.integers(0, 2**16))
def test_no_time_has_more_refreshes_than_its_budget_and_what_was_saved_up(n, amount, way, seed):
    rng = np.random.default_rng(seed)
    made = Refreshing(Budget(amount, 10.0, way))
    for name in named(n):
        made.add(name, 0.0)
    at, now = [], 0.0
    while now < 40.0:
        now += float(rng.exponential(0.05))
        while (due := made.due(now)) is not None:
            at.append(now)
            made.refreshed(due, now, 1.0, changed=bool(rng.integers(2)))
    for i, first in enumerate(at):
        for j, last in enumerate(at[i:], 1):
            assert j <= (last - first) * amount / 10.0 + SAVED + 1e-6
    assert made.spent == len(at)


def test_equal_copies_are_refreshed_equally_often_and_the_whole_budget_is_used():
    _, refreshes = played(Budget(30, 60.0, "uniform"), [0.1] * 5, [1] * 5, 600.0)
    counts = np.bincount(refreshes)
    assert counts.max() - counts.min() <= 1
    assert 295 <= counts.sum() <= 300


def test_what_is_accessed_most_is_refreshed_most_and_more_accesses_are_fresh_than_otherwise():
    n = 30
    lam, p = np.full(n, 0.05), 1 / np.arange(1, n + 1) ** 1.2
    seen = {way: played(Budget(18, 60.0, way), lam, p, 1200.0) for way in ("profile", "uniform", "change")}
    counts = np.bincount(seen["profile"][1], minlength=n)
    assert counts[0] > 3 * counts[n // 2]
    assert seen["profile"][0] > 1.2 * max(seen["uniform"][0], seen["change"][0])


def test_what_changes_too_often_to_be_worth_it_leaves_its_refreshes_to_others():
    _, refreshes = played(Budget(12, 60.0), [5.0, 0.02, 0.02, 0.02], [1, 1, 1, 1], 1200.0)
    counts = np.bincount(refreshes, minlength=4)
    assert counts[0] < min(counts[1:]) / 2


def test_a_copy_that_nobody_accesses_is_still_looked_at():
    _, refreshes = played(Budget(60, 60.0), [0.1] * 4, [1, 1, 1, 0], 1200.0)
    fair = 1200 * EXPLORED / 4
    assert 0.5 * fair <= refreshes.count(3) <= 2 * fair


def test_without_any_access_all_are_refreshed():
    made = Refreshing(Budget(60, 60.0))
    for name in named(3):
        made.add(name, 0.0)
    found = set()
    for now in range(1, 60):
        while (due := made.due(float(now))) is not None:
            found.add(due)
            made.refreshed(due, float(now), 1.0, changed=False)
    assert found == set(named(3))


def test_a_look_at_the_version_costs_a_part_of_a_refresh_so_there_are_more_of_them():
    made, looks = Refreshing(Budget(6, 60.0, "uniform")), 0
    made.add(("t", "all"), 0.0)
    for now in np.arange(0.1, 600.0, 0.1):
        while made.due(now) is not None:
            looks += 1
            made.refreshed(("t", "all"), now, 1.0, changed=False, looked=True)
    assert made.spent == pytest.approx(looks * LOOK)
    assert looks > 5 * 60
    assert made.spent <= 60 + SAVED


def test_with_none_nothing_is_ever_due():
    made = Refreshing(Budget(60, 60.0, "none"))
    made.add(("t", "all"), 0.0)
    assert made.due(1e6) is None
    assert made.wait(1e6) == np.inf


def test_a_refresh_that_failed_costs_as_much_and_the_copy_grows_older():
    made = Refreshing(Budget(60, 60.0))
    made.add(("t", "all"), 0.0)
    made.failed(("t", "all"), 10.0)
    (seen,) = made.estimates(20.0).values()
    assert (seen.age, seen.copy.failed, seen.copy.refreshed, made.spent) == (20.0, 1, 0, 1.0)


def test_what_was_learned_is_known_after_it_is_recalled():
    made = Refreshing(Budget(60, 60.0))
    for name in named(2):
        made.add(name, 0.0)
    made.accessed(("t", "1"), 9, 1.0)
    made.accessed(("t", "0"), 1, 1.0)
    for now in range(1, 50):
        made.refreshed(("t", "0"), float(now), 1.0, changed=now % 5 == 0)
    again = Refreshing(Budget(60, 60.0))
    again.recall(made.learned(50.0), 1000.0)
    for name in named(2):
        again.add(name, 1000.0)
    before, after = made.estimates(50.0), again.estimates(1000.0)
    assert {name: each.rate for name, each in after.items()} == {name: each.rate for name, each in before.items()}
    assert after["t", "1"].share == pytest.approx(0.9)


def test_freshness_falls_with_age_as_changes_come():
    made = Refreshing(Budget(60, 60.0))
    made.add(("t", "all"), 0.0)
    rate = made.copies["t", "all"].rate.mean
    assert [each.freshness for t in (0.0, 7.0) for each in made.estimates(t).values()] == [1.0, np.exp(-rate * 7.0)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0,), "a refresh budget"),
        ((1, 0.0), "the period"),
        ((1, 1.0, "often"), "a known way to refresh; got 'often'"),
    ],
)
def test_a_budget_that_is_none_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        Budget(*given)


def test_where_refreshes_take_too_long_for_the_budget_what_is_accessed_most_still_comes_first():
    made, now, refreshes = Refreshing(Budget(600, 60.0)), 0.0, []
    for name in named(4):
        made.add(name, now)
    while now < 600.0:
        now += 0.1
        made.accessed(("t", "0"), 1, now)
        if (due := made.due(now)) is not None:
            now += 3.0
            made.refreshed(due, now, 1.0, changed=True, seconds=3.0)
            refreshes.append(int(due[1]))
    counts = np.bincount(refreshes, minlength=4)
    assert counts[0] > 5 * max(counts[1:])
    assert min(counts) > 0


def test_another_budget_makes_no_copy_fresher():
    made = Refreshing(Budget(12, 60.0))
    made.add(("t", "all"), 0.0)
    made.refreshed(("t", "all"), 10.0, 1.0, changed=True)
    (before,) = made.estimates(1000.0).values()
    made.change(Budget(5e6, 60.0))
    made.rescale(("t", "all"), 2e6)
    (after,) = made.estimates(1000.0).values()
    assert (after.age, after.freshness) == (before.age, before.freshness)
    assert (after.copy.full, after.copy.cost) == (2e6, before.copy.cost * 2e6)


def test_what_was_taken_is_as_old_as_the_beginning_of_its_reading_and_never_older_than_it_was_known_to_be():
    made = Refreshing(Budget(12, 60.0))
    made.add(("t", "all"), 100.0, seen=70.0)
    assert made.estimates(100.0)["t", "all"].age == 30.0
    made.refreshed(("t", "all"), 120.0, 1.0, changed=False, seconds=5.0)
    made.add(("t", "all"), 130.0, seen=70.0)
    assert made.estimates(130.0)["t", "all"].age == 15.0


def test_a_refresh_of_a_copy_that_is_gone_does_not_count():
    made = Refreshing(Budget(12, 60.0))
    made.add(("t", "all"), 0.0)
    made.remove(("t", "all"))
    made.refreshed(("t", "all"), 1.0, 1.0, changed=True)
    made.failed(("t", "all"), 2.0)
    made.rescale(("t", "all"), 3.0)
    assert (made.copies, made.spent) == ({}, 0.0)


def aged(made, seconds, cost=1.0, step=0.1):
    """The greatest age of each copy until so many seconds have passed, if all refreshes find a change."""
    oldest = dict.fromkeys(made.copies, 0.0)
    for now in np.arange(step, seconds, step):
        for name, each in made.estimates(now).items():
            oldest[name] = max(oldest[name], each.age)
        while (due := made.due(now)) is not None:
            made.refreshed(due, now, cost, changed=True)
    return oldest


@pytest.mark.parametrize("way", ["profile", "uniform", "change"])
def test_no_copy_becomes_older_than_its_max_age_though_nobody_accesses_it_and_the_others_go_on(way):
    made = Refreshing(Budget(12, 60.0, way))
    for name, max_age in zip(named(3), (np.inf, 10.0, 30.0), strict=True):
        made.add(name, 0.0, max_age=max_age)
    made.accessed(("t", "0"), 100, 0.0)
    oldest = aged(made, 600.0)
    assert oldest["t", "1"] <= 10.2
    assert oldest["t", "2"] <= 30.2
    assert made.copies["t", "0"].refreshed > 5
    assert made.allowed == 1
    assert made.spent <= 120 + SAVED


def test_where_refreshes_come_to_cost_more_all_ages_are_longer_by_the_same_factor():
    made = Refreshing(Budget(12, 60.0))
    for name, max_age in zip(named(2), (10.0, 20.0), strict=True):
        made.add(name, 0.0, max_age=max_age)
    aged(made, 600.0, cost=2.0)
    found = made.estimates(600.0)
    assert made.allowed == pytest.approx(12 / 18, rel=0.01)
    assert [each.every for each in found.values()] == pytest.approx([15, 30], rel=0.01)
    made.change(Budget(24, 60.0))
    assert [each.every <= age for each, age in zip(made.estimates(600.0).values(), (10, 20), strict=True)] == [
        True
    ] * 2
    assert made.allowed == 1


def test_the_gain_of_a_little_more_budget_is_the_price_that_the_solver_finds():
    made = Refreshing(Budget(12, 60.0))
    for name in named(3):
        made.add(name, 0.0)
    lam = [60 * copy.rate.mean for copy in made.copies.values()]
    mu = solve(Problem.of(np.full(3, 1 / 3), lam, 12)).mu
    assert made.gain(1e-3) == pytest.approx(1e-3 * mu, rel=1e-3)
    assert made.gain(12) < 12 * mu


def test_more_budget_adds_nothing_where_there_is_no_time_for_more_refreshes():
    made = Refreshing(Budget(600, 60.0))
    made.add(("t", "all"), 0.0)
    for now in range(10, 400, 10):
        made.refreshed(("t", "all"), float(now), 1.0, changed=True, seconds=5.0)
    assert made.gain(60.0) == 0


def test_without_refreshes_there_is_no_gain_to_tell():
    made = Refreshing(Budget(12, 60.0, "none"))
    assert made.gain(1.0) is None
    made.add(("t", "all"), 0.0, max_age=1.0)
    assert made.gain(1.0) is None
    made.estimates(0.0)
    assert made.allowed == 1

"""Refreshing as it goes on: the budget holds, goes where it matters by what is learned, and nobody is forgotten."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import InputError
from headgate.freshness.refreshing import EXPLORED, LOOK, SAVED, Budget, Refreshing

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

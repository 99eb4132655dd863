"""What an iteration may take when it begins: by hand, and what holds for all states."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.deadlines import spare as module
from headgate.control.deadlines.feedback import Estimate
from headgate.control.deadlines.spare import Claim, affordable, spare, spare_by_deadline

near = pytest.approx

# Two queries, each of which would take twice its budget: every 2 s, and every 4 s.
FAST = Claim(period=2.0, due=2.0, budget=0.5, shed=0.5, above=0.4, next=2.0)
SLOW = Claim(period=4.0, due=4.0, budget=1.5, shed=1.5, above=1.2, next=4.0)


def test_the_same_part_for_all_fills_the_time_up_to_the_deadline_and_no_more():
    # Up to 4 s there are two of the fast one and one of the slow one: 2.5 s, and 2.5 s are shed. 1.5 s are to spare.
    fast, slow = replace(FAST, waiting=1, first=2.0), replace(SLOW, waiting=1, first=4.0)
    assert spare(0.0, [fast, slow], 0) == near(0.6)
    assert affordable(0.0, [fast, slow], 0) == near(0.8)
    # The fast one is done; from here to 4 s another of it comes.
    assert affordable(0.8, [FAST, slow], 1) == near(2.4)
    # It comes when 1.2 s of the slow one are left.
    fast, slow = replace(FAST, waiting=1, first=4.0, next=4.0), replace(SLOW, left=1.2, first=4.0)
    assert affordable(2.0, [fast, slow], 0) == near(0.8)


def test_the_margin_stays_free():
    fast, slow = replace(FAST, waiting=1, first=2.0), replace(SLOW, waiting=1, first=4.0)
    assert spare(0.0, [fast, slow], 0, margin=0.05) == near((4 * 0.95 - 2.5) / 2.5)


def test_nobody_gets_anything_back_of_the_reserve_before_a_deadline():
    fast, slow = replace(FAST, waiting=1, first=2.0), replace(SLOW, waiting=1, first=4.0, reserve=0.5)
    assert spare(0.0, [fast, slow], 0) == near((1.5 - 0.5) / 2.5)
    # But budgets may be used up to the deadline.
    assert spare(0.0, [fast, replace(slow, reserve=3.0)], 0) == 0.0


def test_lighter_queries_leave_what_heavier_ones_shed_and_not_the_other_way_round():
    fast, slow = replace(FAST, waiting=1, first=2.0), replace(SLOW, waiting=1, first=4.0)
    assert spare(0.0, [replace(fast, worth=0.5), slow], 0) == near(0.6)
    assert spare(0.0, [replace(fast, worth=2.0), slow], 0) == 1.0


def test_where_budgets_do_not_fit_all_give_the_same_part_of_what_they_have_above_their_least():
    # 1 s is left for 0.5 s of the fast one, which has 0.4 s to give, and the last 0.8 s of the slow one.
    fast, slow = replace(FAST, waiting=1, first=4.0, next=4.0), replace(SLOW, left=0.8, first=4.0)
    assert spare(3.0, [fast, slow], 0) == near(-0.75)
    assert affordable(3.0, [fast, slow], 0) == near(0.2)


def test_who_is_late_whatever_others_do_gets_nothing_from_them():
    fast, slow = replace(FAST, waiting=1, first=4.0, next=4.0), replace(SLOW, left=3.0, first=4.0)
    assert affordable(3.0, [fast, slow], 0) == 0.5
    assert affordable(3.0, [fast, replace(slow, first=2.5)], 0) == 0.5


def test_those_before_the_one_that_begins_are_not_asked():
    # The fast one is late whatever happens.
    fast = replace(FAST, left=3.0, first=1.0)
    assert affordable(0.0, [fast, replace(SLOW, waiting=1, first=8.0, next=8.0)], 1) > 1.5


def test_what_a_claim_leaves_out_and_can_give_comes_from_the_estimate():
    asked = Estimate(period=2.0, due=1.0, weight=4.0, tuples=100, cost=1.1, fixed=0.1, selectivity=0.5)
    claim = Claim.of(asked, 0.5, 0.05, released=7.0)
    assert (claim.shed, claim.above) == (near(0.6), near(0.5 - 0.15))
    assert (claim.worth, claim.until) == (2.0, 8.0)
    assert Claim.of(replace(asked, selectivity=0.0), 0.5, 0.05, 7.0).worth == near(0.04)


# Where the earliest deadline goes first.


def test_by_deadline_the_same_part_for_all_fills_the_time_up_to_the_tightest_deadline():
    # Up to 4 s there are 2.5 s of both, as much is shed, and 1.5 s are to spare; up to 2 s and to 6 s there is more.
    fast, slow = replace(FAST, waiting=1, first=2.0), replace(SLOW, waiting=1, first=4.0)
    assert spare_by_deadline(0.0, [fast, slow], 0) == near(0.6)
    assert affordable(0.0, [fast, slow], 0, earliest=True) == near(0.8)
    assert spare_by_deadline(0.0, [fast, slow], 0, margin=0.05) == near((4 * 0.95 - 2.5) / 2.5)
    assert spare_by_deadline(0.0, [fast, replace(slow, reserve=0.5)], 0) == near(0.4)


def test_by_deadline_what_is_due_later_is_not_in_the_way_also_if_its_query_has_the_shorter_deadlines():
    # The slow one lacks 0.1 s of its 1.5 s. By rank the fast one, which comes before it is due, would go before it.
    fast, slow = replace(FAST, next=1.0), replace(SLOW, waiting=1, first=1.4, next=4.0)
    assert spare_by_deadline(0.0, [fast, slow], 1) == near(-0.1 / 1.2)
    assert spare(0.0, [fast, slow], 1) == near(-0.6 / 1.6)


def test_by_deadline_what_is_due_behind_the_last_time_that_is_looked_at_counts_by_its_load():
    # The load of the budgets is 1. By 6 s one of the fast ones is due, and of the next, due at 6.5 s, 0.75.
    fast = Claim(period=2.0, due=2.0, budget=1.0, shed=1.0, above=0.9, next=2.5)
    slow = Claim(period=3.0, due=3.0, budget=1.5, shed=1.5, above=1.4, next=3.0, waiting=1, first=3.0)
    assert spare_by_deadline(0.4, [fast, slow], 1) == near((5.6 - 4.75) / 4.75)
    # With a load above 1 what is due later would be late in the end.
    assert spare_by_deadline(0.4, [replace(fast, budget=1.01), slow], 1) == 0.0


def test_by_deadline_all_give_where_budgets_do_not_fit_and_who_is_late_anyway_gets_nothing():
    fast, slow = replace(FAST, waiting=1, first=4.0, next=4.0), replace(SLOW, left=0.8, first=4.0)
    assert affordable(3.0, [fast, slow], 0, earliest=True) == near(0.2)
    assert affordable(3.0, [fast, replace(slow, left=13.0)], 0, earliest=True) == 0.5


def test_by_deadline_iterations_that_wait_behind_one_another_are_due_one_after_the_other():
    # The second of the fast one is due by 4 s, as the slow one is.
    fast, slow = replace(FAST, waiting=2, first=2.0, next=4.0), replace(SLOW, waiting=1, first=4.0)
    assert spare_by_deadline(0.0, [fast, slow], 0) == near(0.6)
    begun = replace(fast, waiting=1, left=0.25)
    # By 8 s there are 0.25 s, three of the fast one and two of the slow one.
    assert spare_by_deadline(0.0, [begun, slow], 1) == near((8 - 4.75) / 4.5)
    # By 2 s only the 0.25 s are due beside the one that begins.
    once = Claim(period=8.0, due=2.0, budget=1.7, shed=1.0, above=1.0, next=8.0, waiting=1, first=2.0)
    assert spare_by_deadline(0.0, [begun, once], 1) == near(0.05)


def test_by_deadline_what_is_due_between_the_few_times_that_are_looked_at_counts_too(monkeypatch):
    # The fast one is due for the second time at 4.1 s, just after the slow one.
    fast, slow = replace(FAST, next=0.1), Claim(10.0, 4.0, 2.0, 2.0, 1.9, 10.0, waiting=1, first=4.0)
    assert spare_by_deadline(0.0, [fast, slow], 1) == near((4.1 - 3.0) / 3.0)
    monkeypatch.setattr(module, "FEW", 1)
    assert spare_by_deadline(0.0, [fast, slow], 1) == near((4.0 - 2.975) / 2.975)


@st.composite
def states(draw):
    """Claims at some moment: some run, some wait, some have nothing; periods up to a thousand times as long."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        period = draw(st.sampled_from([0.01, 0.5, 1.0, 1.0, 3.0, 7.0, 10.0]))
        due = period * draw(st.sampled_from([0.5, 1.0]))
        cost = period * draw(st.floats(0.01, 0.6))
        budget = cost * draw(st.floats(0.05, 1.0))
        after = period * draw(st.floats(0.0, 1.0))
        claim = Claim(period, due, budget, cost - budget, 0.9 * budget, after, draw(st.sampled_from([0.5, 1.0, 2.0])))
        kind = draw(st.sampled_from(["waits", "runs", "nothing"]))
        first = after - period + due
        if kind == "waits" and first > 0:
            claim = replace(claim, waiting=1, first=first)
        elif kind == "runs" and first > 0:
            claim = replace(claim, left=budget * draw(st.floats(0, 1)), first=first)
        found.append(claim)
    return sorted(found, key=lambda claim: claim.due)


ways = pytest.mark.parametrize("way", [spare, spare_by_deadline])


@given(states(), st.sampled_from([0.0, 0.05]), st.booleans())
def test_the_seconds_are_between_the_least_and_a_whole_window(claims, margin, earliest):
    for place, claim in enumerate(claims):
        if claim.waiting:
            least, whole = claim.budget - claim.above, claim.budget + claim.shed
            assert least - 1e-9 <= affordable(0.0, claims, place, margin, earliest=earliest) <= whole + 1e-9


@ways
@given(claims=states())
def test_who_is_worth_more_gets_back_at_least_the_same_part(way, claims):
    for place, claim in enumerate(claims):
        weighed = ([*claims[:place], replace(claim, worth=x), *claims[place + 1 :]] for x in (0.1, 1.0, 10.0))
        parts = [way(0.0, each, place) for each in weighed]
        assert all(a <= b + 1e-9 for a, b in pairwise(parts))


@pytest.mark.parametrize(("way", "least"), [(spare, 0), (spare_by_deadline, 1)])
@given(claims=states(), margin=st.floats(0.0, 1.0))
def test_of_many_releases_the_few_that_are_looked_at_give_no_more_than_all(way, least, claims, margin):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", least)
        few = [way(0.0, claims, place, margin) for place in range(len(claims))]
        patch.setattr(module, "FEW", 10**9)
        every = [way(0.0, claims, place, margin) for place in range(len(claims))]
    assert all(a <= max(b, 0.0) + 1e-9 for a, b in zip(few, every, strict=True))

"""Reductions: what is left passes the test, nobody gives more than it has, and who matters more gives less."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from control.deadlines.sets import at_costs, in_floats, mix, task_sets, tasks, whole
from headgate.control.deadlines.reduction import (
    Infeasible,
    Reduction,
    cheapest,
    reduce,
    reduce_edf,
    waterfill,
)
from headgate.control.deadlines.schedulability import edf_schedulable, load, schedulable

near = pytest.approx
many = settings(max_examples=120)
POINTS, SPLITS = ("P", "best"), ("seed", "prop", "greedy")
WAYS = st.builds(
    Reduction,
    point=st.sampled_from(POINTS),
    split=st.sampled_from(SPLITS),
    margin=st.sampled_from((0, Fraction(1, 20))),
)
parts = st.builds(Fraction, st.integers(1, 50), st.integers(1, 10))
caps_ = st.builds(Fraction, st.integers(0, 50), st.integers(1, 10))


# Shares.


@given(
    st.lists(st.tuples(parts, caps_), min_size=1, max_size=8), st.builds(Fraction, st.integers(0, 100), st.just(100))
)
def test_shares_add_up_and_are_in_proportion_where_nothing_is_full(pairs, part):
    ratios, caps = zip(*pairs, strict=True)
    amount = part * sum(caps)
    shares = waterfill(amount, ratios, caps)
    assert sum(shares) == amount
    assert all(0 <= x <= cap for x, cap in zip(shares, caps, strict=True))
    steps = [x / r for x, r, cap in zip(shares, ratios, caps, strict=True) if x < cap]
    assert all(a == b for a, b in pairwise(steps))
    # Who is full would have had to give at least as much by its ratio.
    full = [x / r for x, r, cap in zip(shares, ratios, caps, strict=True) if x == cap]
    assert all(step >= each for step in steps for each in full)


@given(st.lists(st.tuples(st.floats(0.01, 100), st.floats(0, 100)), min_size=1, max_size=8), st.floats(0, 1))
def test_shares_of_floats_add_up(pairs, part):
    ratios, caps = zip(*pairs, strict=True)
    amount = part * sum(caps)
    shares = waterfill(amount, ratios, caps)
    assert sum(shares) == near(amount, rel=1e-9, abs=1e-9)
    assert all(0 <= x <= cap for x, cap in zip(shares, caps, strict=True))


def test_there_are_no_shares_if_the_caps_do_not_suffice():
    assert waterfill(3, [1, 1], [1, 1]) is None
    assert waterfill(2, [1, 1], [1, 1]) == [1, 1]
    assert cheapest(3, [1, 1], [1, 1]) is None


def test_the_lowest_price_is_taken_first():
    assert cheapest(5, [3, 1, 2], [9, 2, 2]) == [1, 2, 2]


# What holds for every reduction.


def bounded(given_set, costs):
    return all(task.floor <= cost <= task.cost for task, cost in zip(given_set, costs, strict=True))


@many
@given(task_sets(shorter=True, floors=True), WAYS)
def test_a_reduced_set_passes_and_nobody_leaves_its_bounds(given_set, how):
    """Exactly; and there is one if and only if the floors fit."""
    floors = at_costs(given_set, [task.floor for task in given_set])
    if schedulable(floors, margin=how.margin).ok:
        found = reduce(given_set, how)
        assert schedulable(at_costs(given_set, found.costs), margin=how.margin).ok
        assert bounded(given_set, found.costs)
    else:
        with pytest.raises(Infeasible) as raised:
            reduce(given_set, how)
        assert raised.value.lacking > 0


@many
@given(
    task_sets(shorter=True, pieces=True, floors=True),
    WAYS,
    st.lists(st.sampled_from((0.0, 0.0, 0.25, 0.5)), min_size=6, max_size=6),
)
def test_so_does_one_with_pieces_and_with_work_carried_in(given_set, how, work):
    given_set, carried = in_floats(given_set), work[: len(given_set)]
    floors = schedulable(at_costs(given_set, [t.floor for t in given_set]), margin=how.margin, carried=carried)
    assume(abs(floors.level - (1 - how.margin)) > 1e-6)
    if floors.ok:
        found = reduce(given_set, how, carried=carried)
        assert schedulable(at_costs(given_set, found.costs), margin=how.margin, carried=carried).ok
        assert bounded(given_set, found.costs)
    else:
        with pytest.raises(Infeasible):
            reduce(given_set, how, carried=carried)


@many
@given(task_sets(shorter=True, floors=True), WAYS)
def test_floats_give_what_exact_numbers_give(given_set, how):
    # Of several points with the same loss either may be taken.
    assume(how.point == "P")
    try:
        exact = reduce(given_set, how).costs
    except Infeasible:
        return
    assert reduce(in_floats(given_set), how).costs == near([float(cost) for cost in exact], rel=1e-6, abs=1e-6)


@many
@given(task_sets(floors=True, load=(50, 300)), WAYS)
def test_who_has_given_all_is_at_the_floor_and_not_beside_it(given_set, how):
    given_set = in_floats(given_set)
    for task, cost in zip(given_set, reduce(given_set, how).costs, strict=True):
        assert cost == task.floor or cost - task.floor > 1e-12 * task.cost


@given(task_sets(shorter=True), WAYS)
def test_a_set_that_passes_is_left_alone(given_set, how):
    assume(schedulable(given_set, margin=how.margin).ok)
    found = reduce(given_set, how)
    assert found.costs == tuple(task.cost for task in given_set)
    assert found.stages == ()


@given(task_sets(), WAYS)
def test_every_stage_says_what_was_taken(given_set, how):
    found = reduce(given_set, how)
    left = [task.cost for task in given_set]
    for stage in found.stages:
        assert len(stage.shares) == stage.failing + 1
        times = [-(-stage.at // task.period) for task in given_set]
        assert sum(e * n for e, n in zip(stage.shares, times, strict=False)) == stage.amount
        left = [c - e for c, e in zip(left, [*stage.shares, *[0] * len(left)], strict=False)]
    assert tuple(left) == found.costs


@given(task_sets())
def test_looking_at_all_points_never_loses_more_in_one_stage(given_set):
    at_deadline, anywhere = (reduce(given_set, Reduction(point=point, split="greedy")) for point in POINTS)
    assume(len(at_deadline.stages) == len(anywhere.stages) == 1)

    def lost(found):
        return sum(t.worth / t.period * (t.cost - c) for t, c in zip(given_set, found.costs, strict=True))

    assert lost(anywhere) <= lost(at_deadline)


@given(task_sets())
def test_greedy_loses_least_at_the_same_point(given_set):
    found = {split: reduce(given_set, Reduction(split=split)) for split in SPLITS}
    assume(all(len(each.stages) == 1 for each in found.values()))

    def lost(split):
        return sum(t.worth / t.period * (t.cost - c) for t, c in zip(given_set, found[split].costs, strict=True))

    assert lost("greedy") <= min(lost("seed"), lost("prop"))


def test_greedy_counts_results_and_not_time_where_it_knows_what_a_tuple_costs():
    given_set = tasks((3, 4), (4, 8))
    # A second of one task is a thousand tuples, and of the other it is one.
    assert reduce(given_set, Reduction(split="greedy"), per_tuple=(Fraction(1, 1000), 1)).costs == (3, 2)
    assert reduce(given_set, Reduction(split="greedy"), per_tuple=(1, Fraction(1, 1000))).costs == (2, 4)


# Importance.


@st.composite
def twins(draw):
    """A set with two tasks that differ in weight only; the lighter one has the higher priority."""
    rest = draw(task_sets(most=4, floors=True, load=(20, 200)))
    light = draw(st.sampled_from(rest))
    heavy = replace(light, name="heavy", weight=light.weight + draw(st.integers(0, 20)))
    place = rest.index(light)
    return [*rest[: place + 1], heavy, *rest[place + 1 :]], place


@many
@given(twins(), st.sampled_from(POINTS))
def test_a_heavier_weight_never_loses_a_greater_fraction(made, point):
    given_set, place = made
    try:
        costs = reduce(given_set, Reduction(split="prop", point=point)).costs
    except Infeasible:
        return
    assert costs[place + 1] >= costs[place]


@given(st.integers(1, 10), st.integers(1, 10))
def test_before_anybody_is_empty_the_fractions_are_as_the_ratios(first, second):
    given_set = tasks((2, 3), (4, 6), ratios=(first, second))
    costs = reduce(given_set, Reduction(split="prop")).costs
    lost = [(task.cost - cost) / task.cost for task, cost in zip(given_set, costs, strict=True)]
    assert lost[0] * second == lost[1] * first


def test_the_published_split_empties_cheap_queries_and_fractions_do_not():
    given_set = mix(12_000)
    kept = {
        split: [c / t.cost for c, t in zip(reduce(given_set, Reduction(split=split)).costs, given_set, strict=True)]
        for split in ("seed", "prop")
    }
    assert sum(k == 0 for k in kept["seed"]) == 5
    assert sum(k == 0 for k in kept["prop"]) <= 1


# Readings that leave something out.


@many
@given(task_sets(), st.sampled_from(("lit", "all", "clamp")))
def test_other_readings_say_what_they_do(given_set, reading):
    found = reduce(given_set, Reduction(reading))
    passes = schedulable([replace(t, cost=max(c, 0)) for t, c in zip(given_set, found.costs, strict=True)]).ok
    if reading == "all" and min(found.costs) >= 0:
        assert passes
    if reading == "clamp":
        assert all(c >= 0 for c in found.costs)
        if 0 not in found.costs:
            assert passes


# Blocking.


def test_pieces_that_the_pass_has_shortened_are_in_the_way_for_less():
    # By the pieces as they come, 6 s are in the way of the first task, which has to give 1 s for it. The second one
    # is then cut by its own overrun, behind 3 s of the third, and is not in the way for as long any more.
    given_set = tasks((5, 6, 5), (10, 14, 40), ratios=(1, 3, 1), piece=(0, 6, 3))
    found = reduce(given_set)
    assert found.costs == (Fraction(35, 8), Fraction(9, 4), 5)
    assert [(stage.failing, stage.blocking) for stage in found.stages] == [(1, 3)]
    assert schedulable(at_costs(given_set, found.costs)).ok


def test_a_piece_that_nobody_could_wait_for_is_cut_and_not_refused():
    # The long query alone takes longer than the short one has time: no reduction of the short one could mend that.
    given_set = whole(tasks((0.1, 3.0), (1.0, 10.0), ratios=(1, 1)))
    found = reduce(given_set, Reduction(point="best", split="prop"))
    assert found.cut[1] > 0
    assert found.costs[0] + found.costs[1] <= 1 + 1e-9
    assert found.costs[1] > 0.5
    assert schedulable(at_costs(given_set, found.costs)).ok


def test_floors_that_are_in_the_way_for_too_long_are_infeasible():
    given_set = whole(tasks((0.1, 3.0), (1.0, 10.0), floor=(0.0, 1.5)))
    with pytest.raises(Infeasible) as raised:
        reduce(given_set)
    assert (raised.value.index, raised.value.name) == (0, "q0")
    assert "'q0' lacks" in str(raised.value)


# The earliest deadline first.


@many
@given(task_sets(shorter=True, floors=True), st.sampled_from(SPLITS), st.sampled_from((0, Fraction(1, 20))))
def test_reduced_for_the_earliest_deadline(given_set, split, margin):
    if sum(Fraction(task.floor) / task.deadline for task in given_set) > 1 - margin:
        return
    found = reduce_edf(given_set, margin, split)
    assert edf_schedulable(at_costs(given_set, found.costs), margin)
    for task, cost in zip(given_set, found.costs, strict=True):
        assert task.floor <= cost <= task.cost


@given(task_sets(shorter=True, floors=True), st.sampled_from(SPLITS), st.fractions(0, 1, max_denominator=8))
def test_reduced_for_the_earliest_deadline_behind_pieces(given_set, split, part):
    with_pieces = [replace(task, piece=part * task.cost) for task in given_set]
    least = [replace(task, cost=task.floor, piece=min(task.piece, task.floor)) for task in with_pieces]
    if not edf_schedulable(least) or sum(Fraction(task.floor) / task.deadline for task in least) > 1:
        return
    found = reduce_edf(with_pieces, 0, split)
    assert edf_schedulable(at_costs(with_pieces, found.costs))


@given(task_sets(), st.sampled_from(("seed", "prop")))
def test_the_earliest_deadline_leaves_at_least_as_much_load(given_set, split):
    by_priority = at_costs(given_set, reduce(given_set, Reduction(split=split)).costs)
    by_deadline = at_costs(given_set, reduce_edf(given_set, 0, split).costs)
    assert load(by_deadline) >= load(by_priority)
    assert load(by_deadline) == min(1, load(given_set))


@pytest.mark.parametrize(("point", "split"), [*product(POINTS, SPLITS)])
def test_every_way_mends_the_published_mix(point, split):
    for rate in (8_000, 12_000, 61_159):
        given_set = mix(rate, floor=0.02)
        found = reduce(given_set, Reduction("wf", point, split, 0.01))
        assert schedulable(at_costs(given_set, found.costs), margin=0.01).ok


def test_for_the_earliest_deadline_floors_may_be_too_much_as_well():
    with pytest.raises(Infeasible) as raised:
        reduce_edf(tasks((2, 2), (3, 3), floor=(2, 2)))
    assert raised.value.lacking == Fraction(1, 3)


def test_for_the_earliest_deadline_a_second_counts_by_its_share_of_the_time_until_it_is_due():
    # A second of the first is a fifth of its time and comes every 10 s; it is worth half as much again and gives all.
    given_set = tasks((6, 5), (10, 10), (Fraction(1, 3), Fraction(1, 2)), (5, 10))
    assert reduce_edf(given_set, split="greedy").costs == (Fraction(5, 2), 5)

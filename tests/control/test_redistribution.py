"""Shares by demand and supply: the vectors of the literature, and what holds for any priorities, shares and usage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.redistribution import FLOOR, Terms, floored, original, relative
from headgate.control.registry import REDISTRIBUTIONS, RELATIVE, create
from headgate.errors import InputError
from headgate.model.classes import QueryClass, ranked

near = pytest.approx
SLACK = 1e-9


def named(values):
    return {f"c{k}": value for k, value in enumerate(values)}


def classes_of(priorities):
    return [QueryClass(name, p) for name, p in named(priorities).items()]


def redistributed(priorities, shares, usage, redistribution=RELATIVE):
    return list(redistribution(classes_of(priorities), named(shares), named(usage)).values())


@pytest.mark.parametrize(
    ("priorities", "shares", "usage", "after"),
    [
        ([2, 1], [2 / 3, 1 / 3], [0.9, 1.8], [19 / 30, 11 / 30]),
        ([6, 3, 1], [0.6, 0.3, 0.1], [0.3, 0.6, 4], [0.405, 0.195, 0.4]),
        ([6, 3, 1], [0.2, 0.25, 0.55], [1.5, 0.9, 1.2], [0.3, 0.24, 0.46]),
        ([6, 3, 1], [0.2, 0.25, 0.55], [4, 1.5, 1.2], [0.6, 0.3, 0.1]),
        ([6, 3, 1], [0.6, 0.3, 0.1], [0.5, 0.5, 0.5], [0.6, 0.3, 0.1]),
        ([6, 3, 1], [0.21, 0.195, 0.595], [0.5, 0.5, 0.3], [0.6, 0.2165, 0.1835]),
        ([6, 3, 1], [0.6, 0.3, 0.1], [1.2, 1.1, 1.5], [0.6, 0.3, 0.1]),
        ([6, 3, 1], [0.4, 0.3, 0.3], [1, 1.4, 1], [0.4, 0.42, 0.18]),
    ],
)
def test_the_published_vectors(priorities, shares, usage, after):
    assert redistributed(priorities, shares, usage) == near(after, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "shares", "usage", "after"),
    [
        # Class 1 needs 0.12 beyond its original share; the loan of class 2 is its own without the extra claw-back.
        ({"clawback_extra": False}, [0.4, 0.3, 0.3], [1, 1.4, 1], [0.4, 0.3, 0.3]),
        # Class 2 spares a half of 0.5, or 0.005 less where it keeps a reserve although above its original share.
        ({"borrowers_reserve": False}, [0.2, 0.3, 0.5], [1, 1, 0.5], [0.45, 0.3, 0.25]),
        ({"borrowers_reserve": True}, [0.2, 0.3, 0.5], [1, 1, 0.5], [0.445, 0.3, 0.255]),
        # Class 0 needs 0.1 and gets its reserve of 0.03 with it.
        ({"restored_reserve": True}, [0.2, 0.25, 0.55], [1.5, 0.9, 1], [0.33, 0.24, 0.43]),
        ({"reserve": 0.0}, [0.6, 0.3, 0.1], [0.3, 0.6, 4], [0.42, 0.18, 0.4]),
        ({"reserves": {"c0": 0.5}}, [0.6, 0.3, 0.1], [0.3, 0.6, 9], [0.48, 0.195, 0.325]),
        ({"lends": {"c0": 0.1}}, [0.6, 0.3, 0.1], [0.3, 0.6, 9], [0.54, 0.195, 0.265]),
    ],
)
def test_the_terms(options, shares, usage, after):
    found = redistributed([6, 3, 1], shares, usage, create("relative", options))
    assert found == near(after, abs=1e-12)


# Invariants.

PRIORITIES = st.lists(st.floats(0.1, 100), min_size=1, max_size=6)


@st.composite
def states(draw):
    """Classes, shares that sum to one with none below the floor, and usage."""
    priorities = draw(PRIORITIES)
    n = len(priorities)
    weights = draw(st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n).filter(lambda w: sum(w) > 0.1))
    usage = draw(st.lists(st.floats(0.0, 6.0), min_size=n, max_size=n))
    shares = floored({name: w / sum(weights) for name, w in named(weights).items()})
    return classes_of(priorities), shares, named(usage)


TERMS = st.builds(
    Terms,
    reserve=st.floats(0.0, 0.5),
    reserves=st.dictionaries(st.sampled_from(["c0", "c1"]), st.floats(0.0, 0.9)),
    lends=st.dictionaries(st.sampled_from(["c0", "c1"]), st.floats(0.0, 1.0)),
    clawback_extra=st.booleans(),
    borrowers_reserve=st.booleans(),
    restored_reserve=st.booleans(),
)


@settings(max_examples=150)
@given(states(), TERMS, st.sampled_from(list(REDISTRIBUTIONS.values())))
def test_shares_sum_to_one_and_none_falls_below_the_floor(state, terms, redistribution):
    after = redistribution.rule(*state, terms)
    assert after.keys() == state[1].keys()
    assert sum(after.values()) == near(1.0, abs=SLACK)
    assert min(after.values()) >= FLOOR - SLACK


@settings(max_examples=150)
@given(states(), TERMS)
def test_each_class_has_its_demand_met_or_its_original_share(state, terms):
    classes, shares, usage = state
    o = original(classes)
    for name, after in relative(*state, terms).items():
        assert after >= min(usage[name] * shares[name], o[name]) - SLACK


@settings(max_examples=150)
@given(states(), TERMS)
def test_a_class_in_need_loses_a_loan_at_most(state, terms):
    classes, shares, usage = state
    o = original(classes)
    for name, after in relative(*state, terms).items():
        if usage[name] >= 1:
            assert after >= min(shares[name], o[name]) - SLACK


@given(PRIORITIES, st.data())
def test_original_shares_stay_where_nobody_needs_more(priorities, data):
    classes = classes_of(priorities)
    usage = {each.name: data.draw(st.floats(0.0, 1.0)) for each in classes}
    assert relative(classes, original(classes), usage, Terms()) == near(original(classes), abs=SLACK)


@settings(max_examples=150)
@given(states(), TERMS)
def test_shares_above_the_original_ones_do_not_grow_without_need(state, terms):
    classes, shares, usage = state
    o = original(classes)
    for name, after in relative(*state, terms).items():
        if usage[name] <= 1:
            assert after <= max(shares[name], o[name]) + SLACK


@settings(max_examples=150)
@given(states(), TERMS)
def test_what_a_higher_class_lacks_no_lower_class_gets(state, terms):
    classes, shares, usage = state
    o = original(classes)
    after = relative(*state, terms)
    for high in classes:
        if after[high.name] < usage[high.name] * shares[high.name] - SLACK:
            for low in (each for each in classes if each.priority < high.priority):
                most = o[low.name] if terms.clawback_extra else max(o[low.name], shares[low.name])
                assert after[low.name] <= most + SLACK


@settings(max_examples=150)
@given(states(), TERMS)
def test_nobody_lends_more_than_its_terms_allow(state, terms):
    classes, shares, _ = state
    o = original(classes)
    for name, after in relative(*state, terms).items():
        kept = (1 - terms.lends.get(name, 1.0)) * o[name]
        assert after >= min(shares[name], kept) - SLACK


@given(states(), TERMS)
def test_a_lender_keeps_its_reserve(state, terms):
    classes, shares, usage = state
    o = original(classes)
    for name, after in relative(*state, terms).items():
        if usage[name] <= 1 and shares[name] <= o[name]:
            assert after >= min(shares[name], usage[name] * shares[name] + terms.reserve_of(name) * o[name]) - SLACK


@given(PRIORITIES)
def test_original_shares_are_those_of_the_priorities_unless_the_floor_is_above(priorities):
    found = original(classes_of(priorities))
    assert sum(found.values()) == near(1.0)
    for each in classes_of(priorities):
        share = each.priority / sum(priorities)
        assert FLOOR <= found[each.name] <= max(FLOOR, share) + SLACK
    in_order = [found[each.name] for each in ranked(classes_of(priorities))]
    assert in_order == sorted(in_order, reverse=True)


def test_the_floor_is_paid_by_what_the_others_have_above_it():
    assert floored({"a": 0.003, "b": 0.205, "c": 0.792}) == near(
        {"a": 0.005, "b": 0.205 - 0.002 * 0.2 / 0.987, "c": 0.792 - 0.002 * 0.787 / 0.987}
    )


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"reserve": 1.0}, "reserve of all classes: a part of the original share, from 0 to below 1"),
        ({"reserves": {"gold": -0.1}}, "reserve of gold: a part of the original share, from 0 to below 1"),
        ({"lends": {"gold": 1.1}}, "lending of gold: a part of the original share, from 0 to 1"),
        ({"loan": 1}, "redistribution 'relative': a known option"),
    ],
)
def test_terms_out_of_their_range_are_refused(options, rule):
    with pytest.raises(InputError) as refused:
        create("relative", options)
    assert refused.value.rule == rule


def test_there_is_a_floor_for_so_many_classes_only():
    assert original(classes_of([1] * 200))["c7"] == near(FLOOR)
    with pytest.raises(InputError, match="at most 200 classes"):
        original(classes_of([1] * 201))

"""Answers to new queries: who fits, who fits with drops, and what is offered to the others."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from control.deadlines.estimates import estimates, published
from headgate.control.deadlines.admission import Offer, admit
from headgate.control.deadlines.feedback import Estimate, Feedback
from headgate.control.deadlines.profiles import create
from headgate.errors import InputError

near = pytest.approx
many = settings(max_examples=60)
PROFILES = ("lrm-seed", "lrm+", "rm", "dm", "hpf", "edf", "ledf", "ledf+")
LIGHT = Estimate(4.0, 4.0, 1.0, 1000, 0.4)


def test_who_fits_is_admitted():
    found = admit(published(5_000), "new", LIGHT, create("lrm+"))
    assert (found.kind, found.offer) == ("admit", None)
    assert found.kept == dict.fromkeys([*published(5_000), "new"], 1.0)
    assert "'new' fits: the load is 69%" in found.reason


def test_who_fits_once_tuples_are_shed_is_admitted_with_that():
    found = admit(published(7_000), "new", LIGHT, create("lrm+"))
    assert found.kind == "reduce"
    assert min(found.kept.values()) < 1
    assert "after its deadline of 6 s" in found.reason
    assert "kept are 'Q" in found.reason


def test_what_is_kept_is_what_the_plan_keeps():
    running = published(9_000)
    found = admit(running, "new", LIGHT, create("lrm-seed"))
    plan = Feedback(create("lrm-seed")).reschedule(0.0, running | {"new": LIGHT})
    assert found.kept == {name: near(each.fraction) for name, each in plan.allowances.items()}


def test_who_does_not_fit_hears_who_would_be_late_and_what_fits():
    found = admit(published(6_000), "new", Estimate(2.0, 2.0, 1.0, 1000, 0.8), create("rm"))
    assert found.kind == "refuse"
    assert found.kept == {}
    assert "with 'new', 'Q8' would be done 1.95 s after its deadline of 6 s, as the load is 111%" in found.reason
    assert found.remedy.startswith("It would fit with a stride of")
    assert found.offer.stride > 2.0


def test_a_fixed_cost_that_is_too_much_is_offered_a_longer_stride_in_proportion():
    busy = {"a": Estimate(1.0, 1.0, 1.0, 100, 0.7, fixed=0.7)}
    found = admit(busy, "new", Estimate(1.0, 1.0, 1.0, 100, 0.42, fixed=0.4), create("lrm+"))
    assert found.kind == "refuse"
    assert found.offer.window == near(found.offer.stride)
    assert 1.0 < found.offer.stride <= 3
    assert "even if every query keeps 5% of its tuples" in found.reason
    assert "times as long" in found.remedy


def test_a_deadline_that_is_too_short_is_offered_a_later_one():
    found = admit({"a": Estimate(1.0, 1.0, 1.0, 100, 0.5)}, "new", Estimate(4.0, 0.4, 1.0, 100, 0.45), create("dm"))
    assert found.kind == "refuse"
    assert (found.offer.stride, found.offer.window, found.offer.kept) == (4.0, 1.0, 1.0)
    assert 0.45 <= found.offer.due < 1
    assert "a deadline of" in found.remedy


def test_a_part_of_the_tuples_is_an_offer_too():
    found = admit({"a": Estimate(1.0, 1.0, 1.0, 100, 0.5)}, "new", Estimate(1.0, 1.0, 1.0, 100, 0.8), create("rm"))
    last = found.offers[-1]
    assert last.kept == near(0.625, abs=0.005)
    assert "of its tuples" in found.remedy


def test_where_nothing_fits_that_is_said():
    found = admit({"a": Estimate(1.0, 1.0, 1.0, 100, 1.0)}, "new", LIGHT, create("rm"))
    assert (found.kind, found.offer) == ("refuse", None)
    assert "Remove a query first" in found.remedy


def test_a_margin_that_would_be_used_up_is_told():
    found = admit({}, "new", Estimate(1.0, 1.0, 1.0, 100, 0.97), create("lrm+", margin=0.05))
    assert "within the margin" in found.reason


def test_what_other_queries_have_in_the_way_is_told():
    quick = Estimate(1.0, 1.0, 1.0, 100, 0.1)
    found = admit({}, "new", quick, create("rm"), blocked=2.0)
    late = "'new' would be done 1.1 s after its deadline of 1 s, as the load is 10%"
    assert found.reason == f"{late} behind runs of others of up to 2 s"
    found = admit({}, "new", quick, create("edf"), blocked=2.0)
    assert found.reason.startswith(
        "with 'new', the load would be 10% behind runs of others of up to 2 s, and what cannot"
    )


def test_a_name_that_is_taken_is_told():
    with pytest.raises(InputError, match="name of its own"):
        admit(published(5_000), "Q1", LIGHT, create("lrm+"))


def test_offers_are_looked_for_only_as_long_as_there_is_time():
    asked = Estimate(1.0, 1.0, 1.0, 100, 0.8)
    busy = {"a": Estimate(1.0, 1.0, 1.0, 100, 0.5)}
    all_of_them = admit(busy, "new", asked, create("rm")).offers
    for tries in (0, 3, 40):
        left = iter(range(tries))
        found = admit(busy, "new", asked, create("rm"), more=lambda left=left: next(left, None) is not None)
        assert found.kind == "refuse"
        assert len(found.offers) < len(all_of_them)
        if not found.offers:
            assert found.remedy.endswith("what would fit was not found in time.")
        for offer in found.offers:
            assert admit(busy, "new", offer.applied(asked), create("rm")).kind == "admit"


@pytest.mark.parametrize("name", ["rm", "lrm+"])
def test_where_those_that_run_do_not_fit_nobody_blames_who_comes(name):
    found = admit({"old": Estimate(1.0, 1.0, 1.0, 100, 1.5, fixed=1.4)}, "new", LIGHT, create(name))
    assert found.kind == "refuse"
    assert found.reason.startswith("even without 'new', 'old' would")
    assert "'new'" not in found.remedy


def test_an_offer_changes_the_query_as_it_says():
    asked = Estimate(2.0, 2.0, 1.0, 100, 1.0, fixed=0.2, piece=1.0)
    longer = Offer(4.0, 4.0, window=2.0).applied(asked)
    assert (longer.period, longer.tuples, longer.cost, longer.piece) == (4.0, 200, near(1.8), near(1.8))
    fewer = Offer(2.0, 2.0, kept=0.5).applied(asked)
    assert (fewer.period, fewer.tuples, fewer.cost) == (2.0, 50, near(0.6))
    assert replace(fewer, tuples=100, cost=1.0, piece=1.0) == asked


@many
@given(estimates(most=4, load=(1, 250), pieces=True), st.sampled_from(PROFILES))
def test_every_offer_fits_when_it_is_taken(given_set, name):
    profile = create(name)
    *running, new = given_set
    beside = {each: given_set[each] for each in running}
    found = admit(beside, new, given_set[new], profile)
    assert (found.kind == "refuse") == (not found.kept)
    for offer in found.offers:
        taken = admit(beside, new, offer.applied(given_set[new]), profile)
        assert taken.kind != "refuse"

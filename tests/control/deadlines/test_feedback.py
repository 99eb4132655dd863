"""Plans: what they promise, from what they are made, and when they stay."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from control.deadlines.estimates import estimates, published
from headgate.control.deadlines.feedback import Estimate, Feedback, judged, tasks_of
from headgate.control.deadlines.profiles import PROFILES, create
from headgate.control.deadlines.schedulability import schedulable

near = pytest.approx
many = settings(max_examples=80)
SHEDDING = ("lrm-seed", "lrm+", "ledf", "ledf+")
HOLDS = ("frac", "count", "budget", "clamp", "clampx")


def kept(plan, given_set):
    """What every query reads at the load of the estimates, and what its iterations cost."""
    keeps = {n: a.keep(given_set[n].tuples, given_set[n].cost, given_set[n].kept) for n, a in plan.allowances.items()}
    return keeps, {name: given_set[name].at(k) for name, k in keeps.items()}


def verdict_of(plan, given_set, profile):
    _, costs = kept(plan, given_set)
    tasks = tasks_of({name: given_set[name] for name in costs}, profile)
    after = [replace(task, cost=costs[task.name], piece=min(task.piece, costs[task.name])) for task in tasks]
    return judged(after, profile)


@many
@given(estimates(pieces=True), st.sampled_from(("lrm-seed", "lrm+")), st.sampled_from(HOLDS))
def test_with_the_plan_all_deadlines_are_met(given_set, name, hold):
    profile = create(name, hold=hold, floor=0.05)
    plan = Feedback(profile).reschedule(0.0, given_set)
    assert verdict_of(plan, given_set, profile).ok
    assert set(plan.allowances) | set(plan.suspended) == set(given_set)
    assert plan.level <= (1 - profile.margin) * (1 + 1e-9)


@many
@given(estimates(), st.sampled_from(HOLDS))
def test_with_the_earliest_deadline_first_too(given_set, hold):
    profile = create("ledf", hold=hold, margin=0.02)
    plan = Feedback(profile).reschedule(0.0, given_set)
    assert verdict_of(plan, given_set, profile).ok


@many
@given(estimates(pieces=True))
def test_nobody_keeps_less_than_the_floor(given_set):
    plan = Feedback(create("lrm+")).reschedule(0.0, given_set)
    assert all(k >= 0.05 - 1e-9 for k in kept(plan, given_set)[0].values())


@many
@given(estimates(pieces=True), st.sampled_from(sorted(PROFILES)), st.floats(0, 100))
def test_a_plan_is_a_function_of_what_goes_in(given_set, name, now):
    plans = [Feedback(PROFILES[name]).reschedule(now, dict(given_set)) for _ in range(2)]
    assert plans[0] == plans[1]
    assert (plans[0].id, plans[0].since) == (1, now)


@given(estimates(), estimates())
def test_what_was_shed_before_has_no_part_in_the_next_plan(first, second):
    feedback = Feedback(create("lrm+"))
    feedback.reschedule(0.0, first)
    again = feedback.reschedule(6.0, second)
    fresh = Feedback(create("lrm+")).reschedule(6.0, second)
    assert again.allowances == fresh.allowances
    assert (again.id, fresh.id) == (2, 1)


@pytest.mark.parametrize("name", SHEDDING)
def test_shedding_ends_when_the_load_falls(name):
    feedback = Feedback(create(name))
    assert feedback.reschedule(0.0, published(12_000)).reduced
    calm = feedback.reschedule(6.0, published(5_000))
    assert not calm.reduced
    assert all(each.fraction == 1 for each in calm.allowances.values())


@pytest.mark.parametrize("name", [name for name, profile in PROFILES.items() if profile.reduction is None])
def test_without_shedding_all_is_kept_however_late(name):
    plan = Feedback(PROFILES[name]).reschedule(0.0, published(12_000))
    assert all(each.fraction == 1 and not each.shed for each in plan.allowances.values())
    assert not plan.verdict.ok
    assert plan.level > 1


def test_the_published_profile_gives_the_published_fractions():
    plan = Feedback(create("lrm-seed")).reschedule(0.0, published(12_000))
    expected = (0, 0, 0, 0, 0, 0.6079, 0.8112, 0.7114, 0.9033, 1)
    assert [each.fraction for each in plan.allowances.values()] == near(expected, abs=5.1e-5)
    assert plan.verdict.failing == 6
    assert plan.order[6] == "Q7"


def test_whole_iterations_are_in_the_way_where_nothing_is_interrupted():
    assert Feedback(create("rm")).reschedule(0.0, published(5_000)).verdict.blocking == 0
    assert Feedback(create("hpf")).reschedule(0.0, published(5_000)).verdict.blocking > 0.5


def test_slack_is_used_where_times_are_held_and_the_margin_stays():
    given_set = published(5_000)
    tight, loose = (Feedback(create("lrm+", hold=hold)).reschedule(0.0, given_set) for hold in ("clamp", "clampx"))
    ratio = 0.99 / tight.level
    for name, each in given_set.items():
        assert tight.allowances[name].budget == near(each.cost)
        assert loose.allowances[name].budget == near(each.cost * ratio)
    grown = {name: replace(each, cost=each.cost * 3) for name, each in given_set.items()}
    assert verdict_of(loose, grown, create("lrm+")).ok


@many
@given(estimates(pieces=True), st.lists(st.floats(0.2, 5), min_size=6, max_size=6))
def test_times_that_are_held_bear_any_load(given_set, growth):
    """Whatever windows turn out to cost: with exact costs nobody is late before the next plan."""
    profile = create("lrm+", floor=0.0)
    given_set = {n: replace(each, fixed=0.0) for n, each in given_set.items()}
    plan = Feedback(profile).reschedule(0.0, given_set)
    grown = {
        name: replace(each, cost=each.cost * by, tuples=each.tuples * by)
        for (name, each), by in zip(given_set.items(), growth, strict=False)
    }
    assert verdict_of(plan, grown, profile).ok


def test_a_solver_of_ones_own_is_asked():
    lone = {"join": Estimate(1.0, 1.0, 1.0, 100, 2.0, solve=lambda budget: (budget / 2.0) ** 0.5)}
    plan = Feedback(create("lrm-seed")).reschedule(0.0, lone)
    assert plan.allowances["join"].fraction == near(0.5**0.5)


def test_the_plan_can_be_explained():
    plan = Feedback(create("lrm+")).reschedule(0.0, published(12_000))
    assert plan.why.terms["L"] == near(float(plan.verdict.level))
    assert plan.why.terms["L'"] == plan.level == near(0.99)
    assert plan.why.terms["taken"] == near(sum(stage.amount for stage in plan.stages))
    assert len(plan.stages) >= 1


# Suspension.


def heavy_set(weights, fixed=0.6):
    return {f"q{j}": Estimate(1.0, 1.0, float(w), 100, 0.8, fixed=fixed) for j, w in enumerate(weights)}


def test_who_weighs_least_is_suspended_only_if_the_floors_do_not_fit():
    plan = Feedback(create("lrm+")).reschedule(0.0, heavy_set((3, 1, 2)))
    assert plan.suspended == ("q1", "q2")
    assert set(plan.allowances) == {"q0"}
    assert Feedback(create("lrm+")).reschedule(0.0, heavy_set((3, 1, 2), fixed=0.3)).suspended == ()


def test_of_equal_weights_the_last_to_come_is_suspended():
    assert Feedback(create("lrm+")).reschedule(0.0, heavy_set((1, 1))).suspended == ("q1",)


def test_who_was_not_in_the_way_comes_back():
    given_set = heavy_set((3, 2)) | {"small": Estimate(1.0, 1.0, 1.0, 10, 0.01)}
    assert Feedback(create("lrm+")).reschedule(0.0, given_set).suspended == ("q1",)


def test_what_was_suspended_runs_again_when_there_is_room():
    feedback = Feedback(create("lrm+"))
    feedback.reschedule(0.0, heavy_set((3, 1)))
    assert feedback.reschedule(1.0, heavy_set((3, 1), fixed=0.1)).suspended == ()


# Work that is carried in.


def test_unfinished_work_counts_where_the_profile_says_so():
    given_set = {"q": Estimate(1.0, 1.0, 1.0, 100, 0.8)}
    work = {"q": 0.5}
    assert not Feedback(create("lrm-seed")).reschedule(0.0, given_set, work).reduced
    plan = Feedback(create("lrm-seed", carried=True)).reschedule(0.0, given_set, work)
    assert plan.allowances["q"].fraction == near(0.5 / 0.8)


def test_nobody_is_suspended_for_work_that_is_there_already():
    given_set = {"q": Estimate(1.0, 1.0, 1.0, 100, 0.8)}
    plan = Feedback(create("lrm-seed", carried=True)).reschedule(0.0, given_set, {"q": 3.0})
    assert plan.suspended == ()
    assert plan.allowances["q"].fraction == 1.0


def test_times_that_are_held_are_not_made_shorter_by_work_that_is_there_already():
    given_set = {"q": Estimate(1.0, 1.0, 1.0, 100, 0.8)}
    plan = Feedback(create("lrm-seed", carried=True, hold="clampx")).reschedule(0.0, given_set, {"q": 3.0})
    assert plan.level > 1
    assert plan.allowances["q"].budget == near(0.8)


# Runs of others, which may be in the way.


def test_what_others_have_in_the_way_is_in_the_way_of_the_first_one_too():
    given_set = {"fast": Estimate(1.0, 1.0, 1.0, 100, 0.5), "slow": Estimate(10.0, 10.0, 1.0, 100, 0.1)}
    assert Feedback(create("lrm-seed")).reschedule(0.0, given_set).verdict.ok
    plan = Feedback(create("lrm-seed"), blocked=0.6).reschedule(0.0, given_set)
    assert plan.verdict.failing == 0
    assert plan.allowances["fast"].fraction == near(0.8)


def test_what_others_have_in_the_way_counts_where_the_earliest_deadline_goes_first():
    given_set = {"fast": Estimate(1.0, 1.0, 1.0, 100, 0.5), "slow": Estimate(10.0, 10.0, 1.0, 100, 0.1)}
    assert Feedback(create("ledf")).reschedule(0.0, given_set).verdict.ok
    plan = Feedback(create("ledf"), blocked=0.6).reschedule(0.0, given_set)
    assert not plan.verdict.ok
    assert plan.allowances["fast"].fraction <= 0.8 + 1e-9


@pytest.mark.parametrize("name", ["lrm+", "ledf+"])
def test_a_piece_leaves_room_for_what_others_have_in_the_way(name):
    given_set = {"fast": Estimate(1.0, 1.0, 1.0, 100, 0.2), "slow": Estimate(10.0, 10.0, 1.0, 100, 0.1)}
    plan = Feedback(create(name), blocked=0.3).reschedule(0.0, given_set)
    assert plan.longest["slow"] == near(0.99 - plan.allowances["fast"].budget - 0.3)


# Pessimistic: a plan stays as long as it holds and nothing can be relaxed.


def pessimistic(name="lrm-seed"):
    return Feedback(create(name, trigger="pessimistic"))


@pytest.mark.parametrize("name", SHEDDING)
def test_a_plan_that_still_holds_stays(name):
    feedback = pessimistic(name)
    first = feedback.reschedule(0.0, published(12_000))
    assert feedback.reschedule(1.0, published(12_000)) is first


def test_a_plan_that_does_not_hold_any_more_goes():
    feedback = pessimistic()
    first = feedback.reschedule(0.0, published(12_000))
    second = feedback.reschedule(1.0, published(14_000))
    assert (second.id, second.since) == (first.id + 1, 1.0)


@pytest.mark.parametrize("rate", [11_500, 5_000])
def test_a_plan_that_can_be_relaxed_goes(rate):
    feedback = pessimistic()
    first = feedback.reschedule(0.0, published(12_000))
    assert feedback.reschedule(1.0, published(rate)) is not first


def test_a_plan_with_nothing_shed_stays_while_it_holds():
    feedback = pessimistic()
    first = feedback.reschedule(0.0, published(5_000))
    assert feedback.reschedule(1.0, published(6_000)) is first


def test_a_plan_that_sheds_what_has_become_more_important_goes():
    feedback, light = pessimistic("lrm+"), Estimate(1.0, 1.0, 1.0, 100, 0.9)
    first = feedback.reschedule(0.0, {"a": replace(light, weight=9.0), "b": light})
    assert first.allowances["a"].fraction > first.allowances["b"].fraction
    assert feedback.reschedule(1.0, {"a": light, "b": replace(light, weight=9.0)}) is not first


def test_another_query_needs_another_plan():
    feedback = pessimistic()
    first = feedback.reschedule(0.0, published(3_000, count=9))
    assert feedback.reschedule(1.0, published(3_000)) is not first


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_an_empty_set_has_an_empty_plan(name):
    plan = Feedback(create(name)).reschedule(0.0, {})
    assert (plan.allowances, plan.reduced, plan.suspended) == ({}, False, ())
    assert schedulable(()).ok


@pytest.mark.parametrize("name", SHEDDING)
def test_a_lone_query_that_does_not_fit_even_at_its_least_is_suspended(name):
    plan = Feedback(create(name)).reschedule(0, {"a": Estimate(1, 1, 1, 10, 2.0, fixed=2.0)})
    assert (plan.suspended, plan.allowances) == (("a",), {})

"""What the analysis promises holds in the simulator, for sets that Hypothesis makes up."""

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate.control.deadlines.profiles import create
from headgate.control.deadlines.reduction import Infeasible, Reduction, reduce
from headgate.control.deadlines.schedulability import (
    blocking,
    edf_schedulable,
    longest_pieces,
    response_time_whole,
    schedulable,
)
from headgate.control.deadlines.task import Task, by_deadline, by_rate
from headgate.model.costs import Tree, join, project, select
from headgate.model.deadlines import Deadline
from headgate.sim.deadlines import rates
from headgate.sim.deadlines.periodic import late
from headgate.sim.deadlines.setup import Setup
from headgate.sim.deadlines.simulation import simulate
from headgate.sim.deadlines.workload import Query
from headgate.sim.trains.timeline import Timeline

MORE = settings(max_examples=100)


@st.composite
def sets(draw, low=0.3, high=1.3):
    """Tasks in the order of rates, with implicit deadlines, whose loads add up to something from low to high.

    Some have equal periods, some a hundred times as long as others, and some one task that asks for nearly all.
    """
    n = draw(st.integers(2, 7))
    lengths = draw(st.sampled_from([st.integers(4, 60), st.sampled_from([4, 4, 7, 60, 400])]))
    periods = draw(st.lists(lengths, min_size=n, max_size=n))
    parts = draw(st.lists(st.floats(0.005, 1), min_size=n, max_size=n))
    total = draw(st.floats(low, high)) / sum(parts)
    weights = draw(st.lists(st.integers(1, 10), min_size=n, max_size=n))
    tasks = [
        Task(str(k), p * total * period, float(period), float(period), float(g), 0.5)
        for k, (period, p, g) in enumerate(zip(periods, parts, weights, strict=True))
    ]
    return list(by_rate(tasks))


phases = st.lists(st.floats(0, 1), min_size=7, max_size=7)


def shifted(tasks, parts):
    return [part * float(task.period) for task, part in zip(tasks, parts, strict=False)]


def horizon(tasks):
    return 6.0 * max(float(task.period) for task in tasks)


@MORE
@given(sets())
def test_the_exact_test_says_what_happens_when_all_are_released_together(tasks):
    verdict = schedulable(tasks)
    assume(abs(verdict.level - 1) > 1e-6)
    assert verdict.ok == (not late(tasks, max(float(task.period) for task in tasks)))


@MORE
@given(sets(high=1.0), phases)
def test_an_accepted_set_meets_all_deadlines_at_any_phase(tasks, parts):
    assume(schedulable(tasks).ok)
    assert late(tasks, horizon(tasks)) == []
    assert late(tasks, horizon(tasks), shifted(tasks, parts)) == []


@MORE
@given(sets(high=1.0), phases, st.lists(st.floats(0.4, 1), min_size=7, max_size=7))
def test_an_accepted_set_with_shorter_deadlines_meets_them_in_the_order_of_deadlines(tasks, parts, shares):
    shorter = by_deadline(replace(t, deadline=t.period * x) for t, x in zip(tasks, shares, strict=False))
    assume(schedulable(shorter).ok)
    assert late(shorter, horizon(shorter), shifted(shorter, parts)) == []


@MORE
@given(sets(high=1.1), phases)
def test_the_earliest_deadline_first_meets_all_up_to_a_load_of_one(tasks, parts):
    assume(edf_schedulable(tasks))
    assert late(tasks, horizon(tasks), earliest=True) == []
    assert late(tasks, horizon(tasks), shifted(tasks, parts), earliest=True) == []


@MORE
@given(
    sets(low=0.8, high=3.0),
    phases,
    st.sampled_from(["P", "best"]),
    st.sampled_from(["seed", "prop", "greedy"]),
    st.sampled_from([0.0, 0.02]),
)
def test_a_reduced_set_meets_all_deadlines_at_any_phase(tasks, parts, point, split, floor):
    floored = [replace(task, floor=floor * task.cost) for task in tasks]
    found = reduce(floored, Reduction("wf", point, split))
    after = [replace(task, cost=float(cost)) for task, cost in zip(tasks, found.costs, strict=True)]
    assert late(after, horizon(after)) == []
    assert late(after, horizon(after), shifted(after, parts)) == []


def in_the_way(tasks, i):
    """The longest piece below task i has just begun when all the others are released."""
    first = max(range(i + 1, len(tasks)), key=lambda k: min(tasks[k].piece, tasks[k].cost))
    return [0.0 if k == first else 1e-6 for k in range(len(tasks))]


def never_late(tasks, parts):
    runs = [in_the_way(tasks, i) for i in range(len(tasks) - 1)]
    return all(late(tasks, horizon(tasks), each) == [] for each in (*runs, shifted(tasks, parts)))


@MORE
@given(sets(high=0.95), phases)
def test_a_set_accepted_with_blocking_is_never_late_without_interruption(tasks, parts):
    whole = [replace(task, piece=task.cost) for task in tasks]
    assume(schedulable(whole).ok)
    assert never_late([replace(task, piece=math.inf) for task in tasks], parts)


@MORE
@given(sets(high=0.95), phases)
def test_a_set_accepted_by_the_exact_analysis_is_never_late_without_interruption(tasks, parts):
    whole = [replace(task, piece=task.cost) for task in tasks]
    assume(all(response_time_whole(whole, i) is not None for i in range(len(whole))))
    assert never_late([replace(task, piece=math.inf) for task in tasks], parts)


@MORE
@given(sets(high=0.95), phases, st.floats(0.05, 0.5))
def test_a_set_accepted_with_its_pieces_is_never_late_with_interruption_between_them(tasks, parts, share):
    pieces = [replace(task, piece=share * task.cost) for task in tasks]
    assume(schedulable(pieces).ok)
    assert never_late(pieces, parts)


@MORE
@given(sets(high=0.98), phases)
def test_pieces_as_long_as_the_tolerance_allows_make_nobody_late(tasks, parts):
    assume(schedulable(tasks).ok)
    longest = longest_pieces(tasks)
    assume(min(longest) > 1e-3)
    cut = [replace(task, piece=float(q) - 1e-5) for task, q in zip(tasks, longest, strict=True)]
    assert schedulable(cut).ok
    assert never_late(cut, parts)


@MORE
@given(sets(low=0.6, high=2.0), phases, st.floats(0.1, 1.0))
def test_a_set_reduced_with_its_pieces_is_never_late_between_them(tasks, parts, share):
    cut = [replace(task, piece=share * task.cost) for task in tasks]
    try:
        found = reduce(cut, Reduction("wf", "best", "prop", 0.01))
    except Infeasible:
        assume(False)
    after = [replace(task, cost=float(cost)) for task, cost in zip(cut, found.costs, strict=True)]
    assert blocking(after, 0) <= float(after[0].period)
    assert never_late(after, parts)


SHAPES = (
    select("A", 0.5),
    project(select("B", 0.4)),
    join("A", "B", 0.5),
    join(join("A", "B", 0.5), "C", 0.4),
)


@st.composite
def described(draw):
    """Queries over three streams, some with windows that overlap or leave gaps, some with early deadlines."""
    n = draw(st.integers(2, 6))
    found = []
    for k in range(n):
        stride = draw(st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, 4.0]))
        window = stride * draw(st.sampled_from([0.5, 1.0, 2.0]))
        due = stride * draw(st.sampled_from([0.6, 1.0]))
        deadline = Deadline(window, stride, due, float(draw(st.integers(1, 10))))
        first = stride * draw(st.sampled_from([0.0, 0.0, 0.25, 0.7]))
        # All are there from the start: whoever came later would ask for a plan of its own.
        found.append(Query(f"q{k}", Tree(draw(st.sampled_from(SHAPES))), deadline, first=min(first, window)))
    rate = draw(st.sampled_from([2_000.0, 5_000.0, 10_000.0, 20_000.0, 40_000.0]))
    return tuple(found), rates.steady(rate)


@MORE
@given(described())
def test_queries_that_pass_the_test_are_never_late_without_shedding(made):
    queries, streams = made
    plan = simulate(Setup(queries, streams, create("lrm-seed", order="deadline"), horizon=1.0, overhead=0.0)).plans[0]
    assume(plan.verdict.ok)
    assert simulate(Setup(queries, streams, create("dm"), horizon=16.0)).misses == 0


@MORE
@given(described(), st.sampled_from(["lrm-seed", "lrm+", "ledf", "ledf+"]))
def test_queries_that_are_shed_are_never_late_at_a_constant_rate(made, profile):
    queries, streams = made
    way = create(profile) if profile != "lrm-seed" else create(profile, order="deadline")
    report = simulate(Setup(queries, streams, way, horizon=16.0, overhead=0.0))
    assume(not report.plans[0].suspended)
    assert report.misses == 0


@MORE
@given(described(), st.sampled_from([0.02, 0.1, 0.25]))
def test_queries_that_are_shed_with_their_trains_in_mind_are_never_late(made, piece):
    queries, streams = made
    report = simulate(Setup(queries, streams, create("lrm+"), horizon=16.0, overhead=0.0, piece=piece))
    assume(not report.plans[0].suspended)
    assert report.misses == 0


@MORE
@given(described(), st.floats(0.3, 1.0), st.sampled_from([0.0, 0.1, math.inf]), st.sampled_from(["lrm+", "ledf+"]))
def test_what_is_to_spare_makes_nobody_late_where_work_takes_less_than_planned(made, part, piece, profile):
    queries, streams = made
    cheaper = tuple(replace(query, drift=Timeline(((0.0, 1.0), (3.0, part), (5.0, 1.0)))) for query in queries)
    report = simulate(Setup(cheaper, streams, create(profile), horizon=16.0, overhead=0.0, piece=piece))
    assume(not report.plans[0].suspended)
    assert report.misses == 0


@MORE
@given(described(), st.sampled_from(["lrm+", "ledf+"]))
def test_with_what_is_to_spare_every_window_keeps_at_least_what_is_planned(made, profile):
    queries, streams = made
    kept = {
        spared: simulate(Setup(queries, streams, create(profile, spared=spared), horizon=12.0, overhead=0.0)).records
        for spared in (False, True)
    }
    for planned, found in zip(kept[False], kept[True], strict=True):
        assert found.kept >= planned.kept - 1 - 1e-6 * found.tuples


@pytest.mark.parametrize("spared", [False, True])
@pytest.mark.parametrize("hold", ["clamp", "clampx"])
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("profile", ["lrm+", "ledf+"])
def test_held_budgets_make_nobody_late_whatever_the_rates_do(profile, hold, seed, spared):
    way = create(profile, hold=hold, trigger="static", spared=spared)
    queries = tuple(Query(f"q{k}", Tree(shape), Deadline(2.0, 2.0, 2.0)) for k, shape in enumerate(SHAPES))
    report = simulate(Setup(queries, rates.random(seed, mean=30_000.0), way))
    if not spared:
        for each in report.records:
            assert each.cost <= report.plans[0].allowances[each.query].budget * (1 + 1e-9)
    assert report.misses == 0

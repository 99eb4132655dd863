"""The mix of ten as the specification has it: costs, first plans, counts and rates, to the digit."""

import pytest

from headgate.control.deadlines import measures
from headgate.control.deadlines.measures import Iterated
from headgate.control.deadlines.schedulability import levels
from headgate.control.deadlines.task import Task, by_rate
from headgate.sim.deadlines import rates
from headgate.sim.deadlines.workload import mix
from sim.deadlines.runs import late_by_query, mixed

KAPPA = (4, 3.8, 6.5, 5.5, 14, 13.6, 27.8, 17, 22, 4)
LEVELS = (4, 7.8, 14.3, 22.55, 36.55, 53.55, 86.76, 107.16, 133.56, 138.36)
RATIOS = (0.4, 0.5556, 0.5556, 1.25, 2, 0.4762, 0.46875, 0.2778, 0.2, 5)


def per_rate():
    """The mix as tasks whose costs are those of one tuple per second, in µs."""
    found = []
    for query in mix():
        window = dict.fromkeys(query.tree.streams, 1e6 * query.deadline.window)
        cost = (query.tree.cost(window) - query.tree.emptied(window)) * query.deadline.window / query.deadline.stride
        s = query.tree.selectivity(window) if query.nominal is None else query.nominal
        period = query.deadline.stride
        found.append(Task(query.name, cost, period, query.deadline.due, query.deadline.weight, s))
    return by_rate(found)


def test_costs_levels_and_ratios_of_the_mix():
    tasks = per_rate()
    assert [task.cost / task.period for task in tasks] == pytest.approx(KAPPA)
    assert sum(KAPPA) == pytest.approx(118.2)
    assert list(levels(tasks)) == pytest.approx(LEVELS, abs=1e-9)
    assert [task.ratio for task in tasks] == pytest.approx(RATIOS, abs=5e-5)


@pytest.mark.parametrize(
    ("rate", "options", "failing", "amount", "kept"),
    [
        (8e3, {}, 8, 1.0304, (0.6529, 0.4925, 0.7033, 0.2110, 0.6281, 0.9271, 0.9649, 0.9433, 0.9684, 1)),
        (1e4, {}, 7, 1.468, (0.1324, 0, 0.2585, 0, 0.0705, 0.8177, 0.9122, 0.8582, 0.9583, 1)),
        (12e3, {}, 6, 0.2056, (0, 0, 0, 0, 0, 0.6079, 0.8112, 0.7114, 0.9033, 1)),
        (
            12e3,
            {"split": "prop", "floor": 0.05},
            6,
            0.2056,
            (0.6464, 0.5309, 0.5309, 0.1576, 0.05, 0.5883, 0.5939, 0.7546, 0.9, 1),
        ),
    ],
)
def test_the_first_plan_keeps_of_each_query_what_is_written(rate, options, failing, amount, kept):
    plan = mixed("lrm-seed", rates.steady(rate), options=options).plans[0]
    assert plan.stages[0].failing == failing
    assert plan.stages[0].amount == pytest.approx(amount, abs=2e-6)
    assert [plan.allowances[query.name].fraction for query in mix()] == pytest.approx(kept, abs=5e-5)


def test_releases_deadlines_and_reschedulings_within_twenty_seconds():
    report = mixed("lrm-seed")
    assert len(report.records) == 72
    assert sum(each.due <= 20 for each in report.records) == 68
    assert report.reschedulings == (6.0, 12.0, 18.0)
    assert mixed("lrm-seed", options={"trigger": "pessimistic"}).reschedulings == tuple(map(float, range(1, 21)))
    assert len(mixed("lrm-seed", options={"trigger": "pessimistic-finish"}).reschedulings) == 70
    assert mixed("lrm-seed", options={"trigger": "static"}).reschedulings == ()
    assert mixed("rm").reschedulings == ()


@pytest.mark.parametrize(
    ("profile", "late", "completion", "error"),
    [("lrm-seed", 0, 97.2, 39.4), ("rm", 10, 84.7, 50.7), ("hpf", 12, 84.7, 47.1)],
)
def test_the_constant_overload_comes_out_as_written(profile, late, completion, error):
    report = mixed(profile)
    assert report.misses == late
    assert report.completion == pytest.approx(completion, abs=0.1)
    assert report.error == pytest.approx(error, abs=0.3)


def test_without_interruption_also_the_query_with_the_shortest_period_is_late():
    assert late_by_query(mixed("hpf")) == {"Q1": 3, "Q8": 3, "Q9": 3, "Q10": 3}
    assert "Q1" not in late_by_query(mixed("rm"))


def test_weighted_errors_of_drops():
    one = {"release": 0.0, "finish": 0.5, "due": 1.0}
    records = [
        Iterated("Q1", 1, tuples=1000, kept=900, weight=5, selectivity=0.5, **one),
        Iterated("Q1", 2, tuples=1000, kept=800, weight=5, selectivity=0.5, **one),
        Iterated("Q2", 1, tuples=1000, kept=950, weight=1, selectivity=0.2, **one),
    ]
    found = measures.errors(records)
    assert found.output == pytest.approx(760)
    assert found.processing == pytest.approx(1550)


@pytest.mark.parametrize(("rate", "ok"), [(7_227.0, True), (7_229.0, False)])
def test_the_mix_meets_its_deadlines_up_to_7227_tuples_a_second(rate, ok):
    report = mixed("lrm-seed", rates.steady(rate))
    assert report.plans[0].verdict.ok is ok
    assert (mixed("rm", rates.steady(rate)).misses == 0) is ok

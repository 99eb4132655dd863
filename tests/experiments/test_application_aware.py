"""The published findings on Aurora's schedulers in short form; `headgate reproduce APP-E21` has the long one."""

import math

import pytest

from headgate.experiments.application_aware import EXPERIMENTS, batching, cases, traversals
from headgate.experiments.application_aware.cases import FIXED, SLOPE, TURNS, Case, run
from headgate.experiments.report import Scale
from headgate.experiments.runner import chosen

QUICK = Scale(quick=True, traces=())
FULL = Scale(quick=False, traces=())
BY_ID = {e.id: e for e in EXPERIMENTS}
EXACT = ("APP-E13", "APP-E19", "APP-E23", "APP-E25", "APP-E28", "APP-E32")
SHORT = ("APP-E16", "APP-E20", "APP-E29", "APP-EX9", "APP-EX11", "APP-EX12")


def outcome(name):
    experiment = BY_ID[name]
    return experiment.outcome(QUICK, {key: f(*given) for key, (f, given) in experiment.tasks(QUICK).items()})


def test_every_published_experiment_is_there_once_and_can_be_asked_for():
    ids = [*(f"APP-E{k}" for k in range(12, 33)), *(f"APP-EX{k}" for k in range(8, 13))]
    assert [e.id for e in EXPERIMENTS] == ids
    assert [e.id for e in chosen(ids)] == ids


def test_full_runs_have_six_seeds():
    for experiment in EXPERIMENTS:
        tasks = experiment.tasks(FULL)
        assert len(tasks) == 3 * len(experiment.tasks(QUICK))
        assert len(tasks) % 6 == 0


@pytest.mark.parametrize("name", [*EXACT, *SHORT])
def test_the_quick_form_runs_and_every_row_is_in_its_band(name):
    found = outcome(name)
    assert found.id == name
    assert found.rows
    assert found.figures
    assert found.trace
    assert [row.what for row in found.rows if row.verdict == "out of band"] == []


@pytest.mark.parametrize("name", ["APP-E25", "APP-E32"])
def test_what_the_publication_has_wrong_is_a_miss_and_not_hidden(name):
    assert [row.verdict for row in outcome(name).rows].count("miss") == 1


def test_at_the_knee_fixed_priority_is_best_and_round_robin_worst():
    qos = {policy: run(Case(policy, 1200.0, tuples=8000)).qos for policy in (TURNS, FIXED, SLOPE)}
    assert qos[FIXED] > qos[SLOPE]
    assert qos[FIXED] > qos[TURNS]


def test_pushing_through_saves_what_box_by_box_loses():
    options = (("schedule", 10),)
    for policy in (FIXED, SLOPE):
        boxes, paths = (run(Case(policy, 1300.0, way, options, tuples=4000)).qos for way in ("boxes", "paths"))
        assert paths > 0.99 > boxes


def test_the_same_case_gives_the_same_numbers_and_another_seed_others():
    case = Case(SLOPE, 1200.0, tuples=1000)
    assert run(case) == run(case)
    assert run(case) != run(Case(SLOPE, 1200.0, tuples=1000, seed=2))


def test_a_fifth_of_the_queue_makes_bursts_of_four_cost_four_times_as_much():
    few, whole = (batching.overhead(4, share, 2000, 1).calls for share in (0.2, 1.0))
    assert few / batching.overhead(1, 0.2, 2000, 1).calls == pytest.approx(4, rel=0.05)
    assert whole < few / 3


def test_least_latency_loses_where_calls_are_dear():
    mc, ml = (traversals.latency(1e-5, 4, way, 1000, 1) for way in ("MC", "ML"))
    assert mc < ml
    mc, ml = (traversals.latency(4e-4, 1, way, 1000, 1) for way in ("MC", "ML"))
    assert ml < mc


def test_where_ratios_go_through_one():
    ratios = [0.5, 0.5, 1.5, 2.0, 2.0, 2.0, 2.0]
    assert traversals.crossings(ratios) == [pytest.approx(math.sqrt(2e-5 * 5e-5))]
    assert traversals.crossings([2.0] * 7) == []
    assert len(traversals.crossings([0.5, 2.0, 0.5, 2.0, 2.0, 2.0, 2.0])) == 3


@pytest.mark.parametrize(
    ("qos", "rate"),
    [
        ([1.0, 1.0, 1.0], 300.0),
        ([1.0, 1.0, 0.97], 200 + 100 / 3),
        ([1.0, 0.9, 1.0], 110.0),
        ([0.9, 0.8, 0.7], 0.0),
    ],
)
def test_the_rate_up_to_which_qos_is_almost_perfect(qos, rate):
    assert cases.sustained([100.0, 200.0, 300.0], qos) == pytest.approx(rate)

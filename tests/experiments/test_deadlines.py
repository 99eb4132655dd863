"""The published findings on deadlines in short form; `headgate reproduce RT` has the long one."""

import math
from functools import cache

import pytest

from headgate.experiments.deadlines import EXPERIMENTS, cases, motivating, sets
from headgate.experiments.deadlines.cases import Case, run
from headgate.experiments.report import Scale
from headgate.experiments.runner import chosen

QUICK = Scale(quick=True, traces=())
FULL = Scale(quick=False, traces=())
VERDICTS = {"in band", "out of band", "miss", "reported"}


@cache
def done(function, arguments):
    return function(*arguments)


def test_every_published_experiment_is_there_once_and_can_be_asked_for():
    assert [e.id for e in EXPERIMENTS] == [f"RT-E{k}" for k in range(12)]
    assert chosen(["RT"]) == list(EXPERIMENTS)


def test_full_runs_have_the_seeds_and_sets_that_their_bands_are_for():
    tasks = {e.id: e.tasks(FULL) for e in EXPERIMENTS}
    assert sum(key.profile == "lrm-seed" for key in tasks["RT-E4"]) >= 100
    static = [key for key in tasks["RT-E6"] if key.load == "random" and ("trigger", "static") in key.options]
    assert len(static) >= 300
    assert sum(arguments[1] for _, arguments in tasks["RT-E9"].values()) == 10_000
    assert sum(arguments[1] for function, arguments in tasks["RT-E11"].values() if function is sets.blocked) >= 2_000


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=[e.id for e in EXPERIMENTS])
def test_the_quick_form_runs_and_every_row_is_in_its_band(experiment):
    tasks = experiment.tasks(QUICK)
    outcome = experiment.outcome(QUICK, {key: done(*task) for key, task in tasks.items()})
    assert outcome.id == experiment.id
    assert outcome.rows
    assert outcome.figures
    assert outcome.trace
    assert outcome.seeds
    assert {row.verdict for row in outcome.rows} <= VERDICTS
    assert [row.what for row in outcome.rows if row.verdict == "out of band"] == []


def test_the_same_case_gives_the_same_numbers():
    case = Case("lrm+", "random", seed=7)
    assert run(case) == run(case)


def test_who_is_late_in_the_motivating_cases_depends_on_who_is_served_first():
    assert motivating.late("none").iterations == ()
    assert motivating.late("rate").iterations[0] == ("Q2", 2)
    assert motivating.late("selectivity").iterations[0] == ("Q2", 4)
    assert motivating.late("selectivity, Q2 first").iterations[0] == ("Q1", 4)
    assert motivating.late("admission").iterations[0] == ("Q2", 2)
    assert motivating.late("rate", "hpf").by == pytest.approx({"Q2": 0.25})


def test_shedding_by_the_published_split_empties_cheap_queries_and_by_fractions_nobody():
    seed, plus = run(Case("lrm-seed")), run(Case("lrm+"))
    assert seed.useful < 30
    assert plus.useful > 96
    assert plus.error < seed.error
    assert min(plus.kept.values()) >= 5 - 1e-6


def test_trains_that_the_test_knows_of_make_nobody_late_and_whole_iterations_do():
    late = {piece: run(Case("lrm-seed", cases.LOW, piece=piece, blocking=False)).misses for piece in (0.25, math.inf)}
    assert late[0.25] == 0
    assert late[math.inf] >= 1
    assert run(Case("lrm-seed", cases.LOW, piece=0.25)).misses == 0


def test_random_sets_are_drawn_the_same_for_the_same_chunk():
    one, same, other = sets.reductions(1, 3, 1), sets.reductions(1, 3, 1), sets.reductions(2, 3, 1)
    assert one == same
    assert one != other
    assert one.fit["wf"] == 3
    assert sets.blocked(4, 5) == sets.blocked(4, 5)

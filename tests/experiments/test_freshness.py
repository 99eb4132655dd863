"""The published findings on freshness in short form; `headgate reproduce APP` has the long one."""

from functools import cache

import pytest

from headgate.experiments.freshness import EXPERIMENTS, many, setups
from headgate.experiments.report import Scale
from headgate.experiments.runner import chosen

QUICK = Scale(quick=True, traces=())
FULL = Scale(quick=False, traces=())
VERDICTS = {"in band", "out of band", "miss", "reported"}
IDS = [e.id for e in EXPERIMENTS]


@cache
def done(function, arguments):
    return function(*arguments)


def outcome(name):
    experiment = EXPERIMENTS[IDS.index(name)]
    return experiment.outcome(QUICK, {key: done(*task) for key, task in experiment.tasks(QUICK).items()})


def rows(name, verdict):
    return [row.what for row in outcome(name).rows if row.verdict == verdict]


def test_every_experiment_is_there_once_and_can_be_asked_for():
    assert [f"APP-E{k}" for k in range(1, 12)] + [f"APP-EX{k}" for k in range(1, 6)] == IDS
    found = chosen(["APP"])
    assert [e for e in found if e in EXPERIMENTS] == list(EXPERIMENTS)


def test_full_runs_have_six_seeds_and_half_a_million_objects():
    tasks = {e.id: e.tasks(FULL) for e in EXPERIMENTS}
    assert {key[-1] for key in tasks["APP-E3"]} == set(range(1, 7))
    assert {arguments[1] for _, arguments in tasks["APP-E6"].values()} == {500_000}
    assert many.objects(FULL) == setups.BIG


@pytest.mark.parametrize("name", IDS)
def test_the_quick_form_runs_and_every_row_is_in_its_band(name):
    found = outcome(name)
    assert found.id == name
    assert found.rows
    assert found.figures
    assert found.trace
    assert found.seeds
    assert {row.verdict for row in found.rows} <= VERDICTS
    assert rows(name, "out of band") == []


def test_a_little_skew_makes_the_aligned_optimum_worse_as_the_publication_does_not_say():
    assert rows("APP-E3", "miss") == ["aligned: PF of the plan by profile rises with skew"]


def test_the_key_pf_does_not_win_with_many_groups_as_the_publication_says():
    assert rows("APP-E6", "miss") == ["best key by the number of groups"]


def test_the_same_seed_gives_the_same_world_and_another_another():
    assert setups.small(1, 1.0).lam.tolist() == setups.small(1, 1.0).lam.tolist()
    assert setups.small(1, 1.0).lam.tolist() != setups.small(2, 1.0).lam.tolist()


def test_worlds_are_aligned_as_they_say():
    aligned, reverse = setups.small(1, 1.0, "aligned"), setups.small(1, 1.0, "reverse")
    assert (aligned.lam == reverse.lam[::-1]).all()
    assert aligned.lam[0] == aligned.lam.max()
    large, little = setups.volatile_large(1), setups.volatile_small(1)
    assert large.lam.argmax() == large.s.argmax()
    assert little.lam.argmax() == little.s.argmin()

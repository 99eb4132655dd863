"""What holds for every class scheduler: no class starves, no unit is on two lanes, same views, same choices."""

import math
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.network import Network, Query
from headgate.model.operator import Kind
from headgate.model.unit import plan
from headgate.policy.classes.registry import SCHEDULERS, create
from headgate.policy.hr import HR
from headgate.sim.simulation import Simulation
from helpers import operator
from policy.classes.bed import Bed, classes, looked_at, prepared, unit

EVERY = tuple(SCHEDULERS)
OPTIONS = {"cqc": {"period": 7.0}, "abd": {"q0": 3.0, "q_max": 12.0}}


@st.composite
def beds(draw, name, **more):
    """Classes with a unit or more each, queues that are refilled, and lanes."""
    priorities = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    names = "ABCD"[: len(priorities)]
    extra = draw(st.lists(st.sampled_from(names), max_size=5))
    made = [
        unit(i, cls, draw(st.sampled_from([0.5, 1.0, 2.0])), draw(st.sampled_from([0.0, 1.0])))
        for i, cls in enumerate([*names, *extra])
    ]
    pending = draw(st.lists(st.integers(1, 6), min_size=len(made), max_size=len(made)))
    lanes = draw(st.integers(1, 3))
    return Bed(prepared(name, priorities, made, **OPTIONS.get(name, {})), made, pending, lanes, **more)


def of_cqc(bed):
    """A class owes what runs went over its slice, one on each lane; a round has the slices and such runs."""
    runs = [u.cost.of(n) for u, n in zip(bed.units, bed.full, strict=True)]
    slices = [bed.scheduler.T(name) * bed.lanes for name in bed.scheduler.shares]
    rounds = bed.lanes * max(runs) / min(slices) + 2
    return rounds * sum(T / min(runs) + bed.lanes + 1 for T in slices)


def of_abd(bed):
    """A class has a slot in every round; a slot has room for so many of the shortest runs."""
    shortest = min(u.cost.of(1) for u in bed.units)
    return 2 * len(bed.scheduler.program) * (bed.scheduler.q_max / shortest + 2)


def of_mbd(bed):
    """A query has a certain slot in every round; on each lane another may run again, once for each of its slots."""
    return 2 * 2 * len(bed.scheduler.program)


def of_turns(bed):
    return len(bed.units)


MOST = {"cqc": of_cqc, "abd": of_abd, "mbd": of_mbd, "ambd": of_mbd} | dict.fromkeys(
    ("rr", "mrr", "morr", "mprr"), of_turns
)
"""The decisions within which a class that has work is chosen, by what the algorithm promises."""


@pytest.mark.parametrize("name", MOST)
@settings(max_examples=20)
@given(data=st.data())
def test_no_class_starves(name, data):
    bed = data.draw(beds(name, refill=True))
    most = math.ceil(MOST[name](bed))
    bed.go(min(3 * most, 1000))
    assert max(bed.passed.values(), default=0) <= most


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=20)
@given(data=st.data())
def test_all_that_waits_is_worked_off_and_no_unit_is_on_two_lanes(name, data):
    bed = data.draw(beds(name))
    waiting = sum(bed.pending)
    bed.go(1000)
    assert sum(bed.pending) == 0
    assert sum(n for _, _, _, n in bed.trace) == waiting


def network():
    """A chain, a single operator and a join, each of its own class, with sources that cost time."""
    ops = [
        *(operator(name, [], 0.01, kind=Kind.SOURCE) for name in ("stream", "other", "left", "right")),
        operator("x", ["stream"], 0.1, 0.5),
        operator("y", ["x"], 0.2),
        operator("z", ["other"], 0.1, a=0.1),
        operator("j", ["left", "right"], 0.1, 0.5, kind=Kind.WINDOW_JOIN, window=2.0),
    ]
    return Network(tuple(ops), (Query("y", "y", "A"), Query("z", "z", "B"), Query("j", "j", "C")))


@pytest.mark.parametrize("level", ["query", "operator"])
@pytest.mark.parametrize("name", EVERY)
def test_in_the_simulator_everything_that_arrives_is_served(name, level):
    found = network()
    units = plan(found, dict.fromkeys(found.streams, 1.0), HR.weight, level=level)
    assert {u.cls for u in units} == {"A", "B", "C"}
    taken = {}

    def count(_, decision):
        for run in decision.runs:
            taken[run.unit] = taken.get(run.unit, 0) + run.train

    scheduler = create(name, classes(6, 3, 1), OPTIONS.get(name, {}))
    rng = np.random.default_rng(5)
    arrivals = {stream: iter(np.cumsum(rng.exponential(1.0, 40)).tolist()) for stream in found.streams}
    Simulation(found, units, scheduler, arrivals, on_decision=count).run()
    assert all(taken[u.id] == 40 for u in units if u.leaf)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=10)
@given(data=st.data(), at=st.integers(0, 40))
def test_decisions_are_a_function_of_what_was_shown(name, data, at):
    bed = data.draw(beds(name, refill=True))
    same = deepcopy(bed)
    assert bed.go(60) == same.go(60)
    bed.go(at)
    later = deepcopy(bed)
    bed.go(40)
    later.go(40)
    assert (bed.trace, bed.terms) == (later.trace, later.terms)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=10)
@given(data=st.data())
def test_fresh_statistics_that_say_the_same_change_nothing(name, data):
    bed = data.draw(beds(name, refill=True))
    same = deepcopy(bed)
    for _ in range(5):
        bed.scheduler.prepare(list(bed.units))
        assert bed.go(7) == same.go(7)


@pytest.mark.parametrize("name", EVERY)
def test_a_decision_is_explained_by_its_class_and_the_algorithms_own_numbers(name):
    scheduler = prepared(name, (6, 3), [unit(0, "A"), unit(1, "B")])
    decision = scheduler.choose(looked_at(0, 2))
    assert decision.runs[0].unit == 1
    assert decision.why.formula
    assert decision.why.terms["class"] == 2
    assert len(decision.why.terms) > 2
    assert decision.work.reads >= 1
    assert str(decision.why).startswith(decision.why.formula)


@pytest.mark.parametrize("name", EVERY)
def test_trains_may_be_bounded(name):
    scheduler = prepared(name, (6, 3), [unit(0, "A"), unit(1, "B")], train={"most": 3}, **OPTIONS.get(name, {}))
    assert scheduler.choose(looked_at(9, 0)).runs == ((0, 3),)


@pytest.mark.parametrize("name", EVERY)
def test_shares_response_times_and_priorities_are_taken_at_any_time(name):
    bed = Bed(prepared(name, (6, 3), [unit(0, "A"), unit(1, "B")]), [unit(0, "A"), unit(1, "B")], [3, 3], refill=True)
    scheduler = bed.scheduler
    for action in (
        lambda: scheduler.share({"A": 0.2, "B": 0.8}),
        lambda: scheduler.responded("A", [1.0, 2.0]),
        lambda: scheduler.prioritise({"A": 1, "B": 5}),
    ):
        bed.go(5)
        action()
    assert len(bed.go(5)) == 5

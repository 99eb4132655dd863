"""In turn and Fixed-Priority: orders that do not depend on what waits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import prepared, view
from policy.qos.bed import deadlines, path_units
from policy.qos.states import networks, waiting

LEAST = "d1 − Σcost"


@given(data=st.data(), seed=st.integers(0, 9))
def test_in_turn_runs_all_that_wait_in_the_same_order(data, seed):
    units = data.draw(networks())
    every, some = view(9.0, *[[0.0]] * len(units)), view(9.0, *data.draw(waiting(units)))
    policy = prepared("in-turn", units, seed=seed)
    whole, part = ([run.unit for run in policy.choose(each).runs] for each in (every, some))
    assert sorted(whole) == list(range(len(units)))
    assert part == [i for i in whole if some.queues[i].pending]


@given(st.data())
def test_fixed_priorities_do_not_depend_on_what_waits(data):
    units = data.draw(networks())
    every, some = view(9.0, *[[0.0]] * len(units)), view(99.0, *data.draw(waiting(units)))
    policy = prepared("fixed-priority", units, schedule=99)
    whole, part = ([run.unit for run in policy.choose(each).runs] for each in (every, some))
    assert part == [i for i in whole if some.queues[i].pending]


def test_who_has_the_least_time_to_spare_is_first_and_who_has_no_graph_is_last():
    tight, loose = deadlines(10, 12)
    units = path_units((1, None), (5, loose), (1, tight))
    policy = prepared("fixed-priority", units)
    decision = policy.choose(view(50.0, [0.0], [0.0], [0.0]))
    assert [run.unit for run in decision.runs] == [1, 2, 0]
    assert decision.why.terms[LEAST] == 7.0
    assert decision.why.over == 2
    alone = policy.choose(view(50.0, [0.0], [], []))
    assert alone.why.terms[LEAST] == math.inf


@pytest.mark.parametrize("policy", ["in-turn", "fixed-priority"])
def test_the_work_is_to_look_at_all_and_to_sort_those_that_wait(policy):
    units = path_units(*((1, graph) for graph in deadlines(1, 2, 3)))
    assert prepared(policy, units).choose(view(9.0, [0.0], [], [1.0])).work == (0, 2, 3)

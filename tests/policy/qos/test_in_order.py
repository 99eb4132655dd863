"""Units in order: whoever is first is whom a look at all of them would put first."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.policy.protocol import Work
from headgate.policy.qos.in_order import AHEAD, InOrder
from headgate.policy.qos.slope_slack import SlopeSlack
from headgate.policy.trains import Train
from helpers import Waiting, view
from model.test_qos import graphs
from policy.qos.bed import path_units
from policy.qos.states import networks

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["arrive", "arrive for all", "run", "wait", "busy"]),
        st.integers(0, 40),
        st.integers(0, 6),
        st.none() | st.sets(st.integers(0, 40)),
    ),
    max_size=30,
)
"""What happens, to which unit, how much later; whether it is said what has changed, and what has not beside it."""


@st.composite
def paths(draw):
    """Units that go all the way, under graphs of any shape; the time of a run may not depend on its tuples."""
    drawn = draw(st.lists(st.tuples(st.integers(1, 3), st.none() | graphs()), min_size=1, max_size=12))
    each = draw(st.sampled_from([0.0, 0.25]))
    return [replace(unit, cost=Cost(0.5, each)) for unit in path_units(*drawn, cost=0.25)]


@given(
    units=st.one_of(paths(), networks()),
    steps=STEPS,
    recover=st.booleans(),
    schedule=st.sampled_from([1, 2, 99]),
    train=st.sampled_from([Train(2), Train(float("inf"))]),
)
def test_decisions_are_those_of_a_look_at_all_units(units, steps, recover, schedule, train):
    queues = shown = [Waiting([]) for _ in units]
    kept, anew = (made(schedule=schedule, recover=recover, train=train) for made in (InOrder, SlopeSlack))
    for each in (kept, anew):
        each.prepare(units)
    now = 0.0
    for step, unit, gap, told in steps:
        before = shown
        now += gap / 4
        i = unit % len(units)
        if step == "arrive":
            queues = [*queues[:i], Waiting([*queues[i].arrivals, now], queues[i].position), *queues[i + 1 :]]
        elif step == "arrive for all":
            queues = [Waiting([*queue.arrivals, now], queue.position) for queue in queues]
        elif step == "run" and queues[i].pending:
            queues = [*queues[:i], Waiting(queues[i].arrivals[1:], queues[i].position + 1), *queues[i + 1 :]]
        # What runs on another lane is shown as if nothing waited.
        shown = [Waiting([]) if step == "busy" and k == i else queue for k, queue in enumerate(queues)]
        seen = replace(view(now, []), queues=shown)
        if told is not None:
            seen = replace(seen, changed=[k for k in range(len(units)) if shown[k] is not before[k] or k in told])
        first, second = kept.choose(seen), anew.choose(seen)
        assert (first and replace(first, work=Work())) == (second and replace(second, work=Work()))


def test_only_units_that_have_moved_on_or_come_to_a_critical_point_are_looked_at():
    units = [
        replace(u, cost=Cost(1.0, 0.0)) for u in path_units(*((1, LatencyGraph.until(8 + k, 80)) for k in range(9)))
    ]
    policy = InOrder(schedule=1)
    policy.prepare(units)
    looked = []
    for now, queues in (
        (0.0, [[0.0]] * 9),
        (1.0, [[0.0]] * 9),
        (2.0, [[0.0, 2.0]] * 9),
        (8.5, [[0.0, 2.0]] * 9),
    ):
        looked.append(policy.choose(view(now, *queues)).work.computations)
    # All at first; nobody; who is first of all that have grown; who has come to its slope, and who only seemed to.
    assert looked == [9, 0, 1, 2]


@pytest.mark.parametrize("tuples", [1, 50])
def test_a_train_whose_work_has_grown_is_no_further_ahead_of_its_place_than_a_part_of_its_deadline(tuples):
    each = 0.001
    ahead, behind = path_units((1, LatencyGraph.until(8.0)), (1, LatencyGraph.until(8.0 + AHEAD)), cost=each)
    policy = InOrder(schedule=1, seed=None)
    policy.prepare([ahead, behind])
    policy.choose(view(0.0, [0.0], [0.0]))
    queues = [0.0], [0.0] * (1 + tuples + round(AHEAD * 8.0 / each))
    (run,) = policy.choose(view(0.0, *queues)).runs
    exact = SlopeSlack(schedule=1, seed=None)
    exact.prepare([ahead, behind])
    assert run == exact.choose(view(0.0, *queues)).runs[0]

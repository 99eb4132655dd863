"""Expected output latencies: the readings of ect, and that arrays say what single units say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.policy.qos.prospects import Prospects
from headgate.policy.qos.schedule import WHOLE, ready
from headgate.policy.trains import Train
from helpers import view
from policy.qos.bed import box_units, deadlines, path_units
from policy.qos.states import networks, waiting

(GRAPH,) = deadlines(10)
READINGS = ("carried", "single", "literal")


def carried(units, queues, b):
    """By the definition: n tuples go from unit to unit, and what waits there joins them."""
    n, total = queues[b].pending, 0.0
    for k in (b, *units[b].behind):
        n = n if k == b else queues[k].pending + n
        total += n * units[k].cost.b
        n *= units[k].basis.segments[0].path[0].s
    return total


@given(st.data())
def test_carried_work_is_that_of_all_tuples_on_the_way(data):
    units = data.draw(networks())
    queues = data.draw(waiting(units))
    prospects = Prospects(units, WHOLE)
    for b in ready(view(20.0, *queues)):
        assert prospects.ect(view(20.0, *queues), b) == pytest.approx(carried(units, queues, b))


def test_the_readings_of_ect_differ():
    units = box_units((3, GRAPH), cost=1.0, sel=0.5)
    queues = view(0.0, [0.0] * 4, [], [0.0])
    found = {ect: Prospects(units, WHOLE, ect).ect(queues, 0) for ect in READINGS}
    assert found["carried"] == 4 * 1.0 + 2 * 1.0 + (1 + 1) * 1.0
    assert found["single"] == 3.0
    assert found["literal"] == 4 * 1.0 / 0.125 + 0 + 1.0 / 0.5


@pytest.mark.parametrize("ect", READINGS)
@given(data=st.data())
def test_arrays_say_what_single_units_say(ect, data):
    units = data.draw(networks())
    seen = view(20.0, *data.draw(waiting(units)))
    prospects = Prospects(units, Train(2), ect)
    expected = prospects.expected(seen, ready(seen))
    for i, slope, slack in zip(expected.ready, expected.slope, expected.slack, strict=True):
        terms = prospects.terms(seen, i)
        assert (slope, slack) == pytest.approx((terms["slope"], terms["slack"]))


@pytest.mark.parametrize("ect", READINGS)
@given(data=st.data(), train=st.sampled_from([WHOLE, Train(2), Train(9, slice=1.0)]))
def test_of_many_units_at_once_the_same_is_expected_to_the_bit(ect, data, train):
    units = data.draw(st.one_of(networks(), st.just(path_units(*((1, GRAPH) for _ in range(30)), cost=0.3))))
    seen = view(20.0, *data.draw(waiting(units, most=9)))
    prospects, found = Prospects(units, train, ect), ready(seen)
    every = [(prospects.length(seen, i), prospects.origin(seen, i)) for i in found]
    assert prospects.trains(seen, found) == every


def test_the_latency_of_a_train_is_the_mean_wait_of_its_tuples():
    units = box_units((1, GRAPH))
    seen = view(8.0, [0.0, 2.0, 7.0])
    assert Prospects(units, WHOLE).terms(seen, 0)["eol"] == 8.0 - 3.0 + 3.0
    assert Prospects(units, Train(2)).terms(seen, 0)["eol"] == 8.0 - 1.0 + 2.0


def test_a_unit_without_a_graph_has_nothing_to_lose():
    terms = Prospects(box_units((1, None)), WHOLE).terms(view(8.0, [0.0]), 0)
    assert (terms["slope"], terms["slack"]) == (0.0, math.inf)

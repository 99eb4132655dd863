"""CTRL: exact on flat networks of known capacity, and blind where tuples are copied."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.shed.ctrl import GAINS, Ctrl
from headgate.shed.protocol import Cycle
from shed.fluid import halved, run

HEADROOMS = {0.792: (40.03, 1.61, 0.0), 0.9405: (39.98, 1.91, 0.0), 0.99: (39.97, 2.01, 0.005)}
HEADROOMS |= {1.0395: (39.95, 2.11, 0.10), 1.188: (39.91, 2.41, 0.39)}


@pytest.fixture(scope="module")
def traces():
    return {H: run(Ctrl(2.0, H)) for H in HEADROOMS}


def test_both_poles_of_the_closed_loop_are_at_seven_tenths():
    b0, b1, a = GAINS
    assert np.roots([1, a - 1 + b0, b1 - a]) == pytest.approx([0.7, 0.7], abs=1e-6)


@pytest.mark.parametrize(("H", "expected"), HEADROOMS.items())
def test_a_wrong_headroom_displaces_the_response_time_by_its_factor(traces, H, expected):
    loss, rt, violation = expected
    assert traces[H].loss() == pytest.approx(loss, abs=0.5)
    assert traces[H].response(200) == pytest.approx(rt, abs=0.02)
    assert traces[H].response(200) == pytest.approx(2.0 * H / 0.99, rel=0.01)
    assert traces[H].violation() == pytest.approx(violation, abs=0.01)


def test_a_greater_headroom_loses_less_and_answers_later(traces):
    losses = [traces[H].loss() for H in HEADROOMS]
    responses = [traces[H].response(200) for H in HEADROOMS]
    assert losses == sorted(losses, reverse=True)
    assert responses == sorted(responses)


def test_after_half_the_capacity_is_gone_results_take_twice_the_target():
    trace = run(Ctrl(2.0), capacity=halved)
    assert trace.response(200) == pytest.approx(4.0, rel=0.02)
    assert trace.loss() == pytest.approx(62.4, abs=0.5)


def test_where_departures_are_counted_per_copy_nothing_is_shed():
    trace = run(Ctrl(2.0), copies=4, seconds=100)
    assert trace.loss() == 0
    assert trace.response(90) > 10


def test_a_first_cycle_follows_the_formula():
    # q = 400, y = 2, e = 0.5, u = 100·(0.4·0.5) = 20, v = 20 + 200, d = 1 − 220/1000.
    order = Ctrl(2.5, 1.0).cycle(Cycle(2.0, 5.0, arrived=2000, admitted=800, departed=400, cost=0.005))
    assert (order.why.terms["q"], order.why.terms["y"]) == (400, pytest.approx(2.0))
    assert order.why.terms["u"] == pytest.approx(20)
    assert order.drop == 0.78


@given(
    queued=st.integers(0, 100_000),
    arrived=st.integers(1, 10_000),
    departed=st.integers(0, 10_000),
    D=st.floats(0.1, 10),
)
def test_a_longer_queue_is_never_shed_less(queued, arrived, departed, D):
    first, second = (
        Ctrl(D).cycle(Cycle(0.5, 1.0, arrived=arrived, admitted=q, departed=departed, cost=0.001))
        for q in (queued, queued + 100)
    )
    assert second.drop >= first.drop

"""Backlog: back at the target within a few periods, and nothing lost that could have been kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.outputs import Output
from headgate.shed.backlog import Backlog
from headgate.shed.protocol import Cycle
from shed.fluid import COST, halved, run, steady

D, T = 2.0, 0.5
SEEDS = range(5)


def unavoidable(capacity, rate=350.0):
    return 100 * (1 - capacity / (rate * COST))


def seen(L, queued, **given):
    return Cycle(T, L, queued=queued, **given)


# The formula.


@pytest.mark.parametrize(
    ("L", "queued", "oldest", "drop"),
    [
        (2.0, 0.0, 0.0, 0.0),
        (2.0, 2.2, 1.1, 0.0),
        (2.0, 3.2, 1.6, 0.5),
        (2.0, 5.2, 2.6, 0.75),
        (2.0, 5.2, 1.0, 0.75),
        (2.0, 1.0, 2.6, 0.75),
        (0.5, 0.8, 1.6, 0.0),
        (0.0, 4.0, 9.0, 0.75),
        (0.0, 0.0, 0.0, 0.0),
        (9.0, 900.0, 90.0, 0.99),
    ],
)
def test_what_cannot_be_read_within_the_horizon_is_dropped(L, queued, oldest, drop):
    assert Backlog(D, headroom=1.0).cycle(seen(L, queued, oldest=oldest, worked=T)).drop == drop


@pytest.mark.parametrize(
    ("fixed", "drop"), [(0.0, 0.75), (0.5, 0.75), (0.75, 0.38), (0.99, 0.02), (1.0, 0.0), (2.0, 0.0)]
)
def test_nothing_is_dropped_for_the_overhead_of_runs(fixed, drop):
    order = Backlog(D, headroom=1.0).cycle(seen(2.0, 5.2, oldest=2.6, worked=T, fixed=fixed))
    assert order.drop == pytest.approx(drop, abs=0.01)


@given(L=st.floats(0.1, 10), C=st.floats(0.1, 1.0))
def test_where_the_wait_is_right_the_loss_is_the_unavoidable_one(L, C):
    order = Backlog(D, headroom=C).cycle(seen(L, 0.8 * D * L, oldest=0.8 * D))
    assert order.drop == pytest.approx(min(0.99, max(0.0, 1 - C / L)), abs=0.005)


@given(L=st.floats(0.1, 10), queued=st.floats(0, 50), oldest=st.floats(0, 20))
def test_more_that_waits_is_never_shed_less(L, queued, oldest):
    first, second = (Backlog(D).cycle(seen(L, q, oldest=oldest)) for q in (queued, queued + 1))
    assert second.drop >= first.drop


def test_the_capacity_is_what_was_had_while_more_waited_than_was_done():
    manager = Backlog(D, headroom=0.8)
    headrooms = [manager.cycle(seen(2.0, 3.0, worked=0.2)).headroom for _ in range(3)]
    # In the first period nothing had waited before.
    assert headrooms == pytest.approx([0.8, 0.6, 0.5])


def test_an_idle_time_takes_nothing_from_the_capacity_and_may_add_to_it():
    manager = Backlog(D, headroom=0.5)
    assert manager.cycle(seen(0.1, 0.0, worked=0.05)).headroom == 0.5
    assert manager.cycle(seen(0.1, 0.0, worked=0.4)).headroom == 0.8


def test_a_class_that_is_not_busy_has_what_the_scheduler_grants_and_no_more_than_it_has_shown():
    manager = Backlog(D, headroom=1.0)
    assert manager.cycle(seen(0.1, 0.0, worked=0.05, granted=0.4)).headroom == 0.4
    assert manager.cycle(seen(0.1, 0.0, worked=0.35, granted=0.4)).headroom == 0.7
    assert manager.cycle(seen(0.1, 0.0, worked=0.05, granted=0.4)).headroom == 0.4


def test_a_hint_moves_the_capacity_within_what_the_cores_can_do():
    manager = Backlog(D, headroom=0.8)
    manager.rescale(0.5)
    assert manager.headroom == 0.4
    manager.rescale(100)
    assert manager.headroom == 1.2


def test_where_the_scheduler_says_what_it_grants_a_hint_is_no_news():
    manager = Backlog(D, headroom=0.8)
    manager.cycle(seen(2.0, 3.0, worked=0.3, granted=0.2))
    learnt = manager.headroom
    manager.rescale(2.0)
    assert manager.headroom == learnt


def test_results_that_take_long_beyond_their_wait_leave_less_time_to_wait():
    manager = Backlog(D)
    late = Output(0.5, 0.5, 0.5, D)
    for _ in range(50):
        order = manager.cycle(seen(0.5, 0.0, outputs=(late,), departed=10))
    assert order.why.terms["W*"] == pytest.approx(1.1, abs=0.01)


# On the model.


def test_when_load_and_capacity_are_steady_it_loses_no_more_than_it_must_and_stays_below_the_target():
    trace = run(Backlog(D))
    assert trace.loss(50) == pytest.approx(unavoidable(0.99), abs=0.1)
    assert trace.response(50) == pytest.approx(0.8 * D, rel=0.02)
    assert trace.worst() == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_it_settles_within_20_periods_of_losing_half_the_capacity_though_costs_vary(seed):
    trace = run(Backlog(D), seconds=220, capacity=halved, noise=0.1, seed=seed)
    assert trace.settled(100) <= 20
    assert trace.settled(100, within=0.9) <= 20
    assert trace.violation() < 0.01
    assert trace.loss(120) == pytest.approx(unavoidable(0.495), abs=1.0)
    assert trace.response(120) == pytest.approx(0.8 * D, rel=0.03)


@pytest.mark.parametrize("seed", SEEDS)
def test_it_works_with_what_other_classes_leave(seed):
    left = np.random.default_rng(seed).uniform(0.2, 0.6, 400)
    trace = run(Backlog(D), seconds=200, capacity=lambda time: left[int(time / T)], noise=0.1, seed=seed)
    assert trace.loss(50) == pytest.approx(unavoidable(left[100:].mean()), abs=1.0)
    assert trace.response(50) == pytest.approx(0.8 * D, rel=0.05)
    assert trace.violation() < 0.01


def test_capacity_that_comes_back_is_used_at_once():
    trace = run(Backlog(D), capacity=lambda time: 0.495 if 100 <= time < 150 else 0.99, seconds=250)
    assert trace.loss(152) == pytest.approx(unavoidable(0.99), abs=1.0)
    assert min(period.response[0] for period in trace.part(100)) > 0.4 * D


def test_nothing_is_shed_of_a_load_that_fits():
    assert run(Backlog(D), rate=lambda time: 206.0, noise=0.1, seconds=200).loss() == 0


def test_a_peak_that_fits_below_the_target_is_not_shed():
    trace = run(Backlog(D), rate=lambda time: 300.0 if 50 <= time < 52 else 150.0, seconds=100)
    assert trace.loss() == 0
    assert 0.5 < max(period.response[0] for period in trace.periods) < D


@pytest.mark.parametrize("latency", [0.2, 0.5])
def test_the_time_that_results_take_beyond_their_wait_is_part_of_the_response(latency):
    trace = run(Backlog(D), capacity=halved, latency=latency, noise=0.05, seconds=200)
    assert trace.response(120) == pytest.approx(0.8 * D, rel=0.05)
    assert trace.loss(120) == pytest.approx(unavoidable(0.495), abs=1.0)


def test_it_scales_with_the_target():
    trace = run(Backlog(0.3), capacity=halved, target=0.3, period=0.15, noise=0.1, seconds=180)
    assert trace.settled(100) <= 20
    assert trace.response(110) == pytest.approx(0.24, rel=0.05)
    assert trace.loss(110) == pytest.approx(unavoidable(0.495), abs=1.0)


def test_ten_times_the_capacity_is_held_too():
    trace = run(Backlog(D), rate=lambda time: 2000.0, capacity=steady, seconds=100, noise=0.1)
    assert trace.loss(20) == pytest.approx(unavoidable(0.99, 2000.0), abs=1.0)
    assert trace.response(20) == pytest.approx(0.8 * D, rel=0.05)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Cost
from headgate.monitor.estimators import Average, TrainCost


@given(st.floats(0.001, 1.0), st.floats(0.0001, 0.1), st.floats(0.2, 5.0), st.floats(0.2, 5.0))
def test_a_and_b_are_found_from_trains_of_several_lengths(a, b, wrong_a, wrong_b):
    model = TrainCost(Cost(a * wrong_a, b * wrong_b))
    for k in range(600):
        n = (1, 5, 20, 100)[k % 4]
        model.observe(n, a + b * n)
    for n in (1, 50, 100):
        assert model.cost.of(n) == pytest.approx(a + b * n, rel=0.05)


@pytest.mark.parametrize("b", [2e-7, 2e-5, 2e-3, 2e-2])
def test_a_tuple_that_costs_far_more_or_less_than_was_guessed_is_found_out_within_some_runs(b):
    a, guess = 0.002, Cost(0.002, 2e-6)
    model = TrainCost(guess, Cost(guess.a, 10 * guess.a))
    for n in (8, 4, 2, 8, 4, 2):
        model.observe(n, a + b * n)
    assert model.cost.a == pytest.approx(a, rel=0.1)
    assert model.cost.b == pytest.approx(b, rel=0.05, abs=1e-5)


def test_a_fixed_cost_that_is_guessed_as_zero_stays_zero():
    model = TrainCost(Cost(0.0, 1.0))
    for _ in range(100):
        model.observe(1, 3.0)
    assert model.cost.a == 0
    assert model.cost.b == pytest.approx(3.0, rel=0.01)


def test_the_estimate_follows_a_change():
    model = TrainCost(Cost(0.0, 1.0))
    for seconds in [1.0] * 300 + [4.0] * 300:
        model.observe(1, seconds)
    assert model.cost.b == pytest.approx(4.0, rel=0.02)


def test_news_after_a_long_quiet_time_does_not_blow_the_estimate_up():
    model = TrainCost(Cost(0.05, 0.001))
    for _ in range(5000):
        model.observe(10, 0.06)
    model.observe(1000, 1.05)
    assert 0.5 < model.cost.of(1000) < 2.0


def test_an_average_begins_at_its_guess_and_forgets_it():
    share = Average(0.5)
    assert share.value == 0.5
    for _ in range(400):
        share.observe(1, 10)
    assert share.value == pytest.approx(0.1, rel=0.01)


def test_a_slow_first_run_does_not_send_the_cost_per_tuple_away():
    cost = TrainCost(Cost(0.1222, 1.222e-4))
    for n, seconds in ((2273, 0.99), (2273, 0.183), (2273, 0.164), (1981, 0.141), (1981, 0.103), (1981, 0.193)):
        cost.observe(n, seconds)
    assert 0.1 < cost.cost.of(2000) < 0.6


def test_a_share_remembers_the_trains_before_the_last():
    share = Average(1.0)
    for results in (100, 100, 100, 0):
        share.observe(results, 1000)
    assert 0.05 < share.value < 0.1

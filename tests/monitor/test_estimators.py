import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model import Cost
from headgate.monitor.estimators import Average, RecentCost, Selectivity, TrainCost


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


@pytest.mark.parametrize("drift", [0.7, 1.0, 1.4])
def test_long_runs_of_about_one_length_that_vary_by_a_tenth_do_not_change_what_short_ones_have_shown(drift):
    # A slice bounds runs, so their length goes by how fast the machine is; only a few short ones tell a from b.
    rng = np.random.default_rng(1)
    a, b = 0.002, 1e-5
    model = TrainCost(Cost(a, 2e-6), Cost(a, 10 * a))
    for n in (4, 40, 400):
        model.observe(n, a + b * n)
    for k in range(200):
        slower = drift ** (k / 200)
        n = round(0.05 / model.cost.of(1000) * 1000)
        model.observe(n, (a + b * n) * slower * rng.normal(1.0, 0.1))
    assert 0 < model.cost.a < 3 * a
    assert model.cost.of(5000) == pytest.approx((a + 5000 * b) * drift, rel=0.15)


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


@given(st.floats(0.001, 1.0), st.floats(0.0001, 0.1), st.floats(0.1, 10.0))
def test_the_last_runs_tell_a_from_b_whatever_the_first_one_took(a, b, cold):
    model = RecentCost(Cost(a * cold, b * cold), tried=64)
    for n in (1, 5, 20, 100) * 5:
        model.observe(n, a + b * n)
    for n in (1, 50, 100):
        assert model.cost.of(n) == pytest.approx(a + b * n, rel=0.05)


def test_a_first_run_that_was_slow_is_forgotten_within_a_few():
    model = RecentCost(Cost(0.4, 0.01), tried=64)
    for n in (100, 150, 200, 120, 180, 150):
        model.observe(n, 0.05 + 0.001 * n)
    for n in (100, 300):
        assert model.cost.of(n) == pytest.approx(0.05 + 0.001 * n, rel=0.25)


def test_runs_of_one_length_leave_a_at_what_a_run_over_nothing_took():
    model = RecentCost(Cost(0.05, 0.01), tried=64)
    for _ in range(30):
        model.observe(100, 0.15)
    assert model.cost.a == pytest.approx(0.05, rel=0.01)
    assert model.cost.b == pytest.approx(0.001, rel=0.01)


def test_no_run_over_nothing_takes_longer_than_the_shortest_run():
    model = RecentCost(Cost(1.0, 0.0), tried=64)
    for _ in range(20):
        model.observe(100, 0.03)
    assert model.cost.of(100) == pytest.approx(0.03, rel=0.05)
    assert model.cost.of(1000) < 1.0


def test_one_stall_does_not_double_what_runs_are_taken_for():
    model = RecentCost(Cost(0.05, 0.001), tried=64)
    for n in (90, 100, 110) * 4:
        model.observe(n, 0.05 + 0.001 * n)
    model.observe(100, 1.5)
    assert model.cost.of(100) < 0.3


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e3)), max_size=40), st.floats(0, 10), st.floats(0, 1))
def test_costs_are_never_below_0(runs, a, b):
    model = RecentCost(Cost(a, b), tried=8)
    for n, seconds in runs:
        model.observe(n, seconds)
        assert model.cost.a >= 0
        assert model.cost.b >= 0


@given(st.integers(100, 1000), st.integers(100, 1000), st.floats(0.05, 1.0), st.floats(0.2, 5.0))
def test_of_a_join_the_share_of_pairs_is_learned_whatever_part_of_them_was_read(a, b, kept, faster):
    join = Selectivity(by_tuple=True)
    for _ in range(3):
        join.observe(round(1e6 * kept * a * kept * b), {"a": a, "b": b}, kept)
    more = {"a": faster * a, "b": faster * b}
    assert join.of(more) == pytest.approx(1e6 * faster * a * b / (a + b), rel=0.01)


def test_an_aggregate_has_as_many_results_of_a_part_of_a_window():
    grouped = Selectivity(by_tuple=False)
    assert grouped.of({"s": 100}) == 1.0
    grouped.observe(10, {"s": 100}, 0.05)
    assert grouped.of({"s": 100}) == pytest.approx(0.1)
    assert grouped.of({"s": 0}) == 1.0

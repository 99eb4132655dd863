"""The published findings on load management in short form; `headgate reproduce DILOS` has the long one."""

import math

import numpy as np
import pytest

from headgate.experiments.load_management import batching, examples, inputs, networks
from headgate.experiments.load_management.single import TUNED, Case, D, background, quota, run
from headgate.model.parameters import rates
from headgate.sim.trains import plan

SHORT = 100.0
CTRL = (("headroom", TUNED),)


def work(network, streams):
    out = rates(network, streams)
    return sum(op.cost.b * sum(out[name] for name in op.inputs or (op.name,)) for op in network.operators)


@pytest.mark.parametrize("network", [networks.flat(), networks.complex_network(3)])
def test_a_tuple_on_every_stream_is_as_much_work_in_the_flat_network_as_in_the_complex_one(network):
    assert work(network, dict.fromkeys(network.streams, 1.0)) == pytest.approx(networks.WORK)


def test_a_group_of_the_complex_network_has_nineteen_operators_and_four_queries():
    network = networks.complex_network(2)
    assert (len(network.operators), len(network.queries)) == (38, 8)


def test_the_long_network_is_just_busy_at_the_capacity_and_overloaded_by_more_than_the_rate_says():
    network = networks.long_network()
    at, beyond = (work(network, dict.fromkeys(network.streams, k * networks.CAPACITY)) for k in (1, 1.5))
    assert at == pytest.approx(networks.HEADROOM)
    assert beyond > 2 * at


def test_capacity_and_headroom_are_those_that_the_published_tables_imply():
    left = networks.SHARE - (networks.OVERLOAD - networks.CAPACITY) * networks.LOOK
    assert left / networks.WORK == pytest.approx(207)
    assert networks.SHARE < 1


@pytest.mark.parametrize("end", [100.0, 400.0])
def test_ideal_shedding_of_the_bursty_input_loses_what_is_published(end):
    times = inputs.bursty(None, 2, end)
    counts = np.bincount(np.minimum(end / inputs.BIN - 1, times / inputs.BIN).astype(int))
    assert inputs.ideal_loss(counts) == pytest.approx(inputs.LOSS, abs=0.01)
    assert times[0] >= 0
    assert times[-1] <= end + 1e-9


def test_inputs_by_steps_have_the_rates_of_their_levels():
    times = inputs.evenly(inputs.S_C, 20.0)
    assert [np.count_nonzero((times > lo) & (times <= lo + 10)) for lo in (0, 10)] == [2000, 3500]
    levels = inputs.steps(410.0)
    assert levels[1] == (10.0, 350.0)
    assert levels[-1] == (370.0, 9000.0)
    waits = inputs.ticked(times) - times
    assert waits.min() > -1e-9
    assert waits.max() < inputs.TICK + 1e-9


def test_the_job_that_comes_and_goes_does_so_ever_faster():
    line = background("oscillating")
    assert [line.at(time) for time in (5, 15, 25, 72, 77, 131, 133, 190.5, 191.5, 260)] == [
        *(1.0, 0.5, 1.0),
        *(0.5, 1.0),
        *(0.5, 1.0),
        *(0.5, 1.0, 1.0),
    ]


def test_the_worked_example_of_joint_shedding_comes_out_exactly():
    first, second = examples.dropped(0.0)
    assert first == pytest.approx({"Q1": 0, "Q2": 4})
    assert second == pytest.approx({"Q1": 0, "Q2": 3})
    assert examples.dropped(0.05)[1] == pytest.approx({"Q1": 0, "Q2": 3.5})
    assert examples.unaware() == pytest.approx({"Q1": 1, "Q2": 2})


def test_the_worked_example_of_semantic_shedding_comes_out_exactly():
    rate, measured = examples.semantic()
    assert rate == pytest.approx(0.25)
    assert measured == pytest.approx(0.25, abs=0.002)


def test_batches_let_the_system_take_six_times_the_rate_that_single_tuples_would():
    found = batching.ramp(50, 2)
    assert found[0] == pytest.approx(120e-6, rel=0.01)
    assert found[1] < 1e-3 < batching.ramp(1, 2)[1]


def test_a_headroom_above_the_truth_lets_aurora_fall_behind_and_one_below_it_does_not():
    low, high = (run(Case("flat", "S_c", "aurora", (("headroom", H),), end=SHORT), 1) for H in (0.94, 1.04))
    assert low.late.most < 0.5
    assert high.late.most > 2
    assert low.loss > high.loss


@pytest.mark.parametrize(("factor", "response"), [(0.8, 0.8), (1.0, 1.0), (1.2, 1.2)])
def test_the_response_time_of_ctrl_is_wrong_by_as_much_as_its_headroom(factor, response):
    seen = run(Case("flat", "S_c", "ctrl", (("headroom", factor * TUNED),), end=SHORT), 1)
    assert seen.after(50.0) == pytest.approx(response * D, rel=0.1)


def test_a_halved_capacity_leaves_ctrl_at_twice_the_target_and_backlog_below_it():
    ctrl, ours = (
        run(Case("flat", "S_c", name, options, "two", end=160.0), 1)
        for name, options in (("ctrl", CTRL), ("backlog", ()))
    )
    assert ctrl.after(140.0) == pytest.approx(2 * D, rel=0.15)
    assert math.isinf(ctrl.settled(100.0))
    assert ours.after(140.0) < D
    assert ours.settled(100.0) <= 4


@pytest.fixture(scope="module")
def shared():
    names = {"aloma": (), "seamless": (), "ctrl": CTRL}
    return {name: run(Case("complex", "S_c", name, options, end=SHORT), 1) for name, options in names.items()}


def test_on_shared_operators_ctrl_sheds_nothing_and_the_others_keep_the_target(shared):
    assert shared["ctrl"].loss == 0
    assert shared["ctrl"].late.most > 2 * D
    for name in ("aloma", "seamless"):
        assert shared[name].loss > 20
        assert shared[name].late.mean < 0.25 * D


def test_under_weighted_turns_seamless_makes_queries_with_small_turns_late_and_aloma_does_not():
    seamless, aloma = (run(Case("complex", "S_c", n, fair=False, end=SHORT), 1) for n in ("seamless", "aloma"))
    assert seamless.low.mean > 0.5 * D > 4 * aloma.low.mean
    assert seamless.high.mean < 0.1


def test_the_quota_of_a_turn_is_half_as_large_again_for_high_queries():
    network = networks.complex_network(1)
    units = plan.by_query(network, dict.fromkeys(network.streams, 1.0), networks.ONE)
    assert sorted(quota(unit) for unit in units) == [40, 50, 60]

"""ALoMa: what it does in each state, and where that leads."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.outputs import Output
from headgate.shed.aloma import Aloma, step, trial
from headgate.shed.protocol import Cycle
from shed.fluid import halved, run

D = 2.0


def out(rt, before=None, least=0.1, target=D):
    return Output(rt, rt if before is None else before, least, target)


def seen(L, *outputs, departed=10, **given):
    return Cycle(0.5, L, outputs, departed=departed, **given)


NORMAL, UT, OT = out(0.15), out(1.0), out(3.0)
RAISED = 0.8 + math.log2(25 + 1) / 25 * 0.2
"""A capacity of 0.8 after a step towards a load of 1, which is 25 % more."""


@pytest.mark.parametrize(
    ("LC", "L", "moved"),
    [
        (0.8, 0.804, 0.804),
        (0.8, 0.81, 0.80936),
        (0.8, 0.9, 0.83004),
        (0.8, 1.2, 0.84538),
        (0.8, 1.6, 0.85327),
        (1, 0.95, 0.97415),
        (1, 0.5, 0.94328),
    ],
)
def test_the_capacity_moves_all_the_way_if_the_load_is_near_and_a_small_part_if_it_is_far(LC, L, moved):
    assert LC + (step(LC, L) if L > LC else -step(LC, L)) == pytest.approx(moved, abs=5e-6)


@given(LC=st.floats(0.01, 10), L=st.floats(0.01, 10))
def test_the_capacity_never_moves_beyond_the_load(LC, L):
    assert 0 <= step(LC, L) <= abs(L - LC) * (1 + 1e-9)


def test_trials_grow_with_the_number_of_times_they_were_tried():
    assert [trial(k) for k in (1, 2, 3, 4, 8, 16)] == pytest.approx([1, 2, 2.585, 3, 4, 5], abs=5e-4)


@pytest.mark.parametrize(
    ("L", "output", "drop", "headroom", "said"),
    [
        (1.2, NORMAL, 0.0, 0.84538, "capacity up"),
        (1.2, UT, 0.0, 0.8, "wait"),
        (1.2, OT, 0.33, 0.8, "shed the excess"),
        (0.5, OT, 0.01, 0.756, "capacity down"),
        (0.5, out(3.0, before=3.1), 0.0, 0.8, "wait"),
        (0.5, UT, 0.0, 0.8, "nothing to do"),
        (0.5, NORMAL, 0.0, 0.8, "nothing to do"),
        (0.0, OT, 0.0, 0.8, "no load"),
    ],
)
def test_what_is_done_while_nothing_is_shed(L, output, drop, headroom, said):
    order = Aloma(D).cycle(seen(L, output))
    assert order.drop == drop
    assert order.headroom == pytest.approx(headroom, abs=2e-3)
    assert said in order.why.formula


@pytest.mark.parametrize(
    ("L", "output", "drop", "headroom"),
    [
        (1.0, UT, 0.59, RAISED),
        (1.0, out(1.0, before=0.9), 0.6, 0.8),
        (1.0, NORMAL, 0.6, RAISED),
        (1.0, OT, 0.68, 0.8),
        (0.4, UT, 0.2, 0.8),
        (0.4, NORMAL, 0.2, 0.8),
        (0.4, out(3.0, before=3.1), 0.6, 0.8),
    ],
)
def test_what_is_done_while_three_fifths_are_shed_depends_on_the_admitted_load(L, output, drop, headroom):
    manager = Aloma(D)
    assert manager.cycle(seen(2.0, OT)).drop == 0.6
    order = manager.cycle(seen(L / 0.4, output))
    assert (order.drop, order.headroom) == (drop, pytest.approx(headroom))


def test_a_trial_that_recurs_grows_and_one_that_is_interrupted_begins_anew():
    manager = Aloma(D)
    drops = [round(100 * manager.cycle(seen(0.1, OT)).drop) for _ in range(4)]
    assert drops == [1, 3, 6, 9]
    manager.cycle(seen(0.1, out(3.0, before=3.1)))
    assert round(100 * manager.cycle(seen(0.1, OT)).drop) == 10


def test_a_hint_moves_the_headroom_and_begins_trials_anew():
    manager = Aloma(D)
    for _ in range(4):
        manager.cycle(seen(0.1, OT))
    before = manager.headroom
    manager.rescale(0.5)
    assert manager.headroom == pytest.approx(before / 2)
    assert round(100 * manager.cycle(seen(0.1, OT)).drop) == 10


@pytest.mark.parametrize(
    ("outputs", "departed", "oldest", "sheds"),
    [
        ((), 0, 2.5, True),
        ((), 0, 1.5, False),
        ((), 10, 2.5, True),
        ((NORMAL,), 0, 2.5, True),
        ((NORMAL,), 10, 2.5, False),
    ],
)
def test_a_tuple_that_waits_too_long_counts_as_a_late_result_while_no_results_come(outputs, departed, oldest, sheds):
    order = Aloma(D).cycle(seen(0.7, *outputs, departed=departed, oldest=oldest))
    assert (order.drop > 0) == sheds


def test_one_late_output_is_enough_to_shed_each_by_its_own_target():
    assert Aloma(D).cycle(seen(1.2, NORMAL, out(0.5, target=0.4))).drop > 0
    assert Aloma(D).cycle(seen(1.2, NORMAL, out(0.5, target=0.6))).drop == 0


def test_a_trend_is_that_of_most_of_the_outputs_concerned():
    falling, rising = out(3.0, before=3.1), out(3.0, before=2.9)
    assert Aloma(D).cycle(seen(0.5, falling, rising, rising)).drop > 0
    assert Aloma(D).cycle(seen(0.5, falling, rising)).drop == 0
    assert Aloma(D).cycle(seen(0.5, rising, NORMAL, NORMAL)).drop > 0


def test_a_deadband_tries_nothing_near_the_target():
    near, far = out(2.1), out(2.3)
    assert Aloma(D).cycle(seen(0.5, near)).drop > 0
    assert Aloma(D, deadband=0.1).cycle(seen(0.5, near)).drop == 0
    assert Aloma(D, deadband=0.1).cycle(seen(0.5, far)).drop > 0


def test_the_headroom_stays_within_what_the_cores_can_do():
    for cores in (1.0, 4.0):
        manager = Aloma(D, cores=cores)
        headrooms = [manager.cycle(seen(100.0, NORMAL)).headroom for _ in range(100)]
        assert max(headrooms) == 1.2 * cores
        for _ in range(200):
            manager.cycle(seen(0.02, OT))
        assert manager.headroom >= 0.01


def test_on_a_step_of_load_it_holds_the_target_and_loses_what_it_must():
    trace = run(Aloma(D))
    assert trace.loss() == pytest.approx(39.8, abs=0.5)
    assert trace.violation() <= 0.014
    assert trace.worst() == pytest.approx(0.27, abs=0.02)
    assert trace.response(200) == pytest.approx(D, rel=0.02)


def test_after_half_the_capacity_is_gone_it_finds_the_target_again_but_slowly():
    trace = run(Aloma(D), capacity=halved)
    assert trace.loss() == pytest.approx(62.2, abs=0.5)
    assert trace.violation() == pytest.approx(0.22, abs=0.01)
    assert trace.worst() == pytest.approx(3.11, abs=0.02)
    assert trace.settled(100) == pytest.approx(140, abs=4)
    assert trace.response(200) == pytest.approx(D, rel=0.1)
    assert trace.orders[-1].headroom == pytest.approx(0.495, rel=0.05)


def test_with_measured_response_times_that_vary_it_still_takes_dozens_of_periods():
    settled = [run(Aloma(D), capacity=halved, seconds=300, blur=0.03, seed=seed).settled(100) for seed in range(5)]
    assert all(50 <= periods <= 100 for periods in settled)

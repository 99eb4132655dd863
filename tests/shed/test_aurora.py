"""Aurora: right if the headroom is, and only then."""

import pytest

from headgate.shed.aurora import Aurora
from headgate.shed.protocol import Cycle
from shed.fluid import run


@pytest.mark.parametrize(
    ("H", "L", "drop"), [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 2.0, 0.5), (0.5, 2.0, 0.75), (0.01, 50.0, 0.99)]
)
def test_what_exceeds_the_headroom_is_dropped(H, L, drop):
    assert Aurora(H).cycle(Cycle(0.5, L)).drop == drop


def test_the_cap_is_kept():
    assert Aurora(0.1, cap=80).cycle(Cycle(0.5, 9.0)).drop == 0.8


@pytest.mark.parametrize(
    ("H", "loss", "violation"), [(0.89, 45.2, 0.0), (0.94, 42.1, 0.0), (0.99, 39.1, 2.1), (1.04, 36.1, 10.9)]
)
def test_a_headroom_above_the_truth_diverges_and_one_below_it_wastes(H, loss, violation):
    trace = run(Aurora(H), believed=1 / 213)
    assert trace.loss() == pytest.approx(loss, abs=0.5)
    assert trace.violation() == pytest.approx(violation, rel=0.1)


def test_what_was_let_in_is_never_made_up_for():
    trace = run(Aurora(1.04), believed=1 / 213, seconds=200)
    assert trace.response(180, 200) > trace.response(130, 150) + 1 > trace.response(80, 100) + 2


def test_a_change_of_capacity_is_followed_by_hint_only():
    manager = Aurora(0.8)
    manager.rescale(0.5)
    assert manager.cycle(Cycle(0.5, 1.0)).drop == pytest.approx(0.6)

"""What holds for every load manager: orders are bounded, explained, and a function of what was shown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.monitor.outputs import Output
from headgate.shed.protocol import Cycle
from headgate.shed.registry import MANAGERS, create, listed
from shed.fluid import run

AMOUNT = st.just(0.0) | st.floats(1e-4, 1000)
TIMES = st.floats(0.001, 100)
OUTPUTS = st.lists(st.builds(Output, TIMES, TIMES, TIMES, st.sampled_from([0.3, 2.0])), max_size=3).map(tuple)
CYCLES = st.lists(
    st.builds(
        Cycle,
        seconds=st.sampled_from([0.15, 0.5]),
        offered=AMOUNT,
        outputs=OUTPUTS,
        oldest=AMOUNT,
        arrived=st.integers(0, 1000),
        admitted=st.integers(0, 1000),
        departed=st.integers(0, 5000),
        cost=st.just(0.0) | st.floats(1e-6, 1),
        queued=AMOUNT,
        worked=st.floats(0, 1),
    ),
    max_size=30,
)
HINTS = st.floats(0.1, 10)


def made(name, **options):
    given = {"target": 2.0, **options}
    return create(name, {key: value for key, value in given.items() if key in listed(name).options})


@pytest.mark.parametrize("name", MANAGERS)
@given(cycles=CYCLES, cap=st.integers(1, 99), hint=HINTS)
def test_a_drop_rate_is_a_whole_percentage_from_nothing_to_the_cap(name, cycles, cap, hint):
    manager = made(name, cap=cap)
    for k, seen in enumerate(cycles):
        order = manager.cycle(seen)
        assert 0 <= order.drop <= cap / 100
        assert order.drop * 100 == pytest.approx(round(order.drop * 100))
        assert 0 < order.headroom < math.inf
        if k == 10:
            manager.rescale(hint)


@pytest.mark.parametrize("name", MANAGERS)
@given(cycles=CYCLES, others=CYCLES)
def test_the_same_cycles_give_the_same_orders_whatever_another_manager_sees(name, cycles, others):
    alone = made(name)
    orders = [alone.cycle(seen) for seen in cycles]
    again, other = made(name), made(name)
    replayed = []
    for k, seen in enumerate(cycles):
        if k < len(others):
            other.cycle(others[k])
            other.rescale(0.9)
        replayed.append(again.cycle(seen))
    assert replayed == orders


@pytest.mark.parametrize("name", MANAGERS)
@given(cycles=CYCLES, hint=HINTS)
def test_a_hint_moves_the_headroom_by_its_ratio_as_far_as_the_cores_allow(name, cycles, hint):
    manager = made(name)
    for seen in cycles:
        manager.cycle(seen)
    before = manager.headroom
    manager.rescale(hint)
    bounds = (0.01, 1.2) if "cores" in listed(name).options else (0, math.inf)
    assert manager.headroom == pytest.approx(min(max(before * hint, bounds[0]), bounds[1]))


@pytest.mark.parametrize("name", MANAGERS)
@given(cycles=CYCLES)
def test_an_order_is_explained_by_finite_numbers(name, cycles):
    manager = made(name)
    for seen in cycles:
        why = manager.cycle(seen).why
        assert why.formula
        assert why.terms
        assert all(math.isfinite(value) for value in why.terms.values())


@pytest.mark.parametrize("name", MANAGERS)
def test_nothing_is_dropped_of_a_load_that_fits(name):
    assert run(made(name), rate=lambda time: 150.0, seconds=60).loss() == 0


def test_without_a_manager_nothing_is_dropped_and_results_come_ever_later():
    trace = run(create("none"), seconds=60)
    assert trace.loss() == 0
    assert trace.response(50) > trace.response(30, 40) + 5


@pytest.mark.parametrize("name", MANAGERS)
def test_in_the_model_nothing_gets_lost_but_what_is_dropped(name):
    trace = run(made(name), seconds=60)
    came = sum(period.offered for period in trace.periods)
    waiting = trace.seen[-1].queued / trace.seen[-1].cost
    gone = sum(period.departed + period.dropped for period in trace.periods)
    assert came == pytest.approx(gone + waiting)

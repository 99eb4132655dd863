"""SEaMLeSS: the delay of the queued load, and a headroom that is put right while something is shed."""

import pytest

from headgate.errors import InputError
from headgate.monitor.outputs import Output
from headgate.shed.ctrl import GAINS
from headgate.shed.protocol import Cycle
from headgate.shed.seamless import Seamless
from shed.fluid import halved, run


def test_a_first_cycle_follows_the_formula():
    # y = 4/0.8, e = −3, u = 0.8·(0.4·−3) = −0.96, v = −0.96 + 0.8·2, d = 1 − 0.64/(1·2).
    order = Seamless(2.0).cycle(Cycle(2.0, 1.0, queued=4.0))
    assert order.why.terms["y"] == pytest.approx(5.0)
    assert order.why.terms["v"] == pytest.approx(0.64)
    assert order.drop == 0.68


def test_what_goes_out_may_be_taken_as_measured():
    order = Seamless(2.0, out_term="measured").cycle(Cycle(2.0, 1.0, queued=4.0, worked=1.0))
    assert order.why.terms["v"] == pytest.approx(0.04)


def shedding(rt, **given):
    return Cycle(0.5, 5.0, (Output(rt, rt, 0.1, 2.0),), queued=50.0, departed=10, **given)


def test_the_headroom_is_corrected_after_so_many_periods_of_shedding():
    manager = Seamless(2.0, headroom=0.8, periods=3)
    assert [manager.cycle(shedding(4.0)).headroom for _ in range(5)] == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4])


def test_a_period_without_shedding_or_without_results_says_nothing_about_the_headroom():
    idle = Cycle(0.5, 0.1, (Output(0.2, 0.2, 0.1, 2.0),), departed=10)
    quiet = Cycle(0.5, 5.0, (Output(4.0, 4.0, 0.1, 2.0),), queued=50.0)
    for uninteresting in (idle, quiet):
        manager = Seamless(2.0, periods=3)
        assert {manager.cycle(uninteresting).headroom for _ in range(10)} == {0.8}


def test_after_a_long_time_without_shedding_the_count_begins_anew():
    idle = Cycle(0.5, 0.1)
    for gap, after in ((3, 0.4), (40, 0.8)):
        manager = Seamless(2.0, periods=4)
        for seen in [*[shedding(4.0)] * 4, *[idle] * gap, shedding(4.0)]:
            manager.cycle(seen)
        # Three periods were counted before the gap, one ends it: the next is the fourth, or the first.
        assert manager.cycle(shedding(4.0)).headroom == pytest.approx(after)


@pytest.mark.parametrize(
    ("P", "least", "most"), [(1, 0.74, 0.78), (20, 0.13, 0.18), (30, 0.13, 0.18), (40, 0.13, 0.18), (60, 0.25, 0.29)]
)
def test_it_recovers_from_half_the_capacity_best_with_20_to_40_periods(P, least, most):
    trace = run(Seamless(2.0, periods=P), capacity=halved)
    assert least <= round(trace.violation(), 2) <= most
    if P > 1:
        assert trace.response(250) == pytest.approx(2.0, rel=0.02)
        assert trace.orders[-1].headroom == pytest.approx(0.495, rel=0.01)


def test_without_corrections_a_wrong_headroom_displaces_the_response_time():
    H, true, D, T = 0.8, 0.99, 2.0, 0.5
    rests = (1 + GAINS.a) / (GAINS.b0 + GAINS.b1) * T * (true / H - 1)
    for out_term, expected in (("measured", D * H / true), ("ht", H / true * (D - rests))):
        trace = run(Seamless(D, H, periods=10_000, out_term=out_term), seconds=150)
        assert trace.response(100) == pytest.approx(expected, rel=0.01)


def test_with_the_work_measured_the_headroom_is_found_sooner():
    off = {}
    for out_term in ("ht", "measured"):
        headrooms = [order.headroom for order in run(Seamless(2.0, out_term=out_term), seconds=150).orders]
        learnt = sorted(set(headrooms), key=headrooms.index)
        assert learnt[0] == 0.8
        assert learnt[-1] == pytest.approx(0.99, rel=0.01)
        off[out_term] = abs(learnt[1] - 0.99)
    assert off["measured"] < 0.05 < 0.15 < off["ht"]


def test_an_unknown_out_term_is_refused():
    with pytest.raises(InputError) as caught:
        Seamless(2.0, out_term="guessed")
    assert caught.value.remedy == "Choose ht, measured."


def test_a_hint_forgets_what_was_seen_under_the_old_capacity():
    manager = Seamless(2.0, periods=3)
    for _ in range(3):
        manager.cycle(shedding(4.0))
    manager.rescale(0.5)
    assert manager.cycle(shedding(4.0)).headroom == pytest.approx(0.4)

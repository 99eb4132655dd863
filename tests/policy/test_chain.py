"""Chain: the operator on the steepest part of the progress chart."""

import pytest

from headgate.policy.chain import CHAIN
from headgate.sim.run import Setting
from helpers import chains, on_events, prepared, units_of, view

FILTER_FIRST = [(1.0, 0.1), (100.0, 1.0)]


def test_the_priority_is_the_slope_at_the_operator():
    [whole] = units_of(chains(FILTER_FIRST), "chain")
    assert CHAIN.static(whole) == pytest.approx(0.9)
    filters, works = units_of(chains(FILTER_FIRST), "chain", level="operator")
    assert CHAIN.static(filters) == pytest.approx(0.9)
    assert CHAIN.static(works) == pytest.approx(0.01)


def test_a_steep_filter_of_a_new_tuple_goes_before_the_flat_rest_of_an_old_one():
    units = units_of(chains(FILTER_FIRST), "chain", level="operator")
    assert prepared("chain", units).choose(view(5.0, [4.0], [1.0])).runs[0].unit == 0


def test_chain_holds_fewer_tuples_than_fcfs_where_filters_come_first():
    network = chains(FILTER_FIRST, [(1.0, 0.2), (50.0, 1.0)])
    arrivals = [float(t) for t in range(0, 400, 4)]
    held = {p: on_events(network, arrivals, Setting(p, level="operator"))[1].average_held for p in ("chain", "fcfs")}
    assert held["chain"] < 0.75 * held["fcfs"]


def test_every_operator_of_a_piece_has_its_slope_even_half_way():
    """G3 at operator level: one piece over all three operators."""
    units = units_of(chains([(2.0, 0.5), (2.0, 0.5), (2.0, 1.0)]), "chain", level="operator")
    assert [CHAIN.static(unit) for unit in units] == pytest.approx([2 / 7] * 3)

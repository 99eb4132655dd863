"""The published moves of queries in short form; `headgate reproduce DILOS-E21` and so on have the long one."""

import pytest

from headgate.control.migration.methods import WRP, StopAndCopy, UniMiCo
from headgate.experiments.load_management.migration import ASKED, MEAN, QUERIES, seen, simulated
from headgate.sim.migration.simulation import SECOND


@pytest.fixture(scope="module", params=QUERIES)
def runs(request):
    """A query without a move, and with one whose results are in order where that costs nothing."""
    which = request.param
    method = UniMiCo(ordered=which != "E21")
    return which, simulated(which, None, 100, 1), simulated(which, method, 100, 1)


def test_a_published_query_gives_the_same_results_when_it_moves(runs):
    which, without, moved = runs
    found = seen(moved, without)
    assert found.net
    assert found.raw
    assert found.raw_in_order or which == "E21"
    assert {each.node for each in moved.results} == {"originator", "target"}
    assert found.messages == (3 if which == "E21" else 4)
    assert found.copied == 0


def test_and_gives_them_no_later(runs):
    _, without, moved = runs
    usual, found = seen(without, without), seen(moved, without)
    assert found.mean == pytest.approx(usual.mean, rel=MEAN / 100)
    assert found.longest < usual.longest + 10


def test_both_nodes_run_for_a_window(runs):
    which, _, moved = runs
    took = (moved.moved - ASKED) / SECOND
    assert took == pytest.approx(0 if which == "E22" else 10, abs=0.3)


def test_to_stop_and_copy_a_join_of_large_rows_keeps_results_waiting():
    without = simulated("E21", None, 100, 1)
    stopped = seen(simulated("E21", StopAndCopy(), 10_000, 1), without)
    assert stopped.raw_in_order
    assert stopped.mean > 10 * seen(without, without).mean


def test_wrp_moves_the_join_and_neither_sum():
    assert [which for which, query in QUERIES.items() if WRP().refusal(query.shape) is None] == ["E21"]

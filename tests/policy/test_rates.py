"""HR, HNR, SRPT and Min-Latency: static orders, and what each of them is best at."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.policy.chain import CHAIN
from headgate.policy.hnr import HNR
from headgate.policy.hr import HR
from headgate.policy.ml import ML
from headgate.policy.srpt import SRPT, SRPT_C
from helpers import chains, order_of, prepared, unit, units_of, view

POSITIVE = st.floats(0.01, 100.0)
SHARES = st.floats(0.01, 1.0)
TRIPLES = st.lists(st.tuples(SHARES, POSITIVE, POSITIVE), min_size=2, max_size=6)


def expected(units, order, *, normalised):
    """Expected total response time, or slowdown, of one tuple per unit, all at time 0, served in an order."""
    total, now = 0.0, 0.0
    for k in order:
        [s] = units[k].segments
        total += s.S * (now + s.T) / (s.T if normalised else 1.0)
        now += s.C
    return total


@pytest.mark.parametrize(("policy", "normalised"), [("hr", False), ("hnr", True)])
@given(triples=TRIPLES)
def test_the_order_of_a_batch_is_the_best_of_all_orders(policy, normalised, triples):
    units = [unit(t, number=k) for k, t in enumerate(triples)]
    best = min(expected(units, order, normalised=normalised) for order in permutations(range(len(units))))
    assert expected(units, order_of(policy, units), normalised=normalised) == pytest.approx(best, rel=1e-9)


@given(times=st.lists(POSITIVE, min_size=1, max_size=8))
def test_with_every_selectivity_one_hr_hnr_and_srpt_serve_in_the_same_order(times):
    units = units_of(chains(*([(t, 1.0)] for t in times)))
    orders = [order_of(policy, units) for policy in ("hr", "hnr", "srpt", "srpt-c", "ml")]
    assert all(order == orders[0] for order in orders)
    assert [times[k] for k in orders[0]] == sorted(times)


@given(paths=st.lists(st.lists(st.tuples(POSITIVE, SHARES), min_size=1, max_size=4), min_size=1, max_size=5))
def test_min_latency_is_hr_written_from_the_side_of_the_result(paths):
    for u in units_of(chains(*paths)):
        assert ML.static(u) == pytest.approx(HR.static(u))
        assert ML.static(u) == pytest.approx(1 / u.segments[0].output_cost)


@given(S=SHARES, C=POSITIVE, T=POSITIVE)
def test_priorities_are_the_formulas(S, C, T):
    u = unit((S, C, T))
    assert HR.static(u) == pytest.approx(S / C)
    assert HNR.static(u) == pytest.approx(S / (C * T))
    assert SRPT.static(u) == pytest.approx(1 / T)
    assert SRPT_C.static(u) == pytest.approx(1 / C)


@pytest.mark.parametrize("policy", ["hr", "hnr", "srpt", "srpt-c", "ml", "chain"])
def test_waiting_changes_nothing(policy):
    units = [unit((0.9, 1.0, 2.0), number=0), unit((0.1, 5.0, 9.0), number=1)]
    made = prepared(policy, units)
    assert [made.choose(view(now, [now], [0.0])).runs[0].unit for now in (1.0, 10.0, 1e6)] == [0, 0, 0]


@given(path=st.lists(st.tuples(POSITIVE, st.floats(0.01, 10.0)), min_size=2, max_size=5))
def test_at_operator_level_finishing_a_tuple_goes_before_starting_the_next(path):
    units = units_of(chains(path), "hr", level="operator")
    for statement in (HR, HNR):
        rates = [statement.static(u) for u in units]
        assert rates == sorted(rates)
        assert len(set(rates)) == len(rates)


@pytest.mark.parametrize("statement", [HR, HNR, ML, CHAIN], ids=lambda s: s.name)
def test_a_query_that_costs_nothing_more_adds_its_benefit_to_its_unit(statement):
    costly, free = (0.5, 2.0, 4.0), (0.25, 0.0, 4.0)
    alone, both = statement.static(unit(costly)), statement.static(unit(costly, free))
    assert alone < both < float("inf")

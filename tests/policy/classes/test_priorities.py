"""The priority of a query within its class's share."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.parameters import Stage
from headgate.policy.classes.priorities import LONGEST, operator_cost, priorities, query_cost, raw, slots
from policy.classes.bed import unit


def test_the_example_of_the_literature():
    Pr = priorities((6, 3), (10, 30, 20, 20, 20), (0, 0, 1, 1, 1))
    assert Pr == [1.5, 4.5, 1.0, 1.0, 1.0]
    assert slots(Pr) == ([2, 5, 1, 1, 1], [0.5, 0.5, 1.0, 1.0, 1.0])


def test_a_whole_priority_takes_all_of_its_slots():
    assert slots([1.0, 2.0, 3.0 + 1e-12, 3.0 - 1e-12]) == ([1, 2, 3, 3], [1.0, 1.0, 1.0, 1.0])


@st.composite
def plans(draw):
    """Frequencies of classes, costs of units and their classes, every class with a unit."""
    f = draw(st.lists(st.integers(1, 60), min_size=1, max_size=5))
    rank = list(range(len(f))) + draw(st.lists(st.integers(0, len(f) - 1), max_size=20))
    costs = draw(st.lists(st.floats(0.1, 10.0), min_size=len(rank), max_size=len(rank)))
    return f, costs, rank


@settings(max_examples=60)
@given(plan=plans())
def test_the_least_priority_is_1_and_a_class_has_its_share(plan):
    f, costs, rank = plan
    Pr = priorities(f, costs, rank)
    assert min(Pr) == pytest.approx(1.0)
    for k, frequency in enumerate(f):
        mine = sum(each for each, at in zip(Pr, rank, strict=True) if at == k)
        assert mine / sum(Pr) == pytest.approx(frequency / sum(f))


@settings(max_examples=60)
@given(plan=plans())
def test_slots_are_taken_as_often_as_the_priority_says(plan):
    Pr = priorities(*plan)
    count, first = slots(Pr)
    assert all(0 < share <= 1 for share in first)
    assert [n - 1 + share for n, share in zip(count, first, strict=True)] == pytest.approx(Pr)


def test_a_program_is_bounded_however_much_costs_differ():
    Pr = priorities((1, 1), (1e-9, 1.0, 1.0), (0, 1, 1))
    assert Pr == [2.0, 1.0, 1.0]
    Pr = priorities((1000, 1), (1.0, 1.0, 1e-3), (0, 1, 1))
    assert sum(Pr) == pytest.approx(LONGEST)
    assert Pr[2] < 1
    assert slots(Pr)[0][2] == 1


def test_what_costs_nothing_has_a_small_part():
    assert raw((1,), (0.0, 1.0), (0, 0))[0] == pytest.approx(5e-4, rel=0.01)
    assert raw((4,), (0.0, 0.0), (0, 0)) == [2.0, 2.0]


def test_no_units_have_no_priorities():
    assert priorities((1, 2), (), ()) == []


def test_the_cost_of_a_query_counts_each_query_of_the_unit():
    assert query_cost(unit(0, b=3.0, a=9.0)) == 3.0
    assert query_cost(unit(0, b=0.0, a=9.0)) == 9.0


def test_the_cost_of_an_operator_is_seen_from_the_stream():
    assert operator_cost(unit(0, b=3.0)) == 3.0
    assert operator_cost(unit(0, b=3.0, before=[Stage(1.0, 0.5), Stage(2.0, 0.5)])) == 0.75

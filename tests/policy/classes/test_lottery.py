"""ML and MOL: tickets by share and cost."""

import pytest

from headgate.model.parameters import Stage
from policy.classes.bed import Bed, looked_at, prepared, unit, units


def test_the_tickets_of_queries_are_their_parts_of_the_class():
    made = units(A=[10.0, 30.0], B=[20.0, 20.0, 20.0])
    assert prepared("ml", (6, 3), made).tickets == [1.5, 4.5, 1.0, 1.0, 1.0]


def test_the_tickets_of_operators_are_by_what_a_tuple_of_the_stream_costs_there():
    made = [unit(0, "A", 4.0), unit(1, "A", 8.0, before=[Stage(4.0, 0.5)]), unit(2, "B", 1.0)]
    assert prepared("mol", (6, 3), made).tickets == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("name", ["ml", "mol"])
def test_units_win_as_often_as_they_have_tickets(name):
    made = units(A=[10.0, 30.0], B=[20.0])
    ran = Bed(prepared(name, (6, 2), made), made, [1, 1, 1], refill=True).go(8000)
    # Three standard deviations of a binomial.
    assert [ran.count(i) / 8000 for i in range(3)] == pytest.approx([1.5 / 8, 4.5 / 8, 2 / 8], abs=0.017)


def test_only_who_has_something_takes_part():
    scheduler = prepared("ml", (6, 2), units(A=[1.0], B=[1.0]))
    assert {scheduler.choose(looked_at(0, 4)).runs for _ in range(30)} == {((1, 4),)}
    assert scheduler.choose(looked_at(0, 0)) is None


def test_all_draws_of_a_scheduling_point_are_one_look():
    made = units(A=[1.0] * 40, B=[1.0])
    scheduler = prepared("ml", (6, 2), made)
    assert {scheduler.choose(looked_at(*[0] * 40, 4)).work.reads for _ in range(30)} == {1}


def test_the_same_seed_draws_the_same():
    made = units(A=[1.0], B=[1.0])
    first, same, other = (
        Bed(prepared("ml", (1, 1), made, seed=s), made, [1, 1], refill=True).go(60) for s in (1, 1, 2)
    )
    assert first == same != other


def test_tickets_follow_the_shares():
    scheduler = prepared("ml", (6, 2), units(A=[1.0], B=[1.0]))
    scheduler.share({"A": 0.25, "B": 0.75})
    assert scheduler.tickets == [2.0, 6.0]

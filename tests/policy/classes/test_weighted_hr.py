"""WeHR: rate times priority, in one queue."""

from policy.classes.bed import Bed, looked_at, prepared, unit, units


def test_the_highest_weighted_rate_runs_on_all_that_waits():
    made = [unit(0, "A", 8.0), unit(1, "B", 1.0), unit(2, "B", 2.0, S=0.1)]
    scheduler = prepared("wehr", (6, 1), made)
    decision = scheduler.choose(looked_at(3, 4, 5))
    assert decision.runs == ((1, 4),)
    assert decision.why.terms == {"class": 2.0, "priority": 1.0, "n": 4.0}
    assert scheduler.choose(looked_at(3, 0, 5)).runs == ((0, 3),)


def test_the_lowest_class_starves_where_the_others_have_enough():
    made = units(A=[1.0], B=[1.0])
    assert set(Bed(prepared("wehr", (2, 1), made), made, [1, 1], refill=True).go(200)) == {0}


def test_sources_are_read_all_at_once_when_nothing_else_waits():
    made = [unit(0, "A", 0.001, source=True), unit(1, "B", 5.0), unit(2, "B", 0.001, source=True)]
    scheduler = prepared("wehr", (6, 1), made)
    assert scheduler.choose(looked_at(9, 1, 2)).runs == ((1, 1),)
    assert scheduler.choose(looked_at(9, 0, 2)).runs == ((0, 9), (2, 2))
    assert scheduler.choose(looked_at(0, 0, 2)).runs == ((2, 2),)


def test_the_order_follows_the_shares():
    scheduler = prepared("wehr", (2, 1), units(A=[1.0], B=[1.0]))
    assert scheduler.choose(looked_at(1, 1)).runs == ((0, 1),)
    scheduler.share({"A": 0.3, "B": 0.7})
    assert scheduler.choose(looked_at(1, 1)).runs == ((1, 1),)

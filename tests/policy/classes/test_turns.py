"""RR, MRR, MORR and MPRR: units in turn."""

import pytest

from headgate.errors import InputError
from headgate.policy.classes.registry import create
from policy.classes.bed import Bed, classes, looked_at, prepared, units

MADE = units(A=[1.0], B=[1.0, 1.0])


@pytest.mark.parametrize("name", ["rr", "mrr", "morr"])
def test_every_unit_has_its_turn_on_all_that_waits_whatever_its_class(name):
    bed = Bed(prepared(name, (9, 1), MADE), MADE, [2, 3, 4], refill=True)
    bed.go(5)
    assert [(i, n) for _, _, i, n in bed.trace] == [(0, 2), (1, 3), (2, 4), (0, 2), (1, 3)]


def test_a_unit_without_tuples_is_passed_over():
    decision = prepared("mrr", (9, 1), MADE).choose(looked_at(0, 0, 5))
    assert decision.runs == ((2, 5),)
    assert decision.why.terms == {"class": 2.0, "turn": 2.0, "skipped": 2.0, "n": 5.0}


@pytest.mark.parametrize(
    ("base", "pending", "parts"),
    [("sum", 10, [6, 3, 1]), ("sum", 11, [7, 4, 2]), ("sum", 1, [1, 1, 1]), ("max", 10, [10, 5, 2])],
)
def test_a_class_gets_its_part_of_a_queue(base, pending, parts):
    made = units(A=[1.0], B=[1.0], C=[1.0])
    bed = Bed(prepared("mprr", (6, 3, 1), made, mprr_base=base), made, [pending] * 3)
    bed.go(3)
    assert [n for _, _, _, n in bed.trace] == parts


def test_a_part_follows_the_share_of_the_class():
    made = units(A=[1.0], B=[1.0])
    scheduler = prepared("mprr", (3, 1), made)
    assert scheduler.choose(looked_at(100, 0)).runs == ((0, 75),)
    scheduler.share({"A": 0.5, "B": 0.5})
    assert scheduler.choose(looked_at(100, 0)).runs == ((0, 50),)


def test_trains_may_be_bounded_as_well():
    scheduler = prepared("mprr", (3, 1), units(A=[1.0], B=[1.0]), train={"most": 5})
    assert scheduler.choose(looked_at(100, 0)).runs == ((0, 5),)


def test_an_unknown_base_is_refused():
    with pytest.raises(InputError) as caught:
        create("mprr", classes(1), {"mprr_base": "mean"})
    assert str(caught.value) == "mprr: a known base of a part; got 'mean'. Choose sum or max."

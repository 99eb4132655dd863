"""What units of a class drop: all the same, or those first that cost the least quality."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.loads import Standing
from headgate.control.shedding import Shed, Shedding
from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.shed.lsrm import slopes

CLASSES = (QueryClass("boards", 1.0, 1.0), QueryClass("audit", 1.0))
EVEN = slopes(None)


def managed(place, costs, worth=None, rate=1000, shared=()):
    """Load management after a second in which the units of a class had more than could be done."""
    made = Shedding(Shed("separate", "aurora", {"headroom": 1.0}, period=1.0, place=place), CLASSES, 1, 0.0)
    steps = {name: tuple((worth or {}).get(name, 1.0) * s for s in EVEN) for name in costs}
    units = [
        Standing(name, "boards", ("s",), Cost(0.0, b), 10, 0.0, steps[name], shared=name in shared)
        for name, b in costs.items()
    ]
    for name, b in costs.items():
        for _ in range(5):
            made.ran(name, "boards", Cost(0.0, b), b, 1, 0.1)
    made.cycle(units, {"s": 0}, 1.0)
    made.cycle(units, {"s": rate}, 2.0)
    return made


def test_without_a_place_all_units_drop_what_their_class_does():
    made = managed("even", {"a": 0.001, "b": 0.003})
    assert made.percent("boards") == made.percent("boards", "a") == made.percent("boards", "b") > 0


def test_the_unit_that_saves_the_most_for_what_it_is_worth_drops_first():
    made = managed("lsrm", {"a": 0.001, "b": 0.003})
    part = made.percent("boards")
    # As much load as that part of both.
    assert made.percent("boards", "b") == pytest.approx(part * 4 / 3, abs=1)
    assert made.percent("boards", "a") == 0
    worthy = managed("lsrm", {"a": 0.001, "b": 0.003}, {"b": 10.0})
    assert worthy.percent("boards", "a") == 99
    assert worthy.percent("boards", "b") == pytest.approx((4 * part - 100) / 3, abs=1)


def test_a_unit_that_came_since_drops_what_its_class_does():
    made = managed("lsrm", {"a": 0.001, "b": 0.003})
    assert made.percent("boards", "new") == made.percent("boards") > 0
    assert made.percent("audit", "other") == 0


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(1e-4, 1e-2), min_size=1), st.floats(0.1, 10))
def test_as_much_load_goes_wherever_it_goes(costs, worth):
    made = managed("lsrm", costs, {min(costs): worth})
    saved = sum(b * made.percent("boards", name) / 100 for name, b in costs.items())
    # Percents are whole, and at most 99.
    assert saved == pytest.approx(sum(costs.values()) * made.percent("boards") / 100, abs=0.016 * sum(costs.values()))


def test_units_that_nobody_rides_with_drop_first_and_hosts_what_is_left():
    made = managed("unshared", {"a": 0.001, "b": 0.003}, shared={"a"})
    part = made.percent("boards")
    assert made.percent("boards", "b") == pytest.approx(part * 4 / 3, abs=1)
    assert made.percent("boards", "a") == made.hosts("boards") == 0
    dearer = managed("unshared", {"a": 0.001, "b": 0.003}, shared={"b"})
    assert dearer.percent("boards", "a") == 99
    assert dearer.percent("boards", "b") == dearer.hosts("boards") == pytest.approx((4 * part - 100) / 3, abs=1)


@pytest.mark.parametrize("place", ["even", "lsrm", "unshared"])
def test_hosts_drop_what_the_class_does_while_there_is_none(place):
    made = managed(place, {"a": 0.001, "b": 0.003})
    assert made.hosts("boards") == made.percent("boards") > 0


def test_everywhere_alike_hosts_drop_what_their_class_does():
    made = managed("even", {"a": 0.001, "b": 0.003}, shared={"a"})
    assert made.hosts("boards") == made.percent("boards") > 0

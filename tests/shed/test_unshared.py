"""What nobody else reads goes first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.shed.unshared import unshared_first

PLACES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 10), min_size=1)


@pytest.mark.parametrize(
    ("loads", "shared", "drop", "parts"),
    [
        ({"own": 1.0, "all": 1.0}, "all", 0.3, {"own": 0.6, "all": 0.0}),
        ({"own": 1.0, "all": 1.0}, "all", 0.7, {"own": 0.99, "all": 0.41}),
        ({"own": 1.0, "all": 3.0}, "all", 0.1, {"own": 0.4, "all": 0.0}),
        ({"own": 0.5, "mine": 0.5, "all": 1.0}, "all", 0.25, {"own": 0.5, "mine": 0.5, "all": 0.0}),
        ({"all": 2.0}, "all", 0.3, {"all": 0.3}),
        ({"own": 2.0}, "all", 0.3, {"own": 0.3}),
        ({"own": 0.0, "all": 2.0}, "all", 0.3, {"own": 0.0, "all": 0.3}),
    ],
)
def test_worked_examples(loads, shared, drop, parts):
    assert unshared_first(loads, {shared}, drop) == pytest.approx(parts)


@given(PLACES, st.sets(st.sampled_from("abcdef")), st.floats(0, 0.99))
def test_as_much_load_goes_as_if_the_part_went_everywhere_and_what_is_shared_goes_last(loads, shared, drop):
    parts = unshared_first(loads, shared, drop)
    assert all(0 <= part <= 0.99 for part in parts.values())
    assert sum(part * loads[place] for place, part in parts.items()) == pytest.approx(drop * sum(loads.values()))
    if any(part for place, part in parts.items() if place in shared):
        assert all(part == pytest.approx(0.99) for place, part in parts.items() if place not in shared)

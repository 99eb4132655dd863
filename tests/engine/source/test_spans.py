"""Times as a user writes them."""

import pytest

from headgate.engine.spans import seconds
from headgate.errors import InputError


@pytest.mark.parametrize(("given", "found"), [("50ms", 0.05), ("1.5 s", 1.5), ("2min", 120.0), (3, 3.0), (0, 0.0)])
def test_a_time_is_a_number_with_a_unit_or_of_seconds(given, found):
    assert seconds(given, "every") == pytest.approx(found)


@pytest.mark.parametrize("given", ["", "5", "5 parsecs", -1, "-1s", None, True, float("inf")])
def test_anything_else_is_refused_by_name(given):
    with pytest.raises(InputError, match=r"^every is a finite time"):
        seconds(given, "every")


def test_where_it_must_be_above_zero_zero_is_refused():
    with pytest.raises(InputError, match="above 0"):
        seconds("0s", "every", above=0)

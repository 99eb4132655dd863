"""Cores in teams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.sim.trains.cores import for_sources


@pytest.mark.parametrize(
    ("cores", "reading", "working", "found"),
    [(9, 3.0, 24.0, 1), (9, 6.0, 21.0, 2), (2, 0.0, 1.0, 1), (2, 1.0, 0.0, 1), (8, 1.0, 1.0, 4), (4, 0.0, 0.0, 1)],
)
def test_sources_get_the_cores_that_their_load_asks_for(cores, reading, working, found):
    assert for_sources(cores, reading, working) == found


@given(st.integers(2, 64), st.floats(0, 1e3), st.floats(0, 1e3))
def test_both_sides_have_a_core(cores, reading, working):
    assert 1 <= for_sources(cores, reading, working) <= cores - 1


def test_one_core_cannot_be_divided():
    with pytest.raises(InputError, match="two or more"):
        for_sources(1, 1.0, 1.0)

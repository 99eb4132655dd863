"""Numbers that change by steps."""

import pytest

from headgate.errors import InputError
from headgate.sim.trains.timeline import Timeline, interrupted


def test_a_value_holds_from_its_time_on():
    line = Timeline(((1.0, 5.0), (2.0, 7.0)))
    assert [line.at(t) for t in (0.0, 1.0, 1.9, 2.0, 99.0)] == [5.0, 5.0, 5.0, 7.0, 7.0]


@pytest.mark.parametrize(
    ("levels", "rule"),
    [((), "at least one level"), (((1.0, 1.0), (1.0, 2.0)), "forward in time"), (((0.0, 0.0),), "above 0")],
)
def test_mistakes_are_told(levels, rule):
    with pytest.raises(InputError, match=rule):
        Timeline(levels)


def test_a_job_that_comes_and_goes_leaves_its_share():
    capacity = interrupted(10.0, 31.0, on=5.0, off=5.0, share=0.5)
    assert [capacity.at(t) for t in (0, 10, 14.9, 15, 20, 25, 30.5, 31)] == [1, 0.5, 0.5, 1, 0.5, 1, 0.5, 1]

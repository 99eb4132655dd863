"""Tuples come when they are due, and are stamped so however late the pump is."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.source.intake import START, Memory, fed
from headgate.engine import source
from headgate.engine.source.pump import MOST_ROWS, Block, Pace, pump
from headgate.errors import InputError

SCHEMA = pa.schema([("n", pa.int64())])


def block(due, first=0):
    rows = pa.table({"n": np.arange(first, first + len(due))}, schema=SCHEMA)
    return Block(rows, np.array(due, dtype=float), lambda n: {"next": first + n})


def pumped(*due, every=1.0, intake=None, **how):
    intake = intake or Memory(SCHEMA)
    firsts = np.cumsum([0, *map(len, due)])
    pump(intake, iter([block(d, int(first)) for d, first in zip(due, firsts, strict=False)]), every, **how)
    return intake


def test_trains_are_cut_about_every_so_often_and_not_at_blocks():
    found = pumped([0, 0.2, 0.4], [0.6, 0.8, 1.0], [1.2, 2.5], every=1.0)
    assert [train["n"].to_pylist() for train in found.trains] == [[0], [1, 2, 3, 4, 5], [6], [7]]


def test_tuples_are_stamped_when_they_are_due():
    found = pumped([0, 0.25, 7], [9, 9.5])
    np.testing.assert_array_equal(found.times, [0, 0.25, 7, 9, 9.5])


def test_a_pause_of_the_stream_is_waited_for_at_once():
    waits = []

    class Watching(Memory):
        def wait(self, seconds):
            waits.append(seconds)
            return super().wait(seconds)

    pumped([0, 100], intake=Watching(SCHEMA))
    assert waits[0] == 100


def test_after_a_late_restart_what_is_overdue_comes_at_once_with_its_own_times():
    late = Memory(SCHEMA, state={"next": 2, "origin": START}, clock=START + 60)
    pumped([5, 6, 7, 80], intake=late)
    assert [train.num_rows for train in late.trains] == [3, 1]
    np.testing.assert_array_equal(late.times, [5, 6, 7, 80])


def test_as_fast_as_it_goes_trains_have_the_most_rows_and_arrive_now():
    found = pumped(np.zeros(MOST_ROWS - 1), np.zeros(MOST_ROWS + 2), paced=False)
    assert [train.num_rows for train in found.trains] == [MOST_ROWS, MOST_ROWS, 1]
    assert found.clock == START


def test_a_source_that_is_stopped_appends_no_more():
    found = pumped([0, 1, 2, 3], intake=Memory(SCHEMA, stop=2))
    assert found.rows.num_rows == 2
    assert found.state["next"] == 2


@pytest.mark.parametrize(
    ("rate", "rates", "numbers", "due"),
    [
        (10, None, [0, 1, 25], [0, 0.1, 2.5]),
        (7, [(2, 10), (3, 100)], [0, 19, 20, 21, 320, 420], [0, 1.9, 2, 2.01, 5, 6]),
        (1, [(0.5, 1), (1, 2)], [0, 1, 2], [0, 0.75, 1.25]),
    ],
)
def test_a_pace_has_the_rate_of_each_step_and_keeps_the_last(rate, rates, numbers, due):
    np.testing.assert_allclose(Pace.of(rate, rates).due(np.array(numbers)), due)


@given(st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.01, 1e5)), min_size=1, max_size=5), st.integers(1, 1000))
def test_due_times_rise_at_any_pace(rates, count):
    due = Pace.of(1, rates).due(np.arange(count))
    assert due[0] == 0
    assert (np.diff(due) > 0).all()


@pytest.mark.parametrize(
    "how",
    [
        {"rate": 0},
        {"rate": float("nan")},
        {"rates": [(1, 0)]},
        {"rates": [(-1, 5)]},
        {"count": -1},
        {"disorder": "soon"},
        {"start": "yesterday"},
        {"every": 0},
        {"symbols": 0},
    ],
)
def test_a_schedule_that_cannot_be_is_refused(how):
    with pytest.raises(InputError):
        source.ticks(**how)


def test_generated_tuples_arrive_at_their_pace():
    found = fed(source.ticks(rates=[(1, 100), (1, 400)], count=700))
    expected = np.concatenate([np.arange(100) / 100, 1 + np.arange(600) / 400])
    np.testing.assert_allclose(found.times, expected)
    assert len(found.trains) == pytest.approx(2.5 / 0.05, abs=3)

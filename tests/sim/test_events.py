"""The event queue, and the sides of a window join."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.sim.events import Agenda, Rank
from headgate.sim.joins import Side


def played(*events):
    """What happens, and at what time, if events of (time, rank, name) are put in in this order."""
    agenda, happened = Agenda(), []
    for time, rank, name in events:
        agenda.at(time, rank, lambda name=name: happened.append((agenda.now, name)))
    while agenda.step():
        pass
    return happened


def test_time_decides_then_rank_then_the_order_of_entry():
    assert played(
        (2.0, Rank.ARRIVAL, "late arrival"),
        (1.0, Rank.ARRIVAL, "first arrival"),
        (1.0, Rank.ARRIVAL, "second arrival"),
        (1.0, Rank.CONTROL, "control"),
        (1.0, Rank.FINISH, "finish"),
    ) == [
        (1.0, "finish"),
        (1.0, "control"),
        (1.0, "first arrival"),
        (1.0, "second arrival"),
        (2.0, "late arrival"),
    ]


def test_streams_come_in_their_own_order():
    assert [name for _, name in played((1.0, Rank.ARRIVAL + 1, "right"), (1.0, Rank.ARRIVAL, "left"))] == [
        "left",
        "right",
    ]


def test_a_step_takes_in_what_its_own_events_add_to_the_same_instant():
    agenda, happened = Agenda(), []
    agenda.at(1.0, Rank.ARRIVAL, lambda: agenda.at(1.0, Rank.FINISH, lambda: happened.append(agenda.now)))
    assert agenda.step()
    assert happened == [1.0]
    assert not agenda.step()


# Times on a grid of eighths, so that differences are exact.
TIMES = st.integers(0, 800).map(lambda k: k / 8)


@given(rows=st.lists(TIMES, max_size=40), time=TIMES, window=TIMES)
def test_a_probe_finds_all_within_the_window_on_both_sides_newest_first(rows, time, window):
    side = Side()
    for k, at in enumerate(rows):
        side.insert(at, (at, k))
    found = list(side.within(time, window))
    assert sorted(found) == sorted((at, k) for k, at in enumerate(rows) if abs(at - time) <= window)
    assert [at for at, _ in found] == sorted((at for at, _ in found), reverse=True)


@given(rows=st.lists(TIMES, max_size=40), before=TIMES)
def test_eviction_forgets_what_is_older_and_nothing_else(rows, before):
    side = Side()
    for at in rows:
        side.insert(at, at)
    side.evict(before)
    assert sorted(side.within(0.0, 1e9)) == sorted(at for at in rows if at >= before)
    assert len(side) == sum(at >= before for at in rows)


@pytest.mark.parametrize("order", [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
def test_tuples_of_one_time_come_back_last_in_first_out(order):
    side = Side()
    for k, at in enumerate([*order, 2.0]):
        side.insert(at, k)
    assert list(side.within(2.0, 0.0)) == [3, 1]

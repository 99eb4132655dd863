"""The two state machines of a move: who runs what, how many messages, what happens when it is called off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.migration.messages import Cancel, Done, Handover, Migrate, Ready
from headgate.control.migration.moving import (
    Ask,
    Begin,
    Connect,
    Connected,
    Counted,
    CountRows,
    Deactivate,
    Failed,
    Finished,
    FinishThrough,
    Got,
    Originator,
    Release,
    Send,
    Status,
    Target,
    UnexpectedError,
)
from headgate.control.migration.timestamps import row_cut
from headgate.control.migration.windows import RowWindow, Shape, Stage, TimeWindow

BY_TIME = Shape((Stage(TimeWindow(4, 2, origin=1)),))
BY_ROWS = Shape((Stage(RowWindow(3, 2)),))


def sent(actions):
    return [action.message for action in actions if isinstance(action, Send)]


def test_a_move_by_time_goes_through_all_statuses_with_three_messages_and_one_for_order():
    here, there = Originator("q", BY_TIME), Target("q")
    here, actions = here.step(Ask("b"))
    assert (here.status, list(actions)) == (Status.STOP_PREPARING, [Send(Migrate("q"))])
    there, actions = there.step(Got(Migrate("q")))
    assert (there.status, list(actions)) == (Status.START_PREPARING, [Connect()])
    there, actions = there.step(Connected((4,)))
    assert (there.status, list(actions)) == (Status.START_PENDING, [Send(Ready("q", (4,)))])
    here, actions = here.step(Got(Ready("q", (4,)), ts_last=1))
    handover = Handover("q", ts_mi=3, activation=5)
    assert (here.status, list(actions)) == (Status.STOP_PREPARING, [Send(handover), FinishThrough(handover)])
    there, actions = there.step(Got(handover))
    assert (there.status, list(actions)) == (Status.START_PENDING, [Begin(handover, hold=True)])
    here, actions = here.step(Finished())
    assert (here.status, list(actions)) == (Status.INACTIVE, [Send(Done("q")), Deactivate()])
    there, actions = there.step(Got(Done("q")))
    assert (there.status, list(actions)) == (Status.ACTIVE, [Release()])


def test_a_move_by_rows_waits_until_they_are_counted():
    here, _ = Originator("q", BY_ROWS).step(Ask("b"))
    here, actions = here.step(Got(Ready("q", (5,)), ts_last=1))
    assert list(actions) == [CountRows(5)]
    cut = row_cut(RowWindow(3, 2), 0, [4], reference=5)
    here, actions = here.step(Counted(cut, ts_mi=4))
    assert sent(actions) == [Handover("q", 4, rows=cut)]


def test_without_order_the_target_gives_out_at_once_and_nobody_says_done():
    here, _ = Originator("q", BY_TIME, ordered=False).step(Ask("b"))
    here, actions = here.step(Got(Ready("q", (4,)), ts_last=1))
    there = Target("q", Status.START_PENDING, ordered=False)
    there, begun = there.step(Got(sent(actions)[0]))
    assert there.status is Status.ACTIVE
    assert begun == (Begin(sent(actions)[0], hold=False),)
    assert sent(here.step(Finished())[1]) == []


def test_a_query_that_has_given_out_nothing_is_handed_over_with_the_first_whole_window():
    here, _ = Originator("q", BY_TIME).step(Ask("b"))
    _, actions = here.step(Got(Ready("q", (4,))))
    assert sent(actions) == [Handover("q", ts_mi=3, activation=5)]


@pytest.mark.parametrize("ended", [Failed("too slow"), Got(Cancel("q", "no room"))])
def test_before_the_handover_a_move_can_be_called_off_and_asked_for_again(ended):
    asked, _ = Originator("q", BY_ROWS).step(Ask("b"))
    counting, _ = asked.step(Got(Ready("q", (5,)), ts_last=1))
    for state in (asked, counting):
        back, actions = state.step(ended)
        assert back == Originator("q", BY_ROWS)
        assert sent(actions) == ([Cancel("q", "too slow")] if isinstance(ended, Failed) else [])
        # What the target had sent meanwhile is of no use any more.
        assert back.step(Got(Ready("q", (5,)))) == (back, ())
        assert back.step(Ask("c"))[0].status is Status.STOP_PREPARING
    for status in (Status.START_PREPARING, Status.START_PENDING):
        back, actions = Target("q", status).step(ended)
        assert back == Target("q")
        assert Deactivate() in actions


def test_behind_the_handover_nothing_is_called_off():
    here, _ = Originator("q", BY_TIME).step(Ask("b"))
    here, actions = here.step(Got(Ready("q", (4,)), ts_last=1))
    there, _ = Target("q", Status.START_PENDING).step(Got(sent(actions)[0]))
    for event in (Failed("silent"), Got(Cancel("q", "no room"))):
        assert here.step(event) == (here, ())
    assert there.step(Failed("silent")) == (there, ())


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (Originator("q", BY_TIME), Finished()),
        (Originator("q", BY_TIME, Status.STOP_PREPARING), Ask("c")),
        (Originator("q", BY_TIME, Status.STOP_PREPARING), Finished()),
        (Originator("q", BY_TIME, Status.INACTIVE), Ask("c")),
        (Target("q"), Got(Done("q"))),
        (Target("q", Status.START_PENDING), Got(Done("q"))),
        (Target("q", Status.ACTIVE), Got(Migrate("q"))),
        (Target("q", Status.START_PREPARING), Got(Handover("q", 3, 5))),
    ],
)
def test_what_cannot_happen_is_said_to_be_so(state, event):
    with pytest.raises(UnexpectedError, match="query 'q' is"):
        state.step(event)


class World:
    """Two nodes and messages between them, in order; a window begins every slide and is finished a length later."""

    def __init__(self, window, lag, connects, ordered):
        self.window, self.lag, self.connects = window, lag, connects
        self.here = Originator("q", Shape((Stage(window),)), ordered=ordered)
        self.there = Target("q", ordered=ordered)
        self.mail, self.count, self.connected = [], 0, None
        self.finishing = None

    def do(self, now, actions, to):
        for action in actions:
            match action:
                case Send(message=message):
                    self.count += 1
                    self.mail.append((now + self.lag, to, message))
                case Connect():
                    self.connected = now + self.connects
                case FinishThrough(handover=handover):
                    self.finishing = handover.ts_mi

    def at(self, now):
        for due, to, message in list(self.mail):
            if due <= now:
                self.mail.remove((due, to, message))
                if to == "there":
                    self.there, actions = self.there.step(Got(message))
                    self.do(now, actions, "here")
                else:
                    self.here, actions = self.here.step(Got(message, self.window.latest(now)))
                    self.do(now, actions, "there")
        if self.connected is not None and self.connected <= now:
            self.connected = None
            self.there, actions = self.there.step(Connected((now,)))
            self.do(now, actions, "here")
        if self.finishing is not None and self.finishing + self.window.length <= now:
            self.finishing = None
            self.here, actions = self.here.step(Finished())
            self.do(now, actions, "there")


@given(
    length=st.integers(1, 20),
    slide=st.integers(1, 12),
    asked=st.integers(0, 40),
    lag=st.integers(0, 15),
    connects=st.integers(0, 15),
    ordered=st.booleans(),
)
def test_every_window_is_run_by_exactly_one_node_with_a_fixed_number_of_messages(
    length, slide, asked, lag, connects, ordered
):
    window = TimeWindow(length, slide)
    world = World(window, lag, connects, ordered)
    begun = []
    for now in range(200):
        if now == asked:
            world.here, actions = world.here.step(Ask("there"))
            world.do(now, actions, "there")
        world.at(now)
        if now == window.latest(now):
            begun.append(now)
        for start in begun:
            # The target knows of its windows when the handover has come; until then nobody runs them twice.
            assert world.here.runs_window(start) + world.there.runs_window(start) <= 1
    assert (world.here.status, world.there.status) == (Status.INACTIVE, Status.ACTIVE)
    assert world.count == (4 if ordered else 3)
    handover = world.there.handover
    assert handover == world.here.handover
    assert handover.activation == handover.ts_mi + slide
    assert all(world.there.runs_window(start) == (start > handover.ts_mi) for start in begun)

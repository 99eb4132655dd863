"""What each way to move a query can do, and what it takes."""

import pytest

from headgate.control.migration.methods import METHODS, WRP, Link, StopAndCopy, UniMiCo, check
from headgate.control.migration.windows import RowWindow, Shape, Stage, TimeWindow
from headgate.errors import InputError

TIME, ROWS = Stage(TimeWindow(10, 2)), Stage(RowWindow(5))
LINK = Link(latency=0.001, bandwidth=1e6)


@pytest.mark.parametrize("shape", [Shape((TIME,)), Shape((Stage(TimeWindow(10, 1), joins=True),), inputs=2), Shape()])
def test_wrp_moves_a_query_with_one_window_over_time(shape):
    check(WRP(), "q", shape)


@pytest.mark.parametrize(
    ("shape", "why"),
    [(Shape((ROWS,)), "over rows"), (Shape((TIME, TIME)), "2 window operators"), (Shape((TIME, ROWS)), "2")],
)
def test_wrp_refuses_rows_and_several_windows_and_says_who_can(shape, why):
    with pytest.raises(InputError, match=why) as refused:
        check(WRP(), "q", shape)
    assert refused.value.remedy == "Move it by unimico or stop-and-copy."
    check(UniMiCo(), "q", shape)
    check(StopAndCopy(), "q", shape)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_operators_that_others_use_have_to_be_made_the_querys_own_first(method):
    with pytest.raises(InputError, match="shares operators"):
        check(method, "q", Shape((TIME,), shared=True))


def test_only_stop_and_copy_stops_and_copies_and_only_wrp_needs_upstream():
    shape = Shape((TIME,), inputs=3)
    courses = {name: method.course(shape, state=500_000, link=LINK) for name, method in METHODS.items()}
    assert courses["stop-and-copy"].paused == pytest.approx(0.501)
    assert courses["stop-and-copy"].copied == 500_000
    assert courses["unimico"].paused == courses["wrp"].paused == 0
    assert courses["unimico"].copied == courses["wrp"].copied == 0
    assert [name for name, course in courses.items() if course.upstream] == ["wrp"]


def test_unimico_needs_three_messages_and_a_fourth_for_order_whatever_moves():
    counts = {UniMiCo(ordered=False).course(Shape((TIME,), inputs=n), 10**n, LINK).messages for n in range(1, 9)}
    assert counts == {3}
    assert UniMiCo().course(Shape((TIME,)), 0, LINK).messages == 4
    assert {WRP().course(Shape((TIME,), inputs=n), 0, LINK).messages for n in (1, 2)} == {5, 9}

"""Which pairs of a join come from which node."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.control.migration.pairs import of_target, suppressed
from headgate.control.migration.windows import RowWindow, Shape, Stage, TimeWindow

JOIN = Stage(TimeWindow(4, 2), joins=True)


def test_a_pair_within_the_overlap_is_left_out_by_the_originator():
    shape = Shape((JOIN,), inputs=2)
    assert suppressed(shape, (5, 6), activation=5)
    assert not suppressed(shape, (4, 6), activation=5)
    assert not suppressed(shape, (3, 4), activation=5)


def test_a_pair_that_the_next_window_needs_is_kept():
    assert not suppressed(Shape((JOIN, Stage(RowWindow(3, 2))), inputs=2), (5, 6), activation=5)
    assert not suppressed(Shape((Stage(TimeWindow(4, 2)),)), (5, 6), activation=5)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 12), st.integers(1, 12), st.integers(0, 20))
def test_a_pair_that_meets_in_some_window_comes_from_exactly_one_node(a, b, length, slide, k):
    window = TimeWindow(length, slide)
    ts_mi = k * slide
    activation = ts_mi + slide
    starts = [start for start in range(-20 * slide, 80, slide) if start <= min(a, b) and max(a, b) < start + length]
    here = any(start <= ts_mi for start in starts)
    there = any(start >= activation for start in starts)
    kept_here = here and not suppressed(Shape((Stage(window, joins=True),), inputs=2), (a, b), activation)
    assert kept_here + there == (len(starts) > 0)
    assert there == (len(starts) > 0 and of_target((a, b), activation))

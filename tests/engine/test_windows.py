import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.logs import windows_of
from headgate.engine.windows import Window
from headgate.errors import InputError

lengths = st.integers(1, 40)
times = st.integers(-300, 300)


@given(lengths, lengths, times)
def test_a_time_is_in_the_windows_that_begin_at_or_before_it_and_end_after_it(size, slide, time):
    assert list(Window(size, slide).of(time)) == windows_of(time, size, slide)


@given(lengths, lengths, times)
def test_the_first_end_is_the_next_end_of_a_window_and_the_last_that_of_the_last_to_have_begun(size, slide, time):
    window = Window(size, slide)
    starts = range(-400 // slide * slide - size // slide * slide, 400, slide)
    assert window.first_end(time) == min(start + size for start in starts if start + size > time)
    assert window.last_end(time) == max(start + size for start in starts if start <= time)


@given(lengths, lengths, times)
def test_all_times_of_a_pane_are_in_the_same_windows(size, slide, time):
    window = Window(size, slide)
    start = time // window.pane * window.pane
    assert {tuple(window.of(t)) for t in range(start, start + window.pane)} == {tuple(window.of(time))}


@given(lengths, lengths)
def test_panes_are_as_long_as_they_can_be(size, slide):
    pane = Window(size, slide).pane
    assert all(size % longer or slide % longer for longer in range(pane + 1, max(size, slide) + 1))


@pytest.mark.parametrize(
    ("size", "slide", "what"), [(0, 1, "size"), (-5, 1, "size"), (1, 0, "slide"), (1, -1, "slide")]
)
def test_a_window_without_length_is_refused(size, slide, what):
    with pytest.raises(InputError, match=f"a window's {what} is a microsecond or more; got {min(size, slide)}"):
        Window(size, slide)

"""A silent stream: the time that passes closes the windows that are open, and then there is peace."""

import time

import numpy as np
import pytest

from engine.live import until
from engine.log.logs import feed, opened, table
from headgate.engine.intake import LiveStream
from headgate.engine.windows import Window
from headgate.errors import HeadgateError

SECOND = 1_000_000


class Still:
    """A source that says nothing, or fails."""

    def __init__(self, error=None):
        self.error = error

    def run(self, intake):
        if self.error:
            raise self.error
        intake.append(table([1]), {"n": 1})
        intake.wait(60)


@pytest.fixture
def stream(tmp_path):
    log = opened(tmp_path)
    made = LiveStream(log, Still(), tmp_path / "source", None)
    yield made
    made.stop()
    log.manifest.close()


def came(log, ago):
    """A tuple that arrived so many seconds ago."""
    log.append(table([1], first=log.head), None, arrived=np.array([time.time() - ago]))


# No window of 300 years ends while this runs; one of an hour may.
@pytest.mark.parametrize(("size", "ago", "passes"), [(1, 5.0, True), (10**10, 0.0, False), (1000, 2100.0, True)])
def test_time_passes_once_a_window_with_tuples_is_over(stream, size, ago, passes):
    came(stream.log, ago)
    mark = stream.log.watermark("arrival")
    window = Window(size * SECOND, size * SECOND, "arrival")
    stream.pass_time([window])
    assert (stream.log.watermark("arrival") > mark) is passes
    if passes:
        assert stream.log.watermark("arrival") >= window.last_end(mark)


def test_a_short_window_does_not_wait_for_a_long_one_and_no_time_passes_for_windows_that_are_empty(stream):
    came(stream.log, 5.0)
    short, day = Window(SECOND, SECOND, "arrival"), Window(86_400 * SECOND, 86_400 * SECOND, "arrival")
    stream.pass_time([short, day])
    assert stream.log.watermark("arrival") >= short.last_end(stream.log.trains[0].arrived_last)
    stream.log.drop(stream.log.head)
    assert [train.count for train in stream.log.trains] == [0]
    time.sleep(1.0)
    stream.pass_time([short])
    assert len(stream.log.trains) == 1


def test_windows_over_event_time_do_not_go_by_the_clock_unless_the_stream_is_idle(stream):
    came = time.time() - 10
    feed(stream.log, [[7]], [came * SECOND])
    stream.pass_time([Window(5, 5)])
    assert len(stream.log.trains) == 1
    stream.idle = 3600.0
    stream.pass_time([])
    assert len(stream.log.trains) == 1
    stream.idle = 3.0
    stream.pass_time([])
    assert 7 + 10 * SECOND <= stream.log.watermark("event") <= 7 + (time.time() - came) * SECOND
    stream.idle = 3600.0
    stream.pass_time([])
    assert len(stream.log.trains) == 2


def test_no_time_passes_before_the_first_tuple_and_after_the_end(stream):
    stream.idle = 1e-9
    stream.pass_time([Window(1, 1, "arrival")])
    assert not stream.log.trains
    came(stream.log, 9.0)
    stream.log.end()
    stream.pass_time([Window(1, 1, "arrival")])
    assert len(stream.log.trains) == 2


def test_a_source_that_is_stopped_is_paused_and_goes_on_when_started_again(stream):
    stream.start()
    until(lambda: stream.log.head == 1)
    stream.stop()
    assert (stream.status, stream.log.ended, stream.state) == ("paused", False, {"n": 1})
    stream.start()
    until(lambda: stream.log.head == 2)
    assert stream.status == "running"


@pytest.mark.parametrize(
    ("error", "reason"), [(HeadgateError("no room"), "no room"), (ValueError("odd"), "ValueError: odd")]
)
def test_a_source_that_fails_stops_its_stream_and_says_why(stream, error, reason):
    stream.source = Still(error)
    stream.start()
    stream._thread.join()
    assert (stream.status, stream.reason, stream.log.ended) == ("failed", reason, False)

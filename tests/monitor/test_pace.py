"""How fast a stream moves: over a second, and over longer times."""

import pytest

from headgate.monitor.pace import POINTS, Pace

near = pytest.approx


def looked(rate_at, seconds, span=1.0):
    """A pace that has looked ten times a second at a stream with so many tuples by then."""
    pace = Pace(span)
    for tenth in range(10 * seconds + 1):
        pace.look(tenth / 10, rate_at(tenth / 10))
    return pace


def test_a_steady_stream_has_one_rate_over_every_time():
    pace = looked(lambda t: round(100 * t), 20, span=10.0)
    assert [pace.rate(span) for span in (1.0, 3.0, 10.0)] == [near(100)] * 3


def test_between_two_bursts_the_longer_time_counts():
    # 300 tuples every 3 s, the last of them 2 s ago.
    pace = looked(lambda t: 300 * int(t // 3), 20, span=6.0)
    assert pace.rate() == 0
    assert pace.greatest((6.0,)) == near(100, rel=0.05)


def test_of_a_load_that_rises_the_last_second_counts():
    pace = looked(lambda t: round(100 * t if t < 19 else 1900 + 1000 * (t - 19)), 20, span=10.0)
    assert pace.greatest((10.0,)) == near(1000)


def test_before_anything_was_seen_twice_nothing_moves():
    pace = Pace()
    assert pace.rate() == 0
    pace.look(1.0, 10)
    assert pace.greatest((5.0,)) == 0


def test_a_long_time_takes_little_room():
    pace = looked(lambda t: round(100 * t), 600, span=600.0)
    assert len(pace._before) <= POINTS + 1
    assert pace.rate(600.0) == near(100)

"""What the housekeeper does when something fails."""

from types import SimpleNamespace

import pytest

from engine.live import until
from headgate.engine.housekeeping import Housekeeper, until_next


def test_a_look_that_fails_is_not_the_last(tmp_path, caplog):
    looks = []

    def status():
        looks.append(True)
        raise RuntimeError("a query has just gone")

    idle = SimpleNamespace(adjust=lambda: None, look=lambda: None)
    made = Housekeeper(tmp_path, status, {}, idle, idle)
    made.start()
    try:
        until(lambda: len(looks) >= 2)
    finally:
        made.end()
        made.join()
    assert "a query has just gone" in caplog.text


def test_looks_that_take_long_come_rarely_and_one_that_does_for_once_puts_none_off():
    assert until_next(0.001, 0.001) == 0.5
    assert until_next(0.01, 0.2) == until_next(0.2, 0.01) == 0.6
    assert until_next(0.2, 0.2) == 6.0


def test_news_are_put_off_only_as_far_as_looks_would_take_much_of_the_machine():
    assert until_next(0.02, 0.02) == until_next(0.04, 0.04) == 1.2
    assert until_next(0.06, 0.06) == pytest.approx(1.8)

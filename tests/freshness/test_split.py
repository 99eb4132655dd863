"""Bandwidth for who waits."""

import numpy as np

from headgate.freshness.split import Requests


def test_nobody_is_refreshed_for_whom_nobody_waits():
    requests = Requests(np.array([1.0, 2.0]))
    assert requests.choose(1.0) is None


def test_the_longest_wait_of_all_requests_together_comes_first():
    requests = Requests(np.array([1.0, 1.0]))
    requests.request(0, 1.0)
    requests.request(1, 2.0)
    assert requests.choose(2.5) == 0
    requests.request(1, 2.0)
    assert requests.choose(10.0) == 1


def test_a_refresh_ends_the_wait():
    requests = Requests(np.array([1.0, 1.0]))
    requests.request(0, 1.0)
    requests.refreshed(0, 2.0)
    assert requests.choose(3.0) is None


def test_what_cannot_have_changed_is_not_fetched():
    requests = Requests(np.array([0.0, 1.0]))
    requests.request(0, 1.0)
    assert requests.choose(2.0) is None


def test_a_small_copy_comes_before_a_large_one_that_waits_as_long():
    requests = Requests(np.array([1.0, 1.0]), s=[3.0, 1.0])
    for copy in (0, 1):
        requests.request(copy, 1.0)
    assert requests.choose(2.0) == 1


def test_only_the_most_asked_for_and_changing_are_eligible():
    requests = Requests(np.array([1.0, 1.0, 1.0]), eligible=1)
    requests.request(0, 0.0)
    for _ in range(3):
        requests.request(1, 9.0)
    assert requests.choose(9.5) == 1
    requests.refreshed(1, 9.5)
    assert requests.choose(20.0) is None

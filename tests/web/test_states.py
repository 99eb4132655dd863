"""How classes and queries fare, in a word."""

import pytest

from headgate.engine.status import ClassStatus, QueryStatus
from headgate.web.states import Recent, of_class, of_query, recent
from web.invented import made


def a_class(results=0, mean=None, late=None, target=1.0):
    return made(ClassStatus, name="alerts", delay_target=target, results=results, response_mean=mean, late=late)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, a_class(10, 0.5, 0.1), Recent(10, 0.5, 0.1)),
        (a_class(10, 0.5, 0.1), a_class(10, 0.5, 0.1), Recent(0, None, None)),
        (a_class(10, 1.0, 0.0), a_class(30, 2.0, 0.5), Recent(20, 2.5, 0.75)),
        (a_class(0), a_class(4, 2.0, 0.25), Recent(4, 2.0, 0.25)),
        (a_class(50, 1.0, 0.2), a_class(10, 3.0, 0.0), Recent(10, 3.0, 0.0)),
        (a_class(10, 1.0, None, None), a_class(20, 1.5, None, None), Recent(10, 2.0, None)),
    ],
)
def test_what_came_of_late_is_the_difference_of_two_looks(before, now, expected):
    assert recent(before, now) == expected


@pytest.mark.parametrize(
    ("target", "seen", "oldest", "state"),
    [
        (1.0, Recent(100, 0.1, 0.0), 0.0, "on time"),
        (1.0, Recent(100, 0.1, 0.01), 0.0, "on time"),
        (1.0, Recent(100, 0.1, 0.02), 0.0, "slipping"),
        (1.0, Recent(100, 0.1, 0.2), 0.0, "late"),
        (1.0, Recent(0, None, None), 0.0, "quiet"),
        (1.0, Recent(0, None, None), 11.0, "late"),
        (30.0, Recent(0, None, None), 11.0, "quiet"),
        (None, Recent(5, 9.0, None), 99.0, "running"),
        (None, Recent(0, None, None), 99.0, "quiet"),
    ],
)
def test_a_class_fares_by_its_latest_results(target, seen, oldest, state):
    assert of_class(a_class(target=target), seen, oldest) == state


@pytest.mark.parametrize(
    ("known", "target", "state"),
    [
        ({"response_p99": 0.5}, 1.0, "on time"),
        ({"response_p99": 1.5}, 1.0, "late"),
        ({"response_p99": 1.5}, None, "running"),
        ({"results": 0}, 1.0, "waiting"),
        ({"reason": "no room"}, 1.0, "trying"),
        ({"status": "paused", "reason": "no room"}, 1.0, "paused"),
        ({"status": "failed", "response_p99": 0.5}, 1.0, "failed"),
    ],
)
def test_a_query_fares_by_its_status_and_its_target(known, target, state):
    given = {"name": "big", "status": "running", "results": 10, **known}
    assert of_query(made(QueryStatus, **given), target) == state

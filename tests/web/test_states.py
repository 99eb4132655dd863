"""How classes and queries fare, in a word."""

from dataclasses import replace

import pytest

from headgate.engine.status import ClassStatus, DeadlineStatus, QueryStatus
from headgate.web.states import Recent, missing, of_class, of_deadline, of_query, recent
from web.invented import made


def a_class(results=0, mean=None, late=None, target=1.0, oldest=0.0):
    known = {
        "processed": 0,
        "shed": 0,
        "delay_target": target,
        "results": results,
        "response_mean": mean,
        "late": late,
    }
    return made(ClassStatus, name="alerts", oldest_wait=oldest, **known)


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
    ("was", "now", "dropped"), [((0, 0), (0, 0), 0.0), ((30, 70), (40, 160), 0.1), ((5, 5), (5, 50), 0.0)]
)
def test_what_was_dropped_of_late_is_a_part_of_the_tuples_that_passed(was, now, dropped):
    before, after = (replace(a_class(10, 0.5, 0.1), shed=shed, processed=done) for shed, done in (was, now))
    assert recent(before, after).dropped == dropped


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
    assert of_class(a_class(target=target, oldest=oldest), seen) == state


@pytest.mark.parametrize(
    ("known", "target", "state"),
    [
        ({"recent_p99": 0.5, "response_p99": 9.0}, 1.0, "on time"),
        ({"recent_p90": 1.2, "recent_p99": 1.5, "response_p99": 0.1}, 1.0, "late"),
        ({"recent_p90": 0.9, "recent_p99": 1.5}, 1.0, "slipping"),
        ({"recent_p99": 1.5}, None, "running"),
        ({"kind": "PerTrain", "oldest_wait": 11.0, "recent_p99": 0.5}, 1.0, "late"),
        ({"kind": "PerTrain", "oldest_wait": 11.0, "results": 0}, 1.0, "late"),
        ({"kind": "PerTrain", "oldest_wait": 9.0, "recent_p99": 0.5}, 1.0, "on time"),
        ({"kind": "PerTrain", "oldest_wait": 11.0, "recent_p99": 0.5}, 20.0, "on time"),
        ({"kind": "PerWindow", "oldest_wait": 11.0, "recent_p99": 0.5}, 1.0, "on time"),
        ({"results": 0}, 1.0, "waiting"),
        ({"reason": "no room"}, 1.0, "trying"),
        ({"status": "paused", "reason": "no room"}, 1.0, "paused"),
        ({"status": "failed", "recent_p99": 0.5}, 1.0, "failed"),
    ],
)
def test_a_query_fares_by_its_status_and_its_target(known, target, state):
    given = {"name": "big", "status": "running", "kind": "ByPanes", "oldest_wait": 0.0, "results": 10, **known}
    assert of_query(made(QueryStatus, **given), target) == state


def windows(iterations, missed):
    return made(DeadlineStatus, name="big", iterations=iterations, missed=missed)


@pytest.mark.parametrize(
    ("before", "now", "last", "expected"),
    [
        (None, windows(0, 0), None, None),
        (None, windows(10, 5), None, 0.5),
        (windows(50, 50), windows(60, 51), 1.0, 0.1),
        (windows(50, 50), windows(50, 50), 0.25, 0.25),
        (windows(50, 50), windows(4, 1), None, 0.25),
    ],
)
def test_windows_of_late_are_the_difference_of_two_looks_or_the_last_that_ended(before, now, last, expected):
    assert missing(before, now, last) == expected


@pytest.mark.parametrize(
    ("missed", "state"), [(None, "waiting"), (0.0, "on time"), (0.02, "slipping"), (0.1, "slipping"), (0.12, "late")]
)
def test_a_query_with_a_deadline_fares_by_the_windows_of_late_that_missed_it(missed, state):
    query = made(QueryStatus, name="big", status="running", results=10, recent_p99=9.0)
    assert of_query(query, None, of_deadline(missed)) == state

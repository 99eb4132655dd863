"""A query that fails or takes too long stops alone, with Spark's own words."""

import pytest

from engine.faults.found import ALL, query
from engine.live import caught_up, column, until

RAISES = "SELECT if(v = 5, raise_error('five is bad'), v) AS v FROM s"
FAILING = {
    "an error that it raises": (RAISES, "five is bad"),
    "an assertion": ("SELECT v, assert_true(v < 5, 'not below five') AS ok FROM s", "not below five"),
    "an index of 0": ("SELECT v, element_at(array(v), cast(v - 5 AS INT)) AS e FROM s", "The index 0 is invalid"),
    "text that is no JSON": (
        "SELECT v, from_json(if(v = 5, '{', '{\"a\": 1}'), 'a INT', map('mode', 'FAILFAST')) AS j FROM s",
        "Malformed records are detected",
    ),
}


@pytest.mark.parametrize("what", FAILING)
def test_a_query_that_fails_is_stopped_after_three_attempts_and_others_go_on(what, engine, fed):
    sql, said = FAILING[what]
    engine.query("ill", sql)
    engine.query("well", ALL)
    engine.start("fcfs", train={"most": 2})
    fed.feed(4, 4)
    until(lambda: query(engine, "ill").status == "failed")
    caught_up(engine, "well", position=8)
    ill = query(engine, "ill")
    assert said in ill.reason
    assert "\n" not in ill.reason
    assert engine.queries["ill"].attempts == 3
    assert (ill.tuples, ill.pending) == (4, 4)
    assert sorted(column(engine, "ill")) == [0, 1, 2, 3]
    assert sorted(column(engine, "well")) == list(range(8))


def test_a_query_that_takes_too_long_is_cancelled_tried_with_shorter_trains_and_stopped(engine, fed):
    slow = "SELECT aggregate(sequence(1, 3000000), v, (a, x) -> (a * 31 + x) % 1000003) AS v FROM s"
    engine.query("slow", slow, limit=0.5)
    engine.query("well", ALL)
    engine.start("fcfs")
    fed.feed(64)
    until(lambda: query(engine, "slow").status == "failed")
    caught_up(engine, "well", position=64)
    assert query(engine, "slow").reason == "a run took longer than the limit of 0.5 s"
    assert engine.queries["slow"].most == 1
    assert query(engine, "slow").pending == 64

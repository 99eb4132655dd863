"""Sessions: of any cut of the stream, those of all tuples that did not come behind the watermark, each once."""

import pytest

from engine.evaluation.driven import walk
from engine.log.logs import feed, table, told
from headgate.engine.sql.plan import BySession

GAP = 7
SQL = f"SELECT k, count(*) AS n, sum(v) AS total FROM s GROUP BY k, session_window(t, '{GAP} microseconds')"


def expected(came):
    """Sessions by going through each key's tuples in the order of time."""
    found = []
    for k in (0, 1, 2):
        of_key = sorted((t.time, t.position) for t in came if t.time >= t.before and t.position % 3 == k)
        begun = []
        for time, v in of_key:
            if begun and time <= begun[-1][1] + GAP:
                start, _, vs = begun[-1]
                begun[-1] = (start, time, [*vs, v])
            else:
                begun.append((time, time, [v]))
        found += [(start, last + GAP, k, len(vs), sum(vs)) for start, last, vs in begun]
    return sorted(found)


def behind(came):
    return sum(each.time < each.before for each in came)


@pytest.mark.parametrize(("seed", "delay", "live"), [(1, 0, True), (9, 15, True), (3, 8, True), (4, 5, False)])
def test_each_session_is_given_out_once_and_whole(driven, seed, delay, live):
    trains = walk(seed, trains=9, back=20, on=4)
    query = driven(SQL, delay=delay).register()
    assert isinstance(query.plan, BySession)
    found = query.over(trains, 1000, live=live)
    came = told(trains, delay)
    assert behind(came) > 0
    assert found == expected(came)
    assert (query.query.progress.late, query.query.progress.tuples) == (behind(came), len(came))


def test_sessions_outlive_restarts(driven):
    trains = walk(6, trains=9, back=12, on=4)
    query = driven(SQL, delay=6).register()
    for number, times in enumerate(trains):
        feed(query.log, [times])
        if number % 4 == 3:
            query.restart()
        query.settle(10)
    query.log.end()
    query.restart().settle(10)
    assert query.rows() == expected(told(trains, 6))


def test_a_session_that_ended_is_not_given_out_again_while_one_that_began_before_it_goes_on(driven):
    query = driven(SQL).register()
    for times, keys in (([0], [0]), ([2, 3], [1, 0]), ([8], [0]), ([14], [0]), ([20], [0]), ([26, 40], [0, 2])):
        query.log.append(table(times, keys, query.log.head), None)
        query.settle(10)
    found = query.rows()
    assert [(start, end, k) for start, end, k, *_ in found] == [(0, 33, 0), (2, 9, 1)]


def test_a_tuple_within_the_delay_is_counted_even_if_it_lies_before_all_sessions_that_are_open(driven):
    trains = [[30], [15], [31, 60]]
    query = driven(SQL, delay=20).register()
    assert query.over(trains, 10, live=True) == expected(told(trains, 20))
    assert len(query.rows()) == 4


def test_an_open_session_ends_when_time_goes_on_in_a_silent_stream_or_the_stream_ends(driven):
    for pass_on in (lambda log: log.pass_time(1.0, 60), lambda log: log.end()):
        query = driven(SQL, delay=20).register()
        feed(query.log, [[10], [11, 30]])
        query.settle(10)
        pass_on(query.log)
        query.settle(10)
        assert query.rows() == expected(told([[10], [11, 30]], 20))
        assert query.query.waiting(0.0).pending == 0


def test_a_query_begun_half_way_counts_sessions_from_behind_all_that_came_before(driven):
    query = driven(SQL, delay=10)
    feed(query.log, [[1, 2, 3, 20, 21, 22]])
    query.register()
    found = query.over([[15, 16, 17], [23, 12, 25], [44, 45]], 10, live=True)
    came = [t for t in told([[1, 2, 3, 20, 21, 22], [15, 16, 17], [23, 12, 25], [44, 45]], 10) if t.time > 22]
    assert found == expected(came)

import numpy as np
import pytest

from engine.log.logs import MICRO, feed, told
from headgate.engine.sql.plan import PerTrain

SQL = "SELECT v, t FROM s WHERE k <> 1"
TRAINS = [[5, 4, 3, 2], [9], [8, 7, 6, 20, 21, 22], [1, 2]]


@pytest.mark.parametrize(("n", "live"), [(1, False), (3, True), (1000, False)])
def test_every_tuple_is_looked_at_once_however_trains_are_cut(driven, n, live):
    query = driven(SQL).register()
    assert isinstance(query.plan, PerTrain)
    found = query.over(TRAINS, n, live=live)
    assert found == [(each.position, each.time) for each in told(TRAINS) if each.position % 3 != 1]
    progress = query.query.progress
    assert (progress.tuples, progress.results, progress.late, progress.cursors) == (13, len(found), 0, {"s": 13})


def test_a_result_is_due_since_its_tuple_arrived(driven):
    query = driven(SQL).register()
    feed(query.log, [[1, 2, 3], [4, 5, 6]], [10, 20, 90, 100, 110, 120])
    made = query.query.evaluation
    step = made.step(query.query.progress, 5, lambda prepared, given: prepared.run(given, "test"))
    assert step.rows.column("v").to_pylist() == [0, 2, 3]
    assert step.due.tolist() == pytest.approx([10 * MICRO, 90 * MICRO, 100 * MICRO])
    assert (step.read, step.progress.cursors) == (5, {"s": 5})


def test_what_waits_are_the_tuples_behind_the_cursor_since_they_arrived(driven):
    query = driven(SQL)
    feed(query.log, [[1, 2]], [10, 20])
    query.register()
    assert query.query.waiting(0.0).pending == 0
    feed(query.log, [[1, 2], [3]], [0, 0, 30, 40, 70])
    found = query.query.waiting(0.0)
    assert (found.pending, found.position) == (3, 2)
    assert np.array([found.oldest, found.arrived(3)]) / MICRO == pytest.approx([30, 140])


def test_a_query_goes_on_where_it_was_after_a_restart_and_repeats_what_was_not_committed(driven):
    query = driven(SQL).register()
    feed(query.log, TRAINS[:2])
    query.settle(2)
    feed(query.log, TRAINS[2:])
    query.query.evaluation.step(query.query.progress, 4, lambda prepared, given: prepared.run(given, "test"))
    query.restart().settle(4)
    assert [v for v, _ in query.rows()] == [t.position for t in told(TRAINS) if t.position % 3 != 1]

"""Iterations: a window in pieces, over a share of its tuples that is evenly spread."""

import pytest

from engine.log.logs import feed
from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.trial import Trial
from headgate.engine.windows import Window
from headgate.model.operator import Cost

FILTER = "SELECT v FROM s WHERE v % 2 = 0"
JOIN = "SELECT s.v AS v, r.v AS w FROM s JOIN r ON s.v = r.v"
TOTALS = "SELECT count(*) AS n, sum(v) AS total FROM s"
WHOLE = "SELECT v FROM s ORDER BY v DESC LIMIT 3"

WINDOW = Window(100, 100)


def execute(prepared, given):
    return prepared.run(given, "test")


def filled(driven, sql, streams=("s",), n=100):
    """A query with one window of n tuples that has closed."""
    query = driven(sql, WINDOW, streams=streams, iterations=True).register()
    for log in query.logs.values():
        feed(log, [list(range(n // 2)), list(range(n // 2, n)), [250]])
    return query


def iterate(query, n, kept=1.0):
    """Take the next iteration; gives its steps."""
    made, progress, steps = query.query.evaluation, query.query.progress, []
    closed = made.next(progress)
    made.open(closed, made.extents(closed), kept)
    while not steps or steps[-1].progress == progress:
        steps.append(made.step(progress, n, execute))
    return steps


@pytest.mark.parametrize(
    ("sql", "streams", "n", "pieces"),
    [(FILTER, ("s",), 30, 4), (JOIN, ("s", "r"), 150, 2), (TOTALS, ("s",), 25, 4), (WHOLE, ("s",), 10, 1)],
)
def test_a_window_is_taken_in_pieces_where_its_query_can_be_divided(driven, sql, streams, n, pieces):
    query = filled(driven, sql, streams)
    whole, *_ = iterate(query, 10_000)
    steps = iterate(filled(driven, sql, streams), n)
    assert len(steps) == pieces
    assert all(step.rows.num_rows == 0 and step.read == 0 for step in steps[:-1])
    assert sorted(steps[-1].rows.to_pylist(), key=str) == sorted(whole.rows.to_pylist(), key=str)
    assert steps[-1].read == sum(log.head for log in query.logs.values())


def test_what_is_kept_is_spread_evenly_and_what_is_not_is_counted(driven):
    (step,) = iterate(filled(driven, "SELECT v FROM s"), 10_000, 0.4)
    assert step.rows.column("v").to_pylist() == [v for v in range(100) if (v + 1) * 40 // 100 > v * 40 // 100]
    assert (step.read, step.shed) == (101, 60)


def test_a_tuple_of_several_windows_is_counted_with_the_first_of_them(driven):
    query = driven("SELECT v FROM s", Window(100, 50), iterations=True).register()
    feed(query.log, [list(range(60)), list(range(60, 140)), [250]])
    made, progress, shed = query.query.evaluation, query.query.progress, []
    for _ in range(3):
        closed = made.next(progress)
        made.open(closed, made.extents(closed), 0.5)
        step = made.step(progress, 1000, execute)
        progress = step.progress
        shed.append(step.shed)
    # The windows end at 50, at 100 and at 150, each with 50 new tuples but for the last.
    assert shed == [25, 25, 20]


def test_the_same_tuples_are_kept_in_one_piece_and_in_many(driven):
    (whole,) = iterate(filled(driven, FILTER), 10_000, 0.37)
    *_, last = iterate(filled(driven, FILTER), 7, 0.37)
    assert last.rows.equals(whole.rows)
    assert last.shed == whole.shed > 0


def test_a_tuple_that_would_be_left_over_is_taken_with_the_last_piece(driven):
    # Of 100 tuples 90 are kept; a third of them are 33 tuples of the window and a bit.
    assert len(iterate(filled(driven, FILTER), 30, 0.9)) == 3


def test_streams_that_are_joined_are_both_thinned(driven):
    (step,) = iterate(filled(driven, JOIN, ("s", "r")), 10_000, 0.5)
    assert (step.read, step.shed) == (202, 100)
    assert 0 < step.rows.num_rows <= 50


def test_an_iteration_that_keeps_nothing_has_no_result_and_runs_nothing(driven):
    query = filled(driven, FILTER)
    made, progress = query.query.evaluation, query.query.progress
    closed = made.next(progress)
    made.open(closed, made.extents(closed), 0.0)
    step = made.step(progress, 100, None)
    assert (step.rows.num_rows, step.read, step.shed) == (0, 101, 100)
    assert step.progress.closed == closed.end


def test_a_trial_runs_over_the_newest_tuples_and_changes_nothing(driven):
    query = filled(driven, TOTALS)
    made, progress = query.query.evaluation, query.query.progress
    assert isinstance(made, IterationEvaluation)
    assert made.probe(30, 0, execute) == 30
    assert made.opened(progress) is None
    assert made.least == 101


class Ticking:
    """A clock that stands still unless it is moved, and ways to run that take their time by it."""

    def __init__(self, a, b):
        self.now, self.a, self.b = 0.0, a, b

    def __call__(self):
        return self.now

    def execute(self, plan, given):
        tuples = sum(count for each in given.streams.values() for _, _, count, *_ in each.slices)
        self.now += self.a + self.b * tuples
        return plan.schema.empty_table()


def test_a_trial_finds_what_a_run_and_a_tuple_take(driven):
    made = filled(driven, FILTER).query.evaluation
    clock = Ticking(0.02, 0.001)
    trial = Trial(made, clock)
    trial.run(clock.execute, 0.02)
    found = trial.found(Cost())
    assert (found.cost.a, found.cost.b) == (0.02, pytest.approx(0.001))
    assert found.whole


@pytest.mark.parametrize(("each", "probes"), [(0.001, [1, 1, 8, 64]), (0.3, [1, 1])])
def test_a_first_run_that_took_long_says_nothing_of_a_tuple_unless_the_next_one_does_too(driven, each, probes):
    made = filled(driven, FILTER).query.evaluation
    clock = Ticking(0.02, each)
    trial = Trial(made, clock)

    def load(plan, given):
        clock.now += 0.0 if trial._probes else 0.5
        return clock.execute(plan, given)

    made.empty = lambda execute: 0.02
    trial.run(load, 0.02)
    assert trial.found(Cost()).cost.b == pytest.approx(each)
    assert [probe.n for probe in trial._probes] == probes


def test_what_every_run_takes_on_a_machine_that_has_become_slow_is_not_taken_for_what_a_tuple_costs(driven):
    made = filled(driven, FILTER).query.evaluation
    clock = Ticking(0.5, 0.001)
    trial = Trial(made, clock)
    made.empty = lambda execute: 0.5
    trial.run(clock.execute, 0.05)
    found = trial.found(Cost())
    assert (found.cost.a, found.cost.b) == (0.5, pytest.approx(0.001))


def test_of_a_trial_that_is_cut_short_counts_what_it_came_to_and_what_it_has_waited_for(driven):
    made = filled(driven, FILTER).query.evaluation
    clock = Ticking(0.0, 0.001)
    trial = Trial(made, clock)
    like = Cost(0.05, 0.002)
    assert trial.found(like).cost == like

    def asked(plan, given):
        # Somebody asks while the second run is under way, which has taken half a second by then.
        if trial._probes:
            clock.now += 0.5
            trial.ended = True
            seen.append(trial.found(like))
        return clock.execute(plan, given)

    seen = []
    trial.run(asked, 0.05)
    (found,) = seen
    assert not found.whole
    assert found.cost.a == 0.05
    assert found.cost.b == pytest.approx((0.5 - 0.05) / 8)

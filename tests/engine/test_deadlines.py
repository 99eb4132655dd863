"""Queries with a deadline on an engine: what they find, what is dropped for them, who is refused, who goes first."""

import math
import threading
import time
from dataclasses import asdict
from itertools import pairwise

import pytest

from engine.live import SECOND, Fed, counts, until
from headgate import Deadlines, Engine, InputError, Shed
from headgate.engine import admitting
from headgate.engine.evaluation.trial import Trial, Tried
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.windows import NEVER
from headgate.model.operator import Cost
from headgate.record import Follower, Iterated

COUNT = "SELECT count(*) AS n FROM s"
FILTER = "SELECT v FROM s WHERE v % 2 = 0"


class Dear:
    """The cost of a tuple as if it were a second, or so many, whatever is measured."""

    def __init__(self, seconds=1.0):
        self.cost = Cost(0.0, seconds)

    def observe(self, n, seconds):
        pass


@pytest.fixture
def engine(spark, tmp_path):
    """An engine over the stream s, fed by hand; with a folder, another one on the same state."""
    made = []

    def make(source):
        for each in made:
            each.stop()
        made.append(Engine(spark, tmp_path / "state", lanes={"jobs": 1, "resident": 0}))
        made[-1].stream("s", source, event_time="t")
        return made[-1]

    yield make
    for each in made:
        each.stop()


def cost(engine, seconds=1.0):
    """Have every unit cost so much by tuple, as if that were known: nobody is tried out."""
    for unit in engine._scheduler.units:
        unit.cost, unit._runs = Dear(seconds), 10


def row(engine, name):
    return next(each for each in engine.status().deadlines if each.name == name)


def feed_windows(engine, source, size, windows):
    """Feed windows of so many tuples, each when the last is done."""
    source.feed(1)
    for done in range(1, windows + 1):
        source.feed(size)
        until(lambda done=done: all(each.iterations == done for each in engine.status().deadlines))


def iterated(engine):
    return [asdict(entry) for entry in Follower(engine.state).look() if isinstance(entry, Iterated)]


def test_a_deadline_changes_nothing_of_what_a_query_finds_where_there_is_time(engine):
    source = Fed()
    made = engine(source)
    # There is time also on a machine that stands still for some seconds.
    made.query("plain", COUNT, window=1000, slide=500)
    made.query("due", COUNT, window=1000, slide=500, deadline=500)
    made.query("rows", FILTER, window=1000, slide=1000, deadline=1000)
    made.start()
    source.feed(700, 3000, 2500)
    source.end()
    assert made.wait(300)
    assert counts(made, "due") == counts(made, "plain")
    assert set(made.results("due").column("_kept").to_pylist()) == {1.0}
    assert made.results("rows").column("v").to_pylist() == list(range(0, 6200, 2))
    seen = row(made, "due")
    assert seen.iterations == len(counts(made, "plain"))
    assert (seen.missed + seen.useful, seen.kept) == (seen.iterations, 1.0)
    status = {each.name: each for each in made.status().queries}
    assert (status["due"].tuples, status["due"].shed) == (6200, 0)


def test_what_does_not_fit_is_dropped_evenly_and_counted(engine):
    source = Fed()
    made = engine(source)
    made.query("due", COUNT, window=600, slide=600, deadline=600)
    made.query("scaled", COUNT, window=600, slide=600, deadline=600, scale=True)
    made.query("plain", FILTER)
    made.start(deadlines=Deadlines(share=0.9, options={"spared": False}))
    cost(made)
    feed_windows(made, source, 600, 4)
    windows = counts(made, "due")
    assert len(windows) == 4
    other = made.results("scaled").column("_kept").to_pylist()
    # They have 600 s without a run of the other, of which 0.9 are theirs and 0.05 of that is spare. At first nobody
    # knows what each asks for.
    theirs = 0.9 * (600 * 0.95 - made._scheduler.keeper._feedback.blocked)
    for (_, n), kept in zip(windows[2:], other[2:], strict=True):
        assert n + 600 * kept == pytest.approx(theirs, abs=3)
    for kept, (_, n) in zip(made.results("due").column("_kept").to_pylist(), windows, strict=True):
        assert kept == pytest.approx(n / 600, abs=0.01)
    assert made.results("scaled").column("n").to_pylist()[-1] == pytest.approx(600, rel=0.01)
    found = next(each for each in made.status().queries if each.name == "due")
    assert (found.tuples, found.pending) == (2401, 0)
    assert found.shed == pytest.approx(2400 - sum(n for _, n in windows), abs=4)
    assert row(made, "due").kept == pytest.approx(1 - found.shed / 2400, abs=0.01)


def test_who_weighs_more_keeps_more_and_without_other_queries_deadlines_have_all_the_time(engine):
    source = Fed()
    made = engine(source)
    for name, weight in (("light", 1), ("heavy", 8)):
        made.query(name, COUNT, window=100, slide=100, deadline=100, weight=weight)
    made.start(deadlines=Deadlines(options={"spared": False}))
    cost(made)
    feed_windows(made, source, 100, 5)
    heavy, light = ([n for _, n in counts(made, name)] for name in ("heavy", "light"))
    assert len(heavy) == len(light) == 5
    # Of 100 s, 0.05 are spare. The first plan does not know what each asks for, and the next may come in between.
    for more, less in zip(heavy[2:], light[2:], strict=True):
        assert more + less == pytest.approx(95, abs=2)
        assert (100 - less) / (100 - more) == pytest.approx(8, rel=0.1)


def test_who_weighs_least_is_left_out_where_the_least_of_all_would_be_too_much_and_that_is_a_miss(engine):
    source = Fed()
    made = engine(source)
    for name, weight in (("light", 1), ("heavy", 8)):
        made.query(name, COUNT, window=200, slide=200, deadline=200, weight=weight)
    made.start(deadlines=Deadlines(options={"spared": False}))
    cost(made, 12.0)
    feed_windows(made, source, 200, 4)
    # Of 200 s, 0.05 are spare: enough for 0.05 of 200 tuples of one query, which take 120 s, and not of both.
    light, heavy = ([each for each in iterated(made) if each["query"] == name][-1] for name in ("light", "heavy"))
    assert (light["missed"], light["kept"]) == (True, 0.0)
    assert light["why"].startswith(
        "left out: even if every query kept 5% of its tuples, all of them would be too much"
    )
    assert (heavy["missed"], heavy["kept"]) == (False, pytest.approx(190 / 12 / 200, abs=0.01))
    assert row(made, "light").reason == light["why"]


def test_the_share_of_a_window_is_written_down_before_it_is_read_and_holds_after_a_restart(engine):
    source = Fed()
    made = engine(source)
    made.query("due", COUNT, window=1000, slide=1000, deadline=1000)
    made._manifest.open_iteration("due", 1000 * SECOND, 0.5)
    made.start()
    source.feed(3001)
    until(lambda: len(counts(made, "due")) == 3)
    assert counts(made, "due") == [(0, 500), (1000, 1000), (2000, 1000)]
    assert made._manifest.iteration("due") == (3000 * SECOND, 1.0)
    made.remove("due")
    assert made._manifest.iteration("due") is None


def test_every_iteration_is_recorded_with_what_became_of_it(engine):
    source = Fed()
    made = engine(source)
    made.query("due", COUNT, window=10, slide=10, deadline=0.001)
    made.start(deadlines="rm")
    source.feed(25)
    source.end()
    assert made.wait(300)
    found = iterated(made)
    assert [each["end"] for each in found] == [10, 20, 30]
    assert all(each["missed"] and each["why"].startswith("late by") for each in found)
    assert all(each["release"] <= each["begin"] <= each["finish"] for each in found)
    assert [each["tuples"] for each in found] == [10, 10, 5]
    seen = row(made, "due")
    assert (seen.iterations, seen.missed, seen.useful) == (3, 3, 0)
    assert seen.reason == found[-1]["why"]


def test_what_never_runs_is_counted_as_missed_when_it_is_due(engine):
    source = Fed()
    made = engine(source)
    made.query("due", COUNT, window=10, slide=10, deadline=0.5)
    made.start(deadlines="rm")
    (unit,) = made._scheduler.units
    evaluate, free = unit.evaluate, threading.Event()
    unit.evaluate = lambda n, executor: (free.wait(300), evaluate(n, executor))[1]
    source.feed(31)
    until(lambda: row(made, "due").missed == 3)
    assert row(made, "due").iterations == 3
    assert "not done when it was due" in row(made, "due").reason
    free.set()
    until(lambda: len(counts(made, "due")) == 3)
    until(lambda: row(made, "due").worst is not None)
    made.stop()
    assert (row(made, "due").iterations, row(made, "due").missed) == (3, 3)
    assert row(made, "due").reason.startswith("late by")


def test_what_is_late_is_given_up_where_the_profile_says_so(engine):
    source = Fed()
    made = engine(source)
    # No run begins within a microsecond, however fast the machine.
    made.query("due", COUNT, window=10, slide=10, deadline=1e-6)
    made.start(deadlines="rm-abort")
    source.feed(25)
    source.end()
    assert made.wait(300)
    assert counts(made, "due") == []
    assert all(each["missed"] and each["kept"] == 0 and "given up" in each["why"] for each in iterated(made))
    found = next(each for each in made.status().queries if each.name == "due")
    assert (found.tuples, found.shed) == (25, 25)
    assert (row(made, "due").iterations, row(made, "due").useful) == (3, 0)


def test_queries_with_and_without_a_deadline_share_an_engine(engine):
    source = Fed()
    made = engine(source)
    made.query_class("alerts", priority=6, delay_target="1h")
    made.query("plain", FILTER, cls="alerts")
    made.query("due", COUNT, window=1000, slide=1000, deadline=1000, cls="alerts")
    made.start(shed=Shed(period=0.1))
    source.feed(*[500] * 12)
    source.end()
    assert made.wait(300)
    assert made.results("plain").num_rows == 3000
    assert [n for _, n in counts(made, "due")] == [1000] * 6
    assert [each.name for each in made.status().deadlines] == ["due"]


def test_the_longest_run_of_others_is_in_the_way_where_no_policy_bounds_runs(engine):
    made = engine(Fed())
    made.query("plain", FILTER)
    made.query("due", COUNT, window=10, slide=10, deadline=10)
    made.start("fcfs", train={"most": 1000})
    until(lambda: made._scheduler.keeper.plan)
    assert made._scheduler._slice == math.inf
    assert made._scheduler.keeper._feedback.blocked == made.queries["plain"].empty_job > 0
    made._scheduler._longest["plain"] = 7.0
    until(lambda: made._scheduler.keeper._feedback.blocked == 7.0)


def test_a_query_that_cannot_fit_is_refused_with_an_offer_and_leaves_nothing_behind(engine, monkeypatch):
    # There is time to try it to the end and to look for an offer, however slow the machine.
    monkeypatch.setattr(admitting, "_TRYING", 60.0)
    monkeypatch.setattr(admitting, "_ANSWERED", 3600.0)
    source = Fed()
    made = engine(source)
    made.query("plain", FILTER)
    made.start(deadlines=Deadlines("rm", share=0.03))
    source.feed(1000)
    until(lambda: made.queries["plain"].progress.tuples == 1000)
    with pytest.raises(InputError) as refused:
        made.query("due", COUNT, window=1, slide=1, deadline=1)
    assert "fits beside those that run" in str(refused.value)
    assert "It would fit with a stride of" in str(refused.value)
    assert "due" not in made.queries
    assert "due" not in made._manifest.names()
    made.query("due", COUNT, window=1, slide=100_000, deadline=100_000)
    assert "due" in made.queries


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"deadline": 1}, "a deadline is for the results of windows"),
        ({"deadline": 6, "window": 10, "slide": 5}, "at most the stride of 5 s"),
        ({"deadline": 0, "window": 10}, "a deadline"),
        ({"weight": 3}, "a weight belongs to a deadline"),
        ({"deadline": 1, "window": 10, "weight": 0}, "a weight is a number above 0"),
    ],
)
def test_mistakes_are_told(engine, more, rule):
    made = engine(Fed())
    with pytest.raises(InputError, match=rule):
        made.query("due", COUNT, **more)


@pytest.mark.parametrize("given", ["fastest", Deadlines.__name__])
def test_an_unknown_profile_is_told_before_anything_starts(engine, given):
    made = engine(Fed())
    with pytest.raises(InputError, match="a known deadline profile"):
        made.start(deadlines=given)


def test_a_share_is_a_part_of_the_time():
    with pytest.raises(InputError, match="a part of the time"):
        Deadlines(share=1.5)


def test_a_query_is_answered_while_the_only_lane_is_held(engine):
    source = Fed()
    made = engine(source)
    made.query("due", COUNT, window=100, slide=100, deadline=100)
    made.start()
    (unit,) = made._scheduler.units
    evaluate, held, free = unit.evaluate, threading.Event(), threading.Event()

    def hold(n, executor):
        held.set()
        free.wait(300)
        return evaluate(n, executor)

    unit.evaluate = hold
    source.feed(250)
    assert held.wait(300)
    made.query("more", COUNT, window=100, slide=100, deadline=100)
    with pytest.raises(InputError, match="fits beside those that run"):
        made.query("much", COUNT, window=1e-3, slide=1e-3, deadline=1e-3)
    assert set(made.queries) == {"due", "more"}
    assert [each.iterations for each in made.status().deadlines if each.name == "due"] == [0]
    free.set()
    until(lambda: row(made, "due").iterations == 2)


def test_what_comes_counts_for_the_first_query_with_a_deadline_over_a_stream(engine):
    source = Fed()
    made = engine(source)
    made.start()
    keeper, seen, enough = made._scheduler.keeper, [], threading.Event()
    admit = keeper.admit

    def asked(units, more):
        seen.extend(keeper.estimate(unit).tuples for unit in units)
        return admit(units, more)

    keeper.admit = asked

    def feed():
        while not enough.wait(0.02):
            source.feed(10)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        until(lambda: source.given > 500)
        made.query("due", COUNT, window=10, slide=10, deadline=10, time="arrival")
    finally:
        enough.set()
        thread.join()
    assert seen[0] > 0


class Steady:
    """A stream as if a hundred tuples came every second, whatever comes."""

    span = 1.0

    def look(self, now, head):
        pass

    def greatest(self, spans):
        return 100.0


@pytest.fixture
def beside(engine, monkeypatch):
    """An engine with a query of 400 tuples every 4 s, which take 2.4 s, and a way to ask for one of another cost."""
    source, shown = Fed(), {}
    made = engine(source)
    made.query("old", COUNT, window=4, slide=4, deadline=4, time="arrival")
    made.start()
    keeper = made._scheduler.keeper
    keeper.seen.paces["s"] = Steady()
    cost(made, 0.006)
    monkeypatch.setattr(Trial, "found", lambda self, like: Tried(shown["cost"], 1.0, 100.0))
    until(lambda: keeper.plan and keeper.plan.order == ("old",))

    def asked(name, found, **more):
        shown["cost"] = found
        made.query(name, COUNT, window=4, slide=4, deadline=4, time="arrival", **more)

    return made, source, asked


def of(made, name):
    return [each for each in iterated(made) if each["query"] == name]


def goes_on(made, source):
    """Wait until the query that was there has had two more windows in time, one behind the other.

    The clock is the real one, and any window may come while the machine stands still.
    """
    before = len(of(made, "old"))

    def two():
        source.feed(1)
        return any(not (one["missed"] or other["missed"]) for one, other in pairwise(of(made, "old")[before:]))

    until(two)


def test_who_fits_is_taken_in_and_the_others_go_on_as_they_were(beside):
    made, source, asked = beside
    asked("new", Cost(0.0, 0.003))
    assert made.queries["new"].evaluation._first == NEVER
    until(lambda: set(made._scheduler.keeper.plan.order) == {"old", "new"})
    assert [row(made, name).planned for name in ("old", "new")] == [1.0, 1.0]
    goes_on(made, source)


def test_who_fits_with_a_reduction_begins_once_the_others_have_done_what_was_planned_without_it(beside):
    made, source, asked = beside
    began = time.time()
    asked("new", Cost(0.0, 0.006))
    assert set(made._scheduler.keeper.plan.order) == {"old", "new"}
    assert made._scheduler.keeper.plan.allowances["old"].fraction < 1
    first = made.queries["new"].evaluation._first / SECOND
    assert began + 4 <= first <= time.time() + 4
    goes_on(made, source)
    until(lambda: source.feed(1) or row(made, "new").iterations)
    assert min(each["end"] for each in of(made, "new")) > first


def test_who_does_not_fit_is_refused_and_the_others_go_on_as_they_were(beside):
    made, source, asked = beside
    with pytest.raises(InputError, match="fits beside those that run"):
        asked("new", Cost(5.0, 0.0))
    assert set(made._scheduler.keeper.plan.order) == {"old"}
    assert "new" not in made._manifest.names()
    goes_on(made, source)


def test_a_trial_that_fails_in_any_way_leaves_nothing_behind(beside, monkeypatch):
    made, _, asked = beside
    sink, closed = MemoryTables(), []
    sink.close = lambda: closed.append(True)

    def fails(*_):
        message = "the machine is full"
        raise MemoryError(message)

    monkeypatch.setattr(Trial, "run", fails)
    with pytest.raises(MemoryError):
        asked("new", Cost(0.0, 0.001), sink=sink)
    assert closed
    assert "new" not in made.queries
    assert "new" not in made._manifest.names()

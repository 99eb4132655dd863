"""Who keeps deadlines, over units and streams that only say what they would: no Spark, no clock."""

import math
from collections import deque
from itertools import pairwise
from types import SimpleNamespace

import pytest

from headgate.control.deadlines.keeping import kept_count
from headgate.engine.evaluation.closed import Closed
from headgate.engine.iterations import Standing, Work
from headgate.engine.served import Deadlines
from headgate.engine.tally import Tally
from headgate.engine.timekeeper import Timekeeper
from headgate.model.deadlines import Deadline
from headgate.model.operator import Cost
from headgate.monitor.estimators import RecentCost
from headgate.record import Iterated

near = pytest.approx
MICROS = 1_000_000


class Unit:
    """A query over one stream that needs so many seconds per tuple, and can be cut anywhere."""

    def __init__(self, name, each, window=10.0, time="arrival", weight=1.0):
        self.name, self.each = name, each
        self.deadline = Deadline(window, window, window, weight)
        size = round(window * MICROS)
        shape = SimpleNamespace(time=time, size=size, slide=size)
        self.evaluation = SimpleNamespace(streams=("s",), plan=SimpleNamespace(window=shape))
        self.cost = SimpleNamespace(cost=Cost(0.0, each))
        self.selectivity = SimpleNamespace(of=lambda counts: 1.0)
        self.known = self.measured = True
        self.current = None
        self.counts, self.ahead, self.late = {"s": 0}, {}, []
        self.slice, self.aborts, self.planned = 1.0, False, (0.0, 0.0)
        self.stands, self.by_clock, self.unsure = None, True, False

    def overdue(self, now, after):
        return [(end, why) for end, due, why in self.late if due <= now and end > after]

    def work(self, counts, kept=1.0):
        seconds = self.each * kept * sum(counts.values())
        return Work(1, 0.0, seconds)

    def affordable(self, counts, seconds, piece=math.inf):
        whole = self.work(counts).seconds
        return min(1.0, seconds / whole) if whole else 1.0

    def standing(self, now):
        return self.stands


class Learning(Unit):
    """A query whose costs are learned, on a machine where every run takes half a second and a tuple nothing.

    A run over nothing took a tenth of that when it was registered.
    """

    takes = Cost(0.5, 1e-6)

    def __init__(self, name):
        super().__init__(name, 0.0)
        self.cost, self.measured = RecentCost(Cost(0.05, 0.45), tried=1), False

    def work(self, counts, kept=1.0):
        seconds = self.cost.cost.of(kept * sum(counts.values()))
        return Work(1, seconds, seconds)

    def runs(self, kept, count):
        """Take note of what it took to read such a share of a window."""
        if read := kept_count(kept, count):
            self.cost.observe(read, self.takes.of(read))
            self.measured = True
        elif not kept and self.unsure:
            self.cost.observe(0, self.takes.a)
            self.unsure = False


class World:
    """A stream and a clock that are moved by hand."""

    def __init__(self, *units, wanted=None):
        self.now, self.head, self.units = 1000.0, 0, units
        self.keeper = self.keeping(wanted or Deadlines())

    def keeping(self, wanted, before=None):
        stream = SimpleNamespace(log=SimpleNamespace(watermark=lambda _: 10**18))
        self.stream = stream
        stream.log.head = self.head
        manifest = SimpleNamespace(iteration=lambda _: None, open_iteration=lambda *told: None)
        recorder = SimpleNamespace(append=lambda _: None)
        return Timekeeper(wanted, {"s": stream}, manifest, recorder, before, clock=lambda: self.now)

    def passes(self, seconds, rate=0):
        """Look ten times a second at a stream that moves so fast."""
        for _ in range(round(10 * seconds)):
            self.now += 0.1
            self.head += round(rate / 10)
            self.stream.log.head = self.head
            self.keeper.look(self.units, self.now)

    def windows(self, count):
        """The shares that all keep of windows of so many tuples that are released now, one after the other."""
        for unit in self.units:
            unit.ahead = {"s": count}
        closed = Closed(0, round(self.now * MICROS), self.now)
        return [self.keeper.keep(unit, closed, {"s": count}) for unit in self.units]

    def work(self, kept, count):
        """The seconds that such shares take."""
        return sum(each * unit.work({"s": count}).seconds for each, unit in zip(kept, self.units, strict=True))


def three(each=0.008):
    """Queries that each need most of their stride for a thousand tuples."""
    return [Unit(name, each) for name in "abc"]


def test_windows_that_fit_are_read_whole():
    world = World(*three(0.003))
    world.passes(20, rate=100)
    assert world.windows(1000) == [1.0, 1.0, 1.0]


def test_what_does_not_fit_is_shed_so_that_all_of_it_does():
    world = World(*three())
    world.passes(20, rate=100)
    assert world.work(world.windows(1000), 1000) == near(0.95 * 10, rel=0.05)


def test_a_second_in_which_nothing_comes_does_not_let_every_query_believe_that_it_is_alone():
    world = World(*three())
    world.passes(20, rate=100)
    world.passes(2)
    assert world.work(world.windows(1000), 1000) <= 10


def test_after_a_silence_longer_than_every_window_the_first_burst_is_planned_for_as_it_is():
    world = World(*three())
    world.passes(20, rate=100)
    world.passes(30)
    assert world.work(world.windows(1000), 1000) <= 10


def test_before_there_is_a_plan_all_that_is_released_is_planned_for():
    units = three()
    world = World(*units)
    world.keeper.seen.units = units
    assert world.keeper.plan is None
    assert world.work(world.windows(1000), 1000) <= 10


def test_a_window_of_less_than_was_planned_gives_the_others_nothing_that_the_next_would_need():
    world = World(*three())
    world.passes(20, rate=100)
    plan = world.keeper.plan
    closed = Closed(0, 1, world.now)
    assert world.keeper.keep(world.units[0], closed, {"s": 10}) == 1.0
    assert world.keeper.plan is plan


def test_what_others_do_not_need_any_more_goes_to_the_one_that_begins():
    world = World(*three())
    world.passes(20, rate=100)
    planned = world.keeper.plan.allowances["c"].fraction
    first, second, third = world.units
    first.stands = second.stands = Standing(0, 0.0, None, world.now + 6)
    third.stands = Standing(1, 0.0, world.now + 6, world.now + 6)
    closed = Closed(0, round(world.now * MICROS), world.now)
    # It has 6 s for itself, of which 0.05 are kept free and of the 10 s of its deadline too; it would take 8 s.
    assert planned < 0.55
    assert world.keeper.keep(third, closed, {"s": 1000}) == near((0.95 * 6 - 0.5) / 8, abs=0.01)
    # What runs is done before. Then there is less than its budget, of which nothing has to be spared.
    first.stands = Standing(0, 2.0, world.now + 6, world.now + 10)
    assert world.keeper.keep(third, closed, {"s": 1000}) == near((0.95 * 6 - 2) / 8, abs=0.01)


def test_the_rest_of_what_runs_is_as_much_longer_as_its_query_has_taken_of_late():
    world = World(*three())
    world.passes(20, rate=100)
    first, second, third = world.units
    first.stands, second.stands = (
        Standing(0, 2.0, world.now + 6, world.now + 10),
        Standing(0, 0.0, None, world.now + 6),
    )
    third.stands = Standing(1, 0.0, world.now + 6, world.now + 6)
    world.keeper.seen.beyond["a"] = deque([0.2])
    kept = world.keeper.keep(third, Closed(0, round(world.now * MICROS), world.now), {"s": 1000})
    assert kept == near((0.95 * 6 - 2.4) / 8, abs=0.01)


def test_what_is_given_back_makes_no_piece_longer_than_all_before_it_can_wait_for():
    world, pieces = World(*three()), []
    world.passes(20, rate=100)
    third = world.units[2]
    third.affordable = lambda counts, seconds, piece: pieces.append(piece) or 0.0
    closed = Closed(0, round(world.now * MICROS), world.now)
    third.stands = Standing(1, 0.0, world.now + 6, world.now + 6)
    # It keeps the least of its window, although nothing can be read in the time.
    assert world.keeper.keep(third, closed, {"s": 1000}) == 0.05
    assert pieces == [near(world.keeper.plan.longest["c"])]


def test_what_comes_is_expected_for_a_window_and_not_for_a_stride():
    unit = Unit("a", 0.001)
    unit.deadline = Deadline(20.0, 10.0, 10.0, 1.0)
    world = World(unit)
    world.passes(30, rate=100)
    assert world.keeper.estimate(unit).tuples == near(2000, rel=0.05)


def test_who_does_not_run_takes_nothing_from_anybody():
    world = World(*three())
    world.passes(20, rate=100)
    third = world.units[2]
    third.stands = Standing(1, 0.0, world.now + 6, world.now + 6)
    closed = Closed(0, round(world.now * MICROS), world.now)
    assert world.keeper.keep(third, closed, {"s": 1000}) == near((0.95 * 6 - 0.5) / 8, abs=0.01)


def test_over_event_time_what_is_to_spare_is_given_back_and_nothing_is_taken_for_windows_that_end_at_once():
    world = World(*three())
    world.passes(20, rate=100)
    first, second, third = world.units
    second.stands = Standing(0, 0.0, None, world.now + 6)
    third.stands = Standing(1, 0.0, world.now + 6, world.now + 6)
    closed = Closed(0, round(world.now * MICROS), world.now)
    first.by_clock = False
    first.stands = Standing(0, 0.0, None, world.now + 6)
    assert world.keeper.keep(third, closed, {"s": 1000}) == near((0.95 * 6 - 0.5) / 8, abs=0.01)
    first.stands = Standing(20, 0.0, world.now + 6, world.now + 10)
    assert world.keeper.keep(third, closed, {"s": 1000}) == near(world.keeper.plan.allowances["c"].fraction, abs=0.01)


def test_where_the_earliest_deadline_goes_first_what_others_do_not_need_goes_to_the_one_that_begins_too():
    world = World(*three(), wanted=Deadlines("ledf+"))
    world.passes(20, rate=100)
    first, second, third = world.units
    first.stands = second.stands = Standing(0, 0.0, None, world.now + 6)
    third.stands = Standing(1, 0.0, world.now + 6, world.now + 6)
    closed = Closed(0, round(world.now * MICROS), world.now)
    # Each has a third of 9.5 s every 10 s. Of what the next ones may have until 16 s, all is due then.
    free = 16 * 0.95 - 4 * 9.5 / 3 - 0.5
    part = free / (4 * (8 - 9.5 / 3))
    assert world.keeper.keep(third, closed, {"s": 1000}) == near((9.5 / 3 + part * (8 - 9.5 / 3)) / 8, abs=0.01)


def test_another_way_to_serve_them_goes_on_from_what_was_seen():
    world = World(*three())
    world.passes(20, rate=100)
    before = world.keeper
    before.tallies["a"] = tally = Tally(iterations=7)
    world.keeper = world.keeping(Deadlines("ledf+"), before)
    assert world.keeper.plan is None
    assert world.keeper.tallies["a"] is tally
    assert world.keeper.estimate(world.units[0]).tuples == near(1000)


def test_over_event_time_the_last_window_or_the_one_that_is_released_is_expected():
    unit = Unit("a", 0.001, time="event")
    world = World(unit)
    world.passes(5, rate=100)
    unit.counts, unit.ahead = {"s": 300}, {"s": 700}
    assert world.keeper.estimate(unit).tuples == 700
    unit.ahead = {}
    assert world.keeper.estimate(unit).tuples == 300


def test_what_took_long_to_plan_is_not_planned_anew_at_once():
    world = World(*three())
    world.passes(20, rate=100)
    reschedule, plans = world.keeper._feedback.reschedule, []

    def slow(now, estimates):
        world.now += 0.5
        plans.append(now)
        return reschedule(now, estimates)

    world.keeper._feedback.reschedule = slow
    world.passes(20, rate=300)
    assert len(plans) >= 2
    assert all(after - before >= 10 * 0.5 for before, after in pairwise(plans))
    world.units = world.units[:2]
    world.passes(0.1)
    assert set(world.keeper.plan.order) == {"a", "b"}


def iterated(finish, due=1005.0, **changed):
    told = {"tuples": 10, "kept": 1.0, "planned": 1.0, "worked": 1.0, "pieces": 1, "interrupted": 0, "plan": 1}
    told |= {"missed": finish > due, "why": "late" if finish > due else None} | changed
    return Iterated("a", 1000.0, 1000.0, finish - 1, finish, due, **told)


def test_what_is_due_and_not_done_is_counted_once_also_when_it_is_done_later():
    world = World(*three()[:1])
    (unit,) = world.units
    unit.late = [(1000 * MICROS, 1005.0, "it had not begun"), (1010 * MICROS, 1015.0, "it had not begun")]
    world.passes(4)
    assert world.keeper.tallies["a"].iterations == 0
    world.passes(6)
    tally = world.keeper.tallies["a"]
    assert (tally.iterations, tally.missed, tally.reason) == (1, 1, "it had not begun")
    world.passes(10)
    assert (tally.iterations, tally.missed) == (2, 2)
    tally.take(iterated(1020.0), 1000 * MICROS)
    assert (tally.iterations, tally.missed, tally.worst, tally.tuples) == (2, 2, 20.0, 10)
    tally.take(iterated(1010.0, due=1015.0), 1020 * MICROS)
    assert (tally.iterations, tally.missed) == (3, 2)


def test_what_was_done_in_time_and_taken_note_of_late_is_no_miss():
    tally = Tally()
    tally.overdue(1000 * MICROS, "it had begun")
    tally.take(iterated(1004.0), 1000 * MICROS)
    assert (tally.iterations, tally.missed, tally.useful) == (1, 0, 1)


# Who comes


def admitted(keeper, *units, **asked):
    name, found = keeper.admit(units, **asked)
    return name, found.kind


def test_who_is_taken_in_counts_for_the_next_before_it_has_come():
    world = World(wanted=Deadlines("rm"))
    world.passes(20, rate=100)
    first, second = Unit("first", 0.006), Unit("second", 0.006)
    assert admitted(world.keeper, first) == ("first", "admit")
    assert admitted(world.keeper, second) == ("second", "refuse")
    world.keeper.forget(["first"])
    assert admitted(world.keeper, second) == ("second", "admit")
    world.units = [second]
    world.passes(1, rate=100)
    assert not world.keeper.seen.pending
    assert admitted(world.keeper, first) == ("first", "refuse")


def test_who_does_not_come_counts_no_more_after_a_while():
    world = World(wanted=Deadlines("rm"))
    world.passes(20, rate=100)
    world.keeper.admit([Unit("first", 0.006)])
    world.passes(61, rate=100)
    assert admitted(world.keeper, Unit("second", 0.006)) == ("second", "admit")


def test_those_who_come_together_are_judged_as_one():
    world = World(wanted=Deadlines("rm"))
    world.passes(20, rate=100)
    assert admitted(world.keeper, *three(0.004)) == ("c", "refuse")
    assert not world.keeper.seen.pending
    assert admitted(world.keeper, *three(0.003)) == ("c", "admit")
    assert set(world.keeper.seen.pending) == {"a", "b", "c"}


def test_from_the_answer_on_the_others_leave_room_for_who_is_taken_in():
    world = World(*three(0.006)[:1])
    world.passes(20, rate=100)
    assert world.windows(1000) == [1.0]
    new = Unit("new", 0.006)
    assert admitted(world.keeper, new) == ("new", "reduce")
    (kept,) = world.windows(1000)
    assert kept + world.keeper.planned(new) == near(0.95 / 0.6, rel=0.05)


def test_who_comes_over_event_time_is_expected_to_read_what_comes():
    world = World()
    world.passes(20, rate=100)
    assert admitted(world.keeper, Unit("new", 0.002, time="event")) == ("new", "admit")
    world.keeper.forget(["new"])
    assert admitted(world.keeper, Unit("new", 0.4, time="event")) == ("new", "refuse")


def test_who_is_suspended_is_in_nobodys_way():
    world = World(Unit("heavy", 0.009, weight=8.0), Unit("far too dear", 0.3))
    world.passes(20, rate=100)
    assert world.keeper.plan.suspended == ("far too dear",)
    assert admitted(world.keeper, Unit("new", 0.001)) == ("new", "reduce")


def suspensions(caplog):
    return [each.message for each in caplog.records if "suspended" in each.message]


def test_what_does_not_fit_is_said_once_and_who_is_suspended_whenever_that_changes(caplog):
    dear = Unit("dear", 0.3)
    world = World(Unit("heavy", 0.009, weight=8.0), dear)
    world.passes(60, rate=100)
    assert len(suspensions(caplog)) == 1
    assert "dear is suspended: even if every query kept 5%" in suspensions(caplog)[0]
    dear.each = 0.001
    world.passes(20, rate=100)
    assert suspensions(caplog)[1:] == ["query dear is suspended no more"]
    (said,) = [each.message for each in caplog.records if "do not fit" in each.message]
    assert said.endswith("do not fit as they are: they ask for 3090% of a lane's time, and tuples are shed")


def test_windows_that_were_due_while_their_query_was_suspended_are_left_out_also_after_that():
    dear = Unit("dear", 0.3)
    world = World(Unit("heavy", 0.009, weight=8.0), dear)
    world.passes(20, rate=100)
    dear.each = 0.001
    while world.keeper.plan.suspended:
        world.passes(0.1, rate=100)
    since = world.keeper.plan.since
    ended = [since - 12, since - 8]
    kept = [world.keeper.keep(dear, Closed(0, round(at * MICROS), at), {"s": 100}) for at in ended]
    assert kept == [0.0, 1.0]
    assert world.keeper.seen.left_out["dear"] == round(ended[0] * MICROS)


def test_what_runs_vary_by_is_not_planned_for_and_what_they_always_take_longer_by_is():
    world = World(*three()[:1])
    world.passes(20, rate=100)
    (unit,) = world.units
    plain = world.keeper.estimate(unit).cost
    for beyond, more in (((0.2, -0.2, 0.1, -0.1), 1.0), ((0.3, 0.1, 0.2, 0.2), 1.2), ((-0.3, -0.1), 1.0)):
        world.keeper.seen.beyond["a"] = deque(beyond)
        assert world.keeper.estimate(unit).cost == near(plain * more)


@pytest.mark.parametrize(("heavy", "count", "runs"), [(0.17, 10, 0), (0.11, 100, 16)])
def test_a_cheap_query_is_not_suspended_for_good_where_every_run_takes_ten_times_as_long(heavy, count, runs):
    """Runs have been taken for what a tuple costs: by the trial, and none of ten tuples is read where five per cent
    are; or by runs at its least, over five tuples of a hundred where a thousand are expected.
    """
    cheap = Learning("cheap")
    for _ in range(runs):
        cheap.runs(0.05, count)
    world = World(Unit("heavy", heavy, weight=8.0), cheap)
    world.passes(20, rate=100)
    assert world.keeper.plan.suspended == ("cheap",)
    for _ in range(10):
        world.passes(10, rate=100)
        cheap.runs(world.keeper.keep(cheap, Closed(0, round(world.now * MICROS), world.now), {"s": count}), count)
    assert world.keeper.plan.suspended == ()


def test_a_suspended_query_that_has_not_run_is_read_at_once_and_then_left_out():
    dear = Learning("dear")
    world = World(Unit("heavy", 0.11, weight=8.0), dear)
    world.passes(20, rate=100)
    closed = [Closed(0, round((world.now + k) * MICROS), world.now + k) for k in range(2)]
    assert world.keeper.keep(dear, closed[0], {"s": 10}) == 0.1
    dear.measured = True
    assert world.keeper.keep(dear, closed[1], {"s": 10}) == 0.0


def test_a_query_that_is_as_dear_as_its_trial_said_stays_suspended():
    dear = Learning("dear")
    dear.takes = Cost(0.05, 0.45)
    world = World(Unit("heavy", 0.11, weight=8.0), dear)
    world.passes(20, rate=100)
    for _ in range(20):
        world.passes(10, rate=100)
        dear.runs(world.keeper.keep(dear, Closed(0, round(world.now * MICROS), world.now), {"s": 100}), 100)
    assert world.keeper.plan.suspended == ("dear",)
    assert dear.cost.cost.b == near(0.45, rel=0.01)

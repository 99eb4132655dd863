"""Why something happened in a recorded run: lanes and who else waited, drops, queries, deadlines, and when."""

import json
import math
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from typer.testing import CliRunner

from engine.live import Fed, caught_up, column
from headgate import Engine, Shed
from headgate.cli import app
from headgate.engine.explain.lost import of_query, of_tuple
from headgate.engine.explain.moment import Moments
from headgate.engine.explain.run import around, of_run
from headgate.engine.explain.told import told
from headgate.engine.explain.when import meant
from headgate.engine.reader import Utility, seed_of
from headgate.errors import InputError
from headgate.model.operator import Cost
from headgate.monitor.figures import Response
from headgate.monitor.statistics import known
from headgate.policy.bsd import BSD
from headgate.record import (
    Arrived,
    Began,
    Classed,
    Dropped,
    Iterated,
    Managed,
    Planned,
    Ran,
    Reason,
    Recorder,
    Reduced,
    Refused,
    read,
)
from headgate.shed.droppers import Random
from headgate.sim.whatif import measured

START = 1_000_000.0
SHED = {"mode": "dilos", "manager": "backlog"}
CLASSES = (Classed("alerts", 3.0, 0.5), Classed("boards", 1.0, 2.0))
ORDER = Reason("d = 1 − C·h/(L·(W + h − W*))", {"C": 0.5, "L": 1.0, "d": 0.5})


def planned(unit, cls, a, b, S=1.0, **more):
    return Planned(START, unit, more.pop("queries", (unit,)), cls, {"ticks": 0}, a, b, S, **more)


def ran(unit, decided, started, finished, positions, **more):
    low, high = positions
    return Ran(
        START + decided,
        unit,
        {"ticks": positions},
        high - low,
        START + started,
        START + finished,
        more.pop("lane", 0),
        0,
        Response(),
        more.pop("formula", "S·W/(C·T²)"),
        more.pop("terms", {}),
        **more,
    )


@pytest.fixture
def write(tmp_path):
    """Writes a record and reads it."""

    def written(*entries, policy="bsd", train=None, **began):
        recorder = Recorder(tmp_path)
        options = {"train": train or {"most": 100, "slice": 10.0}}
        recorder.append(Began(START, policy, options, 1, 0, CLASSES, named=True, **began))
        for entry in entries:
            recorder.append(entry)
        recorder.close()
        return read(tmp_path)

    return written


TRAINS = [Arrived("ticks", 10 * i, 10, START + i, START + i) for i in range(5)]
RUN = (
    planned("cheap", "alerts", 0.01, 0.001),
    planned("dear", "boards", 0.01, 0.1, S=0.5),
    *TRAINS,
    ran("cheap", 0.5, 0.5, 0.9, (0, 10), over="dear", terms={"priority": 7.0, "W": 0.5}),
    ran("dear", 0.9, 1.0, 2.5, (0, 10), terms={"priority": 3.0}),
    ran("cheap", 2.5, 2.5, 2.6, (10, 30), over="dear", terms={"priority": 9.0}),
)


def test_a_lane_is_told_with_the_terms_of_its_decision_and_who_else_waited_then(write):
    found = Moments(write(*RUN)).at(START + 0.7)
    (lane,) = found.lanes
    assert (lane.unit, lane.cls, lane.running, lane.over) == ("cheap", "alerts", True, "dear")
    assert (lane.decided, lane.n, lane.terms) == (START + 0.5, 10, {"priority": 7.0, "W": 0.5})
    (other,) = lane.others
    assert (other.unit, other.pending, other.wait) == ("dear", 10, 0.5)
    # As the statement of the policy has it, for the train of all ten.
    unit = known("dear", 0, "boards", Cost(0.01, 0.1), 0.5)
    assert other.priority == pytest.approx(BSD.static(unit, 10) * 10 * 0.5)
    assert (found.at, found.policy, found.classes) == (pytest.approx(0.7), "bsd", ())


def test_what_runs_does_not_wait_and_what_came_meanwhile_does(write):
    found = Moments(write(*RUN)).at(START + 2.2)
    assert (found.lanes[0].unit, found.lanes[0].running) == ("dear", True)
    assert [(each.unit, each.pending, each.wait) for each in found.waiting] == [("cheap", 20, pytest.approx(1.2))]
    # As the run was decided, the tuples of second 1 had not come.
    assert found.lanes[0].others == ()


def test_a_lane_that_is_idle_ran_something_last(write):
    found = Moments(write(*RUN)).at(START + 3.5)
    assert (found.lanes[0].unit, found.lanes[0].running) == ("cheap", False)
    assert [each.unit for each in found.waiting] == ["cheap", "dear"]
    assert [each.pending for each in found.waiting] == [10, 30]
    assert found.waiting[0].priority > found.waiting[1].priority


def test_a_class_scheduler_ranks_inside_a_class_by_its_own_policy(write):
    found = Moments(write(*RUN, policy="cqc")).at(START + 2.2)
    unit = known("cheap", 0, "alerts", Cost(0.01, 0.001), 1.0)
    assert found.waiting[0].priority == pytest.approx((START + 2.2 - (START + 1)) / unit.segments[0].T)


def test_where_a_policy_has_no_formula_for_all_there_is_no_priority(write):
    waiting = Moments(write(*RUN, policy="mbd")).at(START + 2.2).waiting
    assert [(each.unit, each.pending, each.priority) for each in waiting] == [("cheap", 20, None)]


def test_a_unit_with_little_to_do_waits_for_more_while_others_have_work(write):
    run = (planned("small", "boards", 0.2, 0.001), planned("large", "alerts", 0.001, 0.1), *TRAINS)
    found = Moments(write(*run, ran("large", 4.9, 4.9, 5.0, (0, 1)))).at(START + 0.15)
    assert {each.unit: each.ripe for each in found.waiting} == {"large": True, "small": False}


def managed(time, drop, share=0.75):
    drops, shares = {"alerts": 0.0, "boards": drop}, {"alerts": share, "boards": 1 - share}
    return Managed(START + time, drops, shares, {"alerts": 0.4, "boards": 2.0}, {"boards": ORDER}, Reason("lent", {}))


def test_what_holds_for_a_class_is_that_of_the_last_control_period_and_since_when(write):
    periods = [managed(1, 0.0), managed(2, 0.5), managed(3, 0.5, share=0.5), managed(4, 0.2)]
    moments = Moments(write(*RUN, *periods, shed=SHED))
    found = moments.at(START + 3.9)
    boards = found.classes[1]
    assert (boards.cls, boards.share, boards.drop, boards.usage) == ("boards", 0.5, 0.5, 2.0)
    assert (boards.since, boards.order) == (START + 2, ORDER)
    assert found.shares == Reason("lent", {})
    assert moments.force("boards", START + 4.1).since == START + 4
    before = moments.force("boards", START + 0.5)
    assert (before.drop, before.order) == (0.0, None)
    assert math.isnan(before.share)


def test_a_tuple_was_dropped_by_the_rate_of_its_run_and_by_its_hash(write):
    dropped = {"ticks": (Dropped(10, 20, 50),)}
    run = (*RUN, managed(2, 0.5), ran("dear", 3.0, 3.0, 3.5, (10, 30), shed=5, dropped=dropped))
    moments = Moments(write(*run, shed=SHED))
    kept = Random(seed_of("ticks")).keep(np.arange(10, 20), 0.5)
    assert 0 < kept.sum() < 10
    for number in range(10, 20):
        found = of_tuple(moments, "ticks", number)
        cheap, dear = found.readers
        assert (cheap.unit, cheap.percent, cheap.dropped) == ("cheap", 0, False)
        assert (dear.unit, dear.percent, dear.dropped) == ("dear", 50, not kept[number - 10])
        assert (dear.force.since, dear.force.order) == (START + 2, ORDER)
        assert found.arrived == START + 1
    # Behind the part that was thinned, and behind what was read.
    assert of_tuple(moments, "ticks", 25).readers[1].dropped is False
    assert [read.decided for read in of_tuple(moments, "ticks", 45).readers] == [None, None]


def test_what_a_tuple_holds_may_have_decided(write):
    how = Utility("sym", ("A",), 60, 0).text
    dropped = {"ticks": (Dropped(10, 30, 50, how),)}
    moments = Moments(write(*RUN, ran("dear", 3.0, 3.0, 3.5, (10, 30), shed=5, dropped=dropped)))
    read = of_tuple(moments, "ticks", 12).readers[1]
    assert (read.percent, read.dropped) == (50, None)
    lines = "\n".join(str(part) for part in told({"tuple": of_tuple(moments, "ticks", 12)}))
    assert "60 % of them, but 0 % of those whose sym is one of A" in lines


def test_a_query_has_its_unit_and_why_it_runs_by_itself(write):
    run = (planned("load-1", "alerts", 0.01, 0.001, queries=("a", "b")), *RUN[1:2], *TRAINS, *RUN[-2:-1])
    alone = planned("joined", "boards", 0.1, 0.1, alone="it joins two streams")
    moments = Moments(write(*run, alone))
    fused = of_query(moments, "a", START + 1)
    assert (fused.unit, fused.others, fused.alone, fused.cls) == ("load-1", 1, None, "alerts")
    single = of_query(moments, "joined", START + 1)
    assert (single.unit, single.others, single.alone) == ("joined", 0, "it joins two streams")


def test_a_query_with_a_deadline_says_why_it_was_late_and_one_that_was_refused_why(write):
    def iterated(end, *, missed, why=None):
        times = START + end, START + end, START + end + 0.1, START + end + 0.9, START + end + 0.5
        return Iterated("dear", *times, 100, 0.5, 0.3, 0.8, 2, 1, 1, missed=missed, why=why)

    late = iterated(2.0, missed=True, why="0.40 s late: its own work took 0.80 s")
    refused = Refused(START + 2, "greedy", "it needs 120 % of a lane. Ask for less.")
    reduced = Reduced(START, "dear", "With 'dear' 'other' would be late.")
    moments = Moments(write(*RUN, iterated(1.0, missed=False), late, refused, reduced))
    found = of_query(moments, "dear", START + 4)
    assert found.reduced == reduced
    assert (found.iterations, found.missed, found.iterated) == (2, 1, late)
    assert of_query(moments, "dear", START + 2.5).missed == 0
    asked = of_query(moments, "greedy", START + 4)
    assert (asked.refused, asked.unit) == (refused, None)


def test_a_query_says_what_it_dropped_and_for_how_long_its_results_waited_until_that_moment(write):
    def run(decided, positions, shed, response):
        served = ran("dear", decided, decided, decided + 0.5, positions, shed=shed)
        return replace(served, results=10, response=Response(10 * response, 2 * response, 0.0))

    moments = Moments(write(*RUN, run(3.0, (10, 30), 15, 1.5), run(6.0, (30, 40), 0, 3.5), shed=SHED))
    work = of_query(moments, "dear", START + 4).work
    assert (work.runs, work.tuples, work.shed, work.results) == (2, 30, 15, 10)
    assert (work.response, work.longest, work.own) == pytest.approx((1.5, 3.0, 0.5))
    lines = [str(part) for part in told({"query": of_query(moments, "dear", START + 4)})]
    assert "in the 4 s before, it had 2 runs over 30 tuples, 15 of them (50 %) dropped" in lines
    assert "10 results took 1.5 s on average, 3 s at most: 1 s of waiting, 500 ms of their run" in lines
    assert of_query(moments, "dear", START + 9).work.response == pytest.approx(2.5)


def test_what_is_not_read_of_windows_with_a_deadline_is_told_and_is_a_loss_of_their_class(write):
    def window(end, kept):
        at = START + end
        return Iterated("due", at, at, at, at + 0.3, at + 1, 100, kept, 0.3, 0.3, 1, 0, 0, missed=False)

    due = planned("due", "alerts", 0.01, 0.001, windows=True)
    piece = Ran(START + 1, "due", {}, 90, START + 1, START + 1.3, 0, 1, Response(), "earliest deadline", {})
    recorded = write(due, *TRAINS, piece, window(1.0, 0.9), window(2.0, 0.0))
    lines = [str(part) for part in told({"query": of_query(Moments(recorded), "due", START + 4)})]
    assert "in the 4 s before, it had 1 run over 90 tuples" in lines
    assert "0 of 2 windows were late; 45 % of their tuples were read" in lines
    fate = measured(recorded).classes["alerts"]
    assert (fate.processed, fate.shed, fate.loss) == (90, 110, 0.55)


def test_a_tuple_in_a_window_with_a_deadline_is_told_by_what_became_of_the_window(write):
    def window(end, kept):
        at = START + end
        return Iterated("due", at, at, at, at + 0.3, at + 1, 100, kept, 0.3, 0.3, 1, 0, 0, missed=False)

    due = planned("due", "alerts", 0.01, 0.001, windows=True)
    windows = window(1.5, 1.0), window(2.5, 0.6), window(3.5, 0.0)
    piece = Ran(START + 1.5, "due", {}, 10, START + 1.5, START + 1.8, 0, 1, Response(), "earliest deadline", {})
    moments = Moments(write(due, *TRAINS, piece, *windows))

    def lines(number):
        return [str(part) for part in told({"tuple": of_tuple(moments, "ticks", number)})][1:]

    said = "due of class alerts: its windows have a deadline, and the first that closed after it"
    assert lines(10) == [f"{said} was done 800 ms after it arrived, over 100 % of its tuples"]
    assert lines(25) == [f"{said} was done 800 ms after it arrived, over 60 % of its tuples"]
    assert lines(35) == [f"{said} was left out"]
    assert lines(45) == ["due of class alerts: has not read it yet"]


def test_of_a_query_with_a_deadline_waits_what_came_since_its_last_window_that_is_done(write):
    def window(end):
        at, begin = START + end, START + end + 0.2
        # Which tuples a run read the record does not say: windows may overlap.
        piece = Ran(at, "due", {}, 10, begin, begin + 0.3, 0, 1, Response(), "earliest deadline", {})
        return piece, Iterated("due", at, at, begin, begin + 0.3, at + 1, 10, 1.0, 0.3, 0.3, 1, 0, 0, missed=False)

    due = planned("due", "alerts", 0.01, 0.001, windows=True)
    other = planned("other", "boards", 0.01, 0.001)
    served = ran("other", 4.6, 4.6, 4.7, (0, 50))
    moments = Moments(write(due, other, *TRAINS, *window(1.5), *window(3.5), served))

    def waiting(seconds):
        return {each.unit: (each.pending, each.wait) for each in moments.waiting(START + seconds)}

    assert waiting(1.2)["due"] == (20, pytest.approx(1.2))
    assert "due" not in waiting(1.6)
    assert "due" not in waiting(2.0 - 1e-6)
    assert waiting(3.2)["due"] == (20, pytest.approx(1.2))
    assert waiting(4.5) == {"due": (10, pytest.approx(0.5)), "other": (50, pytest.approx(4.5))}
    (lane,) = moments.at(START + 4.8).lanes
    assert [(each.unit, each.pending) for each in lane.others] == [("due", 10)]


def test_what_is_not_in_the_run_is_refused(write):
    moments = Moments(write(*RUN))
    with pytest.raises(
        InputError, match=r"a query of the run; got 'chaep'\. Did you mean 'cheap'\? Choose one of cheap, dear"
    ):
        of_query(moments, "chaep", START)
    with pytest.raises(InputError, match=r"a stream that a unit of the run reads; got 'tocks'\. Choose ticks"):
        of_tuple(moments, "tocks", 1)
    with pytest.raises(InputError, match=r"a tuple of 'ticks' that the record has; got 77\. It has 0 to 49"):
        of_tuple(moments, "ticks", 77)
    with pytest.raises(InputError, match="a tuple is named by its stream and number; got 'ticks'"):
        of_run(moments.recorded, tuple_="ticks")


def test_lines_of_older_records_are_read_and_explained(tmp_path):
    old = [
        {"began": {"time": START, "policy": "fcfs", "options": {}, "lanes": 1}},
        {
            "planned": {
                "time": START,
                "unit": "q",
                "queries": ["q"],
                "cls": "c",
                "reads": {"s": 0},
                "a": 1,
                "b": 1,
                "S": 1,
            }
        },
        {"arrived": {"stream": "s", "first": 0, "count": 2, "at": START, "until": START + 1}},
        {
            "ran": {
                "time": START + 1,
                "unit": "q",
                "positions": {"s": [0, 2]},
                "n": 2,
                "started": START + 1,
                "finished": START + 4,
                "lane": 0,
                "results": 2,
                "response": [7, 4, 25],
                "formula": "W",
                "terms": {"W": 1.0},
            }
        },
        {"managed": {"time": START + 2, "drops": {"c": 0.1}, "shares": {"c": 1.0}, "usage": {"c": 0.5}}},
    ]
    (tmp_path / "record.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))
    recorded = read(tmp_path)
    assert (recorded.began.resident, recorded.began.classes, recorded.began.shed) == (0, (), None)
    (run,) = recorded.ran
    assert (run.shed, run.dropped, run.spread) == (0, {}, {})
    found = Moments(recorded).at(START + 3)
    assert (found.lanes[0].unit, found.classes[0].drop, found.classes[0].order) == ("q", 0.1, None)


# The moment that is meant


def test_a_moment_is_a_clock_time_or_seconds_from_either_end(write):
    recorded = write(*RUN)
    end = recorded.ended
    assert end == START + 4
    assert meant("2.5s", recorded) == meant("2.5", recorded) == START + 2.5
    assert meant("-1500ms", recorded) == end - 1.5
    clock = datetime.fromtimestamp(START + 3).astimezone()
    assert meant(clock.isoformat(), recorded) == meant(clock.strftime("%H:%M:%S"), recorded) == START + 3


@pytest.mark.parametrize("text", ["5min", "-9s", "noon", "12:99", "", "2001-01-01T10:00"])
def test_a_moment_outside_the_run_or_of_no_sense_is_refused(write, tmp_path, text):
    write(*RUN)
    with pytest.raises(InputError, match="moment of"):
        around(tmp_path, text)


def test_a_moment_is_looked_up_in_the_part_of_the_record_that_has_it(tmp_path):
    recorder = Recorder(tmp_path, segment=600)
    recorder.append(Began(START - 50, "fcfs", {}, 1))
    for entry in (planned("old", "alerts", 0.01, 0.1), ran("old", -49, -49, -48, (0, 5))):
        recorder.append(entry)
    recorder.append(Began(START, "bsd", {"train": {"most": 100, "slice": 10.0}}, 1))
    recorder.append(planned("cheap", "alerts", 0.01, 0.1))
    for i in range(40):
        recorder.append(Arrived("ticks", i, 1, START + i, START + i))
        recorder.append(ran("cheap", i, i, i + 0.5, (i, i + 1)))
    recorder.close()
    latest = read(tmp_path)
    assert START < latest.since < latest.ended == START + 39.5
    assert latest.measured.overall.waiting == 0
    for at, policy, n in (("-1s", "bsd", 38), ("5.2s", "bsd", 5), ("38.2", "bsd", 38)):
        recorded, time = around(tmp_path, at)
        (lane,) = of_run(recorded, time)["moment"].lanes
        assert (recorded.began.policy, lane.decided) == (policy, START + n)
    before = datetime.fromtimestamp(START - 48.5).astimezone()
    recorded, time = around(tmp_path, before.isoformat())
    assert (recorded.began.policy, of_run(recorded, time)["moment"].lanes[0].unit) == ("fcfs", "old")


# The command


def headgate(*arguments):
    return CliRunner().invoke(app, ["explain", *(str(each) for each in arguments)])


def test_the_command_tells_a_moment_a_tuple_and_a_query(write, tmp_path):
    dropped = {"ticks": (Dropped(10, 30, 50),)}
    write(*RUN, managed(2, 0.5), ran("dear", 3.0, 3.0, 3.5, (10, 30), shed=9, dropped=dropped), shed=SHED)
    shown = headgate(tmp_path, "--at", "0.7s", "--tuple", "ticks:12", "--query", "dear").stdout
    assert "lane 1 (jobs) runs cheap of class alerts" in shown
    assert "because S·W/(C·T²): priority = 7, W = 0.5, ahead of dear" in shown
    assert "who else waited as that was decided" in shown
    assert "50 % of the tuples there were dropped" in shown
    assert "runs in unit dear, by itself" in shown
    later = headgate(tmp_path, "--at", "3.2s").stdout
    assert "boards: d = 1 − C·h/(L·(W + h − W*)): C = 0.5, L = 1, d = 0.5" in later
    document = json.loads(headgate(tmp_path, "--at", "3.2s", "--query", "dear", "--json").stdout)
    assert set(document) == {"record", "moment", "query"}
    assert document["moment"]["lanes"][0]["unit"] == "dear"
    assert document["moment"]["classes"][1]["order"] == [ORDER.formula, dict(ORDER.terms)]


def test_a_mistake_is_one_line(write, tmp_path):
    write(*RUN)
    result = headgate(tmp_path, "--at", "1h")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "a moment of a run of 4.0 s; got '1h'" in result.stderr


# A live run


def test_what_is_told_of_a_live_run_is_what_happened_in_it(spark, tmp_path):
    source = Fed()
    with Engine(spark, tmp_path, lanes={"jobs": 1, "resident": 0}) as engine:
        engine.stream("s", source, event_time="t")
        engine.query_class("alerts", priority=3, delay_target="1s")
        engine.query_class("boards", priority=1)
        engine.query("some", "SELECT v FROM s", cls="alerts")
        engine.query("all", "SELECT v FROM s", cls="boards")
        engine.query("alone", "SELECT split(CAST(v AS STRING), '1') AS parts FROM s", cls="boards")
        # A capacity that is next to nothing: all but one in a hundred is dropped, once the load is known.
        engine.start("cqc", shed=Shed("separate", "aurora", {"headroom": 1e-6}, period=0.05))
        for n in range(30, 330, 30):
            source.feed(30)
            caught_up(engine, "some", "all", "alone", position=n)
        kept, everything = set(column(engine, "some")), column(engine, "all")
    recorded = read(tmp_path)
    assert [(each.name, each.target) for each in recorded.began.classes] == [("alerts", 1.0), ("boards", None)]
    assert recorded.began.shed["manager"] == "aurora"
    assert recorded.managed[-1].orders["alerts"].terms["L"] > 0
    moments = Moments(recorded)
    fates = [of_tuple(moments, "s", number).readers for number in range(300)]
    units = {query: of_query(moments, query, recorded.ended).unit for query in ("some", "all", "alone")}
    some = [next(read for read in each if read.unit == units["some"]) for each in fates]
    assert [not read.dropped for read in some] == [value in kept for value in everything]
    assert not any(read.dropped for each in fates for read in each if read.unit != units["some"])
    assert of_query(moments, "alone", recorded.ended).alone.endswith("it calls split()")
    assert of_query(moments, "some", recorded.ended).alone is None
    assert moments.at(recorded.ended).lanes[0].terms
    # The priority of what was chosen is the one that is computed for it again.
    seen = [
        (ran, moments.waiting(ran.time, "jobs", ran)) for ran in recorded.ran if "priority" in ran.terms and ran.n
    ]
    again = [(ran, each) for ran, waiting in seen for each in waiting if each.unit == ran.unit]
    assert again
    for ran, each in again:
        assert each.priority == pytest.approx(ran.terms["priority"], rel=0.05)
    fates = measured(recorded).classes
    assert fates["alerts"].shed == 300 - len(kept)
    assert fates["boards"].shed == 0

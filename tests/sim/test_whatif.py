"""What-if over recorded runs: exact where costs are, other choices, files of queries, and what is refused."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from headgate.cli import app
from headgate.control.regime import Given, regime
from headgate.control.shedding import Shed
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.monitor.figures import Response
from headgate.monitor.responses import magnitudes
from headgate.policy.registry import create
from headgate.record import NAME, Arrived, Began, Classed, Iterated, Planned, Ran, Recorder, read
from headgate.sim.pace import Pace, paces
from headgate.sim.server import Server, Service
from headgate.sim.whatif import Added, Choices, predict, predicted, replayed
from headgate.sim.whatif_file import load
from headgate.sim.workload import UnitSpec, Workload

START = 1000.0
CLASSES = (Classed("alerts", 3.0, 0.5), Classed("boards", 1.0, 2.0))
UNITS = (
    UnitSpec("fast", ("ticks",), 0.002, 0.001, cls="alerts", kind="resident"),
    UnitSpec("slow", ("ticks",), 0.01, 0.004, cls="boards", kind="resident"),
    UnitSpec("job", ("ticks",), 0.05, 0.001, cls="boards", kind="jobs"),
)
SHED = {"mode": "dilos", "manager": "backlog"}
TRAIN = {"most": 500, "slice": 0.1}


def recorded(folder, *, rate=60.0, seconds=8.0, policy="cqc", shed=None, resident=1, units=UNITS, seed=1, slower=1.0):
    """The record of a run that the simulator made: it followed its costs exactly, or took longer throughout."""
    rng = np.random.default_rng(seed)
    # Such that they are the same since the epoch as since the start.
    times = np.sort(np.round(rng.uniform(0, seconds, round(rate * seconds)) * 1024) / 1024)
    began = Began(
        START, policy, {"train": TRAIN}, 1 + resident, resident, CLASSES, named=True, shed=shed, empty=0.002
    )
    recorder = Recorder(folder)
    recorder.append(began)
    for unit in units:
        plan = Planned(START, unit.name, (unit.name,), unit.cls, {"ticks": 0}, unit.a, unit.b, 1.0, unit.kind)
        recorder.append(plan)
    for i, time in enumerate(times.tolist()):
        recorder.append(Arrived("ticks", i, 1, START + time, START + time))
    classes = tuple(QueryClass(*each) for each in CLASSES)
    dear = tuple(replace(unit, a=slower * unit.a, b=slower * unit.b) for unit in units)
    workload = Workload(dear, {"ticks": times}, classes=classes)
    for run in runs_of(workload, policy, shed, resident):
        recorder.append(
            replace(run, time=START + run.time, started=START + run.started, finished=START + run.finished)
        )
    recorder.close()
    return read(folder)


def runs_of(workload, policy, shed=None, resident=1):
    """The runs of a workload, as a live engine would record them."""
    found = []

    class Watched(Server):
        def _end(self, ended):
            i, n = ended.run
            low = self._queues[i].place
            times = ended.finish - ended.at
            spread = {int(m): 1 for m in magnitudes(times)}
            found.append(
                Ran(
                    ended.started,
                    self.specs[i].name,
                    {"ticks": (low, low + n)},
                    n,
                    ended.started,
                    ended.finish,
                    int(ended.lane.kind == "resident"),
                    len(ended.at),
                    Response.of(times),
                    "",
                    {},
                    shed=n - len(ended.at),
                    spread=spread,
                )
            )
            super()._end(ended)

    given = Given(workload.classes, named=True, graphs=False, lanes=1 + resident, most_alike=1, empty_run=0.002)
    made = regime(policy, given, TRAIN)
    Watched(workload, Service(made.make, 1, resident, Shed(**shed) if shed else None, made.bounds.most)).run()
    return found


@pytest.mark.parametrize("policy", ["cqc", "fcfs", "bsd"])
@pytest.mark.parametrize(("rate", "shed"), [(60.0, None), (400.0, SHED)])
def test_a_run_that_follows_its_costs_is_predicted_without_error(tmp_path, policy, rate, shed):
    found = predict(recorded(tmp_path, rate=rate, policy=policy, shed=shed))
    assert found.chosen is None
    assert set(found.measured.classes) == {"alerts", "boards"}
    for name, fate in found.measured.classes.items():
        own = found.recorded.classes[name]
        assert own.mean == pytest.approx(fate.mean, rel=1e-6)
        assert (own.offered, own.processed, own.shed) == (fate.offered, fate.processed, fate.shed)
    assert found.measured.shed == found.recorded.shed == ("dilos:backlog" if shed else "none")
    assert (found.recorded.classes["boards"].loss > 0.1) == (shed is not None)


def with_windows(folder, *, whole):
    """The record of a run in which a window of ten tuples ended each second, with four results, and one had none."""
    recorder = Recorder(folder)
    recorder.append(Began(START, "fcfs", {"train": TRAIN}, 1, classes=CLASSES, named=True, empty=0.002))
    plan = Planned(START, "sum", ("sum",), "boards", {"ticks": 0}, 0.05, 0.001, 0.4, windows=True, whole=whole)
    recorder.append(plan)
    for i in range(100):
        recorder.append(Arrived("ticks", i, 1, START + i / 10, START + i / 10))
    for k in range(10 if whole else 100):
        lo, n = (10 * k, 10) if whole else (k, 1)
        started = START + (lo + n - 1) / 10
        finished = started + 0.05 + 0.001 * n
        closes = (lo + n) % 10 == 0 and lo + n != 50
        spread = {int(magnitudes(np.array([finished - started]))[0]): 4} if closes else {}
        times = np.full(4 if closes else 0, finished - started)
        answered = len(times), Response.of(times)
        recorder.append(
            Ran(started, "sum", {"ticks": (lo, lo + n)}, n, started, finished, 0, *answered, "", {}, spread=spread)
        )
    recorder.close()
    return read(folder)


@pytest.mark.parametrize("whole", [False, True])
def test_windows_are_predicted_as_they_were_and_later_where_the_lane_is_busy(tmp_path, whole):
    run = with_windows(tmp_path, whole=whole)
    found = predict(run, Choices(added=(Added("dear", "sum", "alerts", a=1.5),)))
    was, own, other = (case.classes["boards"] for case in (found.measured, found.recorded, found.chosen))
    assert (own.results, other.results) == (was.results, was.results) == (36.0, 36.0)
    assert own.mean == pytest.approx(was.mean, rel=1e-3)
    assert other.mean > 2 * was.mean
    assert "windows of sum close when they did, each with as many results" in found.assumed


def with_deadline(folder):
    """The record of a run in which a query with a deadline ran once a second, and another over each tuple."""
    recorder = Recorder(folder)
    recorder.append(Began(START, "fcfs", {"train": TRAIN}, 1, classes=CLASSES, named=True, empty=0.002))
    due = Planned(START, "due", ("due",), "boards", {"ticks": 0}, 0.02, 0.001, 0.4, windows=True)
    for plan in (due, Planned(START, "other", ("other",), "alerts", {"ticks": 0}, 0.02, 0.001, 1.0)):
        recorder.append(plan)
    for i in range(100):
        at = START + i / 10
        recorder.append(Arrived("ticks", i, 1, at, at))
        recorder.append(ended("other", at, {"ticks": (i, i + 1)}, 1, 0.021, np.array([0.021]), "W"))
        if i % 10 == 9:
            # Which tuples it read the record does not say: windows may overlap.
            release = at + 0.05
            recorder.append(ended("due", release, {}, 10, 0.03, np.full(4, 0.03), "earliest deadline"))
            times = release, release, release + 0.03, release + 0.5
            recorder.append(Iterated("due", release, *times, 10, 1.0, 0.03, 0.03, 1, 0, 0, missed=False))
    recorder.close()
    return read(folder)


def ended(unit, at, positions, n, took, times, formula):
    """A run that began at once, and whose results came in such times."""
    spread = {int(magnitude): len(times) for magnitude in magnitudes(times)}
    answered = len(times), Response.of(times)
    return Ran(at, unit, positions, n, at, at + took, 0, *answered, formula, {}, spread=spread)


def test_a_query_with_a_deadline_runs_once_for_each_window_and_before_others(tmp_path):
    run = with_deadline(tmp_path)
    assert run.measured.units["due"].waiting == 0
    found, service = replayed(run, Choices())
    due, other = found.summary.units["due"], found.summary.units["other"]
    assert (due.runs, due.avg_train, due.results) == (10, 10, 40)
    assert due.avg_response == pytest.approx(0.03, rel=0.02)
    assert other.avg_response == pytest.approx(0.021, rel=0.02)
    assert service.order == "edf"
    # Behind others it would wait for them.
    busy = replayed(run, Choices(added=(Added("dear", "other", a=0.09),)))[0].summary
    assert busy.units["other"].avg_response > 2 * 0.021
    assert busy.units["due"].avg_response < 0.2


WORTH = ((0.0, 1.0), (2.0, 0.0))


def with_graphs(folder, *, valued=True):
    """The record of a run of a query whose ten results came after a second, and of three with two after 200 ms."""
    folder.mkdir(exist_ok=True)
    recorder = Recorder(folder)
    recorder.append(Began(START, "fcfs", {"train": TRAIN}, 2, classes=CLASSES, named=True, empty=0.002))
    three = tuple((x, 3 * worth) for x, worth in WORTH)
    for unit, queries, graph, stream, b in (
        ("one", ("one",), WORTH, "ticks", 1.0),
        ("three", ("x", "y", "z"), three, "news", 0.2),
    ):
        plan = Planned(START, unit, queries, "alerts", {stream: 0}, 0.0, b, 1.0, graphs=(graph,))
        recorder.append(replace(plan, valued=len(queries)) if valued else plan)
    for i in range(10):
        at = START + 10 * i
        recorder.append(Arrived("ticks", i, 1, at, at))
        recorder.append(ended("one", at, {"ticks": (i, i + 1)}, 1, 1.0, np.array([1.0]), "W"))
        if i in {3, 6}:
            recorder.append(Arrived("news", i, 1, at + 5, at + 5))
            recorder.append(ended("three", at + 5, {"news": (i, i + 1)}, 1, 0.2, np.array([0.2]), "W"))
    recorder.close()
    return read(folder)


def test_average_qos_is_per_query_measured_and_predicted(tmp_path):
    found = predict(with_graphs(tmp_path), Choices(added=(Added("more", "x", b=3.0),)))
    was, own, other = (case.classes["alerts"].qos for case in (found.measured, found.recorded, found.chosen))
    # Per result it would be (10 · 0.5 + 2 · 0.9) / 12, and per unit 0.7.
    assert was == pytest.approx((0.5 + 3 * 0.9) / 4)
    assert own == pytest.approx(was, rel=1e-3)
    # One query more, like one of the three, whose results come too late to be worth anything.
    assert other == pytest.approx((0.5 + 3 * 0.9 + 0.0) / 5, rel=1e-3)


def test_average_qos_is_shown_where_it_is_known_only(tmp_path):
    with_graphs(tmp_path / "known")
    with_graphs(tmp_path / "older", valued=False)
    known = json.loads(headgate(tmp_path / "known", "--json").stdout)
    assert known["predicted"]["classes"]["alerts"]["qos"] == pytest.approx(0.8, rel=1e-3)
    assert json.loads(headgate(tmp_path / "older", "--json").stdout)["measured"]["classes"]["alerts"]["qos"] is None
    assert "0.800" in headgate(tmp_path / "known").stdout
    assert "QoS" not in headgate(tmp_path / "older").stdout
    compared = [CliRunner().invoke(app, ["sim", "--from-run", str(tmp_path / run)]) for run in ("known", "older")]
    assert ["QoS" in each.stdout for each in compared] == [True, False]


def test_lanes_of_each_kind_are_as_fast_as_they_were(tmp_path):
    found = paces(recorded(tmp_path, slower=3.0))
    for cost, unit in zip(found.costs, UNITS, strict=True):
        assert cost.of(10) == pytest.approx(3 * unit.cost.of(10), rel=0.05)


def test_a_machine_that_is_slower_than_believed_is_predicted_as_slow(tmp_path):
    found = predict(recorded(tmp_path, slower=1.5, policy="fcfs"))
    for name, fate in found.measured.classes.items():
        assert found.recorded.classes[name].mean == pytest.approx(fate.mean, rel=0.02)


@given(
    seed=st.integers(0, 1000),
    rate=st.sampled_from([0.5, 1.0, 2.0, 3.3]),
    policy=st.sampled_from([None, "fcfs", "bsd", "cqc", "abd", "mbd", "rr"]),
    shed=st.sampled_from([None, "none", "dilos", "separate:aloma", "common", "separate:ctrl"]),
    lanes=st.sampled_from([None, 1, 3]),
)
@settings(max_examples=25, deadline=None)
def test_every_tuple_is_processed_shed_or_waits(tmp_path_factory, seed, rate, policy, shed, lanes):
    run = recorded(tmp_path_factory.mktemp("run"), seconds=2.0, rate=150.0, seed=seed)
    case = predicted(run, Choices(policy, shed, rate, lanes))
    for name, fate in case.classes.items():
        units = sum(unit.cls == name for unit in UNITS)
        assert fate.offered == fate.processed + fate.shed + fate.waiting == units * round(300 * rate)
        assert 0 <= fate.loss <= 1
        assert fate.waiting == 0


@pytest.mark.parametrize("seed", range(4))
def test_more_lanes_lose_no_more_and_are_no_later(tmp_path, seed):
    run = recorded(tmp_path, rate=300.0, seconds=4.0, shed=SHED, seed=seed)
    few, many = predicted(run, Choices()), predicted(run, Choices(lanes=4))
    assert many.lanes == 8
    for name in few.classes:
        assert many.classes[name].loss <= few.classes[name].loss
        assert many.classes[name].mean <= few.classes[name].mean


def test_with_the_rate_the_tuples_come_as_they_came_but_denser(tmp_path):
    run = recorded(tmp_path, rate=50.0, seconds=4.0)
    once, twice = (predicted(run, Choices("fcfs", "none", rate)).classes["alerts"] for rate in (1.0, 2.0))
    assert (once.offered, twice.offered) == (200, 400)
    assert twice.mean > once.mean


def test_without_load_management_nothing_is_lost_and_results_are_later(tmp_path):
    run = recorded(tmp_path, rate=400.0, seconds=4.0, shed=SHED)
    found = predict(run, Choices(shed="none"))
    assert found.chosen.shed == "none"
    assert [fate.shed for fate in found.chosen.classes.values()] == [0, 0]
    assert found.chosen.classes["boards"].mean > 1.5 * found.recorded.classes["boards"].mean


def test_a_query_more_takes_time_from_the_others(tmp_path):
    run = recorded(tmp_path, rate=150.0, seconds=4.0, policy="fcfs")
    more = Choices(added=(Added("again", "slow"),))
    dear = Choices(added=(Added("again", "slow", cls="alerts", a=0.01, b=0.008, S=0.5),))
    own, added, dearer = (predicted(run, choices).classes for choices in (Choices(), more, dear))
    assert added["boards"].offered == 1.5 * own["boards"].offered
    assert dearer["alerts"].offered == 2 * own["alerts"].offered
    assert own["alerts"].mean < added["alerts"].mean < dearer["alerts"].mean
    assert "query again has a unit of its own: like unit slow" in predict(run, more).assumed
    assert any("b = 0.008, S = 0.5" in each for each in predict(run, dear).assumed)


def test_units_run_on_lanes_of_their_kind():
    at = {"ticks": np.array([0.0, 0.0])}
    units = (
        UnitSpec("job", ("ticks",), 1.0, 0.0, kind="jobs"),
        UnitSpec("kernel", ("ticks",), 0.1, 0.0, kind="resident"),
    )
    server = Server(Workload(units, at), Service(lambda: create("fcfs"), jobs=1, resident=1))
    server.run()
    assert [one.runs for one in server.served] == [2, 2]
    # The job does not wait for the kernel, nor the other way round.
    assert [one.response.longest for one in server.served] == [2.0, 0.2]
    alike = Server(Workload(units, at), Service(lambda: create("fcfs"), jobs=1))
    alike.run()
    assert alike.now == pytest.approx(2.2)


def test_what_is_dropped_costs_nothing_and_gives_nothing():
    at = {"ticks": np.arange(0, 20, 0.01)}
    unit = UnitSpec("q", ("ticks",), 0.0, 0.02, cls="c")
    classes = (QueryClass("c", 1.0, 1.0),)
    shed = Shed("separate", "aurora", {"headroom": 1.0}, period=1.0)
    service = Service(lambda: create("fcfs", {"train": {"most": 50}}), shed=shed, most=50)
    server = Server(Workload((unit,), at, classes=classes), service)
    server.run()
    (one,) = server.served
    # Twice as much comes as one lane can do, from when the load is known on: half of it goes.
    assert 0.4 < one.shed / one.tuples < 0.52
    assert one.results == one.tuples - one.shed == 2000 - one.shed
    assert one.busy == pytest.approx(0.02 * one.results)


def test_work_is_done_as_fast_as_the_machine_was():
    pace = Pace(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 4.0]))
    assert pace.finish(0.0, 1.0) == 2.0
    assert pace.finish(1.0, 1.0) == pytest.approx(2 + 1 / 3)
    assert pace.finish(3.0, 2.5) == 5.0
    assert pace.finish(5.0, 1.0) == 6.0
    assert pace.finish(-1.0, 1.5) == 1.0
    assert (pace.by(-2.0), pace.by(1.0), pace.by(6.0)) == (-2.0, 0.5, 6.0)


# Files of queries


def written(tmp_path, text):
    file = tmp_path / "more.yaml"
    file.write_text(text)
    return file


def test_a_query_of_a_file_says_what_it_is_like_or_reads_what_others_read(tmp_path):
    run = recorded(tmp_path, seconds=1.0)
    text = """
queries:
  one: {like: slow, class: alerts}
  two: {sql: SELECT * FROM ticks, class: alerts, cost: {a: 2ms, b: 0.5}, results: 0.1, sink: {console: true}}
"""
    assert load(written(tmp_path, text), run) == (
        Added("one", "slow", "alerts"),
        Added("two", "fast", "alerts", 0.002, 0.5, 0.1),
    )


def test_auto_is_the_policy_that_the_engine_would_choose_with_the_trains_of_the_run(tmp_path):
    run = recorded(tmp_path, rate=150.0, seconds=4.0)
    assert predicted(run, Choices("auto")) == predicted(run, Choices("cqc"))


def test_a_query_of_the_same_name_is_one_more_and_the_table_says_so(tmp_path):
    run = recorded(tmp_path, seconds=2.0)
    found = predicted(run, Choices(added=(Added("slow", "slow"), Added("slow", "slow"))))
    assert found.classes["boards"].offered == 2 * predicted(run, Choices()).classes["boards"].offered
    file = written(tmp_path, "queries: {slow: {like: slow}}")
    assert "cqc, 2 lanes, 1 query more" in headgate(tmp_path, "--add-query", file).stdout


def test_a_query_that_runs_with_others_is_a_part_of_their_unit(tmp_path):
    run = recorded(tmp_path, seconds=1.0)
    life = run.lives[1]
    both = replace(life, planned=tuple(replace(plan, queries=("x", "y")) for plan in life.planned))
    run = replace(run, lives=(run.lives[0], both, run.lives[2]))
    assumed = predict(run, Choices(added=(Added("z", "x"),))).assumed
    assert "query z has a unit of its own: with one of 2 equal parts of b and S of unit slow" in assumed


# The command


def headgate(*arguments):
    return CliRunner().invoke(app, ["whatif", *(str(each) for each in arguments)])


def test_the_command_shows_measured_predicted_and_chosen(tmp_path):
    recorded(tmp_path, seconds=2.0)
    result = headgate(tmp_path, "--policy", "fcfs", "--rate", "2x", "--lanes", "2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["record"] == str(tmp_path / NAME)
    assert found["targets"] == {"alerts": 0.5, "boards": 2.0}
    assert (found["measured"]["policy"], found["whatif"]["policy"]) == ("cqc", "fcfs")
    assert (found["predicted"]["lanes"], found["whatif"]["lanes"], found["whatif"]["rate"]) == (2, 4, 2.0)
    assert found["predicted"]["classes"]["alerts"]["mean"] == pytest.approx(
        found["measured"]["classes"]["alerts"]["mean"]
    )
    table = headgate(tmp_path, "--policy", "fcfs").stdout
    assert "under cqc, 2 lanes" in table
    assert "fcfs, 2 lanes" in table
    assert "assumed: a run takes a + b·n as measured" in table
    assert "+0 %, +0.0" in table or "-0 %, +0.0" in table


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "bds"], "a known policy; got 'bds'. Did you mean 'bsd'?"),
        (["--shed", "dylos"], "a known mode of load management; got 'dylos'"),
        (["--shed", "dilos:aroma"], "a known load manager; got 'aroma'. Did you mean 'aloma'"),
        (["--rate", "fast"], "how many times as many tuples come; got 'fast'"),
        (["--shed", "dilos:"], "a known load manager; got ''"),
        (["--rate", "0x"], "got 0.0"),
        (["--rate", "1000000x"], "a prediction has at most 20,000,000 tuples; got 60,000,000"),
        (["--lanes", "0"], "there is at least one lane; got 0"),
        (["--lanes", "1000"], "there are at most 256 lanes; got 1000"),
        (["--add-query", "{file}"], "query 'more' is like one of the run; got 'nothing'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path, arguments, said):
    recorded(tmp_path, seconds=1.0)
    file = written(tmp_path, "queries: {more: {like: nothing}}")
    result = headgate(tmp_path, *(str(file) if each == "{file}" else each for each in arguments))
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["queries: {more: {lyke: x}}", "queries: []", "more: {}"])
def test_a_mistake_in_a_file_has_its_place(tmp_path, text):
    run = recorded(tmp_path, seconds=1.0)
    with pytest.raises(InputError, match=r"more\.yaml:1:"):
        load(written(tmp_path, text), run)


@pytest.mark.parametrize("choices", [{"rate": 0.0}, {"rate": math.nan}, {"lanes": 0}])
def test_choices_that_make_no_sense_are_refused(choices):
    with pytest.raises(InputError):
        Choices(**choices)

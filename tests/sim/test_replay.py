"""The replay of trains: the departures of the event kernel, several lanes, when trains can be read, mistakes."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.network import Network, Query
from headgate.model.operator import Kind, Operator
from headgate.monitor.figures import Response
from headgate.policy.registry import POLICIES, create
from headgate.record import Arrived, Began, Life, Planned, Ran, Recorded
from headgate.sim import replay as module
from headgate.sim.metrics import summarise
from headgate.sim.replay import replay
from headgate.sim.run import Setting
from headgate.sim.simulation import Simulation
from headgate.sim.workload import Belief, Due, UnitSpec, Workload
from helpers import operator

POLICIES_OF_TRAINS = [name for name, entry in POLICIES.items() if "train" in entry.options]


class Watched:
    """A policy, and the runs that it has seen the end of."""

    def __init__(self, policy):
        self.policy = policy
        self.prepare, self.choose = policy.prepare, policy.choose
        self.runs = []

    def observe(self, outcome):
        self.runs.append((outcome.run.unit, outcome.run.train, outcome.started, outcome.finished))
        self.policy.observe(outcome)


def watched(workload, policy, options=None, lanes=1):
    """A replay, and its runs as (unit, train, started, finished) in the order in which they ended."""
    seen = []

    def make(name, given):
        seen.append(Watched(create(name, given)))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "create", make)
        found = replay(workload, policy, options, lanes)
    return found, seen[0].runs


def on_kernel(workload, policy, options):
    """The same by the event kernel: runs, tally and report."""
    ops = [Operator(stream, Kind.SOURCE) for stream in workload.arrivals]
    ops += [operator(f"op-{u.name}", u.streams, u.b, a=u.a) for u in workload.units]
    network = Network(tuple(ops), tuple(Query(u.name, f"op-{u.name}") for u in workload.units))
    setting = Setting(policy, options)
    made = Watched(setting.create())
    report = Simulation(
        network,
        setting.plan(network, dict.fromkeys(network.streams, 1.0)),
        made,
        {name: iter(times.tolist()) for name, times in workload.arrivals.items()},
        commit="run",
    ).run()
    return made.runs, report


def random_workload(rng, *, start=0.0):
    streams = ["left", "right"][: rng.integers(1, 3)]
    units = tuple(
        UnitSpec(f"q{i}", (str(rng.choice(streams)),), float(rng.choice([0, 0.5])), float(rng.choice([0.1, 0.2, 1])))
        for i in range(rng.integers(1, 6))
    )
    # Whole numbers make tuples of the same instant, and arrivals at the end of a run.
    times = {s: start + np.sort(rng.choice([rng.integers(0, 40, 60) / 2, rng.uniform(0, 30, 60)])) for s in streams}
    return Workload(units, times, start=start)


TRAINS = st.sampled_from([{}, {"most": 7}, {"most": 20, "slice": 2.0}, {"slice": 1.5}])


@pytest.mark.parametrize("policy", POLICIES_OF_TRAINS)
@given(seed=st.integers(0, 10_000), train=TRAINS)
@settings(max_examples=20)
def test_runs_and_figures_are_those_of_the_event_kernel(policy, seed, train):
    workload = random_workload(np.random.default_rng(seed))
    options = {"train": train}
    found, runs = watched(workload, policy, options)
    expected, report = on_kernel(workload, policy, options)
    assert [run[:2] for run in runs] == [run[:2] for run in expected]
    assert np.allclose([run[2:] for run in runs], [run[2:] for run in expected], rtol=0, atol=1e-9)
    summary = summarise(report.tally)
    overall = found.summary.overall
    for ours, theirs in [
        (overall.results, summary.results),
        (overall.avg_slowdown, summary.avg_h),
        (overall.max_slowdown, summary.max_h),
        (overall.rms_slowdown, summary.rms),
        (overall.avg_response, summary.avg_r),
        (overall.max_response, summary.max_r),
        (overall.runs, report.runs),
        (overall.utilisation, report.utilisation),
        (found.seconds, report.ended),
    ]:
        assert math.isclose(ours, theirs, rel_tol=1e-9)
    assert overall.waiting == 0


def test_times_since_the_epoch_lose_nothing():
    rng = np.random.default_rng(3)
    workload = random_workload(rng)
    late = Workload(workload.units, {s: t + 2.0**30 for s, t in workload.arrivals.items()}, start=2.0**30)
    options = {"train": {"most": 7}}
    assert replay(late, "bsd", options).summary.overall.rms_slowdown == pytest.approx(
        replay(workload, "bsd", options).summary.overall.rms_slowdown, rel=1e-6
    )


def one(a=1.0, b=1.0, **more):
    return UnitSpec("q", ("s",), a, b, **more)


def times(*values):
    return {"s": np.array(values, dtype=float)}


WHOLE = {"train": {"most": math.inf}}


def test_a_train_can_be_read_when_its_last_tuple_is_there():
    workload = Workload((one(),), times(0, 1, 2, 5), readable=times(2, 2, 2, 5))
    found, runs = watched(workload, "fcfs", WHOLE)
    assert runs == [(0, 3, 2.0, 6.0), (0, 1, 6.0, 8.0)]
    # Responses 6, 5, 4 and 3, ideal time 2.
    overall = found.summary.overall
    assert (overall.avg_response, overall.max_response) == (4.5, 6.0)
    assert (overall.avg_slowdown, overall.max_slowdown) == (2.25, 3.0)
    assert overall.rms_slowdown == pytest.approx(math.sqrt((36 + 25 + 16 + 9) / 4) / 2)
    assert (overall.runs, overall.avg_train, found.seconds) == (2, 2.0, 8.0)
    assert (overall.utilisation, overall.overhead) == (6 / 8, 2 / 8)


def test_a_unit_of_several_streams_reads_them_in_the_order_of_arrival():
    unit = UnitSpec("pair", ("left", "right"), 0.0, 1.0, first={"left": 1})
    arrivals = {"left": np.array([0.0, 10.0, 30.0]), "right": np.array([5.0, 20.0])}
    _, runs = watched(Workload((unit,), arrivals), "fcfs")
    assert [started for _, _, started, _ in runs] == [5.0, 10.0, 20.0, 30.0]


def test_a_unit_begins_at_its_place_in_the_stream():
    found = replay(Workload((one(first={"s": 2}),), times(0, 1, 2, 3)), "fcfs")
    assert (found.summary.overall.results, found.summary.overall.waiting) == (2, 0)


def test_tuples_from_before_the_start_wait_when_the_clock_starts():
    _, runs = watched(Workload((one(),), times(90, 95, 103), start=100.0), "fcfs", WHOLE)
    assert runs == [(0, 2, 0.0, 3.0), (0, 1, 3.0, 5.0)]


def test_a_unit_that_is_away_runs_when_it_is_back():
    away = ((-math.inf, 1.0), (4.0, 20.0), (30.0, math.inf))
    found, runs = watched(Workload((one(away=away),), times(0, 5, 40)), "fcfs")
    assert runs == [(0, 1, 1.0, 3.0), (0, 1, 20.0, 22.0)]
    assert found.summary.overall.waiting == 0


def test_what_has_not_left_in_time_waits():
    found = replay(Workload((one(),), times(0, 1, 2, 50), until=5.0), "fcfs")
    overall = found.summary.overall
    assert (overall.results, overall.waiting, found.seconds) == (2, 1, 5.0)
    assert overall.utilisation == 4 / 5


def test_results_are_those_that_are_expected_of_the_tuples():
    workload = Workload((one(S=0.25), UnitSpec("none", ("s",), 1.0, 1.0, S=0.0)), times(0, 0, 0, 0))
    found = replay(workload, "fcfs", WHOLE).summary
    assert found.units["q"].results == 1.0
    assert found.units["q"].avg_response == 5.0
    assert found.units["none"].results == 0.0
    assert math.isnan(found.units["none"].max_slowdown)
    assert found.overall.max_response == 5.0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_unit_without_results_stops_no_policy(policy):
    units = (one(S=0.0), UnitSpec("p", ("s",), 1.0, 0.0), UnitSpec("r", ("s",), 0.0, 1.0))
    found = replay(Workload(units, times(0, 1, 2)), policy)
    assert found.summary.overall.runs * found.summary.overall.avg_train == 9


@pytest.mark.parametrize("policy", POLICIES)
@given(seed=st.integers(0, 10_000), lanes=st.integers(1, 3))
@settings(max_examples=8)
def test_every_tuple_is_served_once_on_lanes_that_run_one_unit_each(policy, seed, lanes):
    workload = random_workload(np.random.default_rng(seed))
    options = {"train": {"most": 5}} if "train" in POLICIES[policy].options else {}
    found, runs = watched(workload, policy, options, lanes)
    for i, unit in enumerate(workload.units):
        own = [run for run in runs if run[0] == i]
        assert sum(train for _, train, _, _ in own) == len(workload.arrivals[unit.streams[0]])
        assert all(after[2] >= before[3] for before, after in pairwise(own))
    for _, _, started, _ in runs:
        assert sum(lo <= started < hi for _, _, lo, hi in runs) <= lanes
    assert found.summary.overall.utilisation <= 1 + 1e-9


def test_a_second_lane_takes_the_unit_that_is_not_running():
    workload = Workload((one(), UnitSpec("p", ("s",), 1.0, 1.0)), times(0))
    _, runs = watched(workload, "fcfs", lanes=2)
    assert [(started, finished) for _, _, started, finished in runs] == [(0.0, 2.0)] * 2


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_classes_and_units_add_up_to_all(seed):
    rng = np.random.default_rng(seed)
    plain = random_workload(rng)
    units = tuple(
        UnitSpec(u.name, u.streams, u.a, u.b, float(rng.uniform(0, 2)), str(rng.choice(["x", "y"])))
        for u in plain.units
    )
    summary = replay(Workload(units, plain.arrivals), "hnr", WHOLE).summary
    for parts in (summary.classes, summary.units):
        for name in ("results", "runs", "utilisation", "overhead"):
            total = sum(getattr(part, name) for part in parts.values())
            assert total == pytest.approx(getattr(summary.overall, name))
        assert max(part.max_slowdown for part in parts.values() if part.results) == summary.overall.max_slowdown


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: one(a=0.0, b=0.0), "a run takes longer than 0 s"),
        (lambda: one(a=-1.0), "a cost is a finite number"),
        (lambda: one(S=math.nan), "results per tuple are zero or more"),
        (lambda: one(beliefs=(Belief(0.0, 0.0, 0.0, 1.0),)), "a run takes longer than 0 s"),
        (lambda: Workload((one(),), {}), "its streams have arrivals"),
        (lambda: Workload((one(),), times(2, 1)), "times are ascending"),
        (lambda: Workload((one(),), times(1, 2), times(2, 1)), "times are ascending"),
        (lambda: replay(Workload((one(),), times(1)), "fcfs", lanes=0), "at least one lane"),
        (lambda: replay(Workload((), times(1)), "fcfs"), "at least one unit"),
        (lambda: replay(Workload((one(),), times(1)), "fifo"), "a known policy"),
        (lambda: replay(Workload((one(),), times(1)), "fcfs", {"quantum": 1}), "a known option"),
    ],
)
def test_mistakes_are_named(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_a_stream_without_tuples_gives_no_results():
    found = replay(Workload((one(),), times()), "bsd")
    assert found.summary.overall.runs == 0
    assert math.isnan(found.summary.overall.avg_slowdown)


def test_results_of_windows_come_when_the_tuple_before_they_were_due_is_read_and_count_from_then_on():
    windows = (Due(2.0, 5.0), Due(9.0, 1.0))
    found, runs = watched(Workload((one(windows=windows),), times(0, 1, 2, 3)), "fcfs", WHOLE)
    assert runs == [(0, 1, 0.0, 2.0), (0, 2, 2.0, 5.0), (0, 1, 5.0, 7.0)]
    # Five with the second run, three seconds late; and one that time closes, which takes as long as the last run.
    overall = found.summary.overall
    assert (overall.results, overall.max_response) == (6.0, 3.0)
    assert overall.avg_response == pytest.approx((5 * 3 + 2) / 6)


def test_windows_that_are_evaluated_whole_are_taken_one_by_one_once_they_have_closed():
    unit = one(windows=(Due(2.0, 1.0), Due(5.0, 3.0), Due(5.5, 1.0)), whole=True)
    found, runs = watched(Workload((unit,), times(0, 1, 2, 3, 4, 5, 6)), "fcfs", {"train": {"most": 2}})
    # The third closed while nothing more had come; it comes with the second. Of the fourth there is no end.
    assert runs == [(0, 3, 2.0, 6.0), (0, 3, 6.0, 10.0)]
    overall = found.summary.overall
    assert (overall.results, overall.waiting) == (5.0, 1)
    assert overall.avg_response == pytest.approx((4 + 3 * 5 + 4.5) / 5)


def test_a_policy_goes_by_what_it_believes_and_runs_take_what_they_take():
    # Taken for 4 s a tuple, the slice has one; from 2.0 on the policy knows better, at its next decision.
    beliefs = (Belief(-1.0, 0.0, 4.0, 1.0), Belief(2.0, 0.0, 1.0, 1.0))
    workload = Workload((one(a=0.0, b=1.0, beliefs=beliefs),), times(*[0] * 9))
    _, runs = watched(workload, "fcfs", {"train": {"slice": 4.0}})
    assert runs == [(0, 1, 0.0, 1.0), (0, 1, 1.0, 2.0), (0, 4, 2.0, 6.0), (0, 3, 6.0, 9.0)]


def test_beliefs_decide_who_is_first():
    units = (one(beliefs=(Belief(0.0, 1.0, 9.0, 1.0),)), UnitSpec("p", ("s",), 1.0, 2.0))
    _, runs = watched(Workload(units, times(0)), "hnr")
    assert [unit for unit, _, _, _ in runs] == [1, 0]


def test_a_unit_ends_at_its_place_in_the_stream():
    found = replay(Workload((one(last={"s": 2}),), times(0, 1, 2, 3)), "fcfs")
    assert (found.summary.overall.results, found.summary.overall.waiting) == (2, 0)


def test_each_life_of_a_recorded_unit_has_the_tuples_that_it_had(tmp_path):
    def life(unit, start, numbers, *, removed):
        planned = Planned(start, unit, (unit,), "default", {"s": numbers[0]}, a=0.0, b=1.0, S=1.0)
        done = Response(1.0, 1.0, 1.0)
        ran = [Ran(start, unit, {"s": (k, k + 1)}, 1, start, start + 1, 0, 1, done, "", {}) for k in numbers]
        return Life((planned,), tuple(ran), ((-math.inf, start),), removed)

    # The engine began at 100, `q` gave way to `both` at 102 and came back at 103; number 4 is lost.
    lives = (
        life("q", 100.0, [3], removed=True),
        life("both", 102.0, [5], removed=True),
        life("q", 103.0, [6, 7], removed=False),
    )
    trains = (Arrived("s", 0, 4, 90.0, 99.0), Arrived("s", 5, 3, 99.0, 99.0))
    workload = Workload.from_record(Recorded(tmp_path, Began(100.0, "fcfs", {}, 1), trains, lives))
    assert [(unit.first, unit.last) for unit in workload.units] == [
        ({"s": 0}, {"s": 1}),
        ({"s": 1}, {"s": 2}),
        ({"s": 2}, {}),
    ]
    assert len(workload.arrivals["s"]) == 4
    found, runs = watched(workload, "fcfs")
    assert runs == [(0, 1, 0.0, 1.0), (1, 1, 2.0, 3.0), (2, 1, 3.0, 4.0), (2, 1, 4.0, 5.0)]
    assert found.summary.units["q"].runs == 3
    assert found.summary.overall.waiting == 0

"""Runs of one load manager: QN-flat, QN-complex and QN-long under a fair scheduler, or one that is not."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from headgate.control.dilos import Management
from headgate.experiments.load_management import inputs, networks
from headgate.experiments.report import Band, Line, Row, Scale, Task, banded
from headgate.experiments.traces import Recorded, Synthetic
from headgate.model.network import Network
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View, Why, Work
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.shed.registry import maker
from headgate.sim.metrics import Floats, Interval, interval
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.report import Report
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.steering import Control
from headgate.sim.trains.timeline import Timeline

D = inputs.TARGET
PERIOD = 0.5
AFTER = 20.0
"""Seconds that a run goes on behind its input."""
GROUPS = 2
"""Of QN-complex, whose sixty behave alike: each of ours is as much work as thirty of those."""

FIRST = 0.8
"""The headroom that managers which learn it begin with."""
TUNED = 0.915
"""The headroom with which CTRL has a response time of 2 s under S_c: found by trial, as the publication's was."""

NOTE_FLAT = (
    f"A tuple of QN-flat is {1e3 * networks.WORK:.3g} ms of work; with the cost of looking at dropped tuples the "
    f"capacity under S_c is {networks.CAPACITY:g} tuples/s. CTRL's headroom is tuned until response times meet the "
    f"target under S_c, as it was in the publication: to {TUNED:g} here, 0.99 there. Aurora has the printed values. "
    "Tuples come at ticks of 20 ms."
)
NOTE_COMPLEX = (
    f"QN-complex has {GROUPS} groups in place of 60, each as much work as thirty of them. A tuple on every stream is "
    "as much work as one of QN-flat, which the publication states too; but its own losses on QN-complex fit costs "
    "17 % higher under S_r (Tables 3 and 5) and 10 % lower under S_c (Table 6), so no single cost could meet them."
)
SURROGATE = (
    "S_r: surrogate of 64 on/off sources, α = 1.4, with two regions of rising rates, scaled to an ideal loss of "
    "21.4 % on QN-flat"
)


def background(jobs: Literal["none", "two", "oscillating"]) -> Timeline | None:
    """What background jobs leave: half from 100 s on, or half and all in turn, ever faster."""
    if jobs == "two":
        return Timeline(((0.0, 1.0), (100.0, 0.5)))
    if jobs == "none":
        return None
    levels = [(0.0, 1.0)]
    for phase, each in enumerate((10.0, 5.0, 2.0, 1.0)):
        for k in range(int(60 / (2 * each))):
            start = 10.0 + 60.0 * phase + 2 * each * k
            levels += [(start, 0.5), (start + each, 1.0)]
    return Timeline(tuple(levels))


@dataclass
class Weighted:
    """Units in turn, each taking up to the quota of its queries."""

    quota: Callable[[Unit], int]
    _units: Sequence[Unit] = ()
    _at: int = -1

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units."""
        self._units = units

    def choose(self, view: View) -> Decision | None:
        """The next unit that has something."""
        n = len(self._units)
        for step in range(1, n + 1):
            i = (self._at + step) % n
            if waiting := view.queues[i].pending:
                self._at = i
                train = min(waiting, self.quota(self._units[i]))
                return Decision((Run(i, train),), Why("next in turn, up to its quota"), Work(reads=step))
        return None

    def observe(self, outcome: Outcome) -> None:
        """Turns do not depend on how they go."""


def quota(unit: Unit) -> int:
    """Tuples in a turn: half as many again for queries of high priority as for others."""
    if unit.source:
        return networks.BATCH
    return 60 if ".high." in unit.segments[0].query else 40


@dataclass(frozen=True)
class Case:
    """One load manager on one network, one input and one environment."""

    network: Literal["flat", "complex", "long"]
    stream: Literal["S_c", "S_r", "S_step"]
    manager: str
    options: tuple[tuple[str, float | int | str], ...] = ()
    jobs: Literal["none", "two", "oscillating"] = "none"
    fair: bool = True
    trace: Synthetic | Recorded | None = None
    end: float = inputs.END


@dataclass(frozen=True)
class Late:
    """By how much the results of some queries were later than the delay target, on average and at worst."""

    mean: float
    most: float


@dataclass(frozen=True)
class Seen:
    """What a run has shown: losses in per cent, seconds beyond the target, and what happened over time.

    `by_input` and `by_output` are mean response times by seconds of arrival, and by half seconds of leaving.
    """

    loss: float
    late: Late
    high: Late
    low: Late
    reached: float
    by_input: Floats
    by_output: Floats
    times: Floats
    drops: Floats
    headrooms: Floats

    def after(self, time: float) -> float:
        """The mean response time of results that left after a time."""
        return float(np.nanmean(self.by_output[int(time / PERIOD) :]))

    def settled(self, change: float, calm: float = 10.0) -> float:
        """Control periods after a change until response times are within a tenth of the target and stay so."""
        late = ~(self.by_output[int(change / PERIOD) :] <= 1.1 * D)
        n = int(calm / PERIOD)
        good = [k for k in range(len(late) - n) if not late[k : k + n].any()]
        return float(good[0]) if good else math.inf


@cache
def network(name: str) -> Network:
    """The network of a name."""
    if name == "flat":
        return networks.flat()
    return networks.complex_network(GROUPS) if name == "complex" else networks.long_network()


def arrivals(case: Case, seed: int) -> Floats:
    """The times of one stream."""
    if case.stream == "S_r":
        return inputs.bursty(case.trace, seed, case.end)
    return inputs.ticked(inputs.evenly(inputs.S_C if case.stream == "S_c" else inputs.steps(case.end), case.end))


def run(case: Case, seed: int) -> Seen:
    """A run of a case."""
    bed = network(case.network)
    times = arrivals(case, seed)
    streams = dict.fromkeys(bed.streams, times)
    policy: Policy = create("rr", {"over": "units", "train": Train(math.inf)}) if case.fair else Weighted(quota)
    team = Team(policy, lambda net: plan.by_query(net, dict.fromkeys(net.streams, networks.CAPACITY), networks.ONE))
    options = {"headroom": FIRST} | dict(case.options)
    management = Management(networks.ONE, "separate", maker(case.manager, options))
    machine = networks.busy_machine(background(case.jobs), networks.BATCH if case.fair else math.inf)
    report = Simulation(
        bed,
        networks.ONE,
        streams,
        [team],
        machine,
        seed,
        Control(management, PERIOD),
        until=case.end + AFTER,
    ).run()
    return shown(report)


def shown(report: Report) -> Seen:
    """What a report of one class shows."""
    moments = report.moments
    orders = [moment.directive.orders["all"] for moment in moments]
    return Seen(
        100 * report.loss("all"),
        late(report, ""),
        late(report, ".high."),
        late(report, ".low."),
        max(float(each.arrived.max(initial=0.0)) for each in report.departures.values()),
        report.over_time(by="input", width=1.0).mean,
        report.over_time(by="output", width=PERIOD).mean,
        np.array([moment.time for moment in moments]),
        np.array([order.drop for order in orders]),
        np.array([order.headroom for order in orders]),
    )


def late(report: Report, part: str) -> Late:
    """How late the results were of queries with a part in their names."""
    found = [d for name, d in report.departures.items() if part in name]
    times = np.concatenate([np.zeros(0), *(np.maximum(0.0, d.left - d.arrived - D) for d in found)])
    return Late(float(times.mean()), float(times.max())) if len(times) else Late(math.nan, math.nan)


def shortened(scale: Scale) -> float:
    """Seconds of S_r where the network takes long to simulate, and of S_c where nothing happens later."""
    return 100.0 if scale.quick else inputs.END


def seeds(scale: Scale, full: int = 5) -> tuple[int, ...]:
    """The seeds of a scale."""
    return tuple(range(1, (1 if scale.quick else full) + 1))


def tasks(cases: Sequence[Case], numbers: Sequence[int]) -> Mapping[tuple[Case, int], Task]:
    """A run for each case and seed."""
    return {(case, seed): (run, (case, seed)) for case in cases for seed in numbers}


def over(results: Mapping[tuple[Case, int], Seen], case: Case, numbers: Sequence[int]) -> list[Seen]:
    """The runs of a case."""
    return [results[case, seed] for seed in numbers]


def mean(runs: Sequence[Seen], value: Callable[[Seen], float]) -> Interval:
    """A value over the seeds."""
    return interval([value(each) for each in runs])


def loss(seen: Seen) -> float:
    """The loss in per cent."""
    return seen.loss


def violation(seen: Seen) -> float:
    """The average delay violation in seconds."""
    return seen.late.mean


def worst(seen: Seen) -> float:
    """The greatest delay violation in seconds."""
    return seen.late.most


def loss_row(what: str, paper: float, runs: Sequence[Seen], points: float = 3.0) -> Row:
    """A published loss in per cent, with so many points on either side."""
    found = mean(runs, loss)
    return banded(f"loss, {what}", f"{paper:g} %", found.mean, around(paper, points), f"{found} %")


def required(what: str, paper: str, shown: str, *, met: bool) -> Row:
    """A finding that has to show in every seed, with what was measured."""
    return Row(what, paper, shown, "has to show", "in band" if met else "out of band")


def around(paper: float, points: float) -> Band:
    """A band of percentage points around a published loss."""
    return Band(round(max(0.0, paper - points), 6), round(paper + points, 6), " %")


def seconds(runs: Sequence[Seen], value: Callable[[Seen], float]) -> str:
    """A time over the seeds."""
    return f"{mean(runs, value)} s"


def line(name: str, values: Floats, width: float, every: float = 5.0) -> Line:
    """A curve over time, thinned to a point for some seconds."""
    step = int(every / width)
    n = len(values) // step * step
    means = np.array([np.nan if np.isnan(part).all() else np.nanmean(part) for part in values[:n].reshape(-1, step)])
    return Line(name, (np.arange(len(means)) * every).tolist(), means.tolist())


def named(numbers: Sequence[int]) -> str:
    """The seeds in words."""
    return ", ".join(map(str, numbers))

"""Runs of three classes: QN-A and QN-B under CQC, in every mode of load management.

A run of a unit takes up to fifty tuples of each source of a class through all its operators, which is a visit.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from headgate.control import boundaries
from headgate.control.dilos import Management, Mode
from headgate.experiments.load_management import inputs, networks
from headgate.experiments.load_management.networks import THREE
from headgate.model.network import Network
from headgate.model.unit import Unit
from headgate.policy.classes.cqc import Cqc
from headgate.shed.registry import maker
from headgate.sim.arrivals import ParetoIntervals
from headgate.sim.metrics import Floats
from headgate.sim.trains.cores import Team
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.report import Report
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.steering import Control

PERIOD = 0.15
ROUND = 0.01
NAMES = tuple(each.name for each in THREE)
STEADY = 950.0
ROOM = math.ceil(boundaries.ROOM * THREE[2].delay_target * 0.5 * STEADY)
"""Tuples that the queue behind a shared select holds, where it is bounded: what comes in 1.5·D of class 3."""

NOTE = (
    "A visit to a class costs 0.8 ms, 4 µs for each tuple read and 22 µs for each one kept, in rounds of 10 ms: "
    "constants that were chosen beforehand as the closest to Table 8, so closeness there is a fit. All else runs "
    "with them as they are. A class reads its sources once in a visit. ALoMa has a dead band of 0.1 and drops 95 % "
    "at most."
)

Stream = Literal["SD_c", "SD_p", "SD_r"]


class Visits(Cqc):
    """CQC as DILoS has it: once a class has worked on what its sources had, its visit is over."""

    readings = 1


@dataclass(frozen=True)
class Case:
    """A mode of load management on QN-A, or on QN-B whose class 1 is `tripled`, for so many seconds.

    With `bounded` the queues behind shared operators have a limit, and run in units of their own.
    """

    mode: Mode
    stream: Stream
    end: float
    sharing: bool = False
    tripled: bool = False
    every: int = 10
    manager: str = "aloma"
    bounded: bool = False


@dataclass(frozen=True)
class Seen:
    """What a run has shown by class: response times in ms, losses in per cent, and what happened over time.

    `sharing` and `alone` are mean response times in ms of queries of class 1 that share operators with class 3, and
    of those that do not.
    """

    response: Mapping[str, float]
    loss: Mapping[str, float]
    sharing: float
    alone: float
    times: Floats
    headrooms: Mapping[str, Floats]
    shares: Mapping[str, Floats]
    drops: Mapping[str, Floats]

    @property
    def total(self) -> float:
        """The loss of all classes: the plain mean, as the publication has it."""
        return sum(self.loss.values()) / len(self.loss)


def _apart(bounded: bool, name: str) -> str:
    """Which operators of a class run together: all, or the shared ones and what is behind them by themselves."""
    prefix, query, *rest = name.split(".")
    if bounded and prefix == "1" and query in networks.SHARED:
        return f"{query}.out" if rest == ["out"] else query
    return ""


def arrivals(case: Case, network: Network, seed: int) -> dict[str, Floats]:
    """The times of each stream."""
    rng = np.random.default_rng([seed, 7])
    if case.stream == "SD_c":
        steady = inputs.evenly(((0.0, STEADY),), case.end)
        return {name: steady - rng.random() / STEADY for name in network.streams}
    each = case.end / len(inputs.CLASS_1)
    intervals = int(case.end / PERIOD) + 1
    start: Floats = PERIOD * np.arange(intervals, dtype=np.float64)
    rates = {cls: ParetoIntervals(*pair, PERIOD).rates(intervals, rng) for cls, pair in _RANGES.items()}
    drawn = [ParetoIntervals(*pair, PERIOD).rates(intervals, rng) for pair in inputs.CLASS_1]
    at = np.minimum(start / each, len(drawn) - 1).astype(np.int64)
    rates["1"] = np.array(drawn)[at, np.arange(intervals)]
    found = {}
    for name in network.streams:
        prefix, query, *_ = name.split(".")
        shared = prefix == "1" and query in networks.SHARED
        if prefix[0] == "1" and case.stream == "SD_r" and not shared:
            # Its ticks are undone: class 1 would else get its tuples of 20 ms at once.
            times = inputs.bursty(None, seed, case.end)
            found[name] = np.sort(times - inputs.TICK * rng.random(len(times)))
            continue
        found[name] = _poisson(rates["3" if shared else prefix], start, rng)
    return {name: times[times < case.end] for name, times in found.items()}


_RANGES = {"2": inputs.CLASS_2, "3": inputs.CLASS_3}


def _poisson(rate: Floats, start: Floats, rng: np.random.Generator) -> Floats:
    counts = rng.poisson(rate * PERIOD)
    return np.sort(np.repeat(start, counts) + PERIOD * rng.random(int(counts.sum())))


def run(case: Case, seed: int) -> Seen:
    """A run of a case."""
    network = networks.classes_network(3 if case.tripled else 1, sharing=case.sharing)
    policy = Visits(THREE, period=ROUND)

    def units(net: Network) -> tuple[Unit, ...]:
        return networks.by_visit(net, dict.fromkeys(net.streams, STEADY), THREE, partial(_apart, case.bounded))

    options = {"cap": 95, "deadband": 0.1} if case.manager == "aloma" else {"cap": 95}
    management = Management(THREE, case.mode, maker(case.manager, options), every=case.every)
    bounds = {f"1.{name}.match": ROOM for name in networks.SHARED} if case.bounded else {}
    report = Simulation(
        network,
        THREE,
        arrivals(case, network, seed),
        [Team(policy, units)],
        Machine(noise=0.1, batch=networks.BATCH, read=networks.READ, queues=bounds),
        seed,
        Control(management, PERIOD, after_visit=True),
        until=case.end,
    ).run()
    return shown(report)


def shown(report: Report) -> Seen:
    """What a report of three classes shows."""
    moments = report.moments
    orders = [moment.directive.orders for moment in moments]
    sharing = {f"1.{name}" for name in networks.SHARED}
    first = [query.name for query in report.network.queries if query.cls == "1"]
    return Seen(
        {name: 1e3 * report.responses(name).mean for name in NAMES},
        {name: 100 * report.loss(name) for name in NAMES},
        _mean(report, [name for name in first if name in sharing]),
        _mean(report, [name for name in first if name not in sharing]),
        np.array([moment.time for moment in moments]),
        {name: np.array([each[name].headroom for each in orders]) for name in NAMES},
        {name: np.array([moment.directive.shares[name] for moment in moments]) for name in NAMES},
        {name: np.array([each[name].drop for each in orders]) for name in NAMES},
    )


def _mean(report: Report, queries: list[str]) -> float:
    found = [report.departures[name] for name in queries]
    return 1e3 * float(np.concatenate([each.left - each.arrived for each in found]).mean())

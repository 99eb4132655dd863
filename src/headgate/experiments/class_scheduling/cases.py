"""A simulation of a workload under a scheduler, and what is kept of it.

Sources on a core of their own take no time, unless an experiment is about them: with a stream for each leaf, the time
that a source takes on one core would fill that core before the others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from headgate.experiments.class_scheduling.workloads import MACHINE, Workload, cost, network, of_class
from headgate.experiments.report import NEAR, Task
from headgate.model.classes import QueryClass
from headgate.model.network import Network
from headgate.model.operator import FREE, Kind
from headgate.model.unit import Unit
from headgate.policy.classes.abd import Abd
from headgate.policy.classes.measures import inverted, prir, wavg
from headgate.policy.classes.registry import create, listed
from headgate.policy.hr import HR
from headgate.policy.protocol import Outcome
from headgate.sim.arrivals import Arrivals, Poisson, until
from headgate.sim.metrics import Floats, Ints
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Plan, Team
from headgate.sim.trains.report import PERCENTILES, Report
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.timeline import Timeline

WARM = 0.1
"""The part of a run whose tuples do not count in response times."""
WIDTH = 0.1
"""Seconds of a bin of response times over time."""
REFRESH = 0.1
"""Seconds after which schedulers are given the selectivities that were measured."""

Level = int | str
LEVELS: tuple[Level, ...] = ("mean", 50, 75, 90, 95)
"""At which inversion is looked for."""


@dataclass(frozen=True)
class Case:
    """What is simulated.

    Streams are Poisson at the workload's rate, or what `arrivals` says for a class. `curves` are factors, over time,
    of the selectivities of a class's operators of the kinds in `varies`. `changes` are priorities of classes from a
    time on. `sources` says who reads the streams: nobody has to (`free`), the one core does (`inline`), or cores of
    their own under a scheduler, by its name; so many leaves of a class have one stream in common.
    """

    workload: Workload
    scheduler: str
    seconds: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()
    arrivals: tuple[tuple[str, Arrivals], ...] = ()
    curves: tuple[tuple[str, tuple[tuple[float, float], ...]], ...] = ()
    changes: tuple[tuple[float, tuple[tuple[str, float], ...]], ...] = ()
    varies: tuple[Kind, ...] = (Kind.SELECT,)
    warm: float = WARM
    sources: str = "free"
    source_cores: int = 1
    sharing: int = 1


@dataclass(frozen=True)
class Seen:
    """What a run has shown, class by class: response times in seconds, and those over time with their numbers.

    `stamped` counts from when a tuple was read instead of when it came. A scheduler with a program has `updates` of
    it, the last at `updated`, and ABD the length of its slots over time.
    """

    P: tuple[float, ...]
    mean: tuple[float, ...]
    percentiles: dict[int, tuple[float, ...]]
    over_time: Floats
    results: Ints
    stamped: tuple[float, ...] = ()
    updates: float = 0
    updated: float = 0.0
    exhausted: bool = False
    slots: tuple[float, ...] = ()

    @property
    def wavg(self) -> float:
        """The mean weighted by the priorities."""
        return wavg(self.P, self.mean)

    def at(self, level: Level) -> tuple[float, ...]:
        """The response times at a level."""
        return self.mean if isinstance(level, str) else self.percentiles[level]

    def weighted(self, level: Level) -> float:
        """The response time at a level weighted by the priorities."""
        return wavg(self.P, self.at(level))

    def inversion(self, level: Level = "mean") -> float:
        """The priority inversion ratios of all pairs of neighbours, added up."""
        return sum(prir(self.P, self.at(level)))

    def victims(self, level: Level = "mean") -> list[int]:
        """The numbers of the classes that are slower than the next, less important one."""
        return [k for k, victim in enumerate(inverted(self.P, self.at(level)), 1) if victim]

    @property
    def starvation(self) -> float:
        """How many times slower the last class is than the first."""
        return self.mean[-1] / self.mean[0]

    def between(self, start: float, end: float) -> tuple[float, ...]:
        """The mean response times of results that left in a span of time, by class."""
        lo, hi = round(start / WIDTH), round(end / WIDTH)
        counts = self.results[:, lo:hi]
        total = np.nansum(self.over_time[:, lo:hi] * counts, axis=1)
        with np.errstate(invalid="ignore"):
            found: list[float] = (total / counts.sum(axis=1)).tolist()
        return tuple(found)


class _Stamps:
    """When each tuple of a stream was read, where that is work on the one core."""

    def __init__(self, net: Network, times: Mapping[str, Floats], units: Sequence[Unit]) -> None:
        self._net, self._times, self._units = net, times, units
        self._read: dict[str, list[tuple[int, float]]] = {name: [] for name in net.streams}

    def add(self, team: int, core: int, outcome: Outcome) -> None:  # noqa: ARG002 - as a simulation tells it
        """Take note of a run of a source."""
        unit = self._units[outcome.run.unit]
        if unit.source:
            self._read[unit.entry.operator].append((outcome.run.train, outcome.finished))

    def means(self, report: Report, classes: Sequence[QueryClass]) -> tuple[float, ...]:
        """The mean response time of each class from when its tuples were read."""
        read = {
            name: np.repeat([at for _, at in runs], [n for n, _ in runs]) if runs else np.empty(0)
            for name, runs in self._read.items()
        }
        found: dict[str, list[Floats]] = {each.name: [] for each in classes}
        for query in self._net.queries:
            departures = report.departures[query.name]
            arrived, left = departures.arrived, departures.left
            for name in self._net.members[query.name] & read.keys():
                # A result has the arrival time of a tuple of one of its query's streams, to the bit.
                place = np.searchsorted(self._times[name], arrived)
                mine = (place < len(read[name])) & (arrived >= report.warm)
                mine[mine] = self._times[name][place[mine]] == arrived[mine]
                found[query.cls].append(left[mine] - read[name][place[mine]])
        return tuple(float(np.concatenate(found[each.name]).mean()) for each in classes)


def averaged(runs: Sequence[Seen]) -> Seen:
    """The means over seeds. A class without results in some run is one without."""
    results = np.sum([each.results for each in runs], axis=0)
    total = np.nansum([each.over_time * each.results for each in runs], axis=0)

    def mean(values: Sequence[Sequence[float]]) -> tuple[float, ...]:
        found: list[float] = np.mean(values, axis=0).tolist()
        return tuple(found)

    return Seen(
        runs[0].P,
        mean([each.mean for each in runs]),
        {level: mean([each.percentiles[level] for each in runs]) for level in PERCENTILES},
        np.divide(total, results, out=np.full(results.shape, math.nan), where=results > 0),
        results,
        mean([each.stamped for each in runs]),
        mean([[each.updates] for each in runs])[0],
        mean([[each.updated] for each in runs])[0],
        any(each.exhausted for each in runs),
        mean([each.slots for each in runs]),
    )


def seeds(cases: Sequence[Case]) -> str:
    """The seeds of some cases, as an outcome names them."""
    return ", ".join(map(str, sorted({case.seed for case in cases})))


def tasks(cases: Sequence[Case]) -> dict[Any, Task]:
    """The simulations of cases. Each is its own key, so that experiments which have it in common share it."""
    return {case: (simulate, (case,)) for case in cases}


def ms(values: Sequence[float]) -> str:
    """Response times of the classes in milliseconds."""
    return " ".join("–" if math.isnan(value) else f"{1e3 * value:.3g}" for value in values)


def near(paper: float, value: float) -> bool:
    """Whether a published size without a band is confirmed."""
    return paper / NEAR <= value <= paper * NEAR


def simulate(case: Case) -> Seen:
    """Run a case."""
    source = FREE if case.sources == "free" else cost("source")
    net = network(case.workload, case.seed, sources=source, sharing=case.sharing)
    classes = case.workload.classes
    teams = _teams(case, net)
    policy: Any = teams[0].policy
    times = _times(case, net)
    stamps = _Stamps(net, times, teams[0].plan(net)) if case.sources == "inline" else None
    lengths: list[float] = []
    changes: list[tuple[float, Callable[[], None]]] = [
        (time, partial(policy.prioritise, dict(priorities))) for time, priorities in case.changes
    ]
    if isinstance(policy, Abd):
        changes += [(float(time), lambda: lengths.append(policy.q)) for time in np.arange(0, case.seconds, WIDTH)]
    report = Simulation(
        net,
        classes,
        times,
        teams,
        MACHINE,
        case.seed,
        curves=_curves(case, net),
        refresh=REFRESH if case.curves else math.inf,
        changes=changes,
        until=case.seconds,
        warm=case.warm * case.seconds,
        on_run=stamps.add if stamps else None,
    ).run()
    responses = [report.responses(each.name) for each in classes]
    over_time = [report.over_time(each.name, width=WIDTH) for each in classes]
    return Seen(
        case.workload.P,
        tuple(each.mean for each in responses),
        {level: tuple(each.percentiles[level] for each in responses) for level in PERCENTILES},
        np.stack([each.mean for each in over_time]),
        np.stack([each.results for each in over_time]),
        stamps.means(report, classes) if stamps else (),
        getattr(policy, "updates", 0),
        getattr(policy, "updated", 0.0),
        getattr(policy, "exhausted", False),
        tuple(lengths),
    )


def _teams(case: Case, net: Network) -> list[Team]:
    classes = case.workload.classes
    units = _plan(case, listed(case.scheduler).level)
    policy = create(case.scheduler, classes, dict(case.options))
    if case.sources in ("free", "inline"):
        return [Team(policy, units, case.workload.cores)]
    readers = [sum(unit.cls == each.name for unit in plan.sources(units(net))) for each in classes]
    # A source is worth the priority of its class, so that a class is worth that for each of its sources.
    weighted = [replace(each, priority=each.priority * n) for each, n in zip(classes, readers, strict=True)]
    return [
        Team(policy, lambda n: plan.inner(units(n)), case.workload.cores),
        Team(create(case.sources, weighted), lambda n: plan.sources(units(n)), case.source_cores),
    ]


def _plan(case: Case, level: str) -> Plan:
    """Units in the order of the queries; operators for several cores by how far they are from the streams.

    Cores that take neighbours at once would find that what one reads is still being made by another.
    """
    classes, rate = case.workload.classes, case.workload.rate

    def units(net: Network) -> Sequence[Unit]:
        rates = dict.fromkeys(net.streams, rate)
        if level == "query":
            return plan.by_query(net, rates, classes)
        if case.workload.cores == 1:
            return plan.by_operator(net, rates, HR.weight, classes)
        place = {name: i for i, name in enumerate(net.order)}
        found = sorted(plan.by_operator(net, rates, HR.weight, classes), key=lambda unit: place[unit.entry.operator])
        return [replace(unit, id=i) for i, unit in enumerate(found)]

    return units


def _times(case: Case, net: Network) -> dict[str, Floats]:
    process = dict(case.arrivals)
    return {
        name: until(
            process.get(name.split(".")[0], Poisson(case.workload.rate)),
            case.seconds,
            np.random.default_rng([case.seed, 2, k]),
        )
        for k, name in enumerate(net.streams)
    }


def _curves(case: Case, net: Network) -> dict[str, Timeline]:
    return {
        op.name: Timeline(tuple((time, op.selectivity * factor) for time, factor in levels))
        for cls, levels in case.curves
        for op in of_class(net, cls, *case.varies)
    }

"""APP-E20, E21, E22 and E26: average QoS as the load grows, box by box and pushed through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.experiments.application_aware.cases import (
    FIXED,
    OVERHEAD,
    SHOWN,
    SLOPE,
    TURNS,
    Case,
    Net,
    Seen,
    Way,
    above,
    applications,
    at_least,
    mean,
    numbered,
    over,
    required,
    runs_of,
    seeds,
    tuples,
)
from headgate.experiments.report import Band, Experiment, Outcome, Row, Scale, Task, banded, claim, reported
from headgate.policy.registry import create
from headgate.sim.boxes import feeds
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.units import box_at_a_time
from headgate.sim.metrics import Interval

# APP-E20

SHOWN3 = (TURNS, FIXED, SLOPE)
SINGLE = Net(10, 1, 1e-4, (0.01, 0.02))
TICK = 0.02


@dataclass(frozen=True)
class Clusters:
    """Average QoS, and of each application the median latency and its range without the extreme tenths, in ms."""

    qos: float
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def clusters(policy: str, n: int, seed: int) -> Clusters:
    """Ten boxes whose tuples come all 20 ms."""
    plan = box_at_a_time(applications(SINGLE))
    feed = feeds.steady(n, 8000.0, SINGLE.apps, np.random.default_rng([seed, 20]), "even")
    report = Simulation(plan, feeds.ticked(feed, TICK), create(policy, {"seed": seed})).run()
    of = [1000 * report.latencies[report.apps == app] for app in range(SINGLE.apps)]
    median, low, high = (tuple(float(np.quantile(x, q)) for x in of) for q in (0.5, 0.1, 0.9))
    return Clusters(report.qos, median, low, high)


def e20_tasks(scale: Scale) -> Mapping[Any, Task]:
    """The three schedulers."""
    n = tuples(scale, 100_000)
    return {
        ("clusters", policy, seed): (clusters, (policy, n, seed))
        for policy in (TURNS, FIXED, SLOPE)
        for seed in seeds(scale)
    }


def _overlap(found: Clusters) -> bool:
    """Whether the ranges of all applications with the same deadline overlap."""
    return all(max(found.low[first::2]) < min(found.high[first::2]) for first in (0, 1))


def _apart(found: Clusters) -> int:
    """Applications whose median lies in nobody else's range."""
    return sum(
        not any(found.low[k] <= found.median[app] <= found.high[k] for k in range(SINGLE.apps) if k != app)
        for app in range(SINGLE.apps)
    )


def e20(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Who is served when, inside a tick."""

    def of(policy: str) -> list[Clusters]:
        return [results["clusters", policy, seed] for seed in seeds(scale)]

    qos = {
        policy: mean(results, [("clusters", policy, s) for s in seeds(scale)], lambda f: f.qos) for policy in SHOWN3
    }
    apart = min(len({round(value, 3) for value in each.median}) for each in of(FIXED))
    rows = [
        banded("Fixed-Priority: average QoS", "0.99", qos[FIXED].mean, at_least(0.98)),
        banded("SlopeSlack: average QoS", "0.99", qos[SLOPE].mean, at_least(0.98)),
        banded("Fixed-Priority: different median latencies of ten applications", "10 clusters", apart, Band(10, 10)),
        required(
            "Fixed-Priority serves the tight applications before the loose ones",
            "A2 A0 A8 A6 A4, then the odd ones",
            " ".join(f"A{app}" for app in np.argsort(of(FIXED)[0].median)),
            met=all(max(each.median[::2]) < min(each.median[1::2]) for each in of(FIXED)),
        ),
        required(
            "SlopeSlack: latencies of applications with the same deadline overlap",
            "5 clusters each, in any order",
            f"{sum(map(_overlap, of(SLOPE)))} of {len(of(SLOPE))} seeds",
            met=all(map(_overlap, of(SLOPE))),
        ),
        reported(
            "applications apart from all others, Fixed-Priority / SlopeSlack",
            "10 / 0",
            " / ".join(str(_apart(of(policy)[0])) for policy in (FIXED, SLOPE)),
        ),
        reported("Round-Robin: average QoS", "–", str(qos[TURNS])),
    ]
    first = {SHOWN[policy]: of(policy)[0].median for policy in SHOWN3}
    figure = over("median latency of each application", "application", list(range(SINGLE.apps)), first, "ms")
    notes = (
        (
            "The published clusters can only be seen when tuples come in groups, so each 20 ms of them are delivered "
            "together: about 16 for each application. This is also the run that shows that deadlines are feasible."
        ),
    )
    trace = "ten boxes of 0.1 ms, 8000 tuples/s in ticks of 20 ms, no overhead"
    return Outcome(E20.id, E20.title, trace, numbered(scale), tuple(rows), (figure,), notes)


# APP-E21

RATES = (800.0, 1000.0, 1100.0, 1200.0, 1300.0, 1400.0)
KNEE = 1200.0


def _curve(results: Mapping[Any, Seen], cases: Mapping[float, Sequence[Case]]) -> dict[float, Interval]:
    return {x: mean(results, each, lambda found: found.qos) for x, each in cases.items()}


def _cases(
    scale: Scale, policy: str, rates: Sequence[float], way: Way = "boxes", net: Net | None = None, n: int = 20_000
) -> dict[float, list[Case]]:
    options = () if policy == TURNS else (("schedule", 10),)
    return {
        rate: [Case(policy, rate, way, options, net or Net(), tuples(scale, n), seed=seed) for seed in seeds(scale)]
        for rate in rates
    }


def _all(cases: Sequence[Mapping[Any, Sequence[Case]]]) -> Mapping[Any, Task]:
    return runs_of([case for each in cases for group in each.values() for case in group])


def e21_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Three schedulers at each rate."""
    return _all([_cases(scale, policy, RATES) for policy in SHOWN3])


def e21(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """QoS against the load."""
    qos = {policy: _curve(results, _cases(scale, policy, RATES)) for policy in SHOWN3}
    rows = [
        above("at 1200 tuples/s Fixed-Priority is above SlopeSlack", "yes", qos[FIXED][KNEE], qos[SLOPE][KNEE]),
        above("and SlopeSlack above Round-Robin", "yes", qos[SLOPE][KNEE], qos[TURNS][KNEE]),
        *(
            reported(
                f"{SHOWN[policy]}: average QoS at {', '.join(f'{rate:g}' for rate in RATES)} tuples/s",
                "–",
                " / ".join(f"{value.mean:.3f}" for value in qos[policy].values()),
            )
            for policy in SHOWN3
        ),
        claim(
            "SlopeSlack sustains more than Round-Robin at every rate",
            "much higher load",
            _wins(qos[SLOPE], qos[TURNS]),
            confirmed=all(qos[SLOPE][rate].mean >= qos[TURNS][rate].mean for rate in RATES),
        ),
    ]
    curves = {SHOWN[policy]: [value.mean for value in qos[policy].values()] for policy in SHOWN3}
    figure = over("average QoS", "tuples/s", RATES, curves)
    notes = (
        OVERHEAD,
        (
            "Past its knee SlopeSlack falls below Round-Robin: what can no longer be in time fills schedules, and "
            "its long trains delay all others."
        ),
    )
    return Outcome(E21.id, E21.title, TRACE, numbered(scale), tuple(rows), (figure,), notes)


TRACE = "20 chains of five boxes of 0.1 ms, deadlines 10 ms and 2 s, Poisson arrivals"


def _wins(one: Mapping[float, Interval], other: Mapping[float, Interval]) -> str:
    return f"{sum(one[x].mean >= other[x].mean for x in one)} of {len(one)} rates"


# APP-E22

SIZES = (1, 2, 5, 10, 20, 50, 100)


def _sized(scale: Scale, policy: str) -> dict[int, list[Case]]:
    n = tuples(scale, 20_000)
    return {
        size: [Case(policy, KNEE, options=(("schedule", size),), tuples=n, seed=seed) for seed in seeds(scale)]
        for size in SIZES
    }


def e22_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Both schedulers with each size."""
    return runs_of([c for policy in (FIXED, SLOPE) for group in _sized(scale, policy).values() for c in group])


def e22(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Overhead and QoS against the size of a schedule."""
    rows: list[Row] = []
    curves, shares = {}, {}
    for policy in (FIXED, SLOPE):
        groups = _sized(scale, policy)
        qos = [mean(results, groups[size], lambda found: found.qos).mean for size in SIZES]
        spent = [mean(results, groups[size], lambda found: found.seconds).mean for size in SIZES]
        curves[SHOWN[policy]], shares[SHOWN[policy]] = qos, spent
        best = SIZES[int(np.argmax(qos))]
        rows += [
            required(
                f"{SHOWN[policy]}: scheduler time falls with the size, up to 20",
                "N = 1 highest",
                " → ".join(f"{value:.2f}" for value in spent) + " s",
                met=all(a > b for a, b in pairwise(spent[: SIZES.index(20) + 1])),
            ),
            banded(f"{SHOWN[policy]}: size with the best QoS", "10 is good", best, Band(5, 10)),
            reported(
                f"{SHOWN[policy]}: QoS at N = {', '.join(map(str, SIZES))}",
                "very low at 1, lower again from 20",
                " / ".join(f"{value:.3f}" for value in qos),
            ),
        ]
    figures = (
        over("average QoS", "boxes of a schedule", SIZES, curves),
        over("scheduler time", "boxes of a schedule", SIZES, shares, "s"),
    )
    trace = f"{TRACE}, {KNEE:g} tuples/s"
    note = "From 20 on a schedule holds all boxes that wait, so that larger ones make no difference."
    return Outcome(E22.id, E22.title, trace, numbered(scale), tuple(rows), figures, (OVERHEAD, note))


# APP-E26

LONG = Net(depth=20, cost=2.5e-5)
NETS = {"a": (Net(), 20_000), "b": (LONG, 10_000)}
LOADS = (600.0, 1000.0, 1300.0, 1500.0, 1700.0)
QOS_AWARE = (FIXED, SLOPE)


def _networks(scale: Scale) -> dict[tuple[str, str, Way], dict[float, list[Case]]]:
    ways: tuple[Way, ...] = ("boxes", "paths")
    return {
        (name, policy, way): _cases(scale, policy, LOADS, way, net, n)
        for name, (net, n) in NETS.items()
        for policy in QOS_AWARE
        for way in ways
    }


def e26_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Both networks, both schedulers, both ways."""
    return _all(list(_networks(scale).values()))


def e26(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Pushing tuples through against taking boxes one by one."""
    qos = {key: _curve(results, cases) for key, cases in _networks(scale).items()}

    def gain(policy: str) -> float:
        return sum(qos["a", policy, "paths"][x].mean - qos["a", policy, "boxes"][x].mean for x in LOADS) / len(LOADS)

    def apart(policy: str, way: Way) -> float:
        return max(abs(qos["a", policy, way][x].mean - qos["b", policy, way][x].mean) for x in LOADS)

    never = sum(
        qos[name, policy, "paths"][x].mean >= qos[name, policy, "boxes"][x].mean - 0.005
        for name in NETS
        for policy in QOS_AWARE
        for x in LOADS
    )
    fallen = max(qos["b", policy, "boxes"][1300.0].mean for policy in QOS_AWARE)
    rows = [
        required(
            "push-through is nowhere below box by box",
            "never",
            f"{never} of {2 * 2 * len(LOADS)} points",
            met=never == 2 * 2 * len(LOADS),
        ),
        required(
            "SlopeSlack gains more by it than Fixed-Priority",
            "large against little",
            f"{gain(SLOPE):+.3f} against {gain(FIXED):+.3f}",
            met=gain(SLOPE) > gain(FIXED),
        ),
        reported(
            "the same at 1300 tuples/s alone",
            "–",
            " against ".join(
                f"{qos['a', policy, 'paths'][1300.0].mean - qos['a', policy, 'boxes'][1300.0].mean:+.3f}"
                for policy in (SLOPE, FIXED)
            ),
        ),
        *(
            banded(
                f"{SHOWN[policy]} pushed through: largest difference between the networks",
                "unchanged",
                apart(policy, "paths"),
                Band(0, 0.1),
            )
            for policy in QOS_AWARE
        ),
        banded("box by box in chains of 20, at 1300 tuples/s, the better of both", "collapses", fallen, Band(0, 0.6)),
        *(
            reported(
                f"({name}) {SHOWN[policy]}, {'pushed through' if way == 'paths' else 'box by box'}: average QoS",
                "–",
                " / ".join(f"{value.mean:.3f}" for value in qos[name, policy, way].values()),
            )
            for name, policy, way in qos
        ),
    ]
    figures = tuple(
        over(
            f"average QoS, {NETS[name][0].depth} boxes in a chain",
            "tuples/s",
            LOADS,
            {
                f"{SHOWN[policy]}{' push-through' if way == 'paths' else ''}": [v.mean for v in curve.values()]
                for (net, policy, way), curve in qos.items()
                if net == name
            },
        )
        for name in NETS
    )
    trace = "20 chains, (a) of five boxes of 0.1 ms, (b) of 20 boxes of 25 µs; deadlines 10 ms and 2 s"
    note = (
        "The work of a tuple is the same in both networks, but in (b) it takes 15 more calls. Pushed through they "
        "cost 150 µs, so that its curve bends earlier. Box by box Fixed-Priority loses nearly everything past its "
        "knee, and SlopeSlack keeps the loose half; so over all rates Fixed-Priority has more to gain."
    )
    return Outcome(E26.id, E26.title, trace, numbered(scale), tuple(rows), figures, (OVERHEAD, note))


E20 = Experiment("APP-E20", "Schedules of ten boxes", "Figures 4.2 and 4.3", e20_tasks, e20)
E21 = Experiment("APP-E21", "Average QoS as the load grows", "Figure 4.4", e21_tasks, e21)
E22 = Experiment("APP-E22", "How many boxes a schedule has", "Figures 4.5 and 4.6", e22_tasks, e22)
E26 = Experiment("APP-E26", "Pushing tuples through", "Figure 4.14", e26_tasks, e26)

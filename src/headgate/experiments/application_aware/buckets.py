"""APP-E24 and E27: SlopeSlack by buckets, how many of them, and in a network of ten thousand boxes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate.experiments.application_aware.cases import (
    ALMOST,
    BUCKETS,
    FIXED,
    OVERHEAD,
    SHOWN,
    SLOPE,
    TURNS,
    Case,
    Net,
    Seen,
    at_least,
    mean,
    numbered,
    over,
    required,
    runs_of,
    seeds,
    sustained,
    tuples,
)
from headgate.experiments.report import Band, Experiment, Outcome, Scale, Task, banded, claim, reported
from headgate.sim.boxes.overhead import LARGE, MICRO

# APP-E24

MANY = Net(200)
RATE, SIZE = 1000.0, 50
PARTITIONS = (1, 2, 5, 10, 20, 30, 50, 100, 260)


def _bucketed(scale: Scale, policy: str, partitions: int = 0) -> list[Case]:
    options: tuple[tuple[str, Any], ...] = () if policy == TURNS else (("schedule", SIZE),)
    if partitions:
        options += (("partitions", partitions),)
    n = tuples(scale, 12_000)
    return [Case(policy, RATE, options=options, net=MANY, tuples=n, seed=seed) for seed in seeds(scale)]


def e24_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each number of partitions, and what it is compared with."""
    others = [case for policy in (TURNS, SLOPE) for case in _bucketed(scale, policy)]
    return runs_of([*others, *(case for parts in PARTITIONS for case in _bucketed(scale, BUCKETS, parts))])


def e24(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Quality and overhead against the number of partitions."""

    def of(cases: Sequence[Case], name: str) -> float:
        return mean(results, cases, lambda found: getattr(found, name)).mean

    slope, turns = (of(_bucketed(scale, policy), "qos") for policy in (SLOPE, TURNS))
    qos = {parts: of(_bucketed(scale, BUCKETS, parts), "qos") for parts in PARTITIONS}
    share = {parts: of(_bucketed(scale, BUCKETS, parts), "share") for parts in PARTITIONS}
    best = max(qos, key=lambda parts: qos[parts])
    rows = [
        reported("SlopeSlack: average QoS", "0.796", f"{slope:.3f}"),
        banded("1 partition against Round-Robin", "0.427 is as bad", abs(qos[1] - turns), Band(0, 0.1)),
        required(
            "the best number of partitions is neither the smallest nor the largest, and better than SlopeSlack",
            "0.85 at 20",
            f"{qos[best]:.3f} at {best}",
            met=best not in (PARTITIONS[0], PARTITIONS[-1]) and qos[best] > slope,
        ),
        required(
            "with very many partitions it is worse than SlopeSlack",
            "from 260 on",
            f"{qos[PARTITIONS[-1]]:.3f} at {PARTITIONS[-1]}",
            met=qos[PARTITIONS[-1]] < slope,
        ),
        claim(
            "the scheduler's part of the busy time begins to rise at about 30 partitions",
            "about 30",
            " / ".join(f"{100 * share[parts]:.0f} % at {parts}" for parts in (10, 30, 100)),
            confirmed=share[30] < 1.25 * share[10] and share[100] > 1.25 * share[30],
        ),
        reported("Round-Robin: average QoS", "–", f"{turns:.3f}"),
        reported(
            f"average QoS with {', '.join(map(str, PARTITIONS))} partitions",
            "–",
            " / ".join(f"{value:.3f}" for value in qos.values()),
        ),
    ]
    figures = (
        replace(
            over(
                "average QoS",
                "partitions in each dimension",
                PARTITIONS,
                {
                    SHOWN[BUCKETS]: list(qos.values()),
                    SHOWN[SLOPE]: [slope] * len(qos),
                    SHOWN[TURNS]: [turns] * len(qos),
                },
            ),
            log_x=True,
        ),
        replace(
            over(
                "scheduler's part of the busy time",
                "partitions in each dimension",
                PARTITIONS,
                {SHOWN[BUCKETS]: list(share.values())},
                "",
            ),
            log_x=True,
        ),
    )
    notes = (
        OVERHEAD,
        (
            f"Rate and size of a schedule are not published: at {RATE:g} tuples/s and with {SIZE} boxes SlopeSlack "
            "has about 0.8. Buckets need no scan and no sort, which at a thousand boxes is most of what scheduling "
            "takes, so even one bucket, which is first come, first served, is far better than Round-Robin here."
        ),
    )
    trace = f"200 chains of five boxes of 0.1 ms, deadlines 10 ms and 2 s, {RATE:g} tuples/s"
    return Outcome(E24.id, E24.title, trace, numbered(scale), tuple(rows), figures, notes)


# APP-E27

HUGE = Net(1000, 10, 5e-6, (0.075, 0.15, 0.225, 0.3))
HEAVY = replace(LARGE, worker=20 * MICRO)
"""Calls that take longer, so that the knee comes near the published rates."""
RATES = (3500.0, 4000.0, 4250.0, 4500.0, 4750.0, 5000.0)
SHARED = 4000.0
WAYS = ((FIXED, 0), (SLOPE, 0), (BUCKETS, 7), (BUCKETS, 50))


def _huge(scale: Scale, policy: str, partitions: int, rate: float) -> list[Case]:
    options: tuple[tuple[str, Any], ...] = (("schedule", 300),)
    if partitions:
        options += (("partitions", partitions),)
    n = tuples(scale, 20_000)
    return [Case(policy, rate, "paths", options, HUGE, n, HEAVY, seed) for seed in seeds(scale)]


def e27_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each scheduler at each rate."""
    return runs_of([case for way in WAYS for rate in RATES for case in _huge(scale, *way, rate)])


def e27(scale: Scale, results: Mapping[Any, Seen]) -> Outcome:
    """Up to which rate QoS is almost perfect, and what scheduling takes."""
    qos = {
        way: [mean(results, _huge(scale, *way, rate), lambda found: found.qos).mean for rate in RATES] for way in WAYS
    }
    share = {
        way: 100 * mean(results, _huge(scale, *way, SHARED), lambda found: found.scheduling).mean for way in WAYS
    }
    best = {way: sustained(RATES, values) for way, values in qos.items()}
    fixed, slope, few, many = WAYS
    others = max(best[fixed], best[slope])
    rows = [
        banded(
            "rate that Bucketing sustains over that of the better of the others",
            "1.3",
            best[few] / others if others else math.nan,
            at_least(1.15),
            f"{best[few]:.0f} / {best[fixed]:.0f} / {best[slope]:.0f} tuples/s: {best[few] / max(others, 1):.2f}",
        ),
        required(
            "part of the run for scheduling at 4000 tuples/s: Bucketing below Fixed-Priority below SlopeSlack",
            "4, 7.5 and 16 %",
            " < ".join(f"{share[way]:.1f} %" for way in (few, fixed, slope)),
            met=share[few] < share[fixed] < share[slope],
        ),
        banded("SlopeSlack's part over Fixed-Priority's", "2.1", share[slope] / share[fixed], at_least(2)),
        reported(
            "50 partitions instead of 7: rate sustained, part of the run",
            "–",
            f"{best[many]:.0f}, {share[many]:.1f} %",
        ),
        *(
            reported(
                f"{SHOWN[policy]}{f', {parts} partitions' if parts else ''}: QoS at "
                f"{', '.join(f'{rate:g}' for rate in RATES)} tuples/s",
                "–",
                " / ".join(f"{value:.3f}" for value in qos[policy, parts]),
            )
            for policy, parts in WAYS
        ),
    ]
    named = {f"{SHOWN[policy]}{f' {parts}' if parts else ''}": qos[policy, parts] for policy, parts in WAYS}
    figure = over("average QoS, pushed through", "tuples/s", RATES, named)
    notes = (
        OVERHEAD,
        (
            f"A call takes {HEAVY.worker / MICRO:g} µs here, so that QoS falls below {ALMOST} near the published "
            "rates. Under load trains grow and calls per tuple fall, which helps those that schedule slowly; so the "
            "rates that are sustained lie closer together than published. The publication speaks of 50 buckets, and "
            "elsewhere of partitions: 7 partitions make 49 buckets."
        ),
    )
    trace = "1000 chains of ten boxes of 5 µs, deadlines 75 to 300 ms, schedules of 300"
    return Outcome(E27.id, E27.title, trace, numbered(scale), tuple(rows), (figure,), notes)


E24 = Experiment("APP-E24", "How many buckets", "Figures 4.12 and 4.13", e24_tasks, e24)
E27 = Experiment("APP-E27", "Ten thousand boxes", "Figure 4.15", e27_tasks, e27)

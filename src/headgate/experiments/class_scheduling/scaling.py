"""CLS-E16 to E18: MBD with more cores for more queries, for faster streams, and in an overload."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from headgate.experiments.class_scheduling.cases import WIDTH, Case, Seen, averaged, ms, seeds, tasks
from headgate.experiments.class_scheduling.workloads import scaled_queries, scaled_rate
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Scale,
    Task,
    banded,
    claim,
    reported,
)
from headgate.sim.arrivals import Ramp

RANGES = ((1.28, 1.56), (1.72, 1.85), (2.54, 2.67), (3.00, 3.13), (3.85, 4.13))
"""The published range of each class's mean over all numbers of cores, in milliseconds."""
WEIGHTED = (2.11, 2.18)
RAMP = (600.0, 2400.0, 6.5)
"""Tuples per second at the beginning and at the end, and seconds between."""
END = 4.7
"""Seconds after which a run ends."""
DEPARTED = 10
"""The mean response time has left the ground at so many times that of the first half second."""


KNEE = (
    f"The knee is where the mean response time, in spans of 0.1 s, stays above {DEPARTED} times its first value. "
    "Runs end at 1900 tuples per second: what follows is overload."
)


def _cores(scale: Scale) -> tuple[int, ...]:
    return (2, 4) if scale.quick else (2, 4, 8, 16)


def _seeds(scale: Scale) -> tuple[int, ...]:
    return (1,) if scale.quick else (1, 2, 3)


def _by_queries(scale: Scale, cores: int) -> list[Case]:
    seconds = 0.5 if scale.quick else 3.2 / cores + 0.6
    return [Case(scaled_queries(cores), "mbd", seconds, seed) for seed in _seeds(scale)]


def e16(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """25 queries for each core."""
    found = {c: averaged([results[each] for each in _by_queries(scale, c)]) for c in _cores(scale)}
    rows = []
    for k, (low, high) in enumerate(RANGES):
        means = [1e3 * seen.mean[k] for seen in found.values()]
        band = Band(0.8 * low, 1.2 * high, " ms")
        for c, value in zip(found, means, strict=True):
            rows.append(banded(f"class {k + 1} on {c} cores", f"{low:g} … {high:g} ms", value, band))
        spread = 100 * (max(means) / min(means) - 1)
        rows.append(banded(f"class {k + 1}, spread over cores", "flat", spread, Band(0, 15, " %")))
    low, high = WEIGHTED
    rows += [
        banded(
            f"weighted on {c} cores",
            f"{low:g} … {high:g} ms",
            1e3 * seen.wavg,
            Band(0.8 * low, 1.2 * high, " ms"),
        )
        for c, seen in found.items()
    ]
    highest = [1e3 * max(seen.percentiles[90][k] for seen in found.values()) for k in range(5)]
    rows.append(reported("highest P90 of each class, ms", "≤ 2.5 3.5 5 6 9", ms([h / 1e3 for h in highest])))
    cases = [each for c in _cores(scale) for each in _by_queries(scale, c)]
    trace = f"Poisson, 1200 tuples per second and stream; {_lengths(cases)}"
    note = "Means over queries of all classes settle sooner the more there are, so runs are shorter on more cores."
    return Outcome(E16.id, E16.title, trace, seeds(cases), tuple(rows), (_over_cores(found),), (note,))


def _over_cores(found: Mapping[int, Seen]) -> Figure:
    return Figure(
        "mean response time by cores",
        "cores",
        "mean response time (ms)",
        tuple(
            Line(f"class {k + 1}", list(found), [1e3 * seen.mean[k] for seen in found.values()])
            for k in range(len(RANGES))
        ),
        log_x=True,
    )


def _lengths(cases: list[Case]) -> str:
    return ", ".join(f"{each.seconds:.3g} s on {each.workload.cores}" for each in cases if each.seed == cases[0].seed)


def _by_rate(scale: Scale) -> dict[int, list[Case]]:
    seconds = 0.5 if scale.quick else 2.0
    return {c: [Case(scaled_rate(c), "mbd", seconds, seed) for seed in _seeds(scale)] for c in (2, 4, 8)}


def e17(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """A hundred queries, and 300 tuples per second for each core."""
    found = {c: averaged([results[each] for each in cases]) for c, cases in _by_rate(scale).items()}
    rows = []
    for k in range(len(RANGES)):
        means = [seen.mean[k] for seen in found.values()]
        falls = means == sorted(means, reverse=True)
        rows.append(claim(f"class {k + 1} on 2, 4 and 8 cores", "falls", f"{ms(means)} ms", confirmed=falls))
    cases = [each for cases in _by_rate(scale).values() for each in cases]
    trace = f"Poisson, 600, 1200 and 2400 tuples per second and stream; {_lengths(cases)}"
    return Outcome(E17.id, E17.title, trace, seeds(cases), tuple(rows), (_over_cores(found),))


def _pace(scale: Scale) -> float:
    return 0.3 if scale.quick else 1.0


def _ramping(scale: Scale) -> dict[int, Case]:
    start, end, seconds = RAMP
    pace = _pace(scale)
    ramp = Ramp(start, end, pace * seconds)
    arrivals = tuple((str(k), ramp) for k in range(1, 6))
    return {
        c: Case(replace(scaled_queries(c), name=f"5O_{c}"), "mbd", pace * END, 1, arrivals=arrivals, warm=0.0)
        for c in _cores(scale)
    }


def e18(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """A rate that rises beyond what the cores can do."""
    start, end, seconds = RAMP
    pace = _pace(scale)
    rows, lines = [], []
    for c, case in _ramping(scale).items():
        seen = results[case]
        counts = seen.results.sum(axis=0)
        mean = np.nansum(seen.over_time * seen.results, axis=0) / np.maximum(counts, 1)
        rates = start + (end - start) / (pace * seconds) * (WIDTH * np.arange(len(mean)) + WIDTH / 2)
        ground = mean[: round(0.5 * pace / WIDTH)].mean()
        above = mean > DEPARTED * ground
        inside = np.flatnonzero(~above[:-1])
        knee = float(rates[inside[-1] + 1])
        rows.append(banded(f"knee on {c} cores", "1600/s", knee, Band(1440, 1760, "/s")))
        lines.append(Line(f"{c} cores", rates[:-1].tolist(), (1e3 * mean[:-1]).tolist()))
    figure = Figure(
        "mean response time of all classes", "tuples per second and stream", "response time (ms)", tuple(lines)
    )
    cases = list(_ramping(scale).values())
    notes = [KNEE]
    if scale.quick:
        notes.append("Quick: the rate rises three times as fast.")
    trace = f"Poisson, {start:g} to {end:g} tuples per second in {pace * seconds:g} s"
    return Outcome(E18.id, E18.title, trace, seeds(cases), tuple(rows), (figure,), tuple(notes))


def _tasks16(scale: Scale) -> Mapping[Any, Task]:
    return tasks([each for c in _cores(scale) for each in _by_queries(scale, c)])


def _tasks17(scale: Scale) -> Mapping[Any, Task]:
    return tasks([each for cases in _by_rate(scale).values() for each in cases])


def _tasks18(scale: Scale) -> Mapping[Any, Task]:
    return tasks(list(_ramping(scale).values()))


E16 = Experiment("CLS-E16", "MBD with queries in proportion to cores", "Figures 70–75", _tasks16, e16)
E17 = Experiment("CLS-E17", "MBD with rates in proportion to cores", "Figures 76–81", _tasks17, e17)
E18 = Experiment("CLS-E18", "MBD in an overload", "Figures 82, 83", _tasks18, e18)
EXPERIMENTS = (E16, E17, E18)

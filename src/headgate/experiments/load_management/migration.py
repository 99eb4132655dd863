"""DILOS-E21 to E23: a query moves between two nodes after 10 s. The same results come, and not later than without."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from headgate.control.migration.methods import WRP, StopAndCopy, UniMiCo
from headgate.control.migration.windows import RowWindow, Shape, Stage, TimeWindow
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Row,
    Scale,
    Task,
    banded,
    holds,
    reported,
)
from headgate.sim.metrics import interval
from headgate.sim.migration.node import Result
from headgate.sim.migration.query import Costs, Query
from headgate.sim.migration.rows import Tuple
from headgate.sim.migration.simulation import SECOND, Report, Setup, Simulation

ASKED = 10 * SECOND
AROUND = 2 * SECOND
"""Response times are those of results whose tuple comes so near to the move."""
END = {"E21": 23, "E22": 14, "E23": 24}
"""Seconds of a run: what comes behind the end of the originator is compared too."""
RATE = 50.0
"""Tuples per second of a stream."""
KEYS = 100
COSTS = Costs(read=100, row=200, out=100)
OTHER_LOAD, OTHER_WORK = 0.58, 1750
"""What else a node does: a part of its time, in jobs of so many microseconds. By E22 without a move."""
LATENCY, CONNECT, DELAY = 1_000, 20_000, 1_000
BANDWIDTH = 12.5e6
BIG_ROW = 10_000
"""Bytes; rows have 100 otherwise."""

JOIN = Stage(TimeWindow(10 * SECOND, 1), joins=True)
ROWS = Stage(RowWindow(5))
QUERIES = {
    "E21": Query("Q1", Shape((JOIN,), 2), signed=True, costs=COSTS),
    "E22": Query("Q2", Shape((ROWS,)), signed=True, costs=COSTS),
    "E23": Query("Q3", Shape((JOIN, ROWS), 2), signed=True, costs=COSTS),
}
METHODS: Mapping[str, tuple[UniMiCo | WRP | StopAndCopy | None, int]] = {
    "no move": (None, 100),
    "UniMiCo": (UniMiCo(ordered=False), 100),
    "UniMiCo, results in order": (UniMiCo(), 100),
    "WRP": (WRP(ordered=False), 100),
    "stop and copy": (StopAndCopy(), 100),
    "stop and copy, rows of 10 kB": (StopAndCopy(), BIG_ROW),
}
"""How the query moves, and how large a row of its state is."""
MEAN, SPREAD = 5.0, 10.0
"""By how many per cent mean and deviation may differ from those without a move; published are up to 1.7 and 2.2 %."""
BIN = SECOND // 5


@dataclass(frozen=True)
class Seen:
    """What a run has shown: response times in ms near the move and near its end, and whether its results are right.

    `changed` is the mean near the end of the move over that of the same time without a move.
    """

    mean: float
    deviation: float
    changed: float
    longest: float
    curve: tuple[float, ...]
    net: bool
    raw: bool
    raw_in_order: bool
    messages: int
    took: float
    copied: int


def streams(which: str, seed: int) -> list[list[Tuple]]:
    """Poisson streams; no two tuples of one come at the same microsecond."""
    made = []
    for number in range(QUERIES[which].shape.inputs):
        rng = np.random.default_rng((seed, number))
        gaps = 1 + rng.exponential(SECOND / RATE, int(1.3 * RATE * END[which])).astype(np.int64)
        times = [int(ts) for ts in np.cumsum(gaps) if ts < END[which] * SECOND]
        keys, values = rng.integers(0, KEYS, len(times)), rng.integers(1, 100, len(times))
        drawn = enumerate(zip(times, keys, values, strict=True))
        made.append([Tuple(ts, number, k, int(key), int(value)) for k, (ts, key, value) in drawn])
    return made


def others(which: str, seed: int) -> list[tuple[int, int]]:
    """Other work of a node."""
    rng = np.random.default_rng((seed, 99))
    count = int(OTHER_LOAD * END[which] * SECOND / OTHER_WORK)
    times = np.sort(rng.integers(0, END[which] * SECOND, count))
    return [(int(t), 1 + int(w)) for t, w in zip(times, rng.exponential(OTHER_WORK, count), strict=True)]


def simulated(which: str, method: UniMiCo | WRP | StopAndCopy | None, row_bytes: int, seed: int) -> Report:
    """A run. Both nodes have the same other work, so that all that differs is the move."""
    other = others(which, seed)
    setup = Setup(
        QUERIES[which],
        streams(which, seed),
        delays=(DELAY, DELAY),
        latency=LATENCY,
        connects=(CONNECT,) * QUERIES[which].shape.inputs,
        background=(other, other),
        row_bytes=row_bytes,
        bandwidth=BANDWIDTH,
    )
    return Simulation(setup if method is None else replace(setup, asked=ASKED, method=method)).run()


def _key(result: Result) -> tuple[Any, ...]:
    row = result.row
    return row.at, row.begin, row.value, row.sign


def run(which: str, seed: int) -> dict[str, Seen]:
    """All methods that can move the query, beside no move, over the same tuples."""
    without = simulated(which, None, 100, seed)
    found = {}
    for name, (method, row_bytes) in METHODS.items():
        if method is not None and method.refusal(QUERIES[which].shape):
            continue
        report = without if method is None else simulated(which, method, row_bytes, seed)
        found[name] = seen(report, without)
    return found


def seen(report: Report, without: Report) -> Seen:
    """A run beside that without a move."""
    near = _near(report, ASKED)
    times = [each.response / 1000 for each in near]
    edges = range(ASKED - AROUND, ASKED + AROUND + 1, BIN)
    bins = [[e.response / 1000 for e in near if low <= e.arrived < high] for low, high in pairwise(edges)]
    # What the end of the streams takes back all at once is left out.
    until = max(each.arrived for each in without.results)
    done = report.moved
    late, usual = ([e.response for e in _near(each, done or ASKED)] for each in (report, without))
    return Seen(
        mean=fmean(times),
        deviation=pstdev(times),
        changed=fmean(late) / fmean(usual),
        longest=max(
            each.response / 1000 for each in report.results if each.arrived >= ASKED - AROUND and each.arrived < until
        ),
        curve=tuple(fmean(each) if each else float("nan") for each in bins),
        net=sorted(map(_key, (e for e in report.results if e.row.sign > 0)))
        == sorted(map(_key, (e for e in without.results if e.row.sign > 0))),
        raw=sorted(map(_key, report.results)) == sorted(map(_key, without.results)),
        raw_in_order=report.rows == without.rows,
        messages=report.messages,
        took=0.0 if done is None else (done - ASKED) / SECOND,
        copied=report.copied,
    )


def _near(report: Report, ts: int) -> list[Result]:
    return [each for each in report.results if abs(each.arrived - ts) <= AROUND]


def _seeds(scale: Scale) -> range:
    return range(1, 3 if scale.quick else 6)


def tasks(which: str, scale: Scale) -> Mapping[Any, Task]:
    """A task for each seed."""
    return {(which, seed): (run, (which, seed)) for seed in _seeds(scale)}


@dataclass(frozen=True)
class Paper:
    """The published mean and deviation in ms, without and with a move."""

    without: tuple[float, float]
    moved: tuple[float, float]


PAPER = {
    "E21": Paper((3.751, 3.99), (3.750, 3.97)),
    "E22": Paper((3.155, 3.923), (3.101, 3.836)),
    "E23": Paper((6.568, 6.133), (6.658, 6.217)),
}
MAIN = {"E21": "UniMiCo", "E22": "UniMiCo, results in order", "E23": "UniMiCo, results in order"}
"""Sums come in order at no cost; pairs of a join would wait for a whole window, and so come as they are."""


def _change(what: str, paper: float, runs: Sequence[float], base: Sequence[float], most: float) -> Row:
    found = interval([100 * (a / b - 1) for a, b in zip(runs, base, strict=True)])
    return banded(what, f"{paper:+.1f} %", found.mean, Band(-most, most, " %"), f"{found} %")


def outcome(which: str, scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Equality, response times, and the other methods."""
    runs = [results[which, seed] for seed in _seeds(scale)]
    by = {name: [each[name] for each in runs] for name in runs[0]}
    base, ours, paper = by["no move"], by[MAIN[which]], PAPER[which]
    unimico = [each for name, seen in by.items() if name.startswith("UniMiCo") for each in seen]
    rows = [
        holds("the same net results", "yes", sum(each.net for each in unimico), len(unimico)),
        holds("the same results and retractions", "–", sum(each.raw for each in unimico), len(unimico)),
        reported("and all in the same order", "–", f"{sum(each.raw_in_order for each in ours)} of {len(ours)}"),
        _change(
            "mean response time around the move, beside no move",
            100 * (paper.moved[0] / paper.without[0] - 1),
            [each.mean for each in ours],
            [each.mean for each in base],
            MEAN,
        ),
        _change(
            "its deviation, beside no move",
            100 * (paper.moved[1] / paper.without[1] - 1),
            [each.deviation for each in ours],
            [each.deviation for each in base],
            SPREAD,
        ),
    ]
    if which != "E22":
        ended = interval([100 * (each.changed - 1) for each in ours])
        row = banded("mean around the end of the move", "–", ended.mean, Band(-MEAN, MEAN, " %"), f"{ended} %")
        rows.append(row)
    said = {"no move": paper.without, MAIN[which]: paper.moved}
    for name, found in by.items():
        times = " / ".join(f"{v:g}" for v in said[name]) + " ms" if name in said else "–"
        shown = f"{fmean(e.mean for e in found):.3f} / {fmean(e.deviation for e in found):.3f} ms"
        longest = f"longest {max(e.longest for e in found):.0f} ms"
        rows.append(reported(f"mean and deviation, {name}", times, f"{shown}, {longest}"))
    if which != "E22":
        slow = by["stop and copy, rows of 10 kB"]
        later = sum(a.mean > b.mean for a, b in zip(slow, ours, strict=True))
        rows.append(holds("stop and copy of the larger state is slower", "–", later, len(slow)))
    took = interval([each.took for each in ours])
    rows.append(reported("seconds until the originator is done", "–", f"{took}"))
    copied = ", ".join(f"{fmean(e.copied for e in by[n]) / 1000:.1f} kB" for n in by if n.startswith("stop"))
    rows.append(reported("state that stop and copy sends; UniMiCo sends none", "–", copied))
    able = "WRP" in by
    rows.append(holds("WRP moves it" if able else "WRP refuses it", "yes", int(able == (which == "E21")), 1))
    return Outcome(
        f"DILOS-{which}",
        TITLES[which],
        TRACE,
        ", ".join(map(str, _seeds(scale))),
        tuple(rows),
        _figures(by),
        NOTES[which],
    )


def _figures(by: Mapping[str, Sequence[Seen]]) -> tuple[Figure, ...]:
    centres = [(-AROUND + BIN * (k + 0.5)) / SECOND for k in range(2 * AROUND // BIN)]
    shown = [name for name in by if name != "WRP"]
    lines = tuple(Line(name, centres, _mean_curve(by[name])) for name in shown)
    bars = (
        Line("mean", (), [fmean(e.mean for e in by[name]) for name in by]),
        Line("deviation", (), [fmean(e.deviation for e in by[name]) for name in by]),
    )
    categories = tuple(name.replace(", ", "\n").replace("stop and copy", "stop\nand copy") for name in by)
    return (
        Figure("response time around the move", "seconds behind the move", "ms", lines),
        Figure("within 2 s of the move", "", "ms", bars, categories),
    )


def _mean_curve(found: Sequence[Seen]) -> list[float]:
    return [float(v) for v in np.nanmean([each.curve for each in found], axis=0)]


TRACE = f"Poisson, {RATE:g} tuples/s on each stream, {KEYS} keys"
TITLES = {
    "E21": "A join of ten seconds moves between nodes",
    "E22": "A sum of five rows moves between nodes",
    "E23": "A sum of five rows over a join moves between nodes",
}
_COMMON = (
    "Rates and costs are not published. Other work on the nodes is set once, by the response times of E22 without a "
    f"move. A message takes {LATENCY / 1000:g} ms, the target {CONNECT / 1000:g} ms to connect; "
    f"state goes at {BANDWIDTH / 1e6:g} MB/s."
)
_JOIN = (
    "Pairs are given out by both nodes for the length of a window. Held back until the originator is done, those of "
    "the target wait for up to ten seconds; the published times show that they did not. Towards the end of the move "
    "results come earlier than without it: two nodes share the work."
)
_SUM = (
    "The last sum is taken back by the node that gave it. The state is five rows, so that copying it takes no time."
)
_BOTH = (
    "The sum controls. Its rows are complete at the target when the join there has seen a whole window, so the query "
    "is handed over ten seconds after it was asked for; meanwhile the target runs the join alone. The earlier time "
    "of a pair, by which rows are told apart in the publication, would not do, as pairs do not come in that order."
)
NOTES = {"E21": (_COMMON, _JOIN), "E22": (_COMMON, _SUM), "E23": (_COMMON, _BOTH)}

E21, E22, E23 = (
    Experiment(f"DILOS-{which}", TITLES[which], figure, partial(tasks, which), partial(outcome, which))
    for which, figure in (("E21", "Chapter 7, Q1"), ("E22", "Chapter 7, Q2"), ("E23", "Chapter 7, Q3"))
)

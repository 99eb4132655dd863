"""QRY-E7: 500 window-join queries over two Poisson streams, l2 norm against utilisation."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Scale,
    Task,
    banded,
    change,
    holds,
    reported,
    sized,
)
from headgate.experiments.traces import POISSON
from headgate.sim import testbed
from headgate.sim.metrics import Interval, Summary, interval, summarise
from headgate.sim.run import Setting, simulate

INTER_ARRIVAL = 1.0
POLICIES = ("fcfs", "rr(1)", "rr(q16)", "srpt", "hr", "lsf", "hnr", "bsd")


def cell(seed: int, utilisation: float, tuples: int) -> dict[str, tuple[Summary, float]]:
    """Every policy on one set of join queries: its summary and the smallest mean slowdown of any query."""
    times = {name: POISSON.times(2 * seed + k, tuples) * INTER_ARRIVAL for k, name in enumerate(("left", "right"))}
    rate = {name: (tuples - 1) / float(t[-1] - t[0]) for name, t in times.items()}
    network, K = testbed.at_utilisation(testbed.two_streams(seed), rate, utilisation)
    turns = {"over": "units"}
    settings = (
        Setting("rr", turns, label="rr(1)"),
        Setting("rr", {**turns, "runs": math.inf, "quantum": 16 * K}, label="rr(q16)"),
        *(Setting(name) for name in ("fcfs", "srpt", "hr", "lsf", "hnr", "bsd")),
    )
    found = {}
    for setting in settings:
        arrivals = {name: iter([t]) for name, t in times.items()}
        report = simulate(network, rate, arrivals, setting, seed, kernel="compiled")
        found[setting.name] = (summarise(report.tally), report.tally.least_h)
    return found


def _size(scale: Scale) -> tuple[int, tuple[int, ...], tuple[float, ...]]:
    if scale.quick:
        return 400, (1, 2, 3), (0.9,)
    return 1000, (1, 2, 3, 4, 5), (0.5, 0.7, 0.9, 0.95)


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """One cell per utilisation and seed."""
    tuples, seeds, utilisations = _size(scale)
    return {("joins", u, seed): (cell, (seed, u, tuples)) for u in utilisations for seed in seeds}


def e7(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """How much worse than BSD every policy is."""
    tuples, seeds, utilisations = _size(scale)

    def l2(u: float, policy: str) -> list[float]:
        return [results["joins", u, seed][policy][0].l2 for seed in seeds]

    def ratio(policy: str) -> Interval:
        return interval([a / b for a, b in zip(l2(0.9, policy), l2(0.9, "bsd"), strict=True)])

    rows = []
    for policy, paper, band in (
        ("fcfs", "15×", Band(11, 19, "×")),
        ("rr(1)", "17×", Band(12, 21, "×")),
        ("hnr", "up to 1.16×", Band(1.15, 1.45, "×")),
    ):
        r = ratio(policy)
        shown = f"{r.mean:.2f}× [{r.low:.2f} … {r.high:.2f}]"
        rows.append(banded(f"l2 of {policy} over that of bsd, load 0.9", paper, r.mean, band, shown))
    gain = change(l2(0.9, "bsd"), l2(0.9, "hnr"))
    rows.append(sized("bsd against hnr, l2, load 0.9", -14, gain))
    rows += [
        reported(f"l2 of {policy} over that of bsd, load 0.9", "–", f"{ratio(policy).mean:.2f}×")
        for policy in ("rr(q16)", "srpt", "hr", "lsf")
    ]
    cells = [results["joins", u, seed] for u in utilisations for seed in seeds]
    best = sum(min(found, key=lambda p: found[p][0].l2) == "bsd" for found in cells)
    rows.append(holds("bsd has the lowest l2 norm of all policies", "BSD lowest", best, len(cells)))
    least = min(found[p][1] for found in cells for p in POLICIES)
    rows.append(
        banded("smallest slowdown of any result (checks the ideal departure)", "≥ 1", least, Band(1 - 1e-9, math.inf))
    )
    figure = Figure(
        "l2 norm, two-stream join queries",
        "utilisation",
        "l2 norm of slowdowns",
        tuple(Line(p, list(utilisations), [float(np.mean(l2(u, p))) for u in utilisations]) for p in POLICIES),
    )
    return Outcome(
        E7.id,
        E7.title,
        f"two Poisson streams, one tuple a second each, {tuples} tuples each",
        ", ".join(map(str, seeds)),
        tuple(rows),
        (figure,),
        ("The paper does not give the streams' rates; one tuple a second makes joins match about once a tuple.",),
    )


E7 = Experiment("QRY-E7", "l2 norm of two-stream join queries", "Figure 12", tasks, e7)

"""QRY-E1 to E6: 500 queries over one bursty stream, nine policies, rising utilisation.

The six experiments look at one set of simulations: average slowdown, average response time, maximum slowdown, the
trade-off of BSD, the l2 norm, and the mean slowdown of cheap queries by selectivity.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

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
    change,
    claim,
    holds,
    percent,
    reported,
)  # fmt: skip
from headgate.experiments.traces import Recorded, Synthetic
from headgate.sim import testbed
from headgate.sim.metrics import RESULTS, SUM_H, Summary, summarise
from headgate.sim.run import Setting, simulate

UTILISATIONS = (0.5, 0.7, 0.9, 0.95, 0.97)
QUANTUM = 16
SELECTIVITY_BINS = np.linspace(0.1, 1.0, 10)

Trace = Synthetic | Recorded


def settings(K: float) -> tuple[Setting, ...]:
    """The nine contenders; K is the cost of the cheapest operator."""
    return (
        Setting("fcfs"),
        Setting("rr", label="rr(1)"),
        Setting("rr", {"runs": math.inf, "quantum": QUANTUM * K}, label="rr(q16)"),
        *(Setting(name) for name in ("srpt", "srpt-c", "hr", "hnr", "lsf", "bsd")),
    )


class Cell(NamedTuple):
    """One simulation: its summary, and results and total slowdown of the cheapest queries by selectivity bin."""

    all: Summary
    cheap_results: tuple[float, ...]
    cheap_slowdown: tuple[float, ...]


class Plan(NamedTuple):
    """How large the runs are."""

    tuples: int
    seeds: tuple[int, ...]
    utilisations: tuple[float, ...]


def size(scale: Scale) -> Plan:
    """Twenty thousand tuples and five seeds, or less for a quick look."""
    if scale.quick:
        return Plan(3000, (1, 2, 3), (0.7, 0.95, 0.97))
    return Plan(20_000, (1, 2, 3, 4, 5), UTILISATIONS)


def cell(trace: Trace, seed: int, utilisation: float, tuples: int) -> dict[str, Cell]:
    """Every policy on one query set, trace and utilisation; a seed has the same queries on all traces."""
    arrivals = trace.times(seed, tuples)
    rate = {testbed.STREAM: (tuples - 1) / float(arrivals[-1] - arrivals[0])}
    network, K = testbed.at_utilisation(testbed.single_stream(seed), rate, utilisation)
    cheap = np.array([q.cls == "cost 1" for q in network.queries])
    s = np.array([network.by_name[f"{q.name}.select"].selectivity for q in network.queries])
    bins = np.clip(np.digitize(s, SELECTIVITY_BINS) - 1, 0, len(SELECTIVITY_BINS) - 2)
    found = {}
    for setting in settings(K):
        report = simulate(network, rate, {testbed.STREAM: iter([arrivals])}, setting, seed, kernel="compiled")
        n, h = report.tally.of(RESULTS), report.tally.of(SUM_H)
        by_bin = [(cheap & (bins == b)) for b in range(len(SELECTIVITY_BINS) - 1)]
        found[setting.name] = Cell(
            summarise(report.tally),
            tuple(float(n[chosen].sum()) for chosen in by_bin),
            tuple(float(h[chosen].sum()) for chosen in by_bin),
        )
    return found


def level_cell(trace: Trace, seed: int, utilisation: float, tuples: int) -> dict[str, tuple[float, ...]]:
    """The change in avg H, avg R, max and l2, in per cent, when scheduling after every operator instead."""
    arrivals = trace.times(seed, tuples)
    rate = {testbed.STREAM: (tuples - 1) / float(arrivals[-1] - arrivals[0])}
    network, _ = testbed.at_utilisation(testbed.single_stream(seed), rate, utilisation)
    found = {}
    for policy in ("hr", "hnr", "bsd", "lsf"):
        by_query, by_operator = (
            summarise(
                simulate(
                    network, rate, {testbed.STREAM: iter([arrivals])}, Setting(policy, level=level), seed,
                    kernel="compiled",
                ).tally
            )
            for level in ("query", "operator")
        )  # fmt: skip
        found[policy] = tuple(
            100 * (getattr(by_operator, m) / getattr(by_query, m) - 1) for m in ("avg_h", "avg_r", "max_h", "l2")
        )
    return found


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """The cells of the grid, which all six experiments share."""
    plan = size(scale)
    return {
        ("single", trace.name, u, seed): (cell, (trace, seed, u, plan.tuples))
        for trace in scale.traces
        for u in plan.utilisations
        for seed in plan.seeds
    }


def level_tasks(scale: Scale) -> Mapping[Any, Task]:
    """The grid, and the comparison of scheduling levels on the first trace."""
    compared = {
        ("level", u, seed): (level_cell, (scale.traces[0], seed, u, 800 if scale.quick else 3000))
        for u in (0.7, 0.95)
        for seed in ((1,) if scale.quick else (1, 2, 3))
    }
    return {**tasks(scale), **compared}


class Grid:
    """The cells by trace and utilisation, with a list over seeds for any metric of any policy."""

    def __init__(self, scale: Scale, results: Mapping[Any, Any]) -> None:
        self.plan = size(scale)
        self.traces = scale.traces
        self._results = results

    def get(self, trace: Trace, u: float, policy: str, metric: str) -> list[float]:
        """A metric over the seeds."""
        return [getattr(self.cell(trace, u, seed, policy).all, metric) for seed in self.plan.seeds]

    def cell(self, trace: Trace, u: float, seed: int, policy: str) -> Cell:
        """One simulation."""
        found: Cell = self._results["single", trace.name, u, seed][policy]
        return found

    def change(self, trace: Trace, u: float, metric: str, policy: str, against: str, paper: str, band: Band) -> Row:
        """A row on the change of a metric between two policies."""
        i = change(self.get(trace, u, policy, metric), self.get(trace, u, against, metric))
        what = f"{policy} against {against}, {NAMES[metric]}, {u} {trace.name}"
        return banded(what, paper, i.mean, band, percent(i))

    def lowest(self, policy: str, metric: str, paper: str, least: float = 0.0) -> Row:
        """A row on whether a policy is the lowest in every cell from a utilisation on."""
        cells = [
            (trace, u, seed)
            for trace in self.traces
            for u in self.plan.utilisations
            if u >= least
            for seed in self.plan.seeds
        ]
        good = 0
        for trace, u, seed in cells:
            values = {s.name: getattr(self.cell(trace, u, seed, s.name).all, metric) for s in settings(1.0)}
            good += values[policy] == min(values.values())
        return holds(f"{policy} has the lowest {NAMES[metric]} of all policies", paper, good, len(cells))

    def curves(self, title: str, metric: str, policies: tuple[str, ...]) -> tuple[Figure, ...]:
        """A figure per trace: the metric's mean over the seeds against utilisation."""
        return tuple(
            Figure(
                f"{title}, {trace.name}",
                "utilisation",
                NAMES[metric],
                tuple(Line(p, us, [float(np.mean(self.get(trace, u, p, metric))) for u in us]) for p in policies),
            )
            for trace in self.traces
            for us in [list(self.plan.utilisations)]
        )

    def outcome(
        self, experiment: str, title: str, rows: list[Row], figures: tuple[Figure, ...], *notes: str
    ) -> Outcome:
        """The outcome with the traces and seeds it stands on."""
        return Outcome(
            experiment,
            title,
            "; ".join(t.about for t in self.traces) + f"; {self.plan.tuples} tuples each",
            ", ".join(map(str, self.plan.seeds)),
            tuple(rows),
            figures,
            notes,
        )


NAMES = {"avg_h": "average slowdown", "avg_r": "average response time", "max_h": "maximum slowdown", "l2": "l2 norm"}


def e1(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Average slowdown."""
    grid = Grid(scale, results)
    rows = [grid.lowest("hnr", "avg_h", "HNR lowest")]
    second = Band(-24, -10, " %")
    for trace in scale.traces:
        for u, hr, srpt, rr, band in (
            (0.7, "−18 %", "−51 %", "−74 %", Band(-62, -35, " %")),
            (0.97, "−20 %", "−53 %", "−75 %", Band(-78, -40, " %")),
        ):
            rows += [
                grid.change(trace, u, "avg_h", "hnr", "hr", hr, second),
                grid.change(trace, u, "avg_h", "hnr", "srpt", srpt, band),
                grid.change(trace, u, "avg_h", "hnr", "rr(q16)", rr, Band(-85, -70, " %")),
            ]
            literal = change(grid.get(trace, u, "hnr", "avg_h"), grid.get(trace, u, "rr(1)", "avg_h"))
            what = f"hnr against rr(1), average slowdown, {u} {trace.name}"
            rows.append(claim(what, rr, percent(literal), confirmed=-85 <= literal.mean <= -70))
            variant = change(grid.get(trace, u, "hnr", "avg_h"), grid.get(trace, u, "srpt-c", "avg_h"))
            rows.append(reported(f"hnr against srpt-c, average slowdown, {u} {trace.name}", "–", percent(variant)))
    same = [
        grid.cell(trace, u, seed, "rr(1)").all == grid.cell(trace, u, seed, "fcfs").all
        for trace in scale.traces for u in grid.plan.utilisations for seed in grid.plan.seeds
    ]  # fmt: skip
    rows.append(holds("rr(1) and fcfs are the same on a shared stream", "–", sum(same), len(same)))
    levels = [
        max(map(abs, changes)) for key, value in results.items() if key[0] == "level" for changes in value.values()
    ]
    what = "largest change of any metric when scheduling at operator level"
    rows.append(banded(what, "–", max(levels), Band(0, 1, " %"), f"{max(levels):.2f} %"))
    return grid.outcome(
        E1.id, E1.title, rows,
        grid.curves("Average slowdown", "avg_h", ("rr(1)", "rr(q16)", "srpt", "hr", "hnr")),
        "The paper does not say how long a visit of round robin lasts: one tuple (rr(1), the same as FCFS here) and "
        "a quantum of one most expensive operator (rr(q16)) are shown; neither is claimed to be the paper's.",
    )  # fmt: skip


def e2(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Average response time."""
    grid = Grid(scale, results)
    rows = [grid.lowest("hr", "avg_r", "HR lowest")]
    rows += [
        grid.change(trace, u, "avg_r", "hnr", "hr", paper, Band(3, 11, " %"))
        for trace in scale.traces
        for u, paper in ((0.7, "+4 %"), (0.97, "+7 %"))
    ]
    figures = grid.curves("Average response time (s)", "avg_r", ("rr(1)", "rr(q16)", "srpt", "hr", "hnr"))
    return grid.outcome(E2.id, E2.title, rows, figures)


def e3(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Maximum slowdown."""
    grid = Grid(scale, results)
    rows = [grid.lowest("lsf", "max_h", "LSF lowest")]
    rows += [
        grid.change(trace, u, "max_h", "lsf", "hnr", "−80 %", Band(-96, -75, " %"))
        for trace in scale.traces
        for u in grid.plan.utilisations
        if u >= 0.7
    ]
    return grid.outcome(E3.id, E3.title, rows, grid.curves("Maximum slowdown", "max_h", ("hr", "hnr", "lsf", "bsd")))


def e4(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """BSD between the best average and the best maximum."""
    grid = Grid(scale, results)
    rows = []
    for trace in scale.traces:
        rows += [
            grid.change(trace, 0.95, "max_h", "bsd", "hnr", "−44 %", Band(-60, -35, " %")),
            grid.change(trace, 0.95, "avg_h", "bsd", "lsf", "−80 %", Band(-84, -70, " %")),
        ]
        price = change(grid.get(trace, 0.95, "bsd", "avg_h"), grid.get(trace, 0.95, "hnr", "avg_h"))
        rows.append(reported(f"bsd against hnr, average slowdown, 0.95 {trace.name}", "–", percent(price)))
    figures = tuple(
        Figure(
            f"The trade-off of BSD at 0.95, {trace.name}",
            "",
            "slowdown",
            tuple(
                Line(NAMES[m], (), [float(np.mean(grid.get(trace, 0.95, p, m))) for p in ("hnr", "lsf", "bsd")])
                for m in ("avg_h", "max_h")
            ),
            ("hnr", "lsf", "bsd"),
        )
        for trace in scale.traces
    )
    return grid.outcome(E4.id, E4.title, rows, figures)


def e5(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """The l2 norm of slowdowns."""
    grid = Grid(scale, results)
    rows = [grid.lowest("bsd", "l2", "BSD lowest", least=0.7)]
    for trace in scale.traces:
        for u in grid.plan.utilisations:
            if u >= 0.7:
                rows += [
                    grid.change(trace, u, "l2", "bsd", "lsf", "up to −57 %", Band(-62, -48, " %")),
                    grid.change(trace, u, "l2", "bsd", "hnr", "−24 %", Band(-36, -12, " %")),
                ]
    figures = grid.curves("l2 norm of slowdowns", "l2", ("hr", "hnr", "lsf", "bsd"))
    return grid.outcome(E5.id, E5.title, rows, figures)


def e6(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Mean slowdown of the cheapest queries by selectivity: who pays."""
    grid = Grid(scale, results)
    u, bins = 0.95, len(SELECTIVITY_BINS) - 1
    rows, figures = [], []
    for trace in scale.traces:
        curves = {}
        for policy in ("hr", "hnr", "bsd"):
            cells = [grid.cell(trace, u, seed, policy) for seed in grid.plan.seeds]
            n = np.sum([c.cheap_results for c in cells], axis=0)
            h = np.sum([c.cheap_slowdown for c in cells], axis=0)
            curves[policy] = h / np.maximum(n, 1)
        spread = {p: float(c[:3].mean() / c[-3:].mean()) for p, c in curves.items()}
        ordered = spread["hr"] > spread["hnr"] > spread["bsd"]
        shown = ", ".join(f"{p} {v:.1f}" for p, v in spread.items())
        what = f"cheapest class at {u}: slowdown at the lowest third of selectivities over the highest, {trace.name}"
        rows.append(Row(what, "HR ≫ HNR > BSD", shown, "hr > hnr > bsd", "in band" if ordered else "out of band"))
        middle = [float(SELECTIVITY_BINS[b] + SELECTIVITY_BINS[b + 1]) / 2 for b in range(bins)]
        figures.append(
            Figure(
                f"Mean slowdown of the cheapest class at {u}, {trace.name}",
                "selectivity",
                "mean slowdown",
                tuple(Line(p, middle, c.tolist()) for p, c in curves.items()),
            )
        )
    return grid.outcome(E6.id, E6.title, rows, tuple(figures), "The paper does not give the load of its figure.")


E1 = Experiment("QRY-E1", "Average slowdown against utilisation", "Figure 5", level_tasks, e1)
E2 = Experiment("QRY-E2", "Average response time against utilisation", "Figure 6", tasks, e2)
E3 = Experiment("QRY-E3", "Maximum slowdown against utilisation", "Figure 7", tasks, e3)
E4 = Experiment("QRY-E4", "The trade-off of BSD at 0.95", "Figures 8 and 9", tasks, e4)
E5 = Experiment("QRY-E5", "l2 norm of slowdowns against utilisation", "Figure 10", tasks, e5)
E6 = Experiment("QRY-E6", "Mean slowdown of the cheapest class by selectivity", "Figure 11", tasks, e6)

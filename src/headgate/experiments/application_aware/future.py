"""APP-EX8 to EX12: what the publication proposes and does not measure. So the rows report, and few have a band."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headgate.experiments.application_aware.cases import (
    FIXED,
    LOOSE,
    OVERHEAD,
    SLOPE,
    TIGHT,
    Seen,
    mean,
    numbered,
    over,
    required,
    seeds,
    seen,
    tuples,
)
from headgate.experiments.report import Band, Experiment, Figure, Line, Row, Scale, Task, banded, reported
from headgate.experiments.report import Outcome as Report
from headgate.model import superboxes
from headgate.model.boxes import Box, Boxes, complete
from headgate.model.parameters import expected_cost
from headgate.model.qos import LatencyGraph, combined
from headgate.model.superboxes import Priority
from headgate.model.traversals import min_cost
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, Outcome, Queue, Run, View, Why, Work
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes import lines as queues
from headgate.sim.boxes.overhead import SMALL
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.trains import ONE, WHOLE
from headgate.sim.boxes.units import (
    Applications,
    Plan,
    application_at_a_time,
    box_at_a_time,
    push_through,
)
from headgate.sim.boxes.units import superboxes as units_of

UNPUBLISHED = "Nothing is published that this could be compared with."


def _outcome(
    experiment: Experiment, scale: Scale, about: str, rows: Sequence[Row], figures: tuple[Figure, ...], *notes: str
) -> Report:
    return Report(
        experiment.id, experiment.title, about, numbered(scale), tuple(rows), figures, (UNPUBLISHED, *notes)
    )


# APP-EX8

OVERLAPS = (0.0, 0.25, 0.5, 0.75)
CUTS: Mapping[str, Callable[[Boxes], Sequence[Sequence[int]]]] = {
    "application trees": superboxes.application_trees,
    "intersections": superboxes.intersections,
    "trains of boxes": superboxes.single_input_trains,
    "top-3 spanner": superboxes.application_trees,
}
RATE = 1200.0


@dataclass(frozen=True)
class Urgent:
    """For the moment: what covers the k most urgent boxes of the application."""

    applications: Applications
    k: int

    def __call__(self, clock: int, unit: int, lines: Sequence[queues.Line]) -> Sequence[int]:
        """The boxes to call."""
        boxes = self.applications.boxes
        root = boxes.outputs[unit]
        waiting = {b: lines[b].pending for b in boxes.upstream(root) if lines[b].pending}
        graph = self.applications.graphs[unit]
        priority = {}
        for b, n in waiting.items():
            latency = (clock - lines[b].total / n) / queues.SECOND
            priority[b] = Priority(graph.slope(latency), graph.slack(latency))
        return superboxes.top_k_spanner(boxes, root, priority, self.k, waiting)


def shared(cut: str, overlap: float, n: int, seed: int) -> tuple[Seen, int]:
    """Chains that share their upper halves: what was seen, and how many calls it took."""
    rng = np.random.default_rng([seed, 8])
    applications = networks.overlapping(20, 6, overlap, networks.constant(1e-4), rng, (TIGHT, LOOSE))
    plan = units_of(applications, CUTS[cut](applications.boxes))
    feed = feeds.steady(n, RATE / (1 + overlap), len(applications.boxes.leaves), rng)
    urgent = Urgent(applications, 3) if cut == "top-3 spanner" else None
    policy = create(SLOPE, {"schedule": 10, "seed": seed})
    report = Simulation(plan, feed, policy, SMALL, superbox=urgent).run()
    return seen(report), report.spent.calls


def ex8_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each way to cut, for each degree of overlap."""
    n = tuples(scale, 12_000)
    return {
        ("overlap", cut, overlap, seed): (shared, (cut, overlap, n, seed))
        for cut in CUTS
        for overlap in OVERLAPS
        for seed in seeds(scale)
    }


def ex8(scale: Scale, results: Mapping[Any, Any]) -> Report:
    """Superboxes over networks with shared boxes."""

    def of(cut: str, overlap: float, value: Callable[[Any], float]) -> float:
        return mean(results, [("overlap", cut, overlap, seed) for seed in seeds(scale)], value).mean

    qos = {cut: [of(cut, overlap, lambda found: found[0].qos) for overlap in OVERLAPS] for cut in CUTS}
    calls = {cut: [of(cut, overlap, lambda found: found[1]) for overlap in OVERLAPS] for cut in CUTS}
    rows = [
        required(
            "without shared boxes, trees, intersections and trains are the same superboxes",
            "–",
            " / ".join(f"{qos[cut][0]:.3f}" for cut in list(CUTS)[:3]),
            met=len({qos[cut][0] for cut in list(CUTS)[:3]}) == 1,
        ),
        *(
            reported(
                f"{cut}: average QoS at an overlap of {', '.join(map(str, OVERLAPS))}",
                "–",
                " / ".join(f"{value:.3f}" for value in qos[cut]),
            )
            for cut in CUTS
        ),
        *(
            reported(f"{cut}: thousands of calls", "–", " / ".join(f"{value / 1000:.1f}" for value in calls[cut]))
            for cut in CUTS
        ),
    ]
    figures = (over("average QoS", "overlap", OVERLAPS, qos), over("calls", "overlap", OVERLAPS, calls, "calls"))
    return _outcome(
        EX8, scale, "20 chains of six boxes, of which some share their first half", rows, figures, OVERHEAD
    )


# APP-EX9

BOUND = 1e-3
"""A box that takes longer than ten times the median cost is a high-cost one."""


def costly(cut: str, n: int, seed: int) -> tuple[float, float]:
    """Average QoS of cheap tight applications, and latency of the one with a high-cost box."""
    cheap = [Box((k - 1,) if k % 5 else (), 1e-4) for k in range(50)]
    heavy = [Box((49 + k,) if k else (), 5e-3 if k == 2 else 1e-4) for k in range(5)]
    applications = Applications(Boxes((*cheap, *heavy)), (*(TIGHT,) * 10, LOOSE))
    boxes = applications.boxes
    whole = superboxes.application_trees(boxes)
    pieces = [piece for each in whole for piece in superboxes.split_high_cost(boxes, each, BOUND)]
    rng = np.random.default_rng([seed, 9])
    calm = feeds.steady(n, 600.0, 10, rng)
    busy = feeds.steady(round(n / 10), 60.0, 1, rng)
    feed = feeds.merged((calm, replace(busy, inputs=busy.inputs + 10)))
    policy = create(SLOPE, {"schedule": 10, "seed": seed})
    report = Simulation(units_of(applications, pieces if cut == "isolated" else whole), feed, policy, SMALL).run()
    by = [worth.mean for worth in report.worth.queries.values()]
    return float(np.mean(by[:10])), float(report.latencies[report.apps == 10].mean())


def ex9_tasks(scale: Scale) -> Mapping[Any, Task]:
    """With and without isolation."""
    n = tuples(scale, 12_000)
    return {
        ("costly", cut, seed): (costly, (cut, n, seed)) for cut in ("inside", "isolated") for seed in seeds(scale)
    }


def ex9(scale: Scale, results: Mapping[Any, Any]) -> Report:
    """High-cost boxes inside superboxes, or at their end."""

    def of(cut: str, which: int) -> float:
        return mean(results, [("costly", cut, seed) for seed in seeds(scale)], lambda found: found[which]).mean

    rows = [
        reported(
            "QoS of the cheap applications: inside / isolated",
            "–",
            f"{of('inside', 0):.3f} / {of('isolated', 0):.3f}",
        ),
        reported(
            "latency of the costly application: inside / isolated",
            "–",
            f"{1000 * of('inside', 1):.3g} / {1000 * of('isolated', 1):.3g} ms",
        ),
    ]
    figure = Figure(
        "QoS of cheap applications", "", "QoS", (Line("QoS", (), [of("inside", 0), of("isolated", 0)]),),
        ("inside", "isolated"), log_y=False,
    )  # fmt: skip
    note = (
        "A train of the high-cost box blocks everybody, wherever its superbox ends; isolation alone changes little."
    )
    return _outcome(EX9, scale, "ten chains of 0.5 ms and one with a box of 5 ms", rows, (figure,), OVERHEAD, note)


# APP-EX10

RANKS = ("best box", "three best boxes", "superbox")
LOADS = (1900.0, 2100.0, 2300.0)


@dataclass
class Ranked:
    """A scheduler of superboxes that looks at the lines of their boxes."""

    applications: Applications
    rank: str
    size: int = 10

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take what a tuple at each box still costs."""
        boxes = self.applications.boxes
        self._units = units
        self._ahead = [expected_cost(boxes.path(b)) for b in range(len(boxes))]

    def choose(self, view: View) -> Decision | None:
        """The most urgent superboxes first."""
        waiting = [k for k, queue in enumerate(view.queues) if queue.pending]
        if not waiting:
            return None
        keyed = sorted((self._priority(view, k).key, k) for k in waiting)[: self.size]
        runs = tuple(Run(k, view.queues[k].pending) for _, k in keyed)
        return Decision(runs, Why(self.rank), Work(len(waiting), len(waiting), len(view.queues)))

    def observe(self, outcome: Outcome) -> None:
        """Nothing is learned."""

    def _priority(self, view: View, unit: int) -> Priority:
        queue, members = view.queues[unit], [int(name) for name in self._units[unit].members]
        graphs = self._units[unit].graphs
        if self.rank == "superbox" or not isinstance(queue, queues.Lines):
            work = sum(n * self._ahead[b] for b, n in zip(members, self._waiting(queue), strict=True))
            return superboxes.qos_level(graphs, view.now - queue.arrived(queue.pending) / queue.pending, work)
        graph = combined(graphs)
        priority = {}
        for b, line in zip(members, queue.lines, strict=True):
            if line.pending:
                latency = view.now - line.arrived(line.pending) / line.pending + self._ahead[b]
                priority[b] = Priority(graph.slope(latency), graph.slack(latency))
        return superboxes.top_n(tuple(members), priority, 1 if self.rank == "best box" else 3)

    def _waiting(self, queue: Queue) -> list[int]:
        return [line.pending for line in queue.lines] if isinstance(queue, queues.Lines) else [queue.pending]


def ranked(rank: str, rate: float, n: int, seed: int) -> Seen:
    """Trees whose superboxes are ranked one way or another."""
    graphs = (LatencyGraph.until(0.04), LatencyGraph.until(3.04))
    applications = networks.alternating([complete(2, 4, Box((), 1e-4))] * 10, graphs)
    feed = feeds.steady(n, rate, 80, np.random.default_rng([seed, 100]))
    plan = application_at_a_time(applications, min_cost)
    return seen(Simulation(plan, feed, Ranked(applications, rank, 3), SMALL).run())


def ex10_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each rank at each rate."""
    n = tuples(scale, 12_000)
    return {
        ("rank", rank, rate, seed): (ranked, (rank, rate, n, seed))
        for rank in RANKS
        for rate in LOADS
        for seed in seeds(scale)
    }


def ex10(scale: Scale, results: Mapping[Any, Any]) -> Report:
    """What the priority of a superbox is."""

    def of(rank: str, rate: float, name: str) -> float:
        keys = [("rank", rank, rate, seed) for seed in seeds(scale)]
        return mean(results, keys, lambda found: getattr(found, name)).mean

    qos = {rank: [of(rank, rate, "qos") for rate in LOADS] for rank in RANKS}
    rows = [
        reported(
            f"priority of the {rank}: QoS at {', '.join(f'{rate:g}' for rate in LOADS)} tuples/s, and latency",
            "the superbox's own is favoured" if rank == RANKS[-1] else "–",
            " / ".join(f"{value:.3f}" for value in qos[rank])
            + ", "
            + " / ".join(f"{1000 * of(rank, rate, 'latency'):.3g}" for rate in LOADS)
            + " ms",
        )
        for rank in RANKS
    ]
    figure = over("average QoS", "tuples/s", LOADS, qos)
    return _outcome(EX10, scale, "ten trees of 15 boxes, deadlines 40 ms and 3.04 s", rows, (figure,), OVERHEAD)


# APP-EX11

TICKETS = {"A0": 3.0, "A1": 2.0, "A2": 1.0}


def shares(policy: str, n: int, seed: int) -> tuple[float, ...]:
    """Parts of the outputs, while all three applications have a backlog."""
    applications = networks.chains(3, 4, 1e-4, (LOOSE,))
    feed = feeds.together([n] * 3)
    options: dict[str, Any] = {"tickets": TICKETS} | ({"seed": seed} if policy == "lottery" else {})
    report = Simulation(push_through(applications), feed, create(policy, options), SMALL, ONE).run()
    # The first application has the most tickets, so it is the first to be done.
    first = report.apps[: int(np.flatnonzero(report.apps == 0)[-1]) + 1]
    return tuple(float(np.mean(first == app)) for app in range(3))


def ex11_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Both ways to draw."""
    n = tuples(scale, 4_000)
    return {("tickets", way, s): (shares, (way, n, s)) for way in ("stride", "lottery") for s in seeds(scale)}


def ex11(scale: Scale, results: Mapping[Any, Any]) -> Report:
    """Whether applications get what their tickets say."""
    total = sum(TICKETS.values())
    wanted = [held / total for held in TICKETS.values()]

    def furthest(way: str) -> float:
        found = np.array([results["tickets", way, seed] for seed in seeds(scale)])
        return float(np.abs(found - wanted).max())

    rows = [
        banded(
            "stride: furthest share of outputs from that of tickets",
            "exact",
            100 * furthest("stride"),
            Band(0, 0.5, " %"),
        ),
        banded("lottery: the same", "by chance", 100 * furthest("lottery"), Band(0, 5, " %")),
    ]
    lines = tuple(Line(way, (), results["tickets", way, 1]) for way in ("stride", "lottery"))
    figure = Figure(
        "share of outputs", "", "share", (*lines, Line("tickets", (), wanted)), tuple(TICKETS), log_y=False
    )
    return _outcome(EX11, scale, "three chains with a backlog, tickets 3 : 2 : 1, a tuple at a time", rows, (figure,))


# APP-EX12

PLANS: Mapping[str, Callable[[Applications], Plan]] = {
    "box by box": box_at_a_time,
    "pushed through": push_through,
    "trees": lambda applications: application_at_a_time(applications, min_cost),
}


def stateful(way: str, n: int, seed: int) -> Seen:
    """A join that makes two of one, windows of five, and a table that is looked up at length, in each tree."""
    join, window, lookup, source = 0.5e-4, 2e-4, 4e-4, 1e-4
    tree = Boxes(
        (Box((1,), window, 0.2), Box((2, 3), join, 2.0), Box((4,), lookup), Box((), source), Box((), source))
    )
    applications = networks.alternating([tree] * 10, (LatencyGraph.until(0.04), LOOSE))
    feed = feeds.steady(n, networks.rate_for(applications.boxes, 0.8), 20, np.random.default_rng([seed, 12]))
    policy = create(FIXED if way == "box by box" else SLOPE, {"schedule": 10, "seed": seed})
    return seen(Simulation(PLANS[way](applications), feed, policy, SMALL, WHOLE).run())


def ex12_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Each kind of unit."""
    n = tuples(scale, 12_000)
    return {("stateful", way, seed): (stateful, (way, n, seed)) for way in PLANS for seed in seeds(scale)}


def ex12(scale: Scale, results: Mapping[Any, Any]) -> Report:
    """Boxes with state under each kind of unit."""

    def of(way: str, name: str) -> float:
        return mean(results, [("stateful", way, s) for s in seeds(scale)], lambda found: getattr(found, name)).mean

    rows = [
        reported(f"{way}: average QoS, latency", "–", f"{of(way, 'qos'):.3f}, {1000 * of(way, 'latency'):.3g} ms")
        for way in PLANS
    ]
    figure = Figure(
        "average QoS", "", "QoS", (Line("QoS", (), [of(way, "qos") for way in PLANS]),), tuple(PLANS), log_y=False
    )
    about = "ten trees with a join, a window of five and a lookup, at 0.8 of the capacity"
    note = "A window is a box that passes on each fifth tuple, a join one that makes two of one."
    return _outcome(EX12, scale, about, rows, (figure,), OVERHEAD, note)


EX8 = Experiment("APP-EX8", "Superboxes where applications share boxes", "Section 6.3", ex8_tasks, ex8)
EX9 = Experiment("APP-EX9", "High-cost boxes in superboxes", "Section 6.3", ex9_tasks, ex9)
EX10 = Experiment("APP-EX10", "The priority of a superbox", "Section 6.3", ex10_tasks, ex10)
EX11 = Experiment("APP-EX11", "Tickets instead of QoS graphs", "Section 6.3", ex11_tasks, ex11)
EX12 = Experiment("APP-EX12", "Boxes with state", "Section 6.3", ex12_tasks, ex12)

"""APP-E19, E23, E25, E28 and E32: examples that are worked out to the last number."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headgate.experiments.application_aware.cases import FIXED, SHOWN, SLOPE, exact, required
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Row, Scale, Task, banded, claim, reported
from headgate.model.boxes import Box, Boxes
from headgate.model.qos import LatencyGraph
from headgate.policy.protocol import View
from headgate.policy.qos.partitions import Partition
from headgate.policy.registry import create
from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes import lines as queues
from headgate.sim.boxes.report import Report
from headgate.sim.boxes.simulation import Simulation
from headgate.sim.boxes.trains import WHOLE, Trains
from headgate.sim.boxes.units import Applications, Plan, box_at_a_time, push_through

SECOND = queues.SECOND


def chains(depth: int, deadlines: Sequence[float]) -> Applications:
    """Chains of boxes of a second, numbered from the input to the output."""
    boxes = [Box((k - 1,) if k % depth else ()) for k in range(depth * len(deadlines))]
    return Applications(Boxes(tuple(boxes)), tuple(map(LatencyGraph.until, deadlines)))


def none(_scale: Scale) -> Mapping[Any, Task]:
    """Nothing that is worth a process of its own."""
    return {}


def bars(title: str, y: str, found: Mapping[str, float]) -> Figure:
    """A number for each name."""
    return Figure(title, "", y, (Line(y, (), list(found.values())),), tuple(found), log_y=False)


def _outcome(experiment: Experiment, about: str, rows: Sequence[Row], figure: Figure, *notes: str) -> Outcome:
    return Outcome(experiment.id, experiment.title, about, "none", tuple(rows), (figure,), notes)


def e19(_scale: Scale, _results: Mapping[Any, Any]) -> Outcome:
    """Two chains of three under Fixed-Priority; here boxes are numbered from the output."""
    plan = box_at_a_time(networks.chains(2, 3, 1.0, tuple(map(LatencyGraph.until, (4.0, 8.0)))))
    waiting = [queues.Line([0]) for _ in range(6)]
    for line in waiting:
        line.put((0,), 0)
    policy = create(FIXED, {"schedule": 6, "seed": None})
    policy.prepare(plan.units)
    decision = policy.choose(View(0.0, waiting))
    order = [] if decision is None else [run.unit for run in decision.runs]
    graphs = plan.applications.graphs
    slacks = [graphs[k // 3].deadline - unit.segments[0].T for k, unit in enumerate(plan.units)]
    rows = [
        required(
            "slack of b1 to b6", "3 2 1 7 6 5", " ".join(f"{s:g}" for s in slacks), met=slacks == [3, 2, 1, 7, 6, 5]
        ),
        _sequence("order of the boxes", "b3 b2 b1 b6 b5 b4", order),
    ]
    figure = bars("slack", "s", {f"b{k + 1}": slack for k, slack in enumerate(slacks)})
    return _outcome(E19, "two chains of three boxes of a second, deadlines 4 and 8 s", rows, figure)


def _sequence(what: str, wanted: str, order: Sequence[int]) -> Row:
    shown = " ".join(f"b{b + 1}" for b in order)
    return required(what, wanted, shown, met=shown == wanted)


BUCKETS = ((1, 1.5, "32"), (1, 0.5, "41"), (1, 3.5, "11"), (2, 1.5, "34"), (2, 2.5, "33"))
GRAPHS = {
    1: LatencyGraph(((0.0, 5.0), (1.0, 5.0), (3.0, 3.0), (4.0, 0.0))),
    2: LatencyGraph(((0.0, 5.0), (5.0, 0.0))),
}


def e23(_scale: Scale, _results: Mapping[Any, Any]) -> Outcome:
    """Five latencies in sixteen cells."""
    partition = Partition((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    rows = []
    for app, latency, wanted in BUCKETS:
        cell = partition.cell(GRAPHS[app].slope(latency), GRAPHS[app].slack(latency))
        shown = f"{cell // 4 + 1}{cell % 4 + 1}"
        rows.append(required(f"application {app}, latency {latency:g}: cell", wanted, shown, met=shown == wanted))
    x = np.linspace(0.0, 5.0, 51)
    lines = tuple(
        Line(f"application {app}", x.tolist(), graph.utilities(x).tolist()) for app, graph in GRAPHS.items()
    )
    figure = Figure("QoS graphs", "latency", "utility", lines, log_y=False)
    return _outcome(
        E23,
        "four ranges of slope and of slack, each of width 1",
        rows,
        figure,
        "The graphs are ours: the simplest that agree with all five rows.",
    )


def scheduled(plan: Plan, policy: str, size: int) -> tuple[list[int], Report]:
    """The calls in their order, and the report, of one tuple at each input."""
    calls: list[int] = []
    options = {"schedule": size, "seed": None, **({"ect": "single"} if policy == SLOPE else {})}
    feed = feeds.together([1] * len(plan.applications.boxes.leaves))
    simulation = Simulation(plan, feed, create(policy, options), on_call=lambda _at, box, _n: calls.append(box))
    return calls, simulation.run()


ORDERS = {
    (FIXED, 1): "b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12",
    (SLOPE, 1): "b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12",
    (FIXED, 2): "b1 b5 b2 b6 b3 b7 b4 b8 b9 b10 b11 b12",
    (SLOPE, 2): "b1 b5 b2 b6 b3 b7 b8 b9 b10 b4 b11 b12",
}


def e25(_scale: Scale, _results: Mapping[Any, Any]) -> Outcome:
    """Three chains of four, with schedules of one to three boxes."""
    three = chains(4, (6.0, 10.0, 14.0))
    plan = box_at_a_time(three)
    rows = []
    ends: dict[tuple[str, str | int], tuple[float, ...]] = {}
    for (policy, size), wanted in ORDERS.items():
        calls, report = scheduled(plan, policy, size)
        rows.append(_sequence(f"{SHOWN[policy]}, schedules of {size}", wanted, calls))
        ends[policy, size] = _ends(report)
    for policy in (FIXED, SLOPE):
        ends[policy, 3] = _ends(scheduled(plan, policy, 3)[1])
        ends["through", policy] = _ends(scheduled(push_through(three), policy, 3)[1])
    rows += [
        _when("schedules of 1: results at", "4, 8 and 12", ends[FIXED, 1], (4, 8, 12)),
        _when("Fixed-Priority, schedules of 2: results at", "7, …", ends[FIXED, 2], (7, 8, 12)),
        _when("SlopeSlack, schedules of 2: results at", "10, …", ends[SLOPE, 2], (10, 7, 12)),
        _missed("Fixed-Priority, schedules of 3: who is late", ends[FIXED, 3], {0, 1}),
        _missed("SlopeSlack, schedules of 3: who is late", ends[SLOPE, 3], {0}),
        claim(
            "Fixed-Priority, schedules of 3, makes only the first late, and SlopeSlack two",
            "1 and 2 late",
            f"{len(_late(ends[FIXED, 3]))} and {len(_late(ends[SLOPE, 3]))} late",
            confirmed=False,
        ),
        _missed("push-through, both: who is late", ends["through", FIXED] + ends["through", SLOPE], set()),
    ]
    named = {f"{SHOWN[policy]} {size}": ends[policy, size] for policy in (FIXED, SLOPE) for size in (1, 2, 3)}
    figure = bars("late applications by size of schedule", "late", {k: len(_late(v)) for k, v in named.items()})
    return _outcome(
        E25,
        "three chains of four boxes of a second, deadlines 6, 10 and 14 s, a tuple at each input",
        rows,
        figure,
        "The printed outcome for schedules of 3 contradicts the rules that give the printed schedules of 2; ours is "
        "what the rules give.",
    )


DUE = (6.0, 10.0, 14.0)


def _ends(report: Report) -> tuple[float, ...]:
    return tuple(float(report.at[report.apps == app][0] / SECOND) for app in range(3))


def _late(ends: Sequence[float]) -> set[int]:
    return {k % 3 for k, end in enumerate(ends) if end > DUE[k % 3]}


def _when(what: str, paper: str, ends: Sequence[float], wanted: Sequence[float]) -> Row:
    return required(what, paper, ", ".join(f"{end:g}" for end in ends), met=tuple(ends) == tuple(wanted))


def _missed(what: str, ends: Sequence[float], wanted: set[int]) -> Row:
    late = _late(ends)
    shown = ", ".join(f"application {app + 1}" for app in sorted(late)) or "nobody"
    return required(what, "see claim" if wanted else "nobody", shown, met=late == wanted)


def e28(_scale: Scale, _results: Mapping[Any, Any]) -> Outcome:
    """Two tuples at once."""
    plan = box_at_a_time(chains(2, (2.0,)))
    found = {}
    for name, trains in (("whole queue", WHOLE), ("one tuple", Trains(most=1))):
        report = Simulation(plan, feeds.together([2]), create(SLOPE), trains=trains).run()
        found[name] = (report.at / SECOND).tolist()
    alone = Simulation(plan, feeds.in_turn(50, 0.5, 1), create(SLOPE)).run()
    rows = [
        _when("results at", "3 and 4", found["whole queue"], (3.0, 4.0)),
        banded("late, of two tuples that come together", "2", sum(t > 2 for t in found["whole queue"]), exact(2)),
        banded("late, at one tuple every two seconds", "none", alone.misses()[0], exact(0)),
        reported("results of trains of one tuple", "–", ", ".join(f"{t:g}" for t in found["one tuple"]) + " s"),
    ]
    figure = bars("results, the whole queue in a train", "s", dict(zip("12", found["whole queue"], strict=True)))
    return _outcome(
        E28,
        "a chain of two boxes of a second, deadline 2 s",
        rows,
        figure,
        "The processor could do it: no more work comes in than it has time for. The deadline still cannot be met.",
    )


def e32(_scale: Scale, _results: Mapping[Any, Any]) -> Outcome:
    """A window of five before two cheap boxes."""
    window = Applications(Boxes((Box((), 1.0, 0.2), Box((0,), 0.5), Box((1,), 0.5))), (networks.ANY,))
    feed = feeds.together([100], at=100.0)
    trains = Simulation(box_at_a_time(window), feed, create(SLOPE)).run().at / SECOND
    pushed = Simulation(push_through(window), feed, create(SLOPE), trains=Trains(most=5)).run().at / SECOND
    rows = [
        banded("in one train: first result", "210.5", float(trains[0]), exact(210.5)),
        banded("in one train: last result", "220", float(trains[-1]), exact(220.0)),
        banded("in one train: results on average", "210", float(trains.mean()), exact(215.25)),
        claim(
            "the printed average of the train",
            "210",
            f"{trains.mean():g}",
            confirmed=math.isclose(trains.mean(), 210),
        ),
        banded("each result pushed through: first", "106", float(pushed[0]), exact(106.0)),
        banded("each result pushed through: on average", "163", float(pushed.mean()), exact(163.0)),
    ]
    count = list(range(1, 21))
    figure = Figure(
        "when results come",
        "result",
        "s",
        (Line("in one train", count, trains.tolist()), Line("pushed through", count, pushed.tolist())),
        log_y=False,
    )
    note = "The printed average of 210 is not that of the printed times, 210.5 to 220."
    return _outcome(E32, "100 tuples, a window of five, then two boxes of half a second", rows, figure, note)


E19 = Experiment("APP-E19", "Fixed priorities of two chains", "Table 4.1", none, e19)
E23 = Experiment("APP-E23", "Five boxes in their buckets", "Table 4.3", none, e23)
E25 = Experiment("APP-E25", "Twelve boxes, and how many a schedule has", "Section 4.5", none, e25)
E28 = Experiment("APP-E28", "QoS overload without overload", "Section 4.7", none, e28)
E32 = Experiment("APP-E32", "A window before cheap boxes", "Section 6.3.1", none, e32)

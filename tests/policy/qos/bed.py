"""Chains of boxes as units, and a loop that runs what a policy decides: no overhead, whole queues, integer times."""

from dataclasses import dataclass, field

from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage
from headgate.model.qos import LatencyGraph
from headgate.model.unit import Basis, Entry, Unit
from headgate.policy.protocol import Outcome
from helpers import Waiting, view


def box_units(*apps, cost=1.0, sel=1.0):
    """A unit per box of chains, each app given as (boxes, graph); the input of a chain first."""
    units = []
    for app, (depth, graph) in enumerate(apps):
        first = len(units)
        for j in range(depth):
            path = (Stage(cost, sel),) * (depth - j)
            segments = (Segment(f"app{app}", path, depth * cost),)
            own = Cost(0.0, cost)
            behind = tuple(range(first + j + 1, first + depth))
            graphs = (graph,) if graph else ()
            units.append(
                Unit(first + j, Entry(f"b{first + j}"), (f"b{first + j}",), segments, own, Basis(segments, own),
                     leaf=j == 0, graphs=graphs, behind=behind)
            )  # fmt: skip
    return units


def path_units(*apps, cost=1.0):
    """A unit per chain, which goes all the way."""
    units = []
    for app, (depth, graph) in enumerate(apps):
        segments = (Segment(f"app{app}", (Stage(cost, 1.0),) * depth, depth * cost),)
        own = Cost(0.0, depth * cost)
        graphs = (graph,) if graph else ()
        units.append(Unit(app, Entry(f"p{app}"), (f"p{app}",), segments, own, Basis(segments, own), graphs=graphs))
    return units


def deadlines(*seconds):
    """Graphs that are worth 1 until then."""
    return [LatencyGraph.until(d) for d in seconds]


@dataclass
class Trace:
    order: list = field(default_factory=list)
    done: dict = field(default_factory=dict)


def drive(policy, units, arrivals):
    """Run all that has arrived by time 0: the order of units, and when the tuples of each output were out."""
    policy.prepare(units)
    queues = [Waiting(list(arrivals.get(u.id, ()))) for u in units]
    now, trace = 0.0, Trace()
    while (decision := policy.choose(view(now, *queues))) is not None:
        for run in decision.runs:
            unit, queue = units[run.unit], queues[run.unit]
            taken = queue.arrivals[: run.train]
            if not taken:
                continue
            queues[run.unit] = Waiting(queue.arrivals[run.train :], queue.position + run.train)
            started, now = now, now + unit.cost.of(len(taken))
            trace.order.append(run.unit)
            if unit.behind:
                after = queues[unit.behind[0]]
                queues[unit.behind[0]] = Waiting([*after.arrivals, *taken], after.position)
            else:
                trace.done.setdefault(run.unit, []).append(now)
            policy.observe(Outcome(run, started, now))
    return trace

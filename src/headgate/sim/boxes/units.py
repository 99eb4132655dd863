"""What a decision runs: each box by itself, the way from each leaf to its output, or superboxes of any shape.

A policy sees units and their queues; the kernel sees which boxes a run of a unit calls, in which order.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from headgate.errors import InputError
from headgate.model.boxes import Boxes
from headgate.model.operator import Cost
from headgate.model.parameters import Segment, Stage, expected_cost
from headgate.model.qos import LatencyGraph, gathered
from headgate.model.unit import Basis, Entry, Unit
from headgate.policy.protocol import Queue
from headgate.sim.boxes.lines import Line, Lines


@dataclass(frozen=True)
class Applications:
    """A network of boxes with a QoS graph for each of its outputs, in their order."""

    boxes: Boxes
    graphs: tuple[LatencyGraph, ...]

    def __post_init__(self) -> None:
        if len(self.graphs) != len(self.boxes.outputs):
            got = f"{len(self.graphs)} for {len(self.boxes.outputs)}"
            raise InputError("a graph for each output of the boxes", got, "Give one for each, in their order.")

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The application of each output box."""
        return {output: app for app, output in enumerate(self.boxes.outputs)}

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """The applications that each box works for."""
        found: list[list[int]] = [[] for _ in range(len(self.boxes))]
        for app, output in enumerate(self.boxes.outputs):
            for box in self.boxes.upstream(output):
                found[box].append(app)
        return tuple(map(tuple, found))


@dataclass(frozen=True)
class Plan:
    """The units, for each the boxes that a run calls, and for each the boxes whose lines are its queue."""

    applications: Applications
    units: tuple[Unit, ...]
    calls: tuple[tuple[int, ...], ...]
    fronts: tuple[tuple[int, ...], ...]

    def queues(self, lines: Sequence[Line]) -> list[Queue]:
        """The queue of each unit."""
        return [lines[front[0]] if len(front) == 1 else Lines([lines[box] for box in front]) for front in self.fronts]


def box_at_a_time(applications: Applications) -> Plan:
    """A unit for each box."""
    boxes = applications.boxes
    each = [(box,) for box in range(len(boxes))]
    units = tuple(_unit(applications, box, (box,), (box,), boxes.D(box)[1:]) for box in range(len(boxes)))
    return Plan(applications, units, tuple(each), tuple(each))


def push_through(applications: Applications) -> Plan:
    """A unit for each leaf, which takes its train through to the output."""
    boxes = applications.boxes
    calls = tuple(boxes.D(leaf) for leaf in boxes.leaves)
    units = tuple(_unit(applications, k, (way[0],), way) for k, way in enumerate(calls))
    return Plan(applications, units, calls, tuple((way[0],) for way in calls))


def application_at_a_time(applications: Applications, traversal: Callable[[Boxes, int], Sequence[int]]) -> Plan:
    """A unit for each tree, whose boxes are called in the order of a traversal."""
    boxes = applications.boxes
    calls = [traversal(boxes, output) for output in boxes.outputs]
    return superboxes(applications, calls)


def superboxes(applications: Applications, calls: Iterable[Sequence[int]]) -> Plan:
    """A unit for each sequence of boxes, which stands for all that waits at any of them."""
    found = tuple(map(tuple, calls))
    fronts = tuple(tuple(dict.fromkeys(each)) for each in found)
    units = tuple(_unit(applications, k, front, front) for k, front in enumerate(fronts))
    return Plan(applications, units, found, fronts)


def _unit(
    applications: Applications,
    number: int,
    front: Sequence[int],
    members: Sequence[int],
    behind: tuple[int, ...] = (),
) -> Unit:
    """A unit with its ways to the outputs, from each of its boxes that no other of them feeds."""
    boxes, inside = applications.boxes, set(members)
    entries = [box for box in front if inside.isdisjoint(boxes[box].inputs)]
    ways = [way for box in entries for way in _ways(boxes, box)]
    segments = tuple(_segment(applications, way) for way in ways)
    cost = Cost(0.0, sum(expected_cost(_stages(boxes, way, inside)) for way in ways) / len(ways))
    apps = sorted({app for box in entries for app in applications.readers[box]})
    return Unit(
        number,
        Entry(str(front[0])),
        tuple(map(str, members)),
        segments,
        cost,
        Basis(segments, cost),
        leaf=not any(boxes[box].inputs for box in entries),
        graphs=gathered(applications.graphs[app] for app in apps),
        behind=behind,
    )


def _ways(boxes: Boxes, box: int) -> list[tuple[int, ...]]:
    """A way from a box to each output that it works for; of several, the first."""
    found: list[tuple[int, ...]] = []
    seen: set[int] = set()
    open_: list[tuple[int, ...]] = [(box,)]
    while open_:
        way = open_.pop()
        if way[-1] in seen:
            continue
        seen.add(way[-1])
        following = boxes.feeds[way[-1]]
        if not following:
            found.append(way)
        open_.extend((*way, each) for each in reversed(following))
    return found


def _stages(boxes: Boxes, way: Sequence[int], inside: Container[int]) -> tuple[Stage, ...]:
    return tuple(Stage(boxes[k].cost, boxes[k].sel) for k in way if k in inside)


def _segment(applications: Applications, way: Sequence[int]) -> Segment:
    path = _stages(applications.boxes, way, way)
    return Segment(f"A{applications.numbers[way[-1]]}", path, sum(stage.c for stage in path))

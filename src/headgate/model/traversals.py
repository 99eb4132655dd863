"""Traversals: in which order the boxes of a superbox run. An order may name a box more than once.

    min_cost      each box once, after its inputs: the fewest calls
    min_latency   the way to the output of each box in turn, the cheapest result first
    min_memory    the box that releases most memory per second first, and a last pass for what is left

A call whose box has nothing queued is skipped and costs nothing. `replay` says what an order comes to, so that the
best can be chosen for what waits now. Trees next to each other are as good as one tree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from headgate.errors import InputError
from headgate.model.boxes import Boxes

Objective = Literal["throughput", "latency", "memory"]
Traversal = Callable[..., tuple[int, ...]]


def min_cost(boxes: Boxes, *roots: int) -> tuple[int, ...]:
    """Each box once, after its inputs."""
    return tuple(boxes.upstream(*(roots or boxes.outputs)))


def min_latency(boxes: Boxes, *roots: int) -> tuple[int, ...]:
    """The way of each box to the output, the box with the cheapest result first."""
    order = sorted(boxes.breadth_first(*(roots or boxes.outputs)), key=boxes.output_cost)
    return tuple(k for b in order for k in boxes.D(b))


def min_memory(boxes: Boxes, *roots: int) -> tuple[int, ...]:
    """As published, and then each box once more: the published order alone can leave tuples behind."""
    return min_memory_pseudo(boxes, *roots) + min_cost(boxes, *roots)


def min_memory_pseudo(boxes: Boxes, *roots: int) -> tuple[int, ...]:
    """The published pseudo code: from each box on along its way, as long as memory is released faster and faster."""
    found: list[int] = []
    for b in _releasing(boxes, roots):
        fastest = boxes.mem_rr(b)
        found.append(b)
        for k in boxes.D(b)[1:]:
            if boxes.mem_rr(k) > fastest:
                fastest = boxes.mem_rr(k)
                found.append(k)
    return tuple(found)


def min_memory_example(boxes: Boxes, *roots: int) -> tuple[int, ...]:
    """The published example: the whole way from each box."""
    return tuple(k for b in _releasing(boxes, roots) for k in boxes.D(b))


def _releasing(boxes: Boxes, roots: Sequence[int]) -> list[int]:
    return sorted(boxes.breadth_first(*(roots or boxes.outputs)), key=lambda b: -boxes.mem_rr(b))


TRAVERSALS: Mapping[str, Traversal] = {
    "min-cost": min_cost,
    "min-latency": min_latency,
    "min-memory": min_memory,
}


@dataclass(frozen=True, slots=True)
class Replay:
    """What an order comes to: the calls that had tuples, the total time, results and their mean time, memory·time."""

    calls: tuple[int, ...]
    total: float
    results: float
    latency: float
    memory: float


def replay(
    boxes: Boxes, order: Sequence[int], loaded: Mapping[int, float], overhead: float, *, by_train: bool = False
) -> Replay:
    """Run an order over what is loaded, each call taking a whole queue and `overhead` seconds before it.

    The j-th tuple of an output leaves when it is done; with `by_train` all leave at the end of the call.
    """
    queued = {b: n for b, n in loaded.items() if n > 0}
    held = sum(n * boxes[b].tsize for b, n in queued.items())
    calls: list[int] = []
    t = memory = results = waited = 0.0
    for b in order:
        m = queued.pop(b, 0.0)
        if m == 0:
            continue
        box, fed = boxes[b], boxes.feeds[b]
        before, length = held, overhead + m * box.cost
        held -= m * box.tsize
        for k in fed:
            queued[k] = queued.get(k, 0.0) + m * box.sel
            held += m * box.sel * boxes[k].tsize
        memory += (before + held) / 2 * length
        if not fed:
            waited += m * box.sel * (t + (length if by_train else overhead + box.cost * (m + 1) / 2))
            results += m * box.sel
        t += length
        calls.append(b)
    return Replay(tuple(calls), t, results, waited / results if results else 0.0, memory)


def choose(
    boxes: Boxes, loaded: Mapping[int, float], overhead: float, objective: Objective, *roots: int
) -> tuple[str, Replay]:
    """The traversal that is best for what waits, and what it comes to. Of equals, the first of `TRAVERSALS`."""
    if objective not in get_args(Objective):
        raise InputError("a known objective", f"'{objective}'", f"Choose {', '.join(get_args(Objective))}.")
    field = {"throughput": "total", "latency": "latency", "memory": "memory"}[objective]
    replays = {name: replay(boxes, of(boxes, *roots), loaded, overhead) for name, of in TRAVERSALS.items()}
    return min(replays.items(), key=lambda each: getattr(each[1], field))

"""The regime of an engine: which policy decides, what bounds a run, what is fused, and how load is managed."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headgate.control.dilos import Mode
from headgate.engine.log.stream import StreamLog
from headgate.engine.shedding import Shed, Shedding, shedding
from headgate.engine.timekeeper import Deadlines
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.policy.classes import registry as by_class
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.protocol import Policy
from headgate.policy.registry import POLICIES, create, listed
from headgate.policy.trains import Train

AUTO = "auto"
_BEST = "bsd"
_OF_GRAPHS = "qos"
_INSIDE = "lsf"
"""Inside a class: its delay target holds for each of its queries, also for one that has few results."""
_SHORTEST_SLICE = 0.05
_SHORTEST_ROUND, _LONGEST_ROUND = 0.02, 0.1
"""Of class schedulers, in seconds; between them, a tenth of the shortest delay target."""
_MOST = 200_000


@dataclass(frozen=True, slots=True)
class Wish:
    """A regime as it is asked for; what is not said, the engine chooses."""

    policy: str = AUTO
    train: Train | Mapping[str, float] | None = None
    fuse: bool | None = None
    shed: Shed | Mode | None = None
    deadlines: Deadlines = Deadlines()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Given:
    """What a regime depends on: the classes, and whether any was named; whether queries have QoS graphs; lanes, and
    the time of a run over nothing.
    """

    classes: Sequence[QueryClass]
    named: bool
    graphs: bool
    lanes: int
    most_alike: int
    empty_run: float


@dataclass(frozen=True, slots=True)
class Regime:
    """A policy by name and how it is made, the bounds of a run, and whether it fuses queries, and goes by classes or
    by QoS graphs.
    """

    name: str
    make: Callable[[], Policy]
    bounds: Train
    fuses: bool
    by_class: bool
    by_graph: bool


def regime(wish: Wish, given: Given) -> Regime:
    """The regime that a wish comes to. A mistake in the wish is told here, before anything has changed."""
    name = wish.policy
    if name == AUTO:
        name = by_class.default(given.most_alike) if given.named else _OF_GRAPHS if given.graphs else _BEST
    classed = name not in POLICIES and name in SCHEDULERS
    bounds = _bounds(wish.train, given.empty_run, _round(given.classes) if classed else None)
    graphed = not classed and listed(name).graphs
    known = SCHEDULERS[name].options if classed else listed(name).options
    options = {**(_rounds(given.classes, known) if classed else {}), **wish.options}
    if "train" in known:
        options["train"] = bounds
    if "schedule" in known:
        options.setdefault("schedule", 1)
    make = partial(by_class.create, name, given.classes) if classed else partial(create, name)
    make(options)
    fuses = (wish.policy == AUTO or classed or graphed) if wish.fuse is None else wish.fuse
    return Regime(name, partial(make, options), bounds, fuses, classed, graphed)


def managed(wish: Wish, given: Given, logs: Mapping[str, StreamLog]) -> Shedding | None:
    """The load management that a wish comes to; None if nothing is shed."""
    wanted = wish.shed
    if wanted is None:
        wanted = "dilos" if any(math.isfinite(each.delay_target) for each in given.classes) else "none"
    shed = wanted if isinstance(wanted, Shed) else Shed(wanted)
    return None if shed.mode == "none" else shedding(shed, given.classes, logs, given.lanes, time.time())


def _bounds(train: Train | Mapping[str, float] | None, empty: float, turn: float | None) -> Train:
    """Those that are given; else a slice in which the overhead of a run is a tenth, or a third where classes wait.

    These have rounds in which each has its `turn`, and a run need not be shorter than that.
    """
    if isinstance(train, Train):
        return train
    if unknown := set(train or ()) - {"most", "slice"}:
        remedy = "It has most, in tuples, and slice, in seconds."
        raise InputError("a known bound of a train", f"'{min(unknown)}'", remedy)
    short = max(_SHORTEST_SLICE, 10 * empty) if turn is None else max(turn, 3 * empty)
    return Train.of(**(train or {"slice": short, "most": _MOST}))


def _round(classes: Sequence[QueryClass]) -> float:
    """How long the round of a class scheduler is: short against the delay targets."""
    return min(_LONGEST_ROUND, max(_SHORTEST_ROUND, min(each.delay_target for each in classes) / 10))


def _rounds(classes: Sequence[QueryClass], known: Collection[str]) -> dict[str, Any]:
    """What a class scheduler is told of that, by the options that it has."""
    given = {"period": _round(classes), "inner": _INSIDE, "q0": _SHORTEST_ROUND, "q_max": _round(classes)}
    return {name: value for name, value in given.items() if name in known}

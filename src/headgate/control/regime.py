"""Which policy decides, and what bounds a run: as it is asked for, and for the rest what suits classes and lanes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.policy.classes import registry as by_class
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.protocol import Policy
from headgate.policy.registry import POLICIES, create, listed
from headgate.policy.trains import Train
from headgate.policy.worthwhile import OVERRIPE, OVERRIPE_BY_GRAPH

AUTO = "auto"
_BEST = "bsd"
_OF_GRAPHS = "qos"
_LIVE = {"schedule": 1, "recover": True}
"""Of policies of QoS graphs: a run is long against a decision, and who fell behind for a moment is to catch up."""
_INSIDE = "lsf"
"""Inside a class: its delay target holds for each of its queries, also for one that has few results."""
_SHORTEST_SLICE = 0.05
_SHORTEST_ROUND, _LONGEST_ROUND = 0.02, 0.1
"""Of class schedulers, in seconds; between them, a tenth of the shortest delay target."""
_MOST = 200_000


@dataclass(frozen=True, slots=True)
class Given:
    """What a regime depends on: the classes, and whether any was named; whether queries have QoS graphs; lanes, and
    the time of a run over nothing.

    `most_alike` of the lanes are of one kind.
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

    @property
    def overripe(self) -> float:
        """The part of the time until results are due for which a run may be put off."""
        return OVERRIPE_BY_GRAPH if self.by_graph else OVERRIPE


def regime(
    policy: str,
    given: Given,
    train: Train | Mapping[str, float] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    fuse: bool | None = None,
) -> Regime:
    """The regime that a policy, bounds and options come to. A mistake in them is told here."""
    name = policy
    if name == AUTO:
        name = by_class.default(given.most_alike) if given.named else _OF_GRAPHS if given.graphs else _BEST
    classed = name not in POLICIES and name in SCHEDULERS
    bounds = _bounds(train, given.empty_run, _round(given.classes) if classed else None)
    graphed = not classed and listed(name, (AUTO, *SCHEDULERS)).graphs
    known = SCHEDULERS[name].options if classed else listed(name).options
    chosen = {**(_rounds(given.classes, known) if classed else {}), **(options or {})}
    if "train" in known:
        chosen["train"] = bounds
    chosen = {name: value for name, value in _LIVE.items() if name in known} | chosen
    make = partial(by_class.create, name, given.classes) if classed else partial(create, name)
    make(chosen)
    fuses = (policy == AUTO or classed or graphed) if fuse is None else fuse
    return Regime(name, partial(make, chosen), bounds, fuses, classed, graphed)


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

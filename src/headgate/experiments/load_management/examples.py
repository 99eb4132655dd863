"""DILOS-E0 and E25: the worked examples, by the code that also runs the classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.control.dilos import Management
from headgate.control.registry import create
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Row, Scale, Task, banded
from headgate.model.classes import QueryClass
from headgate.shed.droppers import Semantic, Unprotected, by_utility
from headgate.shed.protocol import Cycle
from headgate.shed.registry import maker

CLASSES = (QueryClass("Q1", 2.0, 1.0), QueryClass("Q2", 1.0, 1.0))
CAPACITY = 15.0
"""Tuples per second of both queries together; of each 9 come."""
OFFERED = 9.0


def dropped(reserve: float) -> list[dict[str, float]]:
    """Tuples dropped per second in each of two control periods, shares being redistributed after the first."""
    management = Management(CLASSES, "dilos", maker("aurora"), create("relative", {"reserve": reserve}), every=1)
    seen = {each.name: Cycle(1.0, OFFERED / CAPACITY) for each in CLASSES}
    found = []
    for _ in range(2):
        shares = management.shares
        management.cycle(seen)
        found.append({name: max(0.0, OFFERED - CAPACITY * share) for name, share in shares.items()})
    return found


def unaware() -> dict[str, float]:
    """The same by a shedder that does not know the scheduler: the excess, by the inverse of the priorities."""
    excess = 2 * OFFERED - CAPACITY
    inverse = {each.name: 1 / each.priority for each in CLASSES}
    return {name: excess * part / sum(inverse.values()) for name, part in inverse.items()}


def semantic() -> tuple[float, float]:
    """The drop rate of the keys that are not protected, as computed and as it comes out for a million tuples."""
    dropper = Semantic(Unprotected((9, 10)), 0.8, seed=1)
    keys = np.random.default_rng(1).integers(1, 11, 1_000_000)
    gone = ~dropper.keep(np.arange(len(keys)), 0.2, keys)
    return by_utility(0.2, 0.8)[0], float(gone[keys <= 8].mean())


def e0_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """With and without a reserve."""
    return {("example", reserve): (dropped, (reserve,)) for reserve in (0.0, 0.05)}


def _exactly(what: str, paper: str, value: float, wanted: float, unit: str = "/s") -> Row:
    return banded(what, paper, round(value, 9), Band(wanted, wanted, unit))


def e0(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Two queries, one of which has more capacity than it needs."""
    alone, (first, second), (_, kept) = unaware(), results["example", 0.0], results["example", 0.05]
    left = OFFERED - alone["Q2"]
    rows = [
        _exactly("an unaware shedder drops of Q1", "1/s", alone["Q1"], 1.0),
        _exactly("and leaves Q2, which has 5/s, with", "7/s", left, 7.0),
        _exactly("DILoS drops of Q1", "0", first["Q1"], 0.0),
        _exactly("DILoS drops of Q2", "4/s", first["Q2"], 4.0),
        _exactly("DILoS drops of Q2 after redistribution", "3/s", second["Q2"], 3.0),
        _exactly("DILoS still drops of Q1", "0", second["Q1"], 0.0),
        _exactly("with the 5 % reserve, DILoS drops of Q2 after redistribution", "–", kept["Q2"], 3.5),
    ]
    drops = [[alone["Q1"], first["Q1"], second["Q1"]], [alone["Q2"], first["Q2"], second["Q2"]]]
    figure = Figure(
        "tuples dropped per second",
        "",
        "tuples/s",
        (Line("Q1", (), drops[0]), Line("Q2", (), drops[1])),
        ("unaware", "DILoS", "redistributed"),
        log_y=False,
    )
    note = "The third step is exact without a reserve, as in the publication."
    return Outcome(E0.id, E0.title, "9 tuples/s for each query", "none", tuple(rows), (figure,), (note,))


def e25_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """One computation."""
    return {("semantic",): (semantic, ())}


def e25(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """A fifth of the load from eight of ten keys."""
    rate, measured = results[("semantic",)]
    rows = (
        _exactly("drop rate of the unprotected keys", "25 %", 100 * rate, 25.0, " %"),
        banded("as it comes out", "25 %", 100 * measured, Band(24.9, 25.1, " %")),
    )
    bars = (Line("drop rate (%)", (), [0.0, 100 * measured]),)
    figure = Figure("a fifth of all tuples", "", "%", bars, ("keys 9, 10", "keys 1 to 8"), log_y=False)
    return Outcome(E25.id, E25.title, "a million tuples of ten keys", "1", rows, (figure,))


E0 = Experiment("DILOS-E0", "The worked example of joint scheduling and shedding", "Example 1", e0_tasks, e0)
E25 = Experiment("DILOS-E25", "The worked example of semantic shedding", "Section 3.3", e25_tasks, e25)

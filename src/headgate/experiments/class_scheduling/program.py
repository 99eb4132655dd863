"""CLS-E31: how long the first of five classes waits for its turn, in a program and in one visit each."""

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, reported
from headgate.policy.classes.programs import VARIANTS, program

PRIORITIES = (5, 4, 3, 2, 1)
NAMES = "ABCDE"


def longest_wait(turns: Sequence[int], entry: int) -> int:
    """The most slots of others between two turns of an entry, round after round."""
    places = [i for i, each in enumerate(turns) if each == entry]
    return max(
        (after - before - 1) % len(turns) for before, after in zip(places, [*places[1:], places[0]], strict=True)
    )


def orders() -> dict[str, list[int]]:
    """The order of the turns in each variant of a program, and in one visit each."""
    visits = [k for k, n in enumerate(PRIORITIES) for _ in range(n)]
    return {variant: program(PRIORITIES, variant) for variant in VARIANTS} | {"cqc": visits}


def tasks(_: Scale) -> Mapping[Any, Task]:
    """The orders."""
    return {"program": (orders, ())}


def e31(_: Scale, results: Mapping[Any, Any]) -> Outcome:
    """The waits in each order."""
    found = results["program"]
    rows = [
        banded(f"slots that A waits at most, {name}", "4", longest_wait(found[name], 0), Band(0, 4))
        for name in VARIANTS
    ]
    rows.append(
        banded("slots that A waits at most, one visit each", "10", longest_wait(found["cqc"], 0), Band(10, 10))
    )
    rows += [reported(f"the order, {name}", "–", "".join(NAMES[k] for k in order)) for name, order in found.items()]
    figure = Figure(
        "longest wait for a turn",
        "class",
        "slots of others",
        tuple(
            Line(name, (), [longest_wait(found[name], k) for k in range(len(PRIORITIES))])
            for name in ("ruler", "cqc")
        ),
        tuple(NAMES),
        log_y=False,
    )
    return Outcome(E31.id, E31.title, "none", "none", tuple(rows), (figure,))


E31 = Experiment("CLS-E31", "A program's waits, priorities 5, 4, 3, 2, 1", "Figure 8", tasks, e31)

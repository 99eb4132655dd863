"""RT-E3: a load that rises by a tenth at every step, once and twice a second."""

from collections.abc import Mapping
from typing import Any

from headgate.experiments.deadlines.cases import (
    HPF,
    LRM,
    MIX,
    PLUS,
    RM,
    SHOWN,
    Case,
    Seen,
    at_least,
    at_most,
    over_time,
    required,
    runs_of,
    three,
)
from headgate.experiments.report import Band, Experiment, Outcome, Row, Scale, Task, banded, claim, reported

WAYS = (LRM, RM, HPF, PLUS)
LOADS = ("step", "fast")


def tasks(_scale: Scale) -> Mapping[Any, Task]:
    """Both rises, and the constant overload beside them."""
    return runs_of([Case(LRM), *(Case(way, load) for load in LOADS for way in WAYS)])


def outcome(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Both rises."""
    step, fast = ({way: results[Case(way, load)] for way in WAYS} for load in LOADS)
    steady: Seen = results[Case(LRM)]
    rows = [
        _late("a step every second", LRM, step, "far below RM and HPF", at_most(1.0)),
        _late("a step every second", RM, step, "grows with time", Band(20, 24, " %")),
        _late("a step every second", HPF, step, "–", Band(25, 31, " %")),
        banded("LRM: completed", "consistently more", step[LRM].completion, at_least(95)),
        banded("RM: completed", "less", step[RM].completion, at_most(80)),
        banded("HPF: completed", "less", step[HPF].completion, at_most(80)),
        _grows(step[RM]),
        claim(
            "LRM: late, constant / one step / two steps a second",
            "more than at a constant rate",
            f"{steady.miss:.2f} / {step[LRM].miss:.2f} / {fast[LRM].miss:.2f} %",
            confirmed=step[LRM].miss > steady.miss,
        ),
        _late("a step every half second", LRM, fast, "–", Band(1, 6, " %")),
        _late("a step every half second", RM, fast, "–", Band(36, 43, " %")),
        _late("a step every half second", HPF, fast, "–", Band(48, 55, " %")),
        reported(
            "LRM+: late, one step and two steps a second", "–", f"{step[PLUS].miss:.2f} / {fast[PLUS].miss:.2f} %"
        ),
        reported("useful, LRM / LRM+, one step a second", "–", _pair(step[LRM].useful, step[PLUS].useful)),
        reported("weighted error, LRM / LRM+, one step a second", "–", _pair(step[LRM].error, step[PLUS].error)),
        required(
            "weighted error of LRM below RM and HPF, one step a second",
            "–",
            " / ".join(f"{step[way].error:.1f}" for way in (LRM, RM, HPF)) + " %",
            met=all(step[LRM].error < step[way].error for way in (RM, HPF)),
        ),
    ]
    figures = (
        *three({SHOWN[way]: each for way, each in step.items()}),
        over_time("missed deadlines, two steps a second", {SHOWN[w]: s for w, s in fast.items()}, lambda c: c.miss),
    )
    trace = "10 000 tuples/s on each stream and a tenth more at every step, so with one a second loads of 1.2 to 7.2"
    return Outcome(E3.id, E3.title, trace, "none", tuple(rows), figures, (MIX,))


def _late(when: str, way: str, found: Mapping[str, Seen], paper: str, band: Band) -> Row:
    each = found[way]
    return banded(
        f"{SHOWN[way]}: late, {when}", paper, each.miss, band, f"{each.miss:.2f} %, {each.misses} of {each.due}"
    )


def _pair(first: float, second: float) -> str:
    return f"{first:.1f} / {second:.1f} %"


def _grows(rm: Seen) -> Row:
    early = rm.curve.miss[rm.curve.at.index(6.0)]
    return required(
        "RM: late until 6 s and until 20 s", "grows", f"{early:.1f} → {rm.miss:.1f} %", met=rm.miss > early
    )


E3 = Experiment("RT-E3", "A load that rises step by step", "Figure 10", tasks, outcome)

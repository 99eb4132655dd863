"""RT-E10: what is held between plans, margins, splits, points, estimators, EDF: one change of LRM at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate.experiments.deadlines.cases import (
    LRM,
    MIX,
    PLUS,
    Case,
    Seen,
    mean,
    numbered,
    runs_of,
    seeds,
)
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Scale, Task, reported
from headgate.sim.metrics import Interval, interval

FULL, QUICK = 100, 6

_BASE = Case(LRM, "random")
_BUDGET = (("hold", "budget"),)

HOLDS = {
    "count": "counts",
    "budget": "budgets of shed queries",
    "clamp": "budgets of all",
    "clampx": "stretched budgets of all",
}

VARIANTS: Mapping[str, Case] = {
    "LRM": _BASE,
    "hold count": replace(_BASE, options=(("hold", "count"),)),
    "hold budget": replace(_BASE, options=_BUDGET),
    "hold budget, unfinished work counted": replace(_BASE, options=(*_BUDGET, ("carried", True))),
    "hold clamp": replace(_BASE, options=(("hold", "clamp"),)),
    "hold clampx": replace(_BASE, options=(("hold", "clampx"),)),
    "margin 2 %": replace(_BASE, options=(("margin", 0.02),)),
    "margin 5 %": replace(_BASE, options=(("margin", 0.05),)),
    "margin 10 %": replace(_BASE, options=(("margin", 0.1),)),
    "best point": replace(_BASE, options=(("point", "best"),)),
    "split prop": replace(_BASE, options=(("split", "prop"),)),
    "split greedy": replace(_BASE, options=(("split", "greedy"),)),
    "best point, prop": replace(_BASE, options=(("point", "best"), ("split", "prop"))),
    "best point, greedy": replace(_BASE, options=(("point", "best"), ("split", "greedy"))),
    "nobody below 5 %": replace(_BASE, options=(("floor", 0.05),)),
    "rates of 6 s": replace(_BASE, estimator="rate_last_6s"),
    "last window": replace(_BASE, estimator="window_last"),
    "smoothed rates": replace(_BASE, estimator="ewma"),
    "largest of 1 s and 6 s": replace(_BASE, estimator="max"),
    "joins by pairs": replace(_BASE, pairs=True),
    "LEDF": Case("ledf", "random"),
    "LEDF, hold clampx": Case("ledf", "random", (("hold", "clampx"),)),
    "LEDF+": Case("ledf+", "random"),
    "LEDF+, what is to spare left unused": Case("ledf+", "random", (("spared", False),)),
    "LRM+": Case(PLUS, "random"),
    "LRM+, what is to spare left unused": Case(PLUS, "random", (("spared", False),)),
    "LRM+, margin 0": Case(PLUS, "random", (("margin", 0.0),)),
    "LRM+, joins by pairs": Case(PLUS, "random", pairs=True),
}


def _seeded(name: str, of: Sequence[int]) -> list[Case]:
    return [replace(VARIANTS[name], seed=seed) for seed in of]


def _stepped(name: str) -> Case:
    return replace(VARIANTS[name], load="step")


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """Every variant on random rates, and on steps."""
    of = seeds(scale, FULL, QUICK)
    return runs_of([*(c for name in VARIANTS for c in _seeded(name, of)), *(_stepped(name) for name in VARIANTS)])


def outcome(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Late, lost and useful, of each."""
    of = seeds(scale, FULL, QUICK)
    rows = [
        reported(f"late with {what} held, beside fractions held, seed by seed", "–", _change(hold, results, of))
        for hold, what in HOLDS.items()
    ]
    late: dict[str, Interval] = {}
    error: dict[str, Interval] = {}
    for name in VARIANTS:
        cases, step = _seeded(name, of), results[_stepped(name)]
        late[name] = mean(results, cases, lambda each: each.miss)
        error[name] = mean(results, cases, lambda each: each.error)
        useful = mean(results, cases, lambda each: each.useful)
        shown = f"{late[name]} % / {error[name].mean:.1f} % / {useful.mean:.0f} %"
        shown += f"; steps {step.miss:.1f} % / {step.error:.1f} %"
        rows.append(reported(f"{name}: late / error / useful", "–", shown))
    kinds = ("LRM", *(f"hold {hold}" for hold in HOLDS), "LEDF", "LRM+")
    margins = ("LRM", "margin 2 %", "margin 5 %", "margin 10 %")
    figures = (
        Figure(
            "what is held",
            "",
            "%",
            (
                Line("late", (), [late[name].mean for name in kinds]),
                Line("weighted error", (), [error[name].mean for name in kinds]),
            ),
            tuple(name.removeprefix("hold ") for name in kinds),
            log_y=False,
        ),
        Figure(
            "late by margin",
            "margin (%)",
            "%",
            (Line("", (0, 2, 5, 10), [late[n].mean for n in margins]),),
            log_y=False,
        ),
        Figure(
            "weighted error by point and split",
            "",
            "%",
            (
                Line("at the deadline", (), [error[n].mean for n in ("LRM", "split prop", "split greedy")]),
                Line(
                    "at the best point",
                    (),
                    [error[n].mean for n in ("best point", "best point, prop", "best point, greedy")],
                ),
            ),
            ("seed", "prop", "greedy"),
            log_y=False,
        ),
    )
    trace = "random rates as in RT-E4; behind the semicolon one step a second as in RT-E3"
    return Outcome(E10.id, E10.title, trace, numbered(of), tuple(rows), figures, (MIX,))


def _change(hold: str, results: Mapping[Any, Seen], of: Sequence[int]) -> str:
    pairs = zip(_seeded("LRM", of), _seeded(f"hold {hold}", of), strict=True)
    change = interval([results[other].miss - results[base].miss for base, other in pairs])
    return f"{change.mean:+.3g} ± {change.half:.2g} points"


E10 = Experiment("RT-E10", "One change of LRM at a time", "–", tasks, outcome)

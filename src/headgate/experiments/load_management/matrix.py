"""DILOS-E24: what each load manager can do, decided by the runs of the other experiments."""

from collections.abc import Mapping
from typing import Any

from headgate.experiments.load_management.bursts import CTRL, shared, unfair
from headgate.experiments.load_management.environment import LATER, halved
from headgate.experiments.load_management.headroom import aurora
from headgate.experiments.load_management.networks import HEADROOM
from headgate.experiments.load_management.single import NOTE_COMPLEX, SURROGATE, Case, D, Seen, required
from headgate.experiments.load_management.single import tasks as runs_of
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Row, Scale, Task

MANAGERS = ("aloma", "seamless", "aurora", "ctrl")
PUBLISHED = {
    "tunes its headroom": (True, True, False, False),
    "honours the delay target": (True, True, False, True),
    "copes with shared operators": (True, True, True, False),
    "needs no fair scheduler": (True, False, True, False),
}
OURS = "backlog"


def _cases(scale: Scale, manager: str) -> dict[str, Case]:
    """The runs that decide: a change of capacity, plain overload, shared operators, an unfair scheduler."""
    plain = {"aurora": aurora(0.94), "ctrl": Case("flat", "S_c", "ctrl", CTRL)}
    return {
        "tunes its headroom": Case("flat", "S_c", "aurora", (("headroom", 0.94),), "two")
        if manager == "aurora"
        else halved(manager),
        "honours the delay target": plain.get(manager, Case("flat", "S_c", manager)),
        "copes with shared operators": shared(scale, "aurora", 0.92)
        if manager == "aurora"
        else shared(scale, manager),
        "needs no fair scheduler": unfair(scale, manager),
    }


def can(what: str, seen: Seen) -> bool:
    """Whether a run shows that a manager can do something."""
    if what == "tunes its headroom":
        return float(seen.headrooms[seen.times > LATER].mean()) < 0.75 * HEADROOM
    if what == "honours the delay target":
        # Backlog aims at 0.8·D; who only stays far below the target does not use it.
        return 0.7 * D <= seen.after(100.0) <= 1.1 * D
    if what == "copes with shared operators":
        return seen.late.mean <= 0.1 * D
    return seen.low.mean <= 0.25 * D


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each manager and question."""
    return runs_of([case for name in (*MANAGERS, OURS) for case in _cases(scale, name).values()], (1,))


def e24(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """The matrix, cell by cell."""
    rows: list[Row] = []
    marks: dict[str, list[float]] = {name: [] for name in (*MANAGERS, OURS)}
    for what, published in PUBLISHED.items():
        found = {name: can(what, results[_cases(scale, name)[what], 1]) for name in (*MANAGERS, OURS)}
        for name, yes in found.items():
            marks[name].append(float(yes))
        good = [found[name] == wanted for name, wanted in zip(MANAGERS, published, strict=True)]
        said = ", ".join(f"{name} {_word(found[name])}" for name in found)
        paper = ", ".join(f"{name} {_word(yes)}" for name, yes in zip(MANAGERS, published, strict=True))
        rows.append(required(what, paper, said, met=all(good)))
    figure = Figure(
        "what each manager can do",
        "",
        "1: it can",
        tuple(Line(name, (), found) for name, found in marks.items()),
        ("headroom", "target", "sharing", "scheduler"),
        log_y=False,
    )
    note = (
        "Each cell is one run. Tuning: the headroom follows a halved capacity. Target: a mean response time from 0.7 "
        "to 1.1·D under S_c. Shared operators: an average violation of at most 0.1·D on QN-complex. Fairness: at "
        "most 0.25·D for the queries with small turns. backlog is a manager of this project."
    )
    return Outcome(E24.id, E24.title, f"S_c; {SURROGATE}", "1", tuple(rows), (figure,), (note, NOTE_COMPLEX))


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


E24 = Experiment("DILOS-E24", "What each load manager can do", "Table 7", tasks, e24)

"""DILOS-E3 and E4: what a wrong headroom does to Aurora and to CTRL."""

from collections.abc import Mapping
from typing import Any

from headgate.experiments.load_management.single import (
    NOTE_FLAT,
    TUNED,
    Case,
    loss_row,
    mean,
    named,
    over,
    seconds,
    seeds,
    violation,
)
from headgate.experiments.load_management.single import tasks as runs_of
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, claim, holds

AURORA = {0.89: (0.0, 45.44), 0.94: (0.0, 41.89), 0.99: (4.60, 38.80), 1.04: (17.48, 36.90)}
CTRL = {-20: (0.0, 40.11), -5: (0.0, 40.03), 0: (0.0, 39.99), 5: (0.03, 39.96), 20: (0.47, 39.91)}
"""Average violation in seconds and loss in per cent, by headroom and by its error in per cent."""

AT_MOST = 0.05
"""A violation that is printed as 0.00 or nearly."""


def aurora(H: float) -> Case:
    """Aurora with a headroom."""
    return Case("flat", "S_c", "aurora", (("headroom", H),))


def ctrl(error: float = 0.0) -> Case:
    """CTRL with a headroom that is wrong by so many per cent."""
    return Case("flat", "S_c", "ctrl", (("headroom", TUNED * (1 + error / 100)),))


def e3_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each headroom."""
    return runs_of([aurora(H) for H in AURORA], seeds(scale))


def e3(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Aurora's loss, and how late its results get."""
    numbers = seeds(scale)
    rows = []
    for H, (late, lost) in AURORA.items():
        runs = over(results, aurora(H), numbers)
        rows.append(loss_row(f"headroom {H}", lost, runs, 1.0))
        band = Band(late / 10, late * 10, " s") if late else Band(0.0, AT_MOST, " s")
        what = f"average violation, headroom {H}"
        rows.append(banded(what, f"{late:.2f} s", mean(runs, violation).mean, band, seconds(runs, violation)))
    figure = Figure(
        "Aurora by its headroom",
        "headroom",
        "average violation (s)",
        (
            Line("we", list(AURORA), [mean(over(results, aurora(H), numbers), violation).mean for H in AURORA]),
            Line("paper", list(AURORA), [late for late, _ in AURORA.values()]),
        ),
        log_y=False,
    )
    unread = (
        "A loss is what was dropped of all tuples that came. At 1.04 the run ends with tuples that were never read, "
        "and so never dropped: of those that were read the loss is about a point higher."
    )
    return Outcome(E3.id, E3.title, "S_c", named(numbers), tuple(rows), (figure,), (NOTE_FLAT, unread))


def e4_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each error."""
    return runs_of([ctrl(error) for error in CTRL], seeds(scale))


def e4(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """CTRL's loss hardly changes; its response time is wrong by as much as its headroom."""
    numbers = seeds(scale)
    rows = []
    found = {}
    for error, (late, lost) in CTRL.items():
        runs = over(results, ctrl(error), numbers)
        found[error] = mean(runs, violation).mean
        rows.append(loss_row(f"headroom {error:+d} %", lost, runs, 1.0))
        what = f"average violation, headroom {error:+d} %"
        confirmed = found[error] <= AT_MOST if late < AT_MOST else late / 1.5 <= found[error] <= 1.5 * late
        rows.append(claim(what, f"{late:.2f} s", seconds(runs, violation), confirmed=confirmed))
    good = sum(
        each[20].late.mean > each[5].late.mean > each[0].late.mean >= each[-20].late.mean
        for each in ({error: results[ctrl(error), seed] for error in CTRL} for seed in numbers)
    )
    rows.append(holds("the violation grows with the headroom", "yes", good, len(numbers)))
    figure = Figure(
        "CTRL by the error of its headroom",
        "error (%)",
        "average violation (s)",
        (
            Line("we", list(CTRL), list(found.values())),
            Line("paper", list(CTRL), [late for late, _ in CTRL.values()]),
        ),
        log_y=False,
    )
    return Outcome(E4.id, E4.title, "S_c", named(numbers), tuple(rows), (figure,), (NOTE_FLAT,))


E3 = Experiment("DILOS-E3", "Aurora with a wrong headroom", "Table 1", e3_tasks, e3)
E4 = Experiment("DILOS-E4", "CTRL with a wrong headroom", "Table 2", e4_tasks, e4)

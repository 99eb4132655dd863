"""DILOS-E18 to E20: classes whose rates change."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.experiments.load_management import inputs
from headgate.experiments.load_management.classes import NAMES, NOTE, Seen
from headgate.experiments.load_management.single import named, seeds
from headgate.experiments.load_management.tables import (
    Table,
    case,
    falls,
    length,
    length_note,
    loss_rows,
    losses_figure,
    over_time,
    runs_of,
    totals,
    tripled,
)
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Scale, Task, claim, reported
from headgate.sim.metrics import interval

PARETO: Table = {
    "separate": ((5.30, 15.13, 176.37), (0.0, 0.0, 8.53)),
    "dilos": ((6.47, 43.98, 84.21), (0.0, 0.23, 2.30)),
    "dilos+sharing": ((5.94, 38.04, 72.73), (0.0, 0.16, 1.42)),
}
TRIPLED: Table = {
    "separate": ((22.31, 68.23, 300.91), (0.01, 0.79, 21.67)),
    "dilos": ((25.69, 76.86, 122.66), (0.46, 0.68, 8.70)),
    "dilos+sharing": ((25.03, 70.29, 127.28), (0.44, 0.82, 6.54)),
}


def e18_length(scale: Scale) -> float:
    """Seconds of E18: eight ranges of class 1."""
    return length(scale, 160.0, 24.0)


def e18_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each mode."""
    return runs_of([case(mode, "SD_p", e18_length(scale)) for mode in PARETO], seeds(scale, 3))


def e18(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Rates that change all the time."""
    numbers, end = seeds(scale, 3), e18_length(scale)
    runs: dict[str, list[Seen]] = {
        mode: [results[case(mode, "SD_p", end), seed] for seed in numbers] for mode in PARETO
    }
    rise = end * 2 / len(inputs.CLASS_1)
    back = [_restored(each, rise) for each in runs["dilos"]]
    rows = [
        *loss_rows(PARETO, runs),
        falls(runs, numbers),
        claim(
            "class 1 gets its capacity back at once when its load rises",
            "yes",
            f"{interval(back)} redistribution cycles until it has half of the system or loses nothing",
            confirmed=max(back) <= 2,
        ),
    ]
    figures = (
        losses_figure("QN-A, SD_p", runs),
        over_time("shares under dilos", "share", runs["dilos"][0].shares),
    )
    ranges = (
        "All streams of a class have the same rate, drawn every 150 ms; those that classes 1 and 3 may share have "
        "that of class 3. The ranges of class 1 are not printed; ours "
        f"change every {end / len(inputs.CLASS_1):g} s, and class 1 rises at {rise:g} s."
    )
    notes = (NOTE, length_note(scale, end), ranges)
    return Outcome(E18.id, E18.title, "SD_p", named(numbers), tuple(rows), figures, notes)


def _restored(seen: Seen, rise: float) -> float:
    """Redistribution cycles from a rise of class 1's load on until its share covers it or it drops nothing."""
    after = seen.times > rise
    shares, drops = seen.shares["1"][after], seen.drops["1"][after]
    good = np.flatnonzero((shares >= 0.5) | ((drops == 0) & (shares > shares[0])))
    return float(np.ceil((good[0] if len(good) else len(shares)) / 10))


def e19_length(scale: Scale) -> float:
    """Seconds of E19."""
    return length(scale, 400.0, 20.0)


def e20_length(scale: Scale) -> float:
    """Seconds of E20."""
    return length(scale, 100.0, 20.0)


def e19_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each mode."""
    return runs_of([tripled(mode, e19_length(scale)) for mode in TRIPLED], (1,))


def e19(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """A bursty class 1 that is three times as large."""
    numbers, end = (1,), e19_length(scale)
    runs: dict[str, list[Seen]] = {mode: [results[tripled(mode, end), seed] for seed in numbers] for mode in TRIPLED}
    price = interval([d.loss["1"] - s.loss["1"] for s, d in zip(runs["separate"], runs["dilos"], strict=True)])
    rows = [
        *loss_rows(TRIPLED, runs),
        falls(runs, numbers),
        *totals({"separate": 7.49, "dilos": 3.28}, runs),
        claim("the price: class 1 loses a little more", "+0.45 points", f"{price} points", confirmed=price.mean < 3),
    ]
    figures = (losses_figure("QN-B, SD_r", runs), over_time("drop rates under dilos", "part", runs["dilos"][0].drops))
    notes = (
        NOTE,
        length_note(scale, end),
        "In a shorter run class 1 has the end of S_r, in which its rate rises, scaled as S_r is.",
    )
    return Outcome(E19.id, E19.title, "SD_r", named(numbers), tuple(rows), figures, notes)


def _cycles(scale: Scale) -> tuple[int, ...]:
    return (1, 10, 40) if scale.quick else (1, 2, 5, 10, 20, 40)


def e20_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each length of the redistribution cycle."""
    cases = [tripled("dilos", e20_length(scale), every) for every in _cycles(scale)]
    return runs_of(cases, (1,))


def e20(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """How often shares should move."""
    end, cycles = e20_length(scale), _cycles(scale)
    runs: list[Seen] = [results[tripled("dilos", end, every), 1] for every in cycles]
    losses = {every: each.total for every, each in zip(cycles, runs, strict=True)}
    best = min(losses, key=losses.__getitem__)
    near = max(losses[every] for every in cycles if every <= 10) - min(losses.values())
    rows = [
        claim("the loss is the smallest at 1 or 2 periods", "yes", f"at {best}", confirmed=best <= 2),
        claim("up to 10 periods losses differ little", "yes", f"{near:.2g} points", confirmed=near < 3),
        *(
            reported(f"mean loss, a redistribution every {every} control periods", "–", f"{lost:.3g} %")
            for every, lost in losses.items()
        ),
    ]
    figure = Figure(
        "QN-B, SD_r, dilos",
        "control periods",
        "mean loss (%)",
        (
            Line("mean of classes", list(cycles), [losses[e] for e in cycles]),
            *(Line(f"class {cls}", list(cycles), [each.loss[cls] for each in runs]) for cls in NAMES),
        ),
        log_y=True,
    )
    return Outcome(E20.id, E20.title, "SD_r", "1", tuple(rows), (figure,), (NOTE, length_note(scale, end)))


E18 = Experiment("DILOS-E18", "Rates that change all the time", "Tables 9 and 10", e18_tasks, e18)
E19 = Experiment("DILOS-E19", "A large, bursty class 1", "Tables 11 and 12", e19_tasks, e19)
E20 = Experiment("DILOS-E20", "How often shares should move", "Figure 32", e20_tasks, e20)

"""What the experiments with classes have in common: cases by mode, and rows of their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from headgate.control.dilos import Mode
from headgate.experiments.load_management.classes import NAMES, PERIOD, Case, Seen, Stream, run
from headgate.experiments.load_management.single import around, line
from headgate.experiments.report import Figure, Line, Row, Scale, Task, banded, holds, reported
from headgate.sim.metrics import Floats, interval

Table = Mapping[str, tuple[tuple[float, float, float], tuple[float, float, float]]]
"""Response times in ms and losses in per cent, by mode and class."""

PLAIN: Mapping[str, Mode] = {
    "none": "none",
    "common": "common",
    "separate": "separate",
    "dilos": "dilos",
    "dilos+sharing": "dilos",
}
MODES = tuple(PLAIN)


def case(mode: str, stream: Stream, end: float) -> Case:
    """A mode by its name in the tables."""
    return Case(PLAIN[mode], stream, end, sharing="+" in mode)


def tripled(mode: str, end: float, every: int = 10) -> Case:
    """A mode on QN-B, with a redistribution every so many control periods."""
    return replace(case(mode, "SD_r", end), tripled=True, every=every)


def runs_of(cases: Sequence[Case], numbers: Sequence[int]) -> Mapping[Any, Task]:
    """A run for each case and seed."""
    return {(each, seed): (run, (each, seed)) for each in cases for seed in numbers}


def length(scale: Scale, full: float, quick: float) -> float:
    """Seconds of a run."""
    return quick if scale.quick else full


def loss_rows(table: Table, runs: Mapping[str, Sequence[Seen]]) -> list[Row]:
    """A row for each printed loss, and the response times of a mode in one."""
    rows = []
    for mode, (times, losses) in table.items():
        for cls, paper in zip(NAMES, losses, strict=True):
            found = interval([each.loss[cls] for each in runs[mode]])
            band = around(paper, 3.0)
            rows.append(banded(f"loss of class {cls}, {mode}", f"{paper:g} %", found.mean, band, f"{found} %"))
        shown = " / ".join(f"{fmean(each.response[cls] for each in runs[mode]):.4g}" for cls in NAMES)
        paper_times = " / ".join(f"{time:g}" for time in times)
        rows.append(reported(f"response times by class, {mode}", f"{paper_times} ms", f"{shown} ms"))
    return rows


def falls(runs: Mapping[str, Sequence[Seen]], numbers: Sequence[int]) -> Row:
    """The order of class 3's losses."""
    good = sum(
        runs["separate"][k].loss["3"] > runs["dilos"][k].loss["3"] > runs["dilos+sharing"][k].loss["3"]
        for k in range(len(numbers))
    )
    return holds("loss of class 3: separate above dilos above dilos+sharing", "yes", good, len(numbers))


def totals(paper: Mapping[str, float], runs: Mapping[str, Sequence[Seen]]) -> list[Row]:
    """Mean losses of the classes, by mode."""
    rows = []
    for mode, value in paper.items():
        found = interval([each.total for each in runs[mode]])
        rows.append(banded(f"mean loss, {mode}", f"{value:g} %", found.mean, around(value, 3.0), f"{found} %"))
    return rows


def losses_figure(title: str, runs: Mapping[str, Sequence[Seen]]) -> Figure:
    """The losses by mode and class as bars."""
    bars = tuple(Line(f"class {cls}", (), [fmean(s.loss[cls] for s in runs[m]) for m in runs]) for cls in NAMES)
    return Figure(title, "", "loss (%)", bars, tuple(runs), log_y=False)


def over_time(title: str, y: str, found: Mapping[str, Floats]) -> Figure:
    """What happened to the classes, as curves."""
    return Figure(title, "time (s)", y, tuple(line(f"class {c}", found[c], PERIOD, 3.0) for c in NAMES), log_y=False)


def length_note(scale: Scale, seconds: float) -> str:
    """How long the runs are."""
    return f"Runs are {seconds:g} s long; the publication's have 400 s{', and this is quick' if scale.quick else ''}."

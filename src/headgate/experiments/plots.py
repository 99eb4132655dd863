"""Figures as files, in the manner of the papers' own."""

import textwrap
from pathlib import Path

import matplotlib as mpl
import numpy as np

from headgate.experiments.report import Figure, Outcome

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

_MARKERS = "osD^vP*Xh"
_LETTERS = 66
"""As many fit under a figure side by side."""
_LABELS = 15
"""As many values fit above bars side by side; more of them stand upright."""


def save(outcome: Outcome, folder: Path) -> Path:
    """Draw all figures of an outcome side by side into a file named after the experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    count = len(outcome.figures)
    figure, axes = plt.subplots(1, count, figsize=(6.2 * count, 4.2), squeeze=False, layout="constrained")
    for shown, ax in zip(outcome.figures, axes[0], strict=True):
        (_bars if shown.categories else _curves)(shown, ax)
        ax.set_title(shown.title, fontsize=10)
        ax.set_xlabel(shown.x)
        ax.set_ylabel(shown.y)
        if shown.log_y:
            ax.set_yscale("log")
        ax.grid(visible=True, axis="y", which="major", alpha=0.3)
        if len(shown.lines) > 1:
            ax.legend(fontsize=8, frameon=False)
    figure.suptitle(f"{outcome.id}  {outcome.title}", fontsize=11)
    path = folder / f"{outcome.id}.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _curves(shown: Figure, ax: Axes) -> None:
    for line, marker in zip(shown.lines, _MARKERS, strict=False):
        ax.plot(line.x, line.y, marker=marker, markersize=4, linewidth=1.4, label=line.name)
    if shown.log_x:
        ax.set_xscale("log", base=2)
        ticks = list(shown.lines[0].x)
        ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
        ax.minorticks_off()


def _bars(shown: Figure, ax: Axes) -> None:
    places = np.arange(len(shown.categories))
    width = 0.8 / len(shown.lines)
    for k, line in enumerate(shown.lines):
        bars = ax.bar(places + (k - (len(shown.lines) - 1) / 2) * width, line.y, width, label=line.name)
        turned = 90 if len(places) * len(shown.lines) > _LABELS else 0
        ax.bar_label(bars, [f"{y:.3g}" for y in line.y], fontsize=7, padding=2, rotation=turned)
    width = max(1, _LETTERS // len(places))
    ax.set_xticks(places, [textwrap.fill(each, width, break_long_words=False) for each in shown.categories])
    ax.margins(y=0.15)

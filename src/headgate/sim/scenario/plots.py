"""The result of a scenario as a picture."""

import math
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from headgate.errors import InputError
from headgate.sim.scenario.scenario import ScenarioResult

FORMATS = (".png", ".svg", ".pdf")

_TEAL, _GREY, _DARK = "#00796b", "#9e9e9e", "#616161"


def check(path: Path) -> None:
    """Refuses a file that could not be written, before a long run and not after it."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            "a plot is written in a known format", f"'{path.name}'", f"End the name in {' or '.join(FORMATS)}."
        )
    if not path.parent.is_dir():
        raise InputError("a plot is written to a folder that exists", f"'{path.parent}'", "Create it first.")


def slowdowns(result: ScenarioResult, path: Path) -> None:
    """Average, maximum and rms slowdown of each policy with error bars, on logarithmic axes."""
    labels = [p.label for p in result.policies]
    figure = Figure(figsize=(10, 1.5 + 0.4 * len(labels)), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    panels = [
        ("average slowdown", [p.figures.avg_slowdown for p in result.policies]),
        ("maximum slowdown", [p.figures.max_slowdown for p in result.policies]),
        ("rms slowdown", [p.figures.rms_slowdown for p in result.policies]),
    ]
    rows = range(len(labels))
    for axis, (title, found) in zip(axes, panels, strict=True):
        lowest = min((i.mean for i in found if not math.isnan(i.mean)), default=math.nan)
        axis.set_xscale("log")
        axis.margins(x=0.12)
        for row, i in zip(rows, found, strict=True):
            colour = _TEAL if i.mean == lowest else _GREY
            axis.plot(i.mean, row, "o", color=colour, markersize=7)
            axis.annotate(
                f"{i.mean:,.0f}" if i.mean >= 100 else f"{i.mean:.3g}",
                (i.mean, row),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=colour if i.mean == lowest else _DARK,
            )
            if i.n > 1:
                # The range: a confidence interval of few seeds may reach below 0, where a logarithmic axis ends.
                axis.plot([i.low, i.high], [row, row], color=colour, linewidth=2, solid_capstyle="butt")
        axis.set_title(title, fontsize=11)
        axis.grid(axis="x", which="major", color="#e0e0e0")
        axis.set_axisbelow(True)
        axis.xaxis.set_major_locator(LogLocator(numticks=6))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(list(rows), labels)
    axes[0].set_ylim(len(labels) - 0.5, -0.5)
    figure.suptitle(result.scenario, x=0.01, ha="left", fontsize=12, fontweight="bold")
    n = len(result.seeds)
    seeds = f"dots are means, bars the range over {n} seeds" if n > 1 else "1 seed"
    figure.supxlabel(f"times the ideal response time; lower is better; {seeds}", fontsize=9, color=_DARK)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError("a plot can be written", f"'{path}' ({error.strerror})", "Choose another file.") from None

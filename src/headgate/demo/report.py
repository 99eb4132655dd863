"""The report of a demonstration: one HTML file that needs nothing else, and the same figures as JSON."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headgate.demo.rounds import ON_TIME, SECONDS, STEPS, Fared, Outcome
from headgate.engine.readable import count, share, span
from headgate.printed import finite

PAGE, FIGURES = "report.html", "report.json"
_BIN = 0.5
"""Seconds of results that are one point."""
_TEXT, _FAINT = "#010203", "#010204"
"""Stand for the page's own colours, which go by its theme."""
_COLOURS = ("#2a8fd0", "#d55e00", "#17a07c")
"""Of classes, in the order that they have on the dashboard: told apart whichever colours one sees."""
_LEAST = 0.01
"""Seconds below which no response time is shown."""

_STYLE = """
:root { --text: #17212b; --faint: #8494a1; --back: #fff; --line: #d5dce2; --good: #0a6b3d; --bad: #a31621;
  color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --text: #e7edf2; --faint: #7d8d99; --back: #11171c; --line: #33404b;
  --good: #7fe0a9; --bad: #ff9ba3; } }
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem; color: var(--text); background: var(--back); }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
th { font-weight: 600; font-size: .85rem; vertical-align: bottom; }
.scroll { overflow-x: auto; }
.kept { color: var(--good); font-weight: 600; } .missed { color: var(--bad); font-weight: 600; }
svg { width: 100%; height: auto; } .note { opacity: .8; font-size: .9rem; }
"""

_TOO_LITTLE = (
    "The load was not too much: where nothing was dropped, nothing waited for long in the end. Something else ran "
    "on this machine while it was measured what it can do; run the demonstration again."
)

HEADINGS = ("round", "class", "target", "mean", "p99", "time within target", "lost", "still waits", "target kept?")


def write(outcome: Outcome, folder: Path) -> Path:
    """Write the report into a folder; gives the page."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FIGURES).write_text(json.dumps(document(outcome), indent=2) + "\n")
    page = folder / PAGE
    page.write_text("".join(_page(outcome)))
    return page


def rows(outcome: Outcome) -> list[tuple[str, ...]]:
    """What each class got in each round, in the words of the table."""
    return [
        (each.way.name if i == 0 else "", *_row(fared))
        for each in outcome.rounds
        for i, fared in enumerate(each.classes)
    ]


def _row(fared: Fared) -> tuple[str, ...]:
    figures = (
        span(fared.cls.target),
        span(fared.mean),
        span(fared.p99),
        share(fared.within),
        f"{100 * fared.loss:.1f} %",
    )
    waits = f"{count(fared.looks[-1].pending)}, {span(fared.oldest)}" if fared.oldest > fared.cls.target else "–"
    return fared.cls.name, *figures, waits, "kept" if fared.kept else "missed"


def document(outcome: Outcome) -> dict[str, Any]:
    """All figures, as `--json` prints them."""
    rounds = [
        {"round": each.way.name, "classes": [_figures(fared) for fared in each.classes]} for each in outcome.rounds
    ]
    steps = [{"seconds": seconds, "times": times} for seconds, times in STEPS]
    return dict(finite({"capacity": outcome.capacity, "steps": steps, "rounds": rounds}))


def _figures(fared: Fared) -> dict[str, Any]:
    last = fared.looks[-1]
    return {
        "class": fared.cls.name,
        "queries": fared.queries,
        "target": fared.cls.target,
        "results": fared.results,
        "mean": fared.mean,
        "p99": fared.p99,
        "late": fared.late,
        "within": fared.within,
        "loss": fared.loss,
        "pending": last.pending,
        "oldest": fared.oldest,
        "kept": fared.kept,
    }


def summary(outcome: Outcome) -> str:
    """The table in a sentence."""
    said = []
    for each in outcome.rounds:
        kept = [fared.cls.name for fared in each.classes if fared.kept]
        whom = "every class" if len(kept) == len(each.classes) else " and ".join(kept) or "no class"
        what = "their targets" if 1 < len(kept) < len(each.classes) else "its target"
        said.append(f"Under {each.way.name} {whom} kept {what}.")
    if all(fared.oldest <= fared.cls.target for fared in outcome.rounds[0].classes):
        said.append(_TOO_LITTLE)
    return " ".join(said)


_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Headgate demo</title><style>{style}</style>
<h1>The same load, twice</h1>
"""
_TERMS = """<p class="note">A class has kept its target if {on_time} of its results came within it. Response times are
those of results that had come when the last tick did; <i>still waits</i> is what had not: tuples, counted for each
query, and for how long. <i>Time within target</i> counts quarters of a second in which no result was later.
<i>Lost</i> tuples were dropped before they were read, each counted for every query that did not get it.</p>
"""
_RESPONSES = """<p class="note">The mean over half a second of results, and up to the slowest of them. Dashed: the
target. The scale is logarithmic. Above: how many times the capacity is offered.</p>
"""
_KEPT = """<p class="note">Of the tuples that were passed in a second, those that were read rather than dropped.</p>
</html>
"""


def _page(outcome: Outcome) -> Iterator[str]:
    queries = sum(fared.queries for fared in outcome.rounds[0].classes)
    steps = ", ".join(f"{load:g}× that for {seconds:g} s" for seconds, load in STEPS)
    ways = "; ".join(f"{each.way.name} is {each.way.what}" for each in outcome.rounds)
    yield _HEAD.format(style=_STYLE)
    yield (
        f"<p>{queries} queries of three classes over one stream of market ticks. This machine could do "
        f"{outcome.capacity:,.0f} ticks per second with all of them. It was offered {steps}, the same ticks in both "
        f"rounds. {escape(ways)}.</p>\n<p><b>{escape(summary(outcome))}</b></p>\n"
    )
    yield _table(outcome) + _TERMS.format(on_time=share(ON_TIME))
    yield f"<h2>Response times</h2>\n{_svg(_responses(outcome))}\n{_RESPONSES}"
    yield f"<h2>What is kept</h2>\n{_svg(_kept(outcome))}\n{_KEPT}"


def _table(outcome: Outcome) -> str:
    head = "".join(f"<th>{heading}" for heading in HEADINGS)
    body = ""
    for row in rows(outcome):
        *cells, verdict = row
        body += f'<tr>{"".join(f"<td>{escape(cell)}" for cell in cells)}<td class="{verdict}">{verdict}'
    return f'<div class="scroll"><table><tr>{head}{body}</table></div>\n'


def _responses(outcome: Outcome) -> Figure:
    """A row for each class, a column for each round, all with the same scale."""
    classes = outcome.rounds[0].classes
    figure = Figure(figsize=(10, 2.3 * len(classes)), layout="constrained")
    axes = figure.subplots(len(classes), len(outcome.rounds), squeeze=False, sharex=True, sharey=True)
    for i, each in enumerate(outcome.rounds):
        for k, fared in enumerate(each.classes):
            ax = axes[k][i]
            _steps(ax, labelled=k == 0)
            at, mean, most = _binned(fared)
            ax.fill_between(at, mean, most, color=_COLOURS[k], alpha=0.25, linewidth=0)
            ax.plot(at, mean, color=_COLOURS[k], linewidth=1.6)
            ax.axhline(fared.cls.target, color=_TEXT, linestyle="--", linewidth=1)
            ax.set_yscale("log")
            if i == 0:
                ax.set_ylabel(f"{fared.cls.name}\n(target {span(fared.cls.target)})")
            _plain(ax)
        axes[0][i].set_title(each.way.name, color=_TEXT, fontsize=11, pad=16)
        axes[-1][i].set_xlabel("seconds since the round began")
    axes[0][0].yaxis.set_major_formatter(lambda seconds, _: span(seconds))
    return figure


def _binned(fared: Fared) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
    """The middle of each stretch of time that had results, their mean response time and the longest."""
    bins: dict[int, list[tuple[float, int, float]]] = {}
    for run in fared.runs:
        bins.setdefault(int(run.at / _BIN), []).append((run.total, run.results, run.longest))
    numbers = sorted(bins)
    mean = [max(_LEAST, sum(t for t, _, _ in bins[i]) / sum(n for _, n, _ in bins[i])) for i in numbers]
    return [(i + 0.5) * _BIN for i in numbers], mean, [max(_LEAST, *(m for _, _, m in bins[i])) for i in numbers]


def _kept(outcome: Outcome) -> Figure:
    figure = Figure(figsize=(10, 2.6), layout="constrained")
    axes = figure.subplots(1, len(outcome.rounds), squeeze=False, sharey=True)[0]
    for ax, each in zip(axes, outcome.rounds, strict=True):
        _steps(ax, labelled=True)
        for fared, colour in zip(each.classes, _COLOURS, strict=True):
            at, kept = _kept_over_time(fared)
            ax.plot(at, kept, color=colour, linewidth=1.6, label=fared.cls.name)
        ax.set_ylim(-0.03, 1.05)
        ax.yaxis.set_major_formatter(lambda part, _: share(part))
        ax.set_title(each.way.name, color=_TEXT, fontsize=11, pad=16)
        ax.set_xlabel("seconds since the round began")
        _plain(ax)
    axes[0].legend(fontsize=9, frameon=False, labelcolor=_TEXT, loc="lower left")
    return figure


def _kept_over_time(fared: Fared) -> tuple[Sequence[float], Sequence[float]]:
    ends = np.arange(1.0, SECONDS + 0.5)
    at = [look.at for look in fared.looks]
    done, shed = (
        np.interp([0.0, *ends], at, [getattr(look, name) for look in fared.looks]) for name in ("processed", "shed")
    )
    passed = np.diff(done) + np.diff(shed)
    known = passed > 0
    return list(ends[known] - 0.5), list((np.diff(done)[known] / passed[known]).tolist())


def _steps(ax: Axes, *, labelled: bool) -> None:
    """The offered load behind a chart: the more, the darker."""
    begin = 0.0
    for seconds, load in STEPS:
        ax.axvspan(begin, begin + seconds, color=_FAINT, alpha=0.06 * load, linewidth=0)
        if labelled:
            middle = begin + seconds / 2
            ax.annotate(
                f"{load:g}×", (middle, 1.01), xycoords=("data", "axes fraction"), ha="center", fontsize=9, color=_TEXT
            )
        begin += seconds
    ax.set_xlim(0.0, begin)


def _plain(ax: Axes) -> None:
    ax.grid(visible=True, axis="y", which="major", alpha=0.25, color=_FAINT)
    ax.tick_params(colors=_TEXT, which="both", labelsize=9)
    ax.xaxis.label.set_color(_TEXT)
    ax.yaxis.label.set_color(_TEXT)
    for name, spine in ax.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(_FAINT)


def _svg(figure: Figure) -> str:
    """The figure as a part of the page, in the page's colours."""
    found = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "headgate"}):
        figure.savefig(found, format="svg", transparent=True, metadata={"Date": None})
    text = found.getvalue()
    # What an SVG file names addresses in; a part of a page needs none of that.
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    return text.replace(_TEXT, "var(--text)").replace(_FAINT, "var(--faint)")

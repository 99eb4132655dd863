"""A prediction as people and programs read it."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from headgate.record import Recorded
from headgate.sim.whatif import Case, Fate, Prediction

_COLUMNS: tuple[tuple[str, Callable[[Fate], str]], ...] = (
    ("mean", lambda fate: _span(fate.mean)),
    ("p99", lambda fate: _span(fate.p99)),
    ("loss", lambda fate: f"{100 * fate.loss:.1f} %"),
)


def shown(recorded: Recorded, found: Prediction) -> Iterator[RenderableType]:
    """A table of the classes: what was measured, what is predicted of that, and of the choices."""
    seconds = recorded.ended - recorded.since
    yield Text(f"{recorded.path}: {seconds:,.1f} s under {_words(found.measured)}", style="bold")
    cases = [("measured", found.measured), ("predicted", found.recorded)]
    cases += [(_words(found.chosen), found.chosen)] if found.chosen else []
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("\nclass")
    table.add_column("\ntarget", justify="right")
    for name, _ in cases:
        for i, (column, _) in enumerate(_COLUMNS):
            table.add_column(f"{name if not i else ''}\n{column}", justify="right", no_wrap=bool(i))
        if name == "predicted":
            table.add_column("error\nof mean, points of loss", justify="right")
    for cls in _classes(found):
        cells = [cls, _span(found.targets.get(cls))]
        for name, case in cases:
            fate = case.classes.get(cls)
            cells += [told(fate) if fate else "–" for _, told in _COLUMNS]
            if name == "predicted":
                cells.append(_error(found.measured.classes.get(cls), case.classes.get(cls)))
        table.add_row(*map(Text, cells))
    yield table
    if worth := _worth(found, cases):
        yield worth
    for name, case in cases:
        waiting = sum(fate.waiting for fate in case.classes.values())
        yield Text(f"{name}: lanes busy {100 * case.utilisation:.0f} %, {waiting:,} tuples left waiting", style="dim")
    for line in found.assumed:
        yield Text(f"assumed: {line}", style="dim")


def _worth(found: Prediction, cases: Sequence[tuple[str, Case]]) -> Table | None:
    """The average QoS of classes; nothing where no query has a QoS graph."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("average QoS")
    for name, _ in cases:
        table.add_column(name, justify="right")
    for cls in _classes(found):
        fates = [case.classes.get(cls) for _, case in cases]
        means = [fate.qos if fate else math.nan for fate in fates]
        if not all(map(math.isnan, means)):
            table.add_row(Text(cls), *("–" if math.isnan(mean) else f"{mean:.3f}" for mean in means))
    return table if table.row_count else None


def document(recorded: Recorded, found: Prediction) -> dict[str, Any]:
    """A prediction as one document."""
    return {
        "record": str(recorded.path),
        "seconds": recorded.ended - recorded.since,
        "targets": dict(found.targets),
        "measured": _json(found.measured),
        "predicted": _json(found.recorded),
        "whatif": _json(found.chosen) if found.chosen else None,
        "assumed": list(found.assumed),
    }


def _json(case: Case) -> dict[str, Any]:
    classes = {name: {**asdict(fate), "loss": fate.loss} for name, fate in case.classes.items()}
    return {**asdict(case), "classes": classes}


def _classes(found: Prediction) -> list[str]:
    cases = [found.measured, *([found.chosen] if found.chosen else [])]
    named = dict.fromkeys(name for case in cases for name in case.classes)
    # In the order of the run; a query without a class of its own has one that is not among them.
    return [
        *(name for name in found.targets if name in named),
        *(name for name in named if name not in found.targets),
    ]


def _words(case: Case) -> str:
    shed = "" if case.shed == "none" else f", shed {case.shed}"
    rate = "" if case.rate == 1 else f", {case.rate:g}x the rate"
    more = f", {case.added} quer{'ies' if case.added > 1 else 'y'} more" if case.added else ""
    return f"{case.policy}{shed}, {case.lanes} lane{'s' if case.lanes > 1 else ''}{rate}{more}"


def _error(measured: Fate | None, predicted: Fate | None) -> str:
    if measured is None or predicted is None or not measured.mean > 0 or math.isnan(predicted.mean):
        return "–"
    points = 100 * (predicted.loss - measured.loss)
    return f"{100 * (predicted.mean / measured.mean - 1):+.0f} %, {points:+.1f}"


def _span(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return "–"
    # What rounds to 1000 ms is a second.
    return f"{seconds:.2f} s" if seconds >= 0.9995 else f"{1000 * seconds:.{0 if seconds >= 0.1 else 1}f} ms"

"""A recorded run beside the simulator's predictions: how far off they are for its policy, and how others compare."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from headgate.monitor.figures import Figures, Summary
from headgate.policy.registry import POLICIES
from headgate.record import Recorded
from headgate.sim.replay import Replayed
from headgate.sim.whatif import Choices, replayed
from headgate.sim.workload import Workload

MOST_CLASSES = 8

_COLUMNS: tuple[tuple[str, Callable[[Figures], float]], ...] = (
    ("slowdown\navg", lambda f: f.avg_slowdown),
    ("\nmax", lambda f: f.max_slowdown),
    ("\nrms", lambda f: f.rms_slowdown),
    ("response, s\navg", lambda f: f.avg_response),
    ("\nmax", lambda f: f.max_response),
    ("runs\nnumber", lambda f: f.runs),
    ("\ntuples", lambda f: f.avg_train),
    ("lanes, %\nbusy", lambda f: 100 * f.utilisation),
    ("\nin a", lambda f: 100 * f.overhead),
    ("tuples\nwaiting", lambda f: f.waiting),
)
_QOS: tuple[str, Callable[[Figures], float]] = "QoS\navg", lambda f: f.qos
"""Where queries have QoS graphs."""
_MARKED = 5
"""Of the first so many columns the lowest prediction is marked."""

_MANY = 0.01
"""Where more than this share of the tuples waits in the end, the figures leave out too much to be ranked."""


@dataclass(frozen=True)
class Comparison:
    """What a recorded run showed, and what each policy would have, that of the run first."""

    recorded: Recorded
    predicted: tuple[Replayed, ...]

    @property
    def ranked(self) -> bool:
        """Whether the predictions can be set against each other: none leaves many tuples waiting."""
        found = [p.summary.overall for p in self.predicted]
        return len(found) > 1 and all(
            f.waiting <= _MANY * (f.waiting + f.runs * f.avg_train) for f in found if f.runs
        )

    def as_json(self) -> dict[str, Any]:
        """The comparison as one document."""
        recorded, began = self.recorded, self.recorded.began
        return {
            "record": str(recorded.path),
            "policy": began.policy,
            "options": dict(began.options),
            "lanes": began.lanes,
            "seconds": recorded.ended - recorded.since,
            "streams": {name: {"tuples": len(logged.at)} for name, logged in recorded.streams.items()},
            "measured": _json(recorded.measured),
            "predicted": [{"policy": p.policy, "seconds": p.seconds, **_json(p.summary)} for p in self.predicted],
        }


def compare(
    recorded: Recorded, policies: Sequence[str] | None = None, progress: Callable[[str], None] = lambda _: None
) -> Comparison:
    """Replay a recorded run under its own policy and others: those named, or all that run trains.

    The run's options go with its own policy; the others take its trains.
    """
    own = recorded.began.policy
    names = [name for name, entry in POLICIES.items() if "train" in entry.options] if policies is None else policies
    workload = Workload.from_record(recorded)
    found = []
    for name in dict.fromkeys((own, *names)):
        progress(name)
        found.append(replayed(recorded, Choices(policy=name), workload)[0])
    return Comparison(recorded, tuple(found))


def overview(comparison: Comparison) -> Table:
    """A row for what was measured, one for each prediction, and between them how far the first of those is off."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("\npolicy", no_wrap=True)
    table.add_column("\n", no_wrap=True)
    figures = [comparison.recorded.measured.overall, *(p.summary.overall for p in comparison.predicted)]
    columns = _COLUMNS if all(math.isnan(f.qos) for f in figures) else (*_COLUMNS, _QOS)
    for heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    measured, *predicted = [[of(f) for _, of in columns] for f in figures]
    own, *others = comparison.predicted
    lowest = [
        min((v for v in column if not math.isnan(v)), default=math.nan) for column in zip(*predicted, strict=True)
    ]

    def cells(values: list[float]) -> list[Text]:
        marked = [comparison.ranked and i < _MARKED and v == lowest[i] for i, v in enumerate(values)]
        return [_cell(v, best=best) for v, best in zip(values, marked, strict=True)]

    table.add_row(Text(own.policy), "measured", *map(_cell, measured))
    table.add_row("", "predicted", *cells(predicted[0]))
    table.add_row("", "error", *map(_error, predicted[0], measured), style="dim")
    for other, values in zip(others, predicted[1:], strict=True):
        table.add_row(Text(other.policy), "predicted", *cells(values))
    return table


def legend(comparison: Comparison) -> str:
    """What the signs and columns of the overview mean."""
    best = "* lowest prediction of its column; " if comparison.ranked else ""
    left = any(p.summary.overall.waiting for p in comparison.predicted)
    cut = "; the run was stopped, and what waited then counts in no other column" if left else ""
    return f"{best}in a: the part of a run that does not depend on its train{cut}"


def by_class(comparison: Comparison) -> Table | None:
    """The average slowdown of each class of queries, where there are several and not too many."""
    classes = comparison.recorded.measured.classes
    if not 1 < len(classes) <= MOST_CLASSES:
        return None
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in classes:
        table.add_column(Text(name), justify="right")
    table.add_row(
        Text(comparison.recorded.began.policy), "measured", *(_cell(f.avg_slowdown) for f in classes.values())
    )
    for p in comparison.predicted:
        table.add_row(Text(p.policy), "predicted", *(_cell(p.summary.classes[g].avg_slowdown) for g in classes))
    return table


def _json(summary: Summary) -> dict[str, Any]:
    parts = asdict(summary)
    return {**parts.pop("overall"), **parts}


def _cell(value: float, *, best: bool = False) -> Text:
    if math.isnan(value):
        return Text("– ")
    decimals = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2 if value >= 1 else 3
    return Text(f"{value:,.{decimals}f}{'*' if best else ' '}", style="bold green" if best else "")


def _error(predicted: float, measured: float) -> Text:
    if math.isnan(predicted) or not measured > 0:
        return Text("– ")
    return Text(f"{round(100 * (predicted / measured - 1)):+d}% ")

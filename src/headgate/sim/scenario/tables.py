"""The result of a scenario for people: tables, and what they come down to in words."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from rich.table import Table
from rich.text import Text

from headgate.sim.metrics import Interval
from headgate.sim.scenario.scenario import Figures, PolicyResult, ScenarioResult

MOST_CLASSES = 8

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def overview(result: ScenarioResult, *, spread: bool = True) -> Table:
    """Slowdown and response time of each policy, the lowest value of each column marked."""
    table = _table()
    unit, name = _unit([f(p.figures).mean for p in result.policies for f in (_avg_response, _p99_response)])
    columns: list[tuple[str, Callable[[Figures], Interval], float]] = [
        ("slowdown\navg", _avg, 1.0),
        ("\nmax", _max, 1.0),
        ("\nrms", _rms, 1.0),
        (f"response, {name}\navg", _avg_response, unit),
        ("\np99", _p99_response, unit),
    ]
    table.add_column("\npolicy", no_wrap=True)
    for heading, _, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    cells = [_column([of(p.figures) for p in result.policies], scale, spread=spread) for _, of, scale in columns]
    for policy, row in zip(result.policies, zip(*cells, strict=True), strict=True):
        table.add_row(Text(policy.label), *row)
    return table


def legend(result: ScenarioResult, *, spread: bool = True) -> str:
    """What the signs in the overview mean."""
    n = len(result.seeds)
    means = f"; means over {n} seeds" if n > 1 else ""
    return f"* lowest of its column{means}{', ± 95 % confidence' if means and spread else ''}"


def by_class(result: ScenarioResult) -> Table | None:
    """The average slowdown of each class of queries, where there are several and not too many."""
    classes = list(dict.fromkeys(chain.from_iterable(p.classes for p in result.policies)))
    if not 1 < len(classes) <= MOST_CLASSES:
        return None
    table = _table()
    table.add_column("policy", no_wrap=True)
    for name in classes:
        table.add_column(Text(name), justify="right")
    cells = [_column([p.classes[c].avg_slowdown for p in result.policies], 1.0, spread=False) for c in classes]
    for policy, row in zip(result.policies, zip(*cells, strict=True), strict=True):
        table.add_row(Text(policy.label), *row)
    return table


def findings(result: ScenarioResult) -> list[str]:
    """What choosing another policy than the first bought, in sentences made from the numbers."""
    base = result.policies[0]
    avg, worst, rms = (min(result.policies, key=lambda p: of(p.figures).mean) for of in (_avg, _max, _rms))
    if avg is base:
        return [f"No policy had a lower average slowdown than {_name(base)}."]
    before, after = (_number(_avg(p.figures).mean) for p in (base, avg))
    said = []
    said.append(
        f"{_name(avg)}'s average slowdown was {_against(base, avg, 'avg_slowdown')} that of {_name(base)}: "
        f"a result took {after} times as long as it would have alone, and not {before} times."
    )
    if worst is not avg:
        times = _number(_avg(worst.figures).mean / _avg(avg.figures).mean)
        said.append(
            f"{_name(worst)} had the mildest worst case, {_against(avg, worst, 'max_slowdown')} that of "
            f"{_name(avg)}, but {times} times its average."
        )
    if rms not in (avg, worst):
        said.append(
            f"{_name(rms)} balances the two, with the lowest rms: its worst case was "
            f"{_against(avg, rms, 'max_slowdown')} that of {_name(avg)}, and its average "
            f"{_against(worst, rms, 'avg_slowdown')} that of {_name(worst)}."
        )
    return said


def _avg(figures: Figures) -> Interval:
    return figures.avg_slowdown


def _max(figures: Figures) -> Interval:
    return figures.max_slowdown


def _rms(figures: Figures) -> Interval:
    return figures.rms_slowdown


def _avg_response(figures: Figures) -> Interval:
    return figures.avg_response


def _p99_response(figures: Figures) -> Interval:
    return figures.p99_response


def _name(policy: PolicyResult) -> str:
    return policy.label.upper() if policy.label == policy.policy else policy.label


def _against(other: PolicyResult, policy: PolicyResult, figure: str) -> str:
    """How far a figure is below or above another policy's, seed by seed: arrivals vary much more than that does."""
    pairs = zip(policy.per_seed, other.per_seed, strict=True)
    changes = [100 * (a[figure] / b[figure] - 1) for a, b in pairs if not math.isnan(a[figure] + b[figure])]
    mean = sum(changes) / len(changes)
    low, high = sorted((round(abs(min(changes))), round(abs(max(changes)))))
    same_way = min(changes) * max(changes) > 0
    spread = f" ({low} to {high} over the seeds)" if same_way and low < high else ""
    return f"{abs(mean):.0f} %{spread} {'below' if mean < 0 else 'above'}"


def _table() -> Table:
    return Table(box=None, padding=(0, 1, 0, 0))


def _unit(values: Iterable[float]) -> tuple[float, str]:
    """The unit in which the smallest of some times is at least 0.1."""
    least = min((v for v in values if v > 0), default=1.0)
    size, name = next(((size, name) for size, name in _UNITS if least >= 0.1 * size), _UNITS[-1])
    return 1 / size, name


def _column(found: Sequence[Interval], scale: float, *, spread: bool) -> list[Text]:
    """The cells of a column, those of the lowest mean marked."""
    lowest = min((i.mean for i in found if not math.isnan(i.mean)), default=math.nan)
    return [_cell(i, scale, spread=spread, best=i.mean == lowest and len(found) > 1) for i in found]


def _cell(found: Interval, scale: float, *, spread: bool, best: bool) -> Text:
    if math.isnan(found.mean):
        return Text("– ")
    text = _number(found.mean * scale)
    if spread and found.n > 1 and found.mean:
        text += f" ±{100 * found.half / found.mean:.0f}%"
    return Text(text + ("*" if best else " "), style="bold green" if best else "")


def _number(value: float) -> str:
    """Three digits or more."""
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{decimals}f}"

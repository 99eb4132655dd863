"""RT-E4: rates that wander at random, and those of a packet trace."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.experiments.deadlines.cases import (
    HPF,
    LRM,
    MIX,
    PLUS,
    RM,
    SHOWN,
    Case,
    Seen,
    apart,
    at_least,
    at_most,
    averaged,
    mean,
    numbered,
    required,
    runs_of,
    seeds,
    three,
)
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Row,
    Scale,
    Task,
    banded,
    claim,
    reported,
)
from headgate.experiments.traces import Recorded

WAYS = (LRM, RM, HPF, PLUS)
FULL, QUICK = 300, 100
STRETCHES = 8
"""Runs on a packet trace: stretches of it, that overlap between runs."""

_MISS = {LRM: Band(1.5, 3.0, " %"), RM: Band(14, 16, " %"), HPF: Band(18.5, 22, " %"), PLUS: at_most(0.1)}
_ERROR = {LRM: Band(40, 44, " %"), HPF: Band(44, 49, " %"), RM: Band(50, 53.5, " %"), PLUS: at_most(33)}
_PAPER = {LRM: "about 2 %", RM: "much higher", HPF: "much higher", PLUS: "–"}


def traces(scale: Scale) -> list[Recorded]:
    """The packet traces there are."""
    return [each for each in scale.traces if isinstance(each, Recorded)]


def drawn(way: str, of: Sequence[int]) -> list[Case]:
    """A way on the random rates of all seeds."""
    return [Case(way, "random", seed=seed) for seed in of]


def recorded(way: str, trace: Recorded) -> list[Case]:
    """A way on stretches of a trace."""
    return [Case(way, "random", seed=seed, trace=trace) for seed in range(1, STRETCHES + 1)]


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """Every way with every seed, and on every trace."""
    found = [case for way in WAYS for case in drawn(way, seeds(scale, FULL, QUICK))]
    found += [case for trace in traces(scale) for way in WAYS for case in recorded(way, trace)]
    return runs_of(found)


def outcome(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Means over the seeds."""
    of = seeds(scale, FULL, QUICK)
    cases = {way: drawn(way, of) for way in WAYS}
    rows = []
    for way, band in _MISS.items():
        found = mean(results, cases[way], lambda each: each.miss)
        rows.append(banded(f"{SHOWN[way]}: late", _PAPER[way], found.mean, band, f"{found} %"))
    errors = {way: mean(results, cases[way], lambda each: each.error) for way in WAYS}
    for way, band in _ERROR.items():
        paper = "stable after the first cycle" if way == LRM else _PAPER[way]
        rows.append(banded(f"{SHOWN[way]}: weighted error", paper, errors[way].mean, band, f"{errors[way]} %"))
    order = errors[LRM].mean < errors[HPF].mean < errors[RM].mean
    rows.append(required("error of LRM below HPF below RM", "LRM lowest", "in means", met=order))
    useful = mean(results, cases[PLUS], lambda each: each.useful)
    rows.append(banded("LRM+: useful", "–", useful.mean, at_least(96), f"{useful} %"))
    completed = {way: mean(results, cases[way], lambda each: each.completion) for way in WAYS}
    rows.append(
        required(
            "LRM completes more than RM and HPF, beyond chance",
            "far more",
            " / ".join(f"{completed[way].mean:.1f}" for way in (LRM, RM, HPF)) + " %",
            met=all(apart(completed[LRM], completed[way]) for way in (RM, HPF)),
        )
    )
    rows.append(reported("LRM: useful", "–", f"{mean(results, cases[LRM], lambda each: each.useful)} %"))
    curves = {SHOWN[way]: averaged([results[case] for case in cases[way]]) for way in WAYS}
    rows.append(_stable(curves[SHOWN[LRM]]))
    for trace in traces(scale):
        rows += _on(trace, results)
    figures = (*three(curves), _spread(results, cases))
    shown = "rates of three streams, 12 000 tuples/s on average, logarithm with deviation 0.5 and 0.9 kept per 100 ms"
    where = "; ".join([shown, *(f"{each.about}, scaled to the same mean" for each in traces(scale))])
    return Outcome(E4.id, E4.title, where, numbered(of), tuple(rows), figures, (MIX,))


def _stable(lrm: Seen) -> Row:
    after = [error for at, error in zip(lrm.curve.at, lrm.curve.error, strict=True) if at >= 7.0]
    shown = f"{min(after):.1f} … {max(after):.1f} %"
    return claim("LRM: weighted error from 7 s on", "stable", shown, confirmed=max(after) - min(after) <= 5)


def _on(trace: Recorded, results: Mapping[Any, Seen]) -> list[Row]:
    wanted: dict[str, Callable[[Seen], float]] = {
        "late": lambda each: each.miss,
        "weighted error": lambda each: each.error,
        "useful": lambda each: each.useful,
    }
    rows = []
    for what, value in wanted.items():
        means = (mean(results, recorded(way, trace), value).mean for way in WAYS)
        shown = " / ".join(f"{each:.1f}" for each in means)
        rows.append(reported(f"{trace.name}: {what}, LRM / RM / HPF / LRM+", "–", f"{shown} %"))
    return rows


def _spread(results: Mapping[Any, Seen], cases: Mapping[str, Sequence[Case]]) -> Figure:
    """How many of the runs have at most so many late iterations."""
    lines = []
    for way, of in cases.items():
        late = sorted(results[case].miss for case in of)
        lines.append(Line(SHOWN[way], late, [100 * (k + 1) / len(late) for k in range(len(late))]))
    return Figure("runs with at most so many late", "late (%)", "runs (%)", tuple(lines), log_y=False)


E4 = Experiment("RT-E4", "Rates that wander at random", "Figure 11", tasks, outcome)

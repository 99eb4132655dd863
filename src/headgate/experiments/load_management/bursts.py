"""DILOS-E6, E8, E10, E11 and E12: bursty input, networks that are not flat, and a scheduler that is not fair."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headgate.experiments.load_management.single import (
    AFTER,
    NOTE_COMPLEX,
    NOTE_FLAT,
    PERIOD,
    SURROGATE,
    TUNED,
    Case,
    D,
    Seen,
    line,
    loss_row,
    mean,
    named,
    over,
    required,
    seconds,
    seeds,
    shortened,
    violation,
    worst,
)
from headgate.experiments.load_management.single import tasks as runs_of
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Outcome,
    Row,
    Scale,
    Task,
    banded,
    claim,
    holds,
    reported,
)
from headgate.experiments.traces import Recorded, Synthetic
from headgate.sim.metrics import Floats

SMALL = Band(0.0, 0.1 * D, " s")
CTRL: tuple[tuple[str, float], ...] = (("headroom", TUNED),)


def flat(manager: str, trace: Synthetic | Recorded | None = None) -> Case:
    """A manager on QN-flat under S_r."""
    return Case("flat", "S_r", manager, CTRL if manager == "ctrl" else (), trace=trace)


def shared(scale: Scale, manager: str, headroom: float | None = None) -> Case:
    """A manager on QN-complex under S_r."""
    options = CTRL if manager == "ctrl" else (() if headroom is None else (("headroom", headroom),))
    return Case("complex", "S_r", manager, options, end=shortened(scale))


def _recorded(scale: Scale) -> Recorded | None:
    """A packet trace, where there is one."""
    return next((trace for trace in scale.traces if isinstance(trace, Recorded)), None)


def _small(runs: Sequence[Seen], manager: str, paper: float) -> Row:
    found = mean(runs, violation)
    return banded(f"average violation, {manager}", f"{paper:.2f} s", found.mean, SMALL, seconds(runs, violation))


def _reported(runs: Sequence[Seen], manager: str, most: str, average: str | None = None) -> list[Row]:
    rows = [reported(f"greatest violation, {manager}", most, seconds(runs, worst))]
    if average is not None:
        rows.append(reported(f"average violation, {manager}", average, seconds(runs, violation)))
    return rows


def _figure(title: str, runs: Mapping[str, Seen], *, log: bool = False) -> Figure:
    curves = tuple(line(name, seen.by_input, 1.0) for name, seen in runs.items())
    return Figure(title, "arrival (s)", "response time (s)", curves, log_y=log)


E8_PAPER = {"aloma": (0.05, 0.62, 21.36), "ctrl": (0.01, 0.35, 21.41)}


def e8_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Runs on the surrogate, and one on a trace where there is one."""
    cases = [flat(name) for name in ("aloma", "ctrl", "backlog")]
    found = dict(runs_of(cases, seeds(scale)))
    if trace := _recorded(scale):
        found |= runs_of([flat(name, trace) for name in E8_PAPER], (1,))
    return found


def e8(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """ALoMa against a CTRL that was tuned by hand."""
    numbers, trace = seeds(scale), _recorded(scale)
    rows: list[Row] = []
    for name, (average, most, lost) in E8_PAPER.items():
        runs = over(results, flat(name), numbers)
        rows += [_small(runs, name, average), loss_row(name, lost, runs), *_reported(runs, name, f"{most:.2f} s")]
    ours = over(results, flat("backlog"), numbers)
    rows += [*_reported(ours, "backlog", "–", "–"), reported("loss, backlog", "–", f"{mean(ours, _loss)} %")]
    if trace:
        for name, (average, most, lost) in E8_PAPER.items():
            runs = over(results, flat(name, trace), (1,))
            shown = f"{runs[0].loss:.4g} %, {violation(runs[0]):.2g} s on average, {worst(runs[0]):.2g} s at most"
            rows.append(reported(f"{name} on {trace.about}", f"{lost:g} %, {average:g} s, {most:g} s", shown))
    first = {name: results[flat(name), numbers[0]] for name in ("aloma", "ctrl", "backlog")}
    about = SURROGATE + (f"; {trace.about}, stretched to 400 s and scaled alike" if trace else "")
    return Outcome(
        E8.id, E8.title, about, named(numbers), tuple(rows), (_figure("QN-flat, S_r", first),), (NOTE_FLAT,)
    )


def _loss(seen: Seen) -> float:
    return seen.loss


AURORA = {0.92: (1.16, 0.09, 37.59), 0.93: (1.80, 0.19, 36.82)}


def _complex_tasks(managers: Sequence[str], scale: Scale) -> Mapping[Any, Task]:
    cases = [shared(scale, name) for name in managers] + [shared(scale, "aurora", H) for H in AURORA]
    return runs_of(cases, seeds(scale))


def _others(scale: Scale, results: Mapping[Any, Any], numbers: Sequence[int]) -> list[Row]:
    """The rows of CTRL and Aurora, which both tables have."""
    ctrl = over(results, shared(scale, "ctrl"), numbers)
    failed = sum(each.late.mean > D and each.loss < 1 for each in ctrl)
    rows = [
        loss_row("ctrl", 0.0, ctrl),
        holds("ctrl sheds nothing and its response times grow", "yes", failed, len(numbers)),
        *_reported(ctrl, "ctrl", "41.10 s", "23.33 s"),
        reported(
            f"input that ctrl has come to in {shortened(scale) + AFTER:g} s",
            "66 s of 420",
            f"{mean(ctrl, lambda s: s.reached)} s",
        ),
    ]
    for H, (most, average, lost) in AURORA.items():
        runs = over(results, shared(scale, "aurora", H), numbers)
        rows += [loss_row(f"aurora {H}", lost, runs)]
        rows += _reported(runs, f"aurora {H}", f"{most:.2f} s", f"{average:.2f} s")
    return rows


def _order(scale: Scale, results: Mapping[Any, Any], manager: str, numbers: Sequence[int]) -> Row:
    good = sum(
        results[shared(scale, "ctrl"), seed].loss
        < results[shared(scale, manager), seed].loss
        < results[shared(scale, "aurora", 0.93), seed].loss
        < results[shared(scale, "aurora", 0.92), seed].loss
        for seed in numbers
    )
    what = f"losses in the order ctrl, {manager}, aurora 0.93, aurora 0.92"
    return holds(what, "yes", good, len(numbers))


def e6_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each manager."""
    return _complex_tasks(("seamless", "ctrl"), scale)


def e6(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Shared operators: SEaMLeSS manages, CTRL sheds nothing."""
    numbers = seeds(scale)
    runs = over(results, shared(scale, "seamless"), numbers)
    rows = [loss_row("seamless", 32.85, runs), *_reported(runs, "seamless", "0.73 s", "0.09 s")]
    rows += [*_others(scale, results, numbers), _order(scale, results, "seamless", numbers)]
    first = {name: results[shared(scale, name), numbers[0]] for name in ("seamless", "ctrl")}
    first["aurora 0.92"] = results[shared(scale, "aurora", 0.92), numbers[0]]
    figure = _figure("QN-complex, S_r", first, log=True)
    return Outcome(E6.id, E6.title, SURROGATE, named(numbers), tuple(rows), (figure,), (NOTE_FLAT, NOTE_COMPLEX))


def e10_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each manager."""
    return _complex_tasks(("aloma", "ctrl", "backlog"), scale)


def e10(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Shared operators: ALoMa manages too."""
    numbers = seeds(scale)
    runs = over(results, shared(scale, "aloma"), numbers)
    rows = [_small(runs, "aloma", 0.06), loss_row("aloma", 32.41, runs), *_reported(runs, "aloma", "0.75 s")]
    rows += [*_others(scale, results, numbers), _order(scale, results, "aloma", numbers)]
    ours = over(results, shared(scale, "backlog"), numbers)
    rows += [*_reported(ours, "backlog", "–", "–"), reported("loss, backlog", "–", f"{mean(ours, _loss)} %")]
    first = {name: results[shared(scale, name), numbers[0]] for name in ("aloma", "ctrl", "backlog")}
    figure = _figure("QN-complex, S_r", first, log=True)
    return Outcome(E10.id, E10.title, SURROGATE, named(numbers), tuple(rows), (figure,), (NOTE_FLAT, NOTE_COMPLEX))


UNFAIR = ("aloma", "seamless", "backlog", "aurora", "ctrl")


def unfair(scale: Scale, manager: str) -> Case:
    """A manager on QN-complex under S_c and a scheduler that gives half of the queries larger turns."""
    options = CTRL if manager == "ctrl" else ((("headroom", 0.92),) if manager == "aurora" else ())
    return Case("complex", "S_c", manager, options, fair=False, end=shortened(scale))


def e11_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each manager."""
    return runs_of([unfair(scale, name) for name in UNFAIR[:3]], seeds(scale))


def e11(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """ALoMa needs no fair scheduler, SEaMLeSS does."""
    numbers = seeds(scale)
    aloma, seamless, ours = (over(results, unfair(scale, name), numbers) for name in UNFAIR[:3])
    good = sum(low(a) < low(s) for a, s in zip(aloma, seamless, strict=True))
    ahead = max(low(each) for each in aloma)
    rows = [
        loss_row("aloma", 33.92, aloma),
        loss_row("seamless", 32.80, seamless),
        holds("low queries are later under seamless than under aloma", "yes", good, len(numbers)),
        claim(
            "low queries under aloma: a small part of D", "0.16 s", seconds(aloma, low), confirmed=ahead < 0.25 * D
        ),
        claim(
            "low queries under seamless: later by about D",
            "2.12 s",
            seconds(seamless, low),
            confirmed=D / 1.5 < mean(seamless, low).mean < 1.5 * D,
        ),
        *(
            claim(f"high queries under {name}: never late", "0", seconds(runs, high), confirmed=top < 0.05)
            for name, runs in (("aloma", aloma), ("seamless", seamless))
            for top in [max(high(each) for each in runs)]
        ),
        reported("low queries under backlog", "–", seconds(ours, low)),
        reported("loss, backlog", "–", f"{mean(ours, _loss)} %"),
    ]
    first = {name: results[unfair(scale, name), numbers[0]] for name in UNFAIR[:3]}
    note = "High queries get up to 60 tuples a turn, low ones 40, sources 50."
    figure = _figure("QN-complex, weighted turns", first)
    return Outcome(E11.id, E11.title, "S_c", named(numbers), tuple(rows), (figure,), (NOTE_FLAT, NOTE_COMPLEX, note))


def low(seen: Seen) -> float:
    """The average violation of queries with small turns."""
    return seen.low.mean


def high(seen: Seen) -> float:
    """The average violation of queries with large turns."""
    return seen.high.mean


LONG = ("aloma", "ctrl", "aurora", "backlog")


def long(scale: Scale, manager: str) -> Case:
    """A manager on QN-long under S_r on every stream."""
    options = CTRL if manager == "ctrl" else ((("headroom", 0.92),) if manager == "aurora" else ())
    return Case("long", "S_r", manager, options, end=shortened(scale))


def e12_tasks(scale: Scale) -> Mapping[Any, Task]:
    """One run for each manager."""
    return runs_of([long(scale, name) for name in LONG], (1,))


def e12(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Joins of many streams, whose load grows faster than their rates."""
    runs: dict[str, Seen] = {name: results[long(scale, name), 1] for name in LONG}
    points = {name: int(np.count_nonzero(_steps(seen) > D)) for name, seen in runs.items()}
    top = {name: float(np.nanmax(_steps(seen))) for name, seen in runs.items()}
    drops = runs["aloma"].drops
    rows = [
        claim(
            "control periods above D, aloma",
            "4 points",
            f"{points['aloma']} of {len(_steps(runs['aloma']))}, at most {top['aloma'] - D:.2g} s above it",
            confirmed=top["aloma"] - D <= 1.5 * 1.08,
        ),
        claim(
            "shedding of aloma",
            "0 to almost 70 %",
            f"{drops.min():.0%} to {drops.max():.0%}",
            confirmed=drops.min() == 0 and 0.5 <= drops.max() <= 0.9,
        ),
        required(
            "ctrl loses control",
            "yes",
            f"sheds {runs['ctrl'].loss:.2g} %, {top['ctrl']:.3g} s at worst",
            met=top["ctrl"] > 2 * D,
        ),
        claim(
            "aurora sheds too much: its response times stay away from D",
            "yes",
            f"at most {top['aurora']:.2g} s, loss {runs['aurora'].loss:.3g} % (aloma {runs['aloma'].loss:.3g} %)",
            confirmed=top["aurora"] < D and runs["aurora"].loss > runs["aloma"].loss,
        ),
        reported("control periods above D, backlog", "–", f"{points['backlog']}, at most {top['backlog']:.2g} s"),
    ]
    figures = (
        _figure("QN-long, S_r on every stream", runs, log=True),
        Figure("shedding of aloma", "time (s)", "part", (line("aloma", runs["aloma"].drops, PERIOD),), log_y=False),
    )
    note = (
        "One of the five groups of QN-long. Where every stream brings 207 tuples/s, each join gives as many, and the "
        "system is just busy. Beyond that the results of the last join grow with the sixth power of the rate. What a "
        "tuple costs then depends on ten seconds of the past, which Aurora's estimate does not know."
    )
    return Outcome(E12.id, E12.title, SURROGATE, "1", tuple(rows), figures, (note,))


def _steps(seen: Seen) -> Floats:
    """Mean response times by control periods; those without a result count as 0."""
    return np.nan_to_num(seen.by_output)


E6 = Experiment("DILOS-E6", "SEaMLeSS, CTRL and Aurora on shared operators", "Table 3", e6_tasks, e6)
E8 = Experiment("DILOS-E8", "ALoMa and a well-tuned CTRL on bursty input", "Table 4", e8_tasks, e8)
E10 = Experiment("DILOS-E10", "ALoMa, CTRL and Aurora on shared operators", "Table 5", e10_tasks, e10)
E11 = Experiment("DILOS-E11", "ALoMa and SEaMLeSS under an unfair scheduler", "Table 6", e11_tasks, e11)
E12 = Experiment("DILOS-E12", "Long queries with joins", "Figure 19", e12_tasks, e12)

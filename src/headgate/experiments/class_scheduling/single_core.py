"""CLS-E1 to E4: CQC on one core that also reads the streams, against RR and HR."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from headgate.experiments.class_scheduling.cases import Case, Seen, averaged, ms, near, seeds, tasks
from headgate.experiments.class_scheduling.figures import mean_by_class
from headgate.experiments.class_scheduling.workloads import A, B, C, Workload
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Row, Scale, Task, claim, reported

SCHEDULERS = ("rr", "hr", "cqc")
FACTORS = {"A": 9.4, "B": 19.8, "C": 19.3}
IDS = {"A": "CLS-E2", "B": "CLS-E3", "C": "CLS-E4"}
COSTS = (
    "The publication has neither costs nor the queries of a class. With ours CQC's first class uses up its share, "
    "and what is left of the core is too little for the last one: its queues grow as long as the run lasts, and "
    "with them the runs that the first class has to wait for."
)
CLOCK = (
    "Response times count from a tuple's arrival. The publication's clock stood still while the process waited and "
    "stamped tuples as they were read; what that gives is reported."
)


def case(scale: Scale, workload: Workload, scheduler: str, seed: int) -> Case:
    """A run of a scheduler. HR is WeHR for classes of one priority."""
    seconds = 0.6 if scale.quick else 4.0
    if scheduler == "hr":
        equal = workload.prioritised(*(1.0 for _ in workload.parts))
        return Case(equal, "wehr", seconds, seed, sources="inline")
    return Case(workload, scheduler, seconds, seed, sources="inline")


def _seeds(scale: Scale) -> tuple[int, ...]:
    return (1,) if scale.quick else (1, 2, 3)


def _cases(scale: Scale, workload: Workload) -> list[Case]:
    alone = [case(scale, workload.only(1), "hr", seed) for seed in _seeds(scale)]
    return alone + [case(scale, workload, name, seed) for name in SCHEDULERS for seed in _seeds(scale)]


def _tasks(workloads: tuple[Workload, ...], scale: Scale) -> Mapping[Any, Task]:
    return tasks([each for workload in workloads for each in _cases(scale, workload)])


def _found(scale: Scale, results: Mapping[Any, Any], workload: Workload, scheduler: str) -> Seen:
    return averaged([results[case(scale, workload, scheduler, seed)] for seed in _seeds(scale)])


def _outcome(e: Experiment, scale: Scale, workload: Workload, rows: list[Row], figure: Figure) -> Outcome:
    length = _cases(scale, workload)[0].seconds
    arrivals = f"Poisson, {workload.rate:g} tuples per second and stream, {length:.3g} s"
    return Outcome(e.id, e.title, arrivals, seeds(_cases(scale, workload)), tuple(rows), (figure,), (COSTS, CLOCK))


def e1(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """The first class under CQC, under HR, and alone."""
    rows = []
    lines: dict[str, list[float]] = {"alone": [], "cqc": [], "hr": []}
    for workload in (A, B, C):
        alone = _found(scale, results, workload.only(1), "hr").mean[0]
        cqc, hr = (_found(scale, results, workload, name).mean[0] for name in ("cqc", "hr"))
        for name, value in (("alone", alone), ("cqc", cqc), ("hr", hr)):
            lines[name].append(1e3 * value)
        what = f"class 1 under CQC against HR, workload {workload.name}"
        rows.append(claim(what, "≥ 9.4× better", f"{hr / cqc:.1f}×", confirmed=hr / cqc >= 9.4))
        what = f"class 1 alone against CQC, workload {workload.name}"
        rows.append(claim(what, "lower", f"{ms([alone])} against {ms([cqc])} ms", confirmed=alone < cqc))
    figure = Figure(
        "class 1",
        "workload",
        "mean response time (ms)",
        tuple(Line(name, (), values) for name, values in lines.items()),
        ("A", "B", "C"),
    )
    return _outcome(E1, scale, A, rows, figure)


def by_class(workload: Workload, scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """All classes of a workload."""
    found = {name: _found(scale, results, workload, name) for name in SCHEDULERS}
    cqc, hr = found["cqc"], found["hr"]
    factor = hr.mean[0] / cqc.mean[0]
    paper = FACTORS[workload.name]
    rows = [
        claim("class 1 under CQC against HR", f"{paper}× better", f"{factor:.1f}×", confirmed=near(paper, factor)),
        claim("class 3 against HR", "worse", _pair(cqc, hr, 2), confirmed=cqc.mean[2] > hr.mean[2]),
    ]
    if workload is A:
        rows.append(reported("class 2 against HR", "high as well", _pair(cqc, hr, 1)))
    else:
        rows.append(claim("class 2 against HR", "better", _pair(cqc, hr, 1), confirmed=cqc.mean[1] < hr.mean[1]))
    if workload is C:
        other = _found(scale, results, B, "cqc")
        shown = f"{ms([cqc.mean[2]])} against {ms([other.mean[2]])} ms"
        rows.append(
            claim("class 3 against that of workload B", "worse", shown, confirmed=cqc.mean[2] > other.mean[2])
        )
    rows += [reported(f"classes under {name}, ms", "–", ms(seen.mean)) for name, seen in found.items()]
    rows += [
        reported(f"the same from when tuples were read, {name}", "–", ms(seen.stamped))
        for name, seen in found.items()
    ]
    figure = mean_by_class(f"workload {workload.name}", found, workload, log_y=True)
    e = next(each for each in EXPERIMENTS if each.id == IDS[workload.name])
    return _outcome(e, scale, workload, rows, figure)


def _pair(cqc: Seen, hr: Seen, k: int) -> str:
    return f"{ms([cqc.mean[k]])} against {ms([hr.mean[k]])} ms"


E1 = Experiment("CLS-E1", "CQC's first class, against HR and alone", "Figure 4", partial(_tasks, (A, B, C)), e1)
EXPERIMENTS = (
    E1,
    Experiment("CLS-E2", "CQC on workload A", "Figure 5", partial(_tasks, (A,)), partial(by_class, A)),
    Experiment("CLS-E3", "CQC on workload B", "Figure 6", partial(_tasks, (B,)), partial(by_class, B)),
    Experiment("CLS-E4", "CQC on workload C", "Figure 7", partial(_tasks, (B, C)), partial(by_class, C)),
)

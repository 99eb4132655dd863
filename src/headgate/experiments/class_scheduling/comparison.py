"""CLS-E11 to E15: MBD on several cores, against threads, turns and lotteries."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from headgate.experiments.class_scheduling.cases import LEVELS, Case, Seen, averaged, ms, near, seeds, tasks
from headgate.experiments.class_scheduling.workloads import W3D_6, W3E_6, W3F_6, W5G_4, W5I, Workload
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

SCHEDULERS = ("pct", "pct-s", "mrr", "morr", "ml", "mol", "mprr", "mbd")
Found = Mapping[str, Seen]
TIES = (
    "A tie is no inversion, but a difference of a per mille is one: where classes have equal response times, who is "
    "inverted is chance."
)
LISTED = (
    "The publication does not say in which order MORR takes the operators. Here those at the same distance from the "
    "streams follow one another; along each query a tuple would need a round for each operator, and be nearly three "
    "times as slow."
)
SHORT = "Quick: in an overload response times grow with the length of the run, so they are not judged."


def case(scale: Scale, workload: Workload, scheduler: str, seed: int) -> Case:
    """Ten thousand tuples of each stream where that matters, which is in an overload."""
    whole = 3.0 if workload is W5G_4 else 10_000 / workload.rate
    return Case(workload, scheduler, 0.3 if scale.quick else whole, seed)


def _seeds(scale: Scale) -> tuple[int, ...]:
    return (1,) if scale.quick else (1, 2, 3)


def _cases(workload: Workload, scale: Scale) -> list[Case]:
    return [case(scale, workload, name, seed) for name in SCHEDULERS for seed in _seeds(scale)]


def found_in(scale: Scale, results: Mapping[Any, Any], workload: Workload) -> dict[str, Seen]:
    """What each scheduler has shown."""
    return {
        name: averaged([results[case(scale, workload, name, seed)] for seed in _seeds(scale)]) for name in SCHEDULERS
    }


def _calm(found: Found, without: tuple[str, ...]) -> Row:
    """Who has no inversion at any level, against the published names."""
    calm = [name for name, seen in found.items() if not any(seen.inversion(level) for level in LEVELS)]
    return claim(
        "no inversion at the mean, P50, P75, P90 and P95",
        ", ".join(without),
        ", ".join(calm) or "none",
        confirmed=set(calm) == set(without),
    )


def _most(found: Found, what: str, paper: tuple[str, float], value: Callable[[Seen], float]) -> Row:
    """Who has the most of something, and how much."""
    name, size = paper
    most = max(found, key=lambda each: value(found[each]))
    shown = f"{most} {value(found[most]):.3g}; {name} {value(found[name]):.3g}"
    confirmed = most == name and near(size, value(found[name]))
    return claim(f"highest {what}", f"{name} {size:g}", shown, confirmed=confirmed)


def _below(found: Found, name: str, limit: float, level: int | str = 90) -> Row:
    """That no class of a scheduler reaches a limit, in milliseconds."""
    worst = 1e3 * max(found[name].at(level))
    return claim(
        f"{name}, every class at {_at(level)}", f"< {limit:g} ms", f"{worst:.3g} ms", confirmed=worst < limit
    )


def _about(found: Found, name: str, cls: int, paper: float, level: int | str = "mean") -> Row:
    """The response time of a class, in milliseconds."""
    value = 1e3 * found[name].at(level)[cls - 1]
    what = f"{name}, class {cls} at {_at(level)}"
    return claim(what, f"{paper:g} ms", f"{value:.3g} ms", confirmed=near(paper, value))


def _overload(scale: Scale, row: Row) -> Row:
    """A row that only a run of full length can judge."""
    return reported(row.what, row.paper, row.measured) if scale.quick else row


def _at(level: int | str) -> str:
    return "the mean" if isinstance(level, str) else f"P{level}"


def _fastest_first_class(found: Found, among: tuple[str, ...] = SCHEDULERS) -> Row:
    best = min(among, key=lambda name: found[name].mean[0])
    who = "all" if among == SCHEDULERS else ", ".join(among)
    shown = f"{best}, {1e3 * found[best].mean[0]:.3g} ms; mbd {1e3 * found['mbd'].mean[0]:.3g} ms"
    return claim(f"fastest class 1 of {who}", "mbd", shown, confirmed=best == "mbd")


def _ratio(seen: Seen) -> float:
    """The third class over the first."""
    return seen.mean[2] / seen.mean[0]


def _5g(scale: Scale, found: Found, _: Found) -> list[Row]:
    pct, mrr, morr, ml, mol = (found[name] for name in ("pct", "mrr", "morr", "ml", "mol"))
    slowest = max(range(5), key=lambda k: pct.mean[k]) + 1
    same = pct.mean == found["pct-s"].mean
    mbd, mprr = found["mbd"].starvation, found["mprr"].starvation
    return [
        claim("slowest class under pct", "3", str(slowest), confirmed=slowest == 3),
        claim("inversion under pct", "yes", f"{pct.inversion():.3g}", confirmed=pct.inversion() > 0),
        claim("pct-s against pct", "the same", "the same" if same else "other", confirmed=same),
        claim("mrr against morr, weighted", "better", ms([mrr.wavg, morr.wavg]), confirmed=mrr.wavg < morr.wavg),
        claim("ml against mol, weighted", "better", ms([ml.wavg, mol.wavg]), confirmed=ml.wavg < mol.wavg),
        _calm(found, ("mprr", "mbd")),
        claim("class 5 over class 1, mprr against mbd", "higher", f"{mprr:.3g}, {mbd:.3g}", confirmed=mprr > mbd),
        _fastest_first_class(found),
        *([] if scale.quick else [reported("class 3 over class 1, mbd", "–", f"{_ratio(found['mbd']):.3g}")]),
    ]


def _3d(scale: Scale, found: Found, _: Found) -> list[Row]:
    ml = found["ml"]
    pct = max(found["pct"].percentiles[90])
    late = 1e3 * ml.percentiles[95][2]
    return [
        _overload(scale, banded("pct, highest P90 of a class", "1 s", pct, Band(0.7, 1.3, " s"))),
        _below(found, "pct-s", 15),
        _below(found, "morr", 7, "mean"),
        _below(found, "mrr", 5),
        _about(found, "ml", 3, 6.0, 50),
        claim("ml, class 3 at P95", "> 30 ms", f"{late:.3g} ms", confirmed=late > 30),
        _about(found, "mprr", 3, 60, 90),
        _most(found, "class 3 over class 1", ("mprr", 10), _ratio),
        _most(found, "inversion ratio at the mean", ("pct-s", 0.021), Seen.inversion),
        _calm(found, ("ml", "mprr", "mbd")),
        claim(
            "class 3 over class 1, ml against mbd",
            "lower",
            f"{_ratio(ml):.3g}, {_ratio(found['mbd']):.3g}",
            confirmed=_ratio(ml) < _ratio(found["mbd"]),
        ),
        _fastest_first_class(found, ("ml", "mprr", "mbd")),
    ]


def _3e(scale: Scale, found: Found, _: Found) -> list[Row]:
    morr, mbd = found["morr"], found["mbd"]
    split = found["pct-s"].mean[2]
    middle = 1e3 * min(morr.percentiles[50])
    return [
        _overload(scale, _about(found, "pct", 3, 1000)),
        _overload(scale, claim("pct-s, class 3", "< 1 s", f"{split:.3g} s", confirmed=split < 1)),
        _overload(scale, _most(found, "class 3 over class 1", ("pct-s", 123), _ratio)),
        _below(found, "morr", 7, "mean"),
        claim("morr, lowest median", "> 4 ms", f"{middle:.3g} ms", confirmed=middle > 4),
        _below(found, "mrr", 3, "mean"),
        _most(found, "inversion ratio at the mean", ("morr", 0.009), Seen.inversion),
        _calm(found, ("pct", "pct-s", "mol", "mprr", "mbd")),
        banded("class 3 over class 1, mbd", "3.6", _ratio(mbd), Band(0.7 * 3.6, 1.3 * 3.6)),
        _fastest_first_class(found),
    ]


def _3f(scale: Scale, found: Found, mirror: Found) -> list[Row]:
    ml, split = found["ml"], found["pct-s"]
    wide = 1e3 * max(ml.percentiles[90])
    alike = []
    for name in ("mrr", "morr", "mol", "pct", "pct-s"):
        pairs = zip(found[name].mean, reversed(mirror[name].mean), strict=True)
        alike.append(max(abs(a / b - 1) for a, b in pairs))
    return [
        _overload(scale, _about(found, "pct", 1, 1000)),
        _overload(scale, _below(found, "pct-s", 500, "mean")),
        _overload(
            scale,
            claim(
                "pct-s, classes, ms",
                "class 1 far above",
                ms(split.mean),
                confirmed=split.mean[0] > 3 * max(split.mean[1:]),
            ),
        ),
        claim(
            "mrr, morr, mol, pct, pct-s against 3E_6 with classes swapped",
            "identical",
            f"at most {100 * max(alike):.0f} % apart",
            confirmed=max(alike) < 0.1,
        ),
        claim("ml, highest P90 of a class", "> 10 ms", f"{wide:.3g} ms", confirmed=wide > 10),
        _about(found, "mprr", 3, 30),
        _most(found, "class 3 over class 1", ("mprr", 4.3), _ratio),
        _overload(scale, _most(found, "inversion ratio at the mean", ("pct-s", 63.5), Seen.inversion)),
        _calm(found, ("mprr", "mbd")),
        banded("class 3 over class 1, mbd", "< 1.5", _ratio(found["mbd"]), Band(0, 1.5)),
    ]


def _5i(scale: Scale, found: Found, _: Found) -> list[Row]:
    pct, split, mprr = found["pct"], found["pct-s"], found["mprr"]
    wide = [1e3 * max(found[name].percentiles[90]) for name in ("ml", "mol")]
    worse = pct.mean[0] > max(pct.mean[1], pct.mean[3])
    return [
        _overload(scale, _about(found, "pct", 3, 450, 90)),
        _overload(scale, claim("pct, class 1 against 2 and 4", "worse", ms(pct.mean), confirmed=worse)),
        _overload(
            scale,
            claim(
                "pct-s, class 3 against pct",
                "unchanged",
                ms([split.mean[2], pct.mean[2]]),
                confirmed=near(pct.mean[2], split.mean[2]),
            ),
        ),
        claim("ml and mol, highest P90 of a class", "> 10 ms", ms([w / 1e3 for w in wide]), confirmed=min(wide) > 10),
        claim("mprr, classes 4 and 5", "> 30 ms", ms(mprr.mean[3:]), confirmed=min(mprr.mean[3:]) > 0.03),
        _about(found, "mprr", 5, 90),
        _overload(scale, _most(found, "class 3 over class 1", ("pct-s", 48), _ratio)),
        _overload(scale, _most(found, "inversion ratio at the mean", ("pct", 60.9), Seen.inversion)),
        _calm(found, ("mprr", "mbd")),
        claim(
            "class 5 over class 1, mbd",
            "6.2",
            f"{found['mbd'].starvation:.3g}",
            confirmed=near(6.2, found["mbd"].starvation),
        ),
    ]


_ROWS: Mapping[str, Callable[[Scale, Found, Found], list[Row]]] = {
    "5G_4": _5g,
    "3D_6": _3d,
    "3E_6": _3e,
    "3F_6": _3f,
    "5I": _5i,
}


def compared(workload: Workload, scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """All schedulers on a workload."""
    found = found_in(scale, results, workload)
    mirror = found_in(scale, results, W3E_6) if workload is W3F_6 else found
    rows = _ROWS[workload.name](scale, found, mirror)
    rows += [reported(f"classes under {name}, ms", "–", ms(seen.mean)) for name, seen in found.items()]
    names = tuple(each.name for each in workload.classes)
    figures = (
        Figure(
            f"{workload.name}, mean",
            "class",
            "response time (ms)",
            tuple(Line(name, (), [1e3 * rt for rt in seen.mean]) for name, seen in found.items()),
            names,
        ),
        Figure(
            f"{workload.name}, P90",
            "class",
            "response time (ms)",
            tuple(Line(name, (), [1e3 * rt for rt in seen.percentiles[90]]) for name, seen in found.items()),
            names,
        ),
    )
    cases = _cases(workload, scale)
    trace = f"Poisson, {workload.rate:g} tuples per second and stream, {cases[0].seconds:.3g} s"
    notes = (TIES, LISTED, SHORT) if scale.quick else (TIES, LISTED)
    e = next(each for each in EXPERIMENTS if each.id == IDS[workload.name])
    return Outcome(e.id, e.title, trace, seeds(cases), tuple(rows), figures, notes)


def _tasks(workload: Workload, scale: Scale) -> Mapping[Any, Task]:
    needed = [workload, W3E_6] if workload is W3F_6 else [workload]
    return tasks([each for w in needed for each in _cases(w, scale)])


IDS = {"5G_4": "CLS-E11", "3D_6": "CLS-E12", "3E_6": "CLS-E13", "3F_6": "CLS-E14", "5I": "CLS-E15"}
EXPERIMENTS = tuple(
    Experiment(IDS[w.name], f"MBD and others on {w.name}", figures, partial(_tasks, w), partial(compared, w))
    for w, figures in (
        (W5G_4, "Figures 21–29"),
        (W3D_6, "Figures 30–39"),
        (W3E_6, "Figures 40–49"),
        (W3F_6, "Figures 50–59"),
        (W5I, "Figures 60–69"),
    )
)

"""CLS-E19 to E24: one class of 5G_4 has slow streams, and the modules that mend the inversion."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from headgate.experiments.class_scheduling.cases import Case, Level, Seen, averaged, ms, seeds, tasks
from headgate.experiments.class_scheduling.workloads import W5G_4
from headgate.experiments.report import Experiment, Figure, Line, Outcome, Scale, Task, claim, reported
from headgate.sim.arrivals import Poisson

SLOW = 500.0
MODULES = ("dvp", "ivp", "dsp", "isp")
NOTE = (
    "Joins wait for the slower of their streams to come as far as the other; that is why a class becomes slower when "
    "its streams do. How much slower depends on its part of joins, which is not published; our first class has a "
    "third. Inversion, and all response times, are those of the second half of a run."
)


def case(scale: Scale, low: int, seed: int, module: str = "none", level: Level = "mean") -> Case:
    """The queries with one class at the slow rate."""
    options = () if module == "none" else (("inversion", module), ("level", level))
    arrivals = ((str(low), Poisson(SLOW)),)
    return Case(W5G_4, "mbd", 0.6 if scale.quick else 3.0, seed, options, arrivals, warm=0.5)


def _seeds(scale: Scale) -> tuple[int, ...]:
    return (1,) if scale.quick else (1, 2, 3)


def _cases(scale: Scale, low: int, module: str = "none", level: Level = "mean") -> list[Case]:
    return [case(scale, low, seed, module, level) for seed in _seeds(scale)]


def _found(scale: Scale, results: Mapping[Any, Any], low: int, module: str = "none", level: Level = "mean") -> Seen:
    return averaged([results[each] for each in _cases(scale, low, module, level)])


def _trace(scale: Scale) -> str:
    seconds = _cases(scale, 1)[0].seconds
    return f"Poisson, {SLOW:g} tuples per second and stream for one class, 1200 for the others; {seconds:g} s"


def e19(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Plain MBD."""
    found = {low: _found(scale, results, low) for low in range(1, 6)}
    rows = [
        claim(
            f"class {low} slow: inverted at the mean",
            paper,
            _shown(found[low]),
            confirmed=found[low].victims() == victims,
        )
        for low, paper, victims in (
            (1, "class 1", [1]),
            (2, "none", []),
            (3, "class 3", [3]),
            (4, "none", []),
            (5, "none", []),
        )
    ]
    victims = found[2].victims(75)
    rows.append(claim("class 2 slow: inverted at P75", "class 2", _shown(found[2], 75), confirmed=2 in victims))
    tie = found[4].mean[3] / found[4].mean[4]
    rows.append(claim("class 4 slow: class 4 over class 5", "≈ 1", f"{tie:.2f}", confirmed=0.9 < tie <= 1))
    slow, other = found[5].mean[4], max(found[low].mean[4] for low in range(1, 5))
    what = "class 5 slow: class 5, against the most with another slow"
    rows.append(claim(what, "rises", f"{ms([slow])} against {ms([other])} ms", confirmed=slow > other))
    rows += [reported(f"class {low} slow: classes, ms", "–", ms(seen.mean)) for low, seen in found.items()]
    figure = Figure(
        "mean response time with one class slow",
        "slow class",
        "mean response time (ms)",
        tuple(Line(f"class {k + 1}", (), [1e3 * seen.mean[k] for seen in found.values()]) for k in range(5)),
        tuple(map(str, found)),
        log_y=False,
    )
    return Outcome(E19.id, E19.title, _trace(scale), seeds(_cases(scale, 1)), tuple(rows), (figure,), (NOTE,))


def _shown(seen: Seen, level: Level = "mean") -> str:
    victims = ", ".join(f"class {k}" for k in seen.victims(level)) or "none"
    return f"{victims} (ratio {seen.inversion(level):.3f})"


@dataclass(frozen=True)
class Low:
    """An experiment with the modules: which class is slow, where inversion is looked for, and what was published.

    That is who mends it, whose weighted response time is the lowest and the highest, and who settles first.
    """

    id: str
    figures: str
    cls: int
    level: Level
    mended: tuple[str, ...]
    lowest: tuple[str, ...]
    highest: str
    first: str


LOWS = (
    Low("CLS-E20", "Figures 89–91", 1, "mean", MODULES, ("dvp",), "dsp", "dvp"),
    Low("CLS-E21", "Figures 92–94", 3, "mean", MODULES, ("ivp",), "", "dsp"),
    Low("CLS-E22", "Figures 95–98", 1, 75, ("dsp",), ("dvp",), "dsp", "dsp"),
    Low("CLS-E23", "Figures 99–102", 2, 75, ("ivp", "dsp", "isp"), ("dvp",), "dsp", "dsp"),
    Low("CLS-E24", "Figures 103–106", 3, 75, ("dsp",), ("ivp", "dvp"), "dsp", "dsp"),
)


def mended(low: Low, scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """The four modules."""
    plain = _found(scale, results, low.cls)
    found = {module: _found(scale, results, low.cls, module, low.level) for module in MODULES}
    weighted = {module: seen.weighted(low.level) for module, seen in found.items()}
    free = tuple(module for module, seen in found.items() if not seen.victims(low.level))
    least = min(weighted, key=lambda module: abs(weighted[module] - plain.weighted(low.level)))
    most = max(weighted, key=weighted.__getitem__)
    updates = {module: seen.updates for module, seen in found.items()}
    times = {module: seen.updated for module, seen in found.items()}
    fewest, fastest = min(updates, key=updates.__getitem__), min(times, key=times.__getitem__)
    rows = [
        claim(
            "inversion without a module", "yes", _shown(plain, low.level), confirmed=bool(plain.victims(low.level))
        ),
        claim("inversion mended by", ", ".join(low.mended), ", ".join(free) or "none", confirmed=free == low.mended),
        claim(
            "weighted response time closest to plain MBD's",
            " or ".join(low.lowest),
            f"{least}: {_each(weighted, 1e3)} ms; plain {1e3 * plain.weighted(low.level):.3g}",
            confirmed=least in low.lowest,
        ),
        claim("fewest updates", low.first, f"{fewest}: {_each(updates)}", confirmed=fewest == low.first),
        claim("settled first", low.first, f"{fastest}: {_each(times)} s", confirmed=fastest == low.first),
    ]
    if low.highest:
        rows.append(claim("highest weighted response time", low.highest, most, confirmed=most == low.highest))
    rows += [
        reported(f"{module}: classes, ms; inverted", "–", f"{ms(seen.at(low.level))}; {_shown(seen, low.level)}")
        for module, seen in found.items()
    ]
    at = "mean" if low.level == "mean" else f"P{low.level}"
    shown = {"none": plain, **found}
    figure = Figure(
        f"class {low.cls} slow, {at} by module",
        "class",
        "response time (ms)",
        tuple(Line(name, (), [1e3 * rt for rt in seen.at(low.level)]) for name, seen in shown.items()),
        tuple(each.name for each in W5G_4.classes),
        log_y=False,
    )
    e = next(each for each in EXPERIMENTS if each.id == low.id)
    notes = [NOTE]
    if any(seen.exhausted for seen in found.values()):
        notes.append("A module was exhausted: what it may do had not been enough.")
    return Outcome(e.id, e.title, _trace(scale), seeds(_cases(scale, 1)), tuple(rows), (figure,), tuple(notes))


def _each(values: Mapping[str, float], scale: float = 1.0) -> str:
    return ", ".join(f"{name} {scale * value:.3g}" for name, value in values.items())


def _tasks19(scale: Scale) -> Mapping[Any, Task]:
    return tasks([each for low in range(1, 6) for each in _cases(scale, low)])


def _tasks(low: Low, scale: Scale) -> Mapping[Any, Task]:
    runs = [each for module in MODULES for each in _cases(scale, low.cls, module, low.level)]
    return tasks(_cases(scale, low.cls) + runs)


E19 = Experiment("CLS-E19", "One class with slow streams, plain MBD", "Figures 84–88", _tasks19, e19)
EXPERIMENTS = (
    E19,
    *(
        Experiment(
            low.id,
            f"Mending inversion at {'the mean' if low.level == 'mean' else f'P{low.level}'}, class {low.cls} slow",
            low.figures,
            partial(_tasks, low),
            partial(mended, low),
        )
        for low in LOWS
    ),
)

"""The class schedulers by name: how scenarios, the engine and the documentation find them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from headgate.errors import InputError, choose
from headgate.model.classes import QueryClass
from headgate.model.unit import Level
from headgate.policy.classes import abd, affinity, cqc, lottery, mbd, threads, turns, weighted_hr
from headgate.policy.classes.scheduler import ClassScheduler
from headgate.policy.registry import bounds
from headgate.policy.trains import Train


@dataclass(frozen=True, slots=True)
class Listed:
    """A registered class scheduler: what it optimises, its formula, its options, and the level of its units."""

    name: str
    optimises: str
    formula: str
    make: Callable[..., ClassScheduler]
    options: tuple[str, ...]
    level: Level


def _listed(name: str, optimises: str, formula: str, made: Callable[..., ClassScheduler], level: Level) -> Listed:
    options = tuple(option for option in signature(made).parameters if option != "classes")
    return Listed(name, optimises, formula, made, options, level)


SCHEDULERS: Mapping[str, Listed] = {
    listed.name: listed
    for listed in (
        _listed("cqc", "a share of the time for each class, on one lane", cqc.FORMULA, cqc.Cqc, "operator"),
        _listed(
            "abd", "short waits between a class's turns, in slots that fit the load", abd.FORMULA, abd.Abd, "operator"
        ),
        _listed("mbd", "response times in the order of the priorities, on many lanes", mbd.FORMULA, mbd.Mbd, "query"),
        _listed("ambd", "as mbd, with queries kept on their lane", affinity.FORMULA, affinity.Ambd, "query"),
        _listed("rr", "fair turns over operators and sources", turns.FORMULA, turns.Turns, "operator"),
        _listed("mrr", "fair turns over queries", turns.FORMULA, turns.Turns, "query"),
        _listed("morr", "fair turns over operators", turns.FORMULA, turns.Turns, "operator"),
        _listed(
            "mprr", "fair turns, more tuples for a class that matters more", turns.PARTS, turns.PartTurns, "query"
        ),
        _listed("ml", "a share of the turns by chance, over queries", lottery.FORMULA, lottery.Lottery, "query"),
        _listed(
            "mol",
            "a share of the turns by chance, over operators",
            lottery.FORMULA,
            lottery.OperatorLottery,
            "operator",
        ),
        _listed("pct", "a thread per class", threads.FORMULA, threads.Threads, "query"),
        _listed(
            "pct-s", "a thread per class, two while lanes are left", threads.FORMULA, threads.SplitThreads, "query"
        ),
        _listed(
            "wehr",
            "average response time weighted by priority",
            weighted_hr.FORMULA,
            weighted_hr.WeightedHr,
            "operator",
        ),
    )
}


def listed(name: str) -> Listed:
    """The registered class scheduler of that name."""
    if name not in SCHEDULERS:
        raise InputError("a known class scheduler", f"'{name}'", choose(name, SCHEDULERS))
    return SCHEDULERS[name]


def create(name: str, classes: Sequence[QueryClass], options: Mapping[str, Any] | None = None) -> ClassScheduler:
    """A class scheduler made from its name, the classes and options, as a scenario or pipeline file gives them."""
    entry = listed(name)
    given = dict(options or {})
    for option in given:
        if option not in entry.options:
            rule = f"class scheduler '{name}': a known option"
            raise InputError(rule, f"'{option}'", f"It takes {', '.join(entry.options)}.")
    if "train" in given and not isinstance(given["train"], Train):
        given["train"] = bounds(f"class scheduler '{name}'", given["train"])
    return entry.make(classes, **given)


def default(lanes: int) -> str:
    """The class scheduler for so many lanes, where sources are read elsewhere.

    On one lane CQC gives every class its share of the time exactly, and runs whole queues, which is what a job is
    cheapest with. On two, ABD lets no class wait for the whole visit of another: its slots are short and spread out.
    On more, classes are too few to keep the lanes busy, so queries are scheduled: MBD.
    """
    if lanes == 1:
        return "cqc"
    return "abd" if lanes == 2 else "mbd"

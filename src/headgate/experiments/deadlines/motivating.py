"""RT-E0: two queries that just fit, and the three small changes that make one of them late."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.control.deadlines.profiles import create
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Row, Scale, Task, banded, reported
from headgate.model.costs import Tree, select
from headgate.model.deadlines import Deadline
from headgate.sim.deadlines import rates
from headgate.sim.deadlines.setup import Setup
from headgate.sim.deadlines.simulation import simulate
from headgate.sim.deadlines.workload import Query
from headgate.sim.trains.timeline import Timeline

FULL = 0.5 / 4e-6
"""Tuples per second at which a selection of half of them, once a second, takes half a second."""
SECOND = Deadline(1.0, 1.0, 1.0)
Q1, Q2 = Query("Q1", Tree(select("A", 0.5)), SECOND), Query("Q2", Tree(select("B", 0.5)), SECOND)
END = 6.0


@dataclass(frozen=True)
class Late:
    """The iterations that were late, by how much the first of each query was."""

    iterations: tuple[tuple[str, int], ...]
    by: Mapping[str, float]


def burst(factor: float) -> rates.Rates:
    """Both streams as they should be, but for the second that the second iteration reads."""
    return {
        "A": rates.Stream((0.0,), (FULL,)),
        "B": rates.Stream((-1.0, 0.0, 1.0), (FULL, factor * FULL, FULL)),
    }


def drifting(query: Query, factor: float) -> Query:
    """A query whose fourth iteration costs more than the model says."""
    drift = Timeline(((0.0, 1.0), (2.5, factor), (3.5, 1.0)))
    return Query(query.name, query.tree, query.deadline, drift=drift)


def late(case: str, profile: str = "rm") -> Late:
    """Run one of the cases."""
    steady = burst(1.0)
    third = Query("Q3", Tree(select("A", 0.5)), Deadline(0.1, 0.5, 0.5), first=1.0)
    queries, streams = {
        "none": ((Q1, Q2), steady),
        "rate": ((Q1, Q2), burst(1.5)),
        "rate, as printed": ((Q1, Q2), burst(2.0)),
        "selectivity": ((drifting(Q1, 1.25), Q2), steady),
        "selectivity, Q2 first": ((Q2, drifting(Q1, 1.25)), steady),
        "admission": ((Q1, Q2, third), steady),
    }[case]
    found = simulate(Setup(queries, streams, create(profile), horizon=END, overhead=0.0))
    missed = sorted(
        (each for each in found.records if each.missed and each.due <= END), key=lambda each: (each.due, each.query)
    )
    by = {each.query: each.tardiness for each in reversed(missed) if each.finish < math.inf}
    return Late(tuple((each.query, each.index) for each in missed), by)


CASES = ("none", "rate", "rate, as printed", "selectivity", "selectivity, Q2 first", "admission")

WAYS = ("rm", "hpf", "lrm+")


def tasks(_scale: Scale) -> Mapping[Any, Task]:
    """All cases, served by their rates with and without interruption, and with shedding."""
    return {("motivating", case, way): (late, (case, way)) for case in CASES for way in WAYS}


def _first(what: str, paper: str, found: Sequence[Late], query: str, index: int) -> Row:
    """Who is late first, and that nobody else is, whether iterations are interrupted or not."""
    met = all(each.iterations and each.iterations[0] == (query, index) for each in found)
    alone = all({name for name, _ in each.iterations} == {query} for each in found)
    first = found[0].iterations
    shown = "{} in iteration {}".format(*first[0]) if first else "nobody"
    return Row(what, paper, shown, f"{query} alone", "in band" if met and alone else "out of band")


def _by(what: str, paper: str, found: Late, query: str, wanted: float) -> Row:
    return banded(what, paper, round(found.by[query], 9), Band(wanted, wanted, " s"))


def outcome(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Who is late, and by how much."""
    found = {way: {case: results["motivating", case, way] for case in CASES} for way in WAYS}
    rm, hpf, plus = (found[way] for way in WAYS)
    swapped = "selectivity, Q2 first"

    def both(case: str) -> tuple[Late, Late]:
        return rm[case], hpf[case]

    rows = [
        banded("late iterations at a load of exactly 1", "none", len(rm["none"].iterations), Band(0, 0)),
        _first("a rate half as high again: first late", "Q2", both("rate"), "Q2", 2),
        _by("it is late by", "0.5 s", hpf["rate"], "Q2", 0.25),
        _by("the same with 0.5 s extra, as printed", "0.5 s", hpf["rate, as printed"], "Q2", 0.5),
        _first("a quarter more results of Q1, which is served first: first late", "–", both("selectivity"), "Q2", 4),
        _first("the same with Q2 served first", "Q1", both(swapped), "Q1", 4),
        _by("it is late by", "0.25 s", hpf[swapped], "Q1", 0.125),
        _first("a third query with a shorter period: first late", "Q2", [rm["admission"]], "Q2", 2),
        reported(
            "late by, if the next iteration of the other query interrupts: rate / results",
            "–",
            f"{rm['rate'].by['Q2']:g} / {rm[swapped].by['Q1']:g} s",
        ),
        reported(
            "late iterations with LRM+: rate / results / third query",
            "–",
            " / ".join(str(len(plus[case].iterations)) for case in ("rate", "selectivity", "admission")),
        ),
    ]
    counts = [len(rm[case].iterations) for case in CASES]
    figure = Figure(
        "late iterations in 6 s",
        "",
        "iterations",
        (Line("RM", (), counts), Line("LRM+", (), [len(plus[case].iterations) for case in CASES])),
        ("none", "rate", "rate ×2", "selectivity", "Q2 first", "admission"),
        log_y=False,
    )
    printed = (
        "The extra times that are printed for the first two cases are twice what the changes give in proportion; our "
        "rows have the proportional ones, and who is late is the same. The publication lets the query served second "
        "be late in the first case and the one served first in the other, so its order of equal periods is not "
        "constant; ours is the order of admission, and both orders are shown."
    )
    notes = (
        printed,
        "More results at the same rate cost what no rate shows, so a plan made from rates cannot prevent that case.",
        "At a load of exactly 1 nothing is ever made up for, so the query stays late once it is.",
    )
    return Outcome(E0.id, E0.title, "two selections of 0.5 s every second", "none", tuple(rows), (figure,), notes)


E0 = Experiment("RT-E0", "Three small changes that make a query late", "Section 1", tasks, outcome)

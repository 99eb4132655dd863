"""RT-E9: four readings of the published reduction on random sets, and what each way of splitting loses."""

from collections.abc import Mapping
from itertools import chain
from statistics import fmean
from typing import Any

from headgate.experiments.deadlines.cases import at_most
from headgate.experiments.deadlines.sets import POINTS, READINGS, SPLITS, WAYS, Reductions, reductions
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, claim, reported

CHUNK = 250
FULL, QUICK = 10_000, 250
SIMULATED = 40
"""Sets of a chunk that are simulated too, each in two ways of releasing, after each of two reductions."""


def _chunks(scale: Scale) -> range:
    return range(1, (QUICK if scale.quick else FULL) // CHUNK + 1)


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """All sets, in chunks."""
    return {("reductions", chunk): (reductions, (chunk, CHUNK, SIMULATED)) for chunk in _chunks(scale)}


_WHAT = {
    "lit": "the algorithm as printed, which reduces the late task only",
    "all": "the text, which reduces all and knows no floor",
    "clamp": "the text with costs stopped at 0",
    "wf": "the text with the rest given to the others (used here)",
}


def outcome(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """All sets together."""
    parts: list[Reductions] = [results["reductions", chunk] for chunk in _chunks(scale)]
    sets = sum(each.sets for each in parts)
    fit = {reading: 100 * sum(each.fit[reading] for each in parts) / sets for reading in READINGS}
    negative = {reading: 100 * sum(each.negative[reading] for each in parts) / sets for reading in READINGS}
    lost = {way: fmean(chain(*(each.lost[way] for each in parts))) for way in WAYS}
    left = {way: fmean(chain(*(each.left[way] for each in parts))) for way in WAYS}
    emptied = list(chain(*(each.emptied for each in parts)))
    before, after = sum(each.wrong_before for each in parts), sum(each.wrong_after for each in parts)
    loads = list(chain(*(each.loads for each in parts)))
    rows = [
        banded(f"deadlines met by {_WHAT['lit']}", "always", fit["lit"], at_most(8)),
        banded("costs below 0 if all are reduced without a floor", "–", negative["all"], Band(75, 100, " %")),
        reported(f"deadlines met by {_WHAT['all']}, with costs of 0 or more", "always", f"{fit['all']:.1f} %"),
        banded(f"deadlines met by {_WHAT['clamp']}", "–", fit["clamp"], Band(45, 58, " %")),
        banded(f"deadlines met by {_WHAT['wf']}", "–", fit["wf"], Band(100, 100, " %")),
        banded(
            "the exact test and a simulation of the worst case differ",
            "never",
            before,
            Band(0, 0),
            f"{before} of {sum(each.tested for each in parts)} sets",
        ),
        banded(
            "runs of reduced sets with a late iteration, released together and at random",
            "none",
            after,
            Band(0, 0),
            f"{after} of {sum(each.simulated for each in parts)}",
        ),
        claim(
            "weighted results lost at the deadline: seed / prop / greedy split",
            "seed the least",
            " / ".join(f"{lost['P', split]:.1f}" for split in SPLITS) + " %",
            confirmed=lost["P", "seed"] <= min(lost["P", split] for split in SPLITS),
        ),
        reported(
            "the same at the best point", "–", " / ".join(f"{lost['best', split]:.1f}" for split in SPLITS) + " %"
        ),
        reported(
            "load that is left: at the deadline / at the best point",
            "–",
            f"{left['P', 'seed']:.3f} / {left['best', 'seed']:.3f}",
        ),
        reported(
            "sets in which the published split empties a query / part of the queries",
            "–",
            f"{100 * fmean(each > 0 for each in emptied):.1f} % / {100 * fmean(emptied):.0f} %",
        ),
    ]
    figures = (
        Figure(
            "sets that meet their deadlines", "", "%", (Line("", (), list(fit.values())),), tuple(fit), log_y=False
        ),
        Figure(
            "weighted results lost",
            "",
            "%",
            tuple(
                Line(name, (), [lost[point, split] for split in SPLITS])
                for point, name in zip(POINTS, ("at the deadline", "at the best point"), strict=True)
            ),
            SPLITS,
            log_y=False,
        ),
    )
    trace = f"{sets} random sets of 3 to 12 tasks that miss deadlines, with a mean load of {fmean(loads):.2f}"
    note = (
        "The publication says that its split loses the least. It is a fair split and not the best one: at one point "
        "the least is lost by taking from the query where a second is worth least, then from the next (greedy)."
    )
    numbers = f"chunks {_chunks(scale)[0]} … {_chunks(scale)[-1]} of {CHUNK} sets"
    return Outcome(E9.id, E9.title, trace, numbers, tuple(rows), figures, (note,))


E9 = Experiment("RT-E9", "One pass of reduction on random sets, four readings", "Algorithm 1", tasks, outcome)

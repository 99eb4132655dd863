"""RT-E5 and RT-E8: more and more queries, and queries that come and go."""

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.experiments.deadlines.cases import (
    HPF,
    LOW,
    LRM,
    MIX,
    PLUS,
    RM,
    SHOWN,
    Case,
    Seen,
    over_time,
    required,
    runs_of,
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
    holds,
    reported,
)

WAYS = (LRM, RM, HPF, PLUS)
COUNTS = tuple(range(4, 21, 2))
SPARE = 7000.0
"""Tuples per second at which the mix itself meets its deadlines with nothing shed, and a little is spare."""


def e5_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """Every way with every number of queries."""
    return runs_of([Case(way, LOW, n=n) for way in WAYS for n in COUNTS])


def e5(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """From four queries to twenty."""
    found: dict[str, dict[int, Seen]] = {way: {n: results[Case(way, LOW, n=n)] for n in COUNTS} for way in WAYS}
    most = COUNTS[-1]
    many = [n for n in COUNTS if n >= 10]
    rows = [
        banded("LRM: late, most of any number", "adapts", max(s.miss for s in found[LRM].values()), Band(0, 0, " %")),
        banded("RM: late with 20 queries", "degrades", found[RM][most].miss, Band(21, 23, " %")),
        holds(
            "error of LRM below RM, from 10 queries on",
            "much better",
            sum(found[LRM][n].error < found[RM][n].error for n in many),
            len(many),
        ),
        _below_hpf(found, many),
        *(
            holds(
                f"LRM completes more than {SHOWN[way]}, from 10 queries on",
                "–",
                sum(found[LRM][n].completion > found[way][n].completion for n in many),
                len(many),
            )
            for way in (RM, HPF)
        ),
        *(
            required(
                f"{SHOWN[way]}: late with 10 and 20 queries",
                "degrades",
                f"{found[way][10].miss:.1f} → {found[way][most].miss:.1f} %",
                met=found[way][most].miss > found[way][10].miss,
            )
            for way in (RM, HPF)
        ),
        *(
            reported(
                f"with 20 queries, LRM / RM / HPF / LRM+: {what}",
                "–",
                " / ".join(f"{getattr(found[way][most], name):.1f}" for way in WAYS) + " %",
            )
            for what, name in (
                ("late", "miss"),
                ("completed", "completion"),
                ("weighted error", "error"),
                ("useful", "useful"),
            )
        ),
    ]
    figures = tuple(
        Figure(
            title,
            "queries",
            "%",
            tuple(Line(SHOWN[way], COUNTS, [getattr(found[way][n], name) for n in COUNTS]) for way in WAYS),
            log_y=False,
        )
        for title, name in (
            ("missed deadlines", "miss"),
            ("weighted error of results", "error"),
            ("useful", "useful"),
        )
    )
    trace = "10 000 tuples/s on each stream, loads of 0.2 to 2.36"
    return Outcome(E5.id, E5.title, trace, "none", tuple(rows), figures, (MIX,))


def _below_hpf(found: Mapping[str, Mapping[int, Seen]], many: Sequence[int]) -> Row:
    above = [n for n in many if found[LRM][n].error >= found[HPF][n].error]
    shown = f"{len(many) - len(above)} of {len(many)}"
    where = f", not with {', '.join(map(str, above))}" if above else ""
    return claim("error of LRM below HPF, from 10 queries on", "LRM adapts", shown + where, confirmed=not above)


def _visited(way: str, load: float = LOW, *, gated: bool = False) -> Case:
    return Case(way, load, visitors=True, gated=gated)


def e8_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """The mix with five visitors, overloaded and with a little to spare."""
    overloaded = [_visited(way) for way in WAYS]
    spare = [_visited(way, SPARE, gated=gated) for way in (RM, PLUS) for gated in (False, True)]
    return runs_of([*overloaded, *spare])


def e8(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Five queries that are there from 5 s to 12 s."""
    found: dict[str, Seen] = {way: results[_visited(way)] for way in WAYS}
    open_, gated = (results[_visited(RM, SPARE, gated=each)] for each in (False, True))
    plus: Seen = results[_visited(PLUS, SPARE, gated=True)]
    wanted = (5.0, 6.0, 12.0, 18.0)
    rows = [
        required(
            "LRM makes a plan when queries come and go",
            "–",
            "at " + ", ".join(f"{at:g}" for at in found[LRM].reschedulings) + " s",
            met=found[LRM].reschedulings == wanted,
        ),
        *(
            reported(f"overloaded, {what}: LRM / RM / HPF / LRM+", "–", _all(found, name))
            for what, name in (("late", "miss"), ("weighted error", "error"), ("useful", "useful"))
        ),
        required(
            "overloaded: LRM and LRM+ late less than RM",
            "–",
            f"{found[LRM].misses} and {found[PLUS].misses} of {found[PLUS].due}, RM {found[RM].misses}",
            met=max(found[LRM].misses, found[PLUS].misses) < found[RM].misses,
        ),
        reported("with little to spare, RM lets all in: late iterations", "–", f"{open_.misses} of {open_.due}"),
        banded(
            f"RM asks the test first and refuses {len(gated.refused)} of 5: late iterations",
            "–",
            gated.misses,
            Band(0, 0),
            f"{gated.misses} of {gated.due}",
        ),
        banded(
            "LRM+ lets all in and sheds: late iterations",
            "–",
            plus.misses,
            Band(0, 0),
            f"{plus.misses} of {plus.due}",
        ),
        reported("its weighted error", "–", f"{plus.error:.1f} %"),
    ]
    figures = (
        over_time("missed deadlines, overloaded", {SHOWN[w]: s for w, s in found.items()}, lambda c: c.miss),
        over_time("weighted error, overloaded", {SHOWN[w]: s for w, s in found.items()}, lambda c: c.error),
    )
    trace = f"10 000 tuples/s (overloaded) and {SPARE:g} tuples/s (little to spare) on each stream"
    notes = [MIX, *(f"An answer: {reason}" for reason in list(gated.refused.values())[:1])]
    return Outcome(E8.id, E8.title, trace, "none", tuple(rows), figures, tuple(notes))


def _all(found: Mapping[str, Seen], name: str) -> str:
    return " / ".join(f"{getattr(each, name):.1f}" for each in found.values()) + " %"


E5 = Experiment("RT-E5", "From four queries to twenty", "Figure 12", e5_tasks, e5)
E8 = Experiment("RT-E8", "Queries that come and go", "–", e8_tasks, e8)

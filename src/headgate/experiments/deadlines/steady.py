"""RT-E1 and RT-E2: a constant overload, for one cycle of the longest period and for 20 s."""

from collections.abc import Mapping
from typing import Any

from headgate.experiments.deadlines.cases import (
    HORIZON,
    HPF,
    LRM,
    MIX,
    PLUS,
    RM,
    SHOWN,
    Case,
    Seen,
    required,
    runs_of,
    three,
)
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, claim, reported

CYCLE = 6.0
TRACE = "12 000 tuples/s on each of three streams, a load of 1.418"
WAYS = (LRM, RM, HPF, PLUS)
USEFUL = (
    "An iteration that is shed to nothing is in time and complete. The published rule takes the same time from every "
    "query, so cheap ones are emptied: the useful rows count only iterations that were in time and read at least 2 % "
    "of their window."
)


def _cycle(profile: str) -> Case:
    return Case(profile, options=(("trigger", "static"),) if profile in {LRM, PLUS} else (), horizon=CYCLE)


def e1_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """One cycle with the plan of its start."""
    return runs_of([_cycle(profile) for profile in WAYS])


def _shown(found: Mapping[str, Seen], name: str) -> str:
    return " / ".join(f"{getattr(found[way], name):.1f}" for way in WAYS) + " %"


def _early(found: Mapping[str, Seen]) -> str:
    at = found[LRM].curve.at.index(4.0)
    return " / ".join(f"{found[way].curve.error[at]:.1f}" for way in WAYS) + " %"


def e1(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """One cycle."""
    found: dict[str, Seen] = {way: results[_cycle(way)] for way in WAYS}
    others = (found[RM], found[HPF])
    rows = [
        banded("LRM: late iterations in the cycle", "0", found[LRM].misses, Band(0, 0)),
        required(
            "LRM completes more than RM and HPF",
            "many more",
            _shown(found, "completion"),
            met=all(found[LRM].completion > each.completion for each in others),
        ),
        required(
            "LRM has the smallest weighted error of LRM, RM, HPF",
            "yes",
            _shown(found, "error"),
            met=all(found[LRM].total < each.total for each in others),
        ),
        reported("weighted error until 4 s, LRM / RM / HPF / LRM+", "–", _early(found)),
        reported("late, LRM / RM / HPF / LRM+", "–", _shown(found, "miss")),
        reported("useful, LRM / RM / HPF / LRM+", "–", _shown(found, "useful")),
    ]
    names = tuple(found[LRM].kept)
    kept = tuple(Line(SHOWN[way], (), [found[way].kept[name] for name in names]) for way in (LRM, PLUS))
    figures = (
        *three({SHOWN[way]: each for way, each in found.items()}),
        Figure("kept tuples by query", "", "%", kept, names, log_y=False),
    )
    early = (
        "LRM has the smallest error only when the cycle is over: until 4.5 s just the queries are due that it has "
        "emptied, and RM, which is late with the long periods, has lost nothing yet."
    )
    notes = (MIX, USEFUL, early, "Where a row shows four values they are LRM / RM / HPF / LRM+.")
    return Outcome(E1.id, E1.title, TRACE, "none", tuple(rows), figures, notes)


def e2_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """The same for longer, with a new plan every longest period."""
    return runs_of([Case(way) for way in WAYS])


_BANDS = {
    LRM: (Band(0, 0, " %"), Band(97.1, 97.3, " %"), Band(39.1, 39.7, " %")),
    RM: (Band(14.6, 14.8, " %"), Band(84.6, 84.8, " %"), Band(50.4, 51.0, " %")),
    HPF: (Band(17.5, 17.7, " %"), Band(84.6, 84.8, " %"), Band(46.8, 47.4, " %")),
}


def e2(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """20 s."""
    found: dict[str, Seen] = {way: results[Case(way)] for way in WAYS}
    rows = []
    papers = {
        LRM: ("a small part", "more than both"),
        RM: ("above LRM", "below LRM"),
        HPF: ("above LRM", "below LRM"),
    }
    for way, (miss, completion, error) in _BANDS.items():
        each, (late, complete) = found[way], papers[way]
        count = f"{each.miss:.2f} %, {each.misses} of {each.due}"
        rows += [
            banded(f"{SHOWN[way]}: late", late, each.miss, miss, count),
            banded(f"{SHOWN[way]}: completed", complete, each.completion, completion),
            banded(f"{SHOWN[way]}: weighted error", "–", each.error, error),
        ]
    until = [at <= CYCLE for at in found[LRM].curve.at]
    first = max(miss for miss, early in zip(found[LRM].curve.miss, until, strict=True) if early)
    later = found[LRM].misses
    rows += [
        banded("LRM: late until 6 s", "0", first, Band(0, 0, " %")),
        claim("LRM: late after 6 s", "a few iterations", f"{later} iterations", confirmed=later > 0),
        reported("useful, LRM / RM / HPF / LRM+", "–", _shown(found, "useful")),
        reported("weighted error, LRM / RM / HPF / LRM+", "–", _shown(found, "error")),
        reported("reschedulings of LRM", "3 in 20 s", f"{len(found[LRM].reschedulings)} in {HORIZON:g} s"),
    ]
    why = (
        "The publication reports a few late iterations of LRM after the first cycle. At a constant rate and with the "
        "cost model it states there can be none, as the plan of the first cycle stays right; noise of its testbed "
        "would explain them."
    )
    figures = three({SHOWN[way]: each for way, each in found.items()})
    return Outcome(E2.id, E2.title, TRACE, "none", tuple(rows), figures, (MIX, USEFUL, why))


E1 = Experiment("RT-E1", "One cycle of a constant overload, with one plan", "Figure 8", e1_tasks, e1)
E2 = Experiment("RT-E2", "A constant overload for 20 s", "Figure 9", e2_tasks, e2)

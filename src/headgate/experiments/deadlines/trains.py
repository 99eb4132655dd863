"""RT-E11: iterations that can be interrupted only between trains, and the test that knows it."""

import math
from collections.abc import Mapping
from typing import Any

from headgate.experiments.deadlines.cases import LOW, LRM, MIX, PLUS, SHOWN, STEADY, Case, Seen, at_least, runs_of
from headgate.experiments.deadlines.sets import TESTS, Blocked, blocked
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Row, Scale, Task, banded, reported

LENGTHS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, math.inf)
RATES = (LOW, STEADY)
SHORT = 0.25
CHUNK = 250
FULL, QUICK = 2500, 250


def _chunks(scale: Scale) -> range:
    return range(1, (QUICK if scale.quick else FULL) // CHUNK + 1)


def case(way: str, rate: float, length: float, *, blocking: bool) -> Case:
    """A way on trains of such a length, which the analysis knows of or not."""
    return Case(way, rate, piece=length, blocking=blocking)


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """Every length, and random sets whose iterations are not interrupted at all."""
    runs = runs_of(
        [
            case(way, rate, length, blocking=knows)
            for way in (LRM, PLUS)
            for rate in RATES
            for length in LENGTHS
            for knows in (False, True)
        ]
    )
    return {**runs, **{("blocked", chunk): (blocked, (chunk, CHUNK)) for chunk in _chunks(scale)}}


def outcome(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Misses by length, and by test."""
    rows: list[Row] = []
    short = [length for length in LENGTHS if length <= SHORT]
    for way in (LRM, PLUS):
        for rate in RATES:
            late = max(results[case(way, rate, length, blocking=True)].misses for length in short)
            what = f"{SHOWN[way]}, {rate:g}/s: late with trains up to 0.25 s that are part of the test"
            rows.append(banded(what, "–", late, Band(0, 0)))
    whole: Seen = results[case(LRM, LOW, math.inf, blocking=False)]
    what = "LRM, 10000/s: late with whole iterations that the test does not know of"
    rows.append(banded(what, "–", whole.misses, at_least(1, ""), f"{whole.misses} of {whole.due}"))
    for way in (LRM, PLUS):
        for rate in RATES:
            rows += _by_length(way, rate, results)
    parts: list[Blocked] = [results["blocked", chunk] for chunk in _chunks(scale)]
    rows += _of_sets(parts)
    names = tuple("whole" if math.isinf(length) else f"{length:g} s" for length in LENGTHS)
    figures = tuple(
        Figure(
            f"{title}, {LOW:g} tuples/s",
            "longest train",
            y,
            tuple(
                Line(
                    f"{SHOWN[way]}, {'in' if knows else 'not in'} the test",
                    (),
                    [getattr(results[case(way, LOW, length, blocking=knows)], name) for length in LENGTHS],
                )
                for way in (LRM, PLUS)
                for knows in (False, True)
            ),
            names,
            log_y=False,
        )
        for title, name, y in (("late iterations", "misses", "of 68"), ("weighted error", "error", "%"))
    )
    trace = "10 000 and 12 000 tuples/s on each stream"
    sets = sum(each.sets for each in parts)
    note = (
        f"The {sets} random sets have 3 to 8 tasks and loads of 0.3 to 0.9. Each is run with a long piece that "
        "begins just before all others are released, once for each piece that can be the longest one below a task, "
        "and with two random phases."
    )
    numbers = f"chunks {_chunks(scale)[0]} … {_chunks(scale)[-1]} of {CHUNK} sets"
    return Outcome(E11.id, E11.title, trace, numbers, tuple(rows), figures, (MIX, note))


def _by_length(way: str, rate: float, results: Mapping[Any, Seen]) -> list[Row]:
    rows = []
    for knows, of in ((False, "not in"), (True, "in")):
        found = [results[case(way, rate, length, blocking=knows)] for length in LENGTHS]
        late = " / ".join(str(each.misses) for each in found)
        error = " / ".join(f"{each.error:.0f}" for each in found)
        what = f"{SHOWN[way]}, {rate:g}/s, {of} the test: late by length 0.05 … 2 s, whole"
        rows.append(reported(what, "–", f"{late}; error {error} %"))
    return rows


def _of_sets(parts: list[Blocked]) -> list[Row]:
    accepted = {test: sum(each.accepted[test] for each in parts) for test in TESTS}
    missed = {test: sum(each.missed[test] for each in parts) for test in TESTS}
    survived, pieces = sum(each.survived for each in parts), sum(each.pieces for each in parts)
    wrong = sum(each.pieces_missed for each in parts)
    shown = {test: f"{missed[test]} of {accepted[test]} accepted" for test in TESTS}
    return [
        reported("sets never interrupted, accepted as if they were: late", "–", shown["interruptible"]),
        banded("accepted with blocking: late", "–", missed["with blocking"], Band(0, 0), shown["with blocking"]),
        banded("accepted by the exact analysis: late", "–", missed["exact"], Band(0, 0), shown["exact"]),
        reported("sets that were never late", "–", f"{survived}"),
        banded("trains as long as the test allows: late", "–", wrong, Band(0, 0), f"{wrong} of {pieces} sets"),
    ]


E11 = Experiment("RT-E11", "Trains, and what may be in the way", "–", tasks, outcome)

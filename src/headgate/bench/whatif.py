"""Does the simulator say what a live run does? Recorded runs of three loads, each predicted from its record.

Every way to serve three classes of queries serves the same arrivals on the same engine, one after the other and all
of them twice: less than the machine can do, twice as much, and bursts. What the simulator makes of the record of each
run under its own choices is set beside what was measured; and from the record of the last way alone it predicts the
others, which have to come in the order in which they came live. That order is one where both rounds agree on it: how
fast the machine is differs between them, and so does what a policy takes units for that ranks by what was measured.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from headgate.bench.overload import CLASSES, Bed, Way, bursty, constant, opened
from headgate.bench.played import Floats
from headgate.bench.report import Check, Report, at_least, at_most
from headgate.engine.session import session
from headgate.record import NAME, Recorded, read
from headgate.sim.whatif import Case, Choices, Fate, measured, predicted
from headgate.sim.workload import Workload

SECONDS = 15.0
ROUNDS = 2
LOADS: Mapping[str, Callable[[float, float], Floats]] = {
    "underload": lambda rate, seconds: constant(0.6 * rate, seconds),
    "overload": lambda rate, seconds: constant(2 * rate, seconds),
    "bursts": bursty,
}
WAYS = (
    Way("fcfs", "fcfs", "none"),
    Way("bsd", "bsd", "none"),
    Way("cqc", "cqc", "none"),
    Way("dilos", "cqc", "dilos"),
)
OWN = WAYS[-1]
"""Whose record the others are predicted from."""
NEAR, POINTS = 30.0, 5.0
"""How far a prediction may be off: percent of the mean response time of each class, and points of loss."""
APART = 1.25
"""Ways have an order if their live means differ by this factor or more, in all rounds the same way."""

Progress = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Progress) -> Report:
    """All loads, and whether predictions hold."""
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    found: list[Row] = []
    try:
        with tempfile.TemporaryDirectory() as folder, opened(spark, Path(folder) / "state") as bed:
            progress("calibrating the capacity")
            rate = bed.capacity()
            for load, arrivals in LOADS.items():
                for k in range(ROUNDS):
                    runs: dict[str, Recorded] = {}
                    for way in WAYS:
                        progress(f"{load}: {way.name} live")
                        kept = Path(folder) / f"{load}-{way.name}-{k}"
                        runs[way.name] = recorded(bed, way, arrivals(rate, SECONDS), kept)
                    progress(f"{load}: predictions")
                    found += rows(load, k, runs)
    finally:
        spark.stop()
    return Report("whatif", tuple(found), tuple(checks(found)))


def recorded(bed: Bed, way: Way, arrivals: Floats, folder: Path) -> Recorded:
    """Serve arrivals in one way until the last of them has come; the record of that, kept in a folder."""
    bed.engine.switch(way.policy, shed=way.shed, fuse=True)
    began = time.time()
    bed.source.play(arrivals)
    time.sleep(max(0.0, began + float(arrivals[-1]) - time.time()))
    shutil.copytree(bed.engine.state / NAME, folder / NAME)
    bed.clear()
    return read(folder)


def rows(load: str, k: int, runs: Mapping[str, Recorded]) -> Iterator[Row]:
    """Each way of a round as it was measured, as its own record predicts it, and as that of `OWN` does."""
    workload = Workload.from_record(runs[OWN.name])
    for way in WAYS:
        mode = way.shed if isinstance(way.shed, str) else way.shed.mode
        cases = {
            "measured": measured(runs[way.name]),
            "predicted": predicted(runs[way.name], Choices()),
            "what-if": predicted(runs[OWN.name], Choices(policy=way.policy, shed=mode), workload),
        }
        for cls in cases["measured"].classes:
            yield {
                "load": load,
                "round": k,
                "way": way.name,
                "cls": cls,
                **{kind: _row(case, cls) for kind, case in cases.items()},
            }


def _row(case: Case, cls: str) -> Row:
    fate: Fate = case.classes[cls]
    return {"mean": fate.mean, "p99": fate.p99, "loss": fate.loss, "waiting": fate.waiting}


def checks(found: list[Row]) -> Iterator[Check]:
    """The goals: the choices of each recorded run within bounds, and the ways in their order."""
    for load in LOADS:
        own = [row for row in found if (row["load"], row["way"]) == (load, OWN.name)]
        off = [100 * abs(row["predicted"]["mean"] / row["measured"]["mean"] - 1) for row in own]
        yield at_most(
            f"{load}, {OWN.name}: error of the mean response time, of the class and round that is worst, %",
            max(off),
            NEAR,
        )
        lost = [100 * abs(row["predicted"]["loss"] - row["measured"]["loss"]) for row in own]
        yield at_most(
            f"{load}, {OWN.name}: error of the loss, of the class and round that is worst, points", max(lost), POINTS
        )
    classes = [cls.name for cls in CLASSES]
    for what, some in ((f"by {classes[0]}", classes[:1]), ("by every class", classes)):
        pairs = [each for load in LOADS for cls in some for each in _pairs(found, load, cls)]
        yield at_least(
            f"ways that differ live in both rounds, {what}: the part of their pairs, {len(pairs)} in all, "
            "in the predicted order of mean response times",
            sum(pairs) / len(pairs) if pairs else 1.0,
            1.0,
        )


def _pairs(found: list[Row], load: str, cls: str) -> Iterator[bool]:
    """Whether two ways that can be told apart live are predicted in that order, round by round."""
    mine = [row for row in found if (row["load"], row["cls"]) == (load, cls)]
    for first, second in combinations(WAYS, 2):
        live, told = (
            [a[kind]["mean"] / b[kind]["mean"] for a, b in zip(_of(mine, first), _of(mine, second), strict=True)]
            for kind in ("measured", "what-if")
        )
        if min(live) >= APART or max(live) <= 1 / APART:
            yield from ((each > 1) == (live[0] > 1) for each in told)


def _of(found: list[Row], way: Way) -> list[Row]:
    """The rows of a way, one a round."""
    return [row for row in found if row["way"] == way.name]

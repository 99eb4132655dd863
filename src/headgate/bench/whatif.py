"""Does the simulator say what a live run does? Recorded runs of three loads, each predicted from its record.

Every way to serve three classes of queries serves the same arrivals on the same engine, one after the other: less
than the machine can do, twice as much, and bursts. What the simulator makes of the record of each run under its own
choices is set beside what was measured; and from the record of the last way alone it predicts the others, which have
to come in the order in which they came live.
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

SECONDS = 20.0
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
"""Ways whose live means differ by less than this factor have no order."""

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
                runs: dict[str, Recorded] = {}
                for way in WAYS:
                    progress(f"{load}: {way.name} live")
                    runs[way.name] = recorded(bed, way, arrivals(rate, SECONDS), Path(folder) / f"{load}-{way.name}")
                progress(f"{load}: predictions")
                found += rows(load, runs)
    finally:
        spark.stop()
    return Report("whatif", tuple(found), tuple(checks(found)))


def recorded(bed: Bed, way: Way, arrivals: Floats, folder: Path) -> Recorded:
    """Serve arrivals in one way until the last of them has come; the record of that, kept in a folder."""
    bed.engine.switch(way.policy, shed=way.shed, fuse=True)
    began = time.time()
    bed.source.play(arrivals)
    time.sleep(max(0.0, began + float(arrivals[-1]) - time.time()))
    folder.mkdir()
    shutil.copy(bed.record, folder / NAME)
    bed.clear()
    return read(folder)


def rows(load: str, runs: Mapping[str, Recorded]) -> Iterator[Row]:
    """Each way as it was measured, as its own record predicts it, and as that of `OWN` does."""
    for way in WAYS:
        mode = way.shed if isinstance(way.shed, str) else way.shed.mode
        cases = {
            "measured": measured(runs[way.name]),
            "predicted": predicted(runs[way.name], Choices()),
            "what-if": predicted(runs[OWN.name], Choices(policy=way.policy, shed=mode)),
        }
        for cls in cases["measured"].classes:
            yield {
                "load": load,
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
            f"{load}, {OWN.name}: error of the mean response time, of the class that is worst, %", max(off), NEAR
        )
        lost = [100 * abs(row["predicted"]["loss"] - row["measured"]["loss"]) for row in own]
        yield at_most(f"{load}, {OWN.name}: error of the loss, of the class that is worst, points", max(lost), POINTS)
    top = CLASSES[0].name
    for what, some in ((f"by {top}", [row for row in found if row["cls"] == top]), ("by every class", found)):
        pairs = [each for load in LOADS for each in _pairs(some, load)]
        yield at_least(
            f"ways that differ live, {what}: the part of their pairs in the predicted order of mean response times",
            sum(pairs) / len(pairs) if pairs else 1.0,
            1.0,
        )


def _pairs(found: list[Row], load: str) -> Iterator[bool]:
    """Whether two ways that can be told apart live are predicted in that order, class by class."""
    mine = [row for row in found if row["load"] == load]
    for first, second in combinations(mine, 2):
        if first["cls"] != second["cls"]:
            continue
        live = first["measured"]["mean"] / second["measured"]["mean"]
        if max(live, 1 / live) >= APART:
            yield (live > 1) == (first["what-if"]["mean"] > second["what-if"]["mean"])

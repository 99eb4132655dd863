"""Who stays on time when there is too much: three classes of queries, from half of the capacity to three times of it.

Each mode serves the same arrivals, one after the other on the same engine: no management with FIFO, one load manager
for all classes, one for each, and DILoS, as published and as it is by default; then, on the same machine, Structured
Streaming with a FAIR pool per class that is weighted by its priority. The load is constant, a step, or bursty; and
in the middle of one round other processes begin to take half of the machine. Last, queries that are alike in all
classes, with DILoS and with sharing between classes.
"""

import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.bench.played import Floats, Played
from headgate.bench.recorded import Growing, Ran, within
from headgate.bench.report import Check, Report, at_least, at_most
from headgate.bench.rivals.fair_pools import fair_pools
from headgate.control.dilos import Mode
from headgate.engine.engine import Engine
from headgate.engine.session import session
from headgate.engine.shedding import Shed
from headgate.engine.sink import discard
from headgate.engine.status import Snapshot
from headgate.shed.registry import MANAGERS

LOADS = (0.5, 1.0, 1.5, 2.0, 3.0)
SECONDS = 10.0
HOGGED, HOG_AFTER = 36.0, 12.0
"""The length of the round in which other processes take half of the machine, and when they begin."""
CALIBRATED = 30_000
ALIKE = 0.05
"""Two measurements of the capacity that differ by less agree."""
TRIALS = 8
"""Measurements of the capacity, at most."""
DEAREST = 3.0
"""The load at which classes have to be on time."""
SETTLED = 20
"""Control periods after which a load manager has to be on time again: responses stay below `NEARLY` of the target
for `STAYS` seconds."""
NEARLY, STAYS = 1.1, 10.0

Progress = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Class:
    """A class: its priority and delay target, and in how many steps its queries work on a tuple."""

    name: str
    priority: float
    target: float
    steps: int


CLASSES = (Class("alerts", 6, 0.5, 5), Class("boards", 3, 1.5, 15), Class("reports", 1, 3.0, 30))
ALIKE_CLASSES = tuple(replace(each, steps=15) for each in CLASSES)
"""The same, whose queries differ in their constants only."""
PERIOD = min(each.target for each in CLASSES) / 2
"""The control period that goes with these targets."""
QUERIES = 2
"""In each class."""
TEXT = 10
"""How often a text is repeated that queries work on."""


@dataclass(frozen=True, slots=True)
class Way:
    """How load is met: a policy, and how load is managed."""

    name: str
    policy: str
    shed: Shed | Mode


PUBLISHED = Shed("dilos", "aloma", lending={}, every=10, prompt=False)
WAYS = (
    Way("FIFO, no management", "fcfs", "none"),
    Way("common", "cqc", "common"),
    Way("separate", "cqc", "separate"),
    Way("dilos as published", "cqc", PUBLISHED),
    Way("dilos", "cqc", "dilos"),
)
HOG, SHARING = "hog", "sharing"
SHARED: tuple[Mode, Mode] = ("dilos", "dilos+sharing")
FAIR = "Structured Streaming, FAIR pools"
BY_MANAGER = tuple(Way(f"dilos, {name}", "cqc", Shed("dilos", name)) for name in MANAGERS if name != "none")


def sql(steps: int, number: int) -> str:
    """A query with so much work: in each step a text becomes another one, in every second the one that it was."""
    text = "text"
    for i in range(steps):
        text = f"replace({text}, 'bc', 'a')" if i % 2 else f"replace({text}, 'a', 'bc')"
    inner = f"SELECT id, length({text}) AS w FROM load"  # noqa: S608 - numbers
    return f"SELECT id, w FROM ({inner}) WHERE pmod(w * 7919 + id, 20) = {number}"  # noqa: S608


def rows(first: int, stamps: Floats) -> pa.Table:
    """Numbered tuples with something to work on."""
    ids = np.arange(first, first + len(stamps))
    texts = pa.array([f"abacadab{i:06d}" for i in (ids % 100_003).tolist()], pa.string())
    return pa.table({"id": ids, "text": pc.binary_repeat(texts, TEXT)})


def constant(rate: float, seconds: float) -> Floats:
    """Poisson arrivals of a rate."""
    return np.sort(np.random.default_rng(1).uniform(0.0, seconds, round(rate * seconds)))


def step(rate: float, seconds: float) -> Floats:
    """Three quarters of the capacity, then twice of it."""
    low, high = constant(0.75 * rate, seconds / 2), constant(2 * rate, seconds / 2)
    return np.concatenate([low, high + seconds / 2])


def bursty(rate: float, seconds: float) -> Floats:
    """One and a half times the capacity on average: bursts of four times a quarter of a second long, with pauses."""
    rng = np.random.default_rng(2)
    found, now = [], 0.0
    while now < seconds:
        length = rng.exponential(0.25)
        found.append(rng.uniform(now, now + length, rng.poisson(4 * rate * length)))
        now += length + rng.exponential(0.25 * (4 / 1.5 - 1))
    times: Floats = np.sort(np.concatenate(found))
    return times[times < seconds]


def run(progress: Progress) -> Report:
    """All rounds, and whether those who matter stayed on time."""
    found: list[Row] = []
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder, opened(spark, Path(folder)) as bed:
            progress("calibrating the capacity")
            rate = bed.capacity()
            progress(f"the capacity is {rate:,.0f} tuples per second")
            found += _rounds(bed, rate, progress)
        with tempfile.TemporaryDirectory() as folder, opened(spark, Path(folder), ALIKE_CLASSES) as bed:
            progress("calibrating the capacity for queries that are alike")
            alike = bed.capacity()
            for mode in SHARED:
                progress(f"queries that are alike, {mode}")
                arrivals = constant(DEAREST * alike, SECONDS)
                found += bed.serve(SHARING, Way(mode, "cqc", mode), DEAREST, arrivals)
    finally:
        spark.stop()
    for load in LOADS:
        progress(f"Structured Streaming with FAIR pools at {load:g} times the capacity")
        pools = [(c.name, c.priority, [sql(c.steps, i) for i in range(QUERIES)]) for c in CLASSES]
        heard = fair_pools(pools, load * rate, SECONDS, TEXT)
        found += [_row("constant", FAIR, load, cls, _heard(cls, heard[cls.name])) for cls in CLASSES]
    return Report("overload", tuple(found), tuple(checks(found)))


def _heard(cls: Class, heard: Sequence[tuple[float, Floats]]) -> Row:
    times = np.concatenate([each for _, each in heard]) if heard else np.empty(0)
    p50, p99 = np.quantile(times, (0.5, 0.99)).tolist() if len(times) else (None, None)
    mean = float(times.mean()) if len(times) else None
    on_time = within(cls.target, [Ran(at, len(each), float(each.sum()), float(each.max())) for at, each in heard])
    return {"p50": p50, "p99": p99, "mean": mean, "within": on_time, "loss": 0.0, "pending": None}


def _rounds(bed: "Bed", rate: float, progress: Progress) -> Iterator[Row]:
    for way in WAYS:
        for load in LOADS:
            progress(f"{way.name} at {load:g} times the capacity")
            yield from bed.serve("constant", way, load, constant(load * rate, SECONDS))
        for shape in (step, bursty):
            progress(f"{way.name}, {shape.__name__} load")
            yield from bed.serve(shape.__name__, way, None, shape(rate, SECONDS))
    for way in (*WAYS[:-1], *BY_MANAGER):
        progress(f"{way.name}, and other processes take half of the machine")
        with _hog():
            yield from bed.serve(HOG, way, None, constant(0.7 * rate, HOGGED))


@contextmanager
def opened(spark: Any, folder: Path, classes: Sequence[Class] = CLASSES) -> Iterator["Bed"]:  # noqa: ANN401 - a session
    """An engine with all classes, which has begun."""
    source = Played(rows(0, np.empty(0)).schema, rows)
    with Engine(spark, folder) as engine:
        engine.stream("load", source)
        for cls in classes:
            engine.query_class(cls.name, priority=cls.priority, delay_target=cls.target)
            for i in range(QUERIES):
                engine.query(f"{cls.name}{i}", sql(cls.steps, i), sink=discard(), cls=cls.name, limit="300s")
        engine.start("cqc", shed="none")
        yield Bed(engine, source, classes)


@dataclass
class Bed:
    """An engine with all classes over one stream that the benchmark feeds."""

    engine: Engine
    source: Played
    classes: Sequence[Class]
    work: dict[str, float] = field(default_factory=dict, init=False)
    """The share of the work with a tuple that each class has."""
    _growing: Growing = field(init=False)

    def __post_init__(self) -> None:
        self._growing = Growing(self.engine.state)

    def capacity(self) -> float:
        """Tuples per second that all classes together can do, once that has been found twice alike."""
        found: list[float] = []
        while len(found) < 2 or not math.isclose(*found[-2:], rel_tol=ALIKE):
            if len(found) == TRIALS:
                break
            began = time.time()
            self.source.play(np.zeros(CALIBRATED))
            self._drain(lambda: self.source.sent > min(q.tuples for q in self.engine.status().queries))
            found.append(CALIBRATED / (time.time() - began))
        costs = {cls.name: self._cost(cls) for cls in self.classes}
        self.work = {name: cost / sum(costs.values()) for name, cost in costs.items()}
        return found[-1]

    def _cost(self, cls: Class) -> float:
        """What a tuple costs all units of a class."""
        units = {each.unit: each.b for each in self.engine.status().queries if each.cls == cls.name}
        return sum(units.values())

    def serve(self, load: str, way: Way, times: float | None, arrivals: Floats) -> Iterator[Row]:
        """Serve arrivals in one way; how each class fared until the last of them."""
        self.engine.switch(way.policy, shed=way.shed, fuse=True)
        before = self.engine.status()
        began = time.time()
        self._growing.ran(began)
        self.source.play(arrivals)
        time.sleep(max(0.0, began + float(arrivals[-1]) - time.time()))
        after, ran = self.engine.status(), self._growing.ran(began)
        self.clear()
        for cls in self.classes:
            runs = ran.get(cls.name, [])
            seen = _seen(cls, before, after, runs) | {"work": self.work[cls.name]}
            if load == SHARING:
                # A run is for several classes, so only results are counted.
                seen["within"] = 1 - next(each.late or 0.0 for each in after.classes if each.name == cls.name)
            if load == HOG:
                seen["settled"] = _settled(cls, runs)
            yield _row(load, way.name, times, cls, seen)

    def clear(self) -> None:
        """Drop what is left over, so that the next round begins with nothing."""
        self.engine.switch("cqc", shed=Shed("common", "aurora", {"headroom": 1e-3}))
        self._drain(lambda: any(q.pending for q in self.engine.status().queries))

    @staticmethod
    def _drain(waits: Callable[[], bool]) -> None:
        while waits():
            time.sleep(0.02)


def _seen(cls: Class, before: Snapshot, after: Snapshot, runs: Sequence[Ran]) -> Row:
    status = next(each for each in after.classes if each.name == cls.name)
    old = next(each for each in before.classes if each.name == cls.name)
    shed, done = status.shed - old.shed, status.processed - old.processed
    return {
        "p50": status.response_p50,
        "p99": status.response_p99,
        "mean": status.response_mean,
        "within": within(cls.target, runs),
        "loss": shed / (shed + done) if shed + done else 0.0,
        "pending": status.pending,
    }


def _settled(cls: Class, runs: Sequence[Ran]) -> float | None:
    """Seconds after the hog began until the class is on time, on average over a control period, and stays so."""
    bins: dict[int, list[Ran]] = {}
    for run in runs:
        if run.at > HOG_AFTER:
            bins.setdefault(int((run.at - HOG_AFTER) / PERIOD), []).append(run)
    means = {i: sum(r.total for r in each) / sum(r.results for r in each) for i, each in bins.items()}
    late = max((i + 1 for i, mean in means.items() if mean > NEARLY * cls.target), default=0) * PERIOD
    return late if late <= HOGGED - HOG_AFTER - STAYS else None


def _row(load: str, way: str, times: float | None, cls: Class, seen: Mapping[str, Any]) -> Row:
    return {"load": load, "way": way, "times": times, "cls": cls.name, "target": cls.target, **seen}


@contextmanager
def _hog() -> Iterator[None]:
    """As many processes as there are cores, which begin to work after a while."""
    context = multiprocessing.get_context("spawn")
    hogs = [context.Process(target=_burn, args=(HOG_AFTER, HOGGED), daemon=True) for _ in range(context.cpu_count())]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        for hog in hogs:
            hog.terminate()
            hog.join()


def _burn(after: float, until: float) -> None:
    """Rest, then keep a core busy until the time is over."""
    began = time.monotonic()
    time.sleep(after)
    while time.monotonic() - began < until:
        sum(i * i for i in range(10_000))


def checks(found: Sequence[Row]) -> list[Check]:
    """The goals: those of DILoS at the highest load, and of load managers after the capacity has halved."""
    top = CLASSES[0].name
    worst = {
        row["cls"]: row for row in found if (row["load"], row["way"], row["times"]) == ("constant", "dilos", DEAREST)
    }
    unavoidable = 1 - 1 / DEAREST
    loss = sum(row["work"] * row["loss"] for row in worst.values())
    alike = {way: sum(r["loss"] for r in found if (r["load"], r["way"]) == (SHARING, way)) for way in SHARED}
    made = [
        at_most(
            "queries that are alike: loss with sharing / without",
            alike[SHARED[1]] / (alike[SHARED[0]] or 1),
            1.0,
            "×",
        ),
        at_least(
            f"dilos at {DEAREST:g}×: share of the time that {top} is within its target", worst[top]["within"], 0.99
        ),
        at_most(f"dilos at {DEAREST:g}×: loss of {top}", worst[top]["loss"], 0.0),
        at_most(
            f"dilos at {DEAREST:g}×: mean response / target, of the class that is worst",
            max(row["mean"] / row["target"] for row in worst.values() if row["mean"] and row["loss"] < 1),
            1.0,
            "×",
        ),
        at_most(
            f"dilos at {DEAREST:g}×: loss of work beyond the unavoidable {unavoidable:.0%}, points",
            100 * (loss - unavoidable),
            10.0,
        ),
    ]
    for way in BY_MANAGER:
        settled = [row["settled"] for row in found if row["load"] == HOG and row["way"] == way.name]
        # Who has not settled has had all that time for it.
        periods = max(HOGGED - HOG_AFTER if each is None else each for each in settled) / PERIOD
        made.append(
            at_most(f"{way.name}: control periods after the hog began until everybody is on time", periods, SETTLED)
        )
    return made

"""What results are worth under overload: ten queries, each over a stream of its own, with tight and loose QoS graphs.

One stream brings too much for the whole time (sustained), or all of them do again and again (fluctuating: 60 % of the
capacity, then 130 %). Policies serve the same arrivals on the same engine, one after the other: those of QoS graphs,
a fixed priority and turns. A machine may be slower for a while, so there are several rounds, each in another order
and with one look at the capacity for all, and what is reported of a way is the round in the middle. Then, on the same
machine, Structured Streaming with a streaming query for each query. Whatever has no result when the loosest graph is
down to nothing is worth nothing. Last, very many queries: what scheduling takes for each run.
"""

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from headgate.bench.played import Floats, Played
from headgate.bench.report import Check, Report, at_least, at_most
from headgate.bench.rivals.query_each import Asked, Heard, query_each
from headgate.engine.engine import Engine
from headgate.engine.session import session
from headgate.engine.sink import callback, discard
from headgate.model.qos import LatencyGraph

QUERIES, STEPS, TEXT = 10, 10, 1000
"""So many queries, that work on a text in so many steps, which has a few characters so many times."""
TIGHT, LOOSE, DROP = 0.2, 2.5, 1.01
"""The critical points in seconds, and after how much more of that time a result is worth nothing."""
TAIL = LOOSE * DROP + 0.1
"""Seconds after which everything that came has a result, or one that is worth nothing."""
HOT, HOTTEST, OTHERS = 0, 16, 1
"""Sustained: the stream that has too much, whose query is tight, and how much it has against the others."""
TOO_MUCH, SUSTAINED = 1.3, 12.0
"""The load of all together, as a share of the capacity, and for how many seconds."""
CYCLES, CYCLE = 2, ((0.6, 6.0), (TOO_MUCH, 4.0))
"""Fluctuating: cycles of loads and for how many seconds each."""
ROUNDS = 3
TICK = 0.04
"""Seconds between two trains of a stream."""
CALIBRATED, FLOWING, ALIKE, TRIALS = 300, (0.6, 3.0), 0.05, 5
"""The capacity: tuples of each stream for a first guess; then seconds before it is measured, and in which it is,
until two measurements differ by no more than this part, or so often."""
MANY_RATE, MANY_SECONDS = 50.0, 6.0
"""Tuples per second of all streams, and for how long: what scheduling takes."""
MANY = ((300, 1), (300, 30), (1000, 1), (1000, 30))
"""So many queries, each a unit, over so many streams: over one, all that is expected changes with each train; over
many, that of some units does. The published comparison has 1,000 applications."""

TURNS = "in-turn"
QOS = "in order"
WAYS = {
    "slope-slack": "slope-slack",
    "qos": QOS,
    "bucketing": "bucketing",
    "fixed-priority": "fixed priority",
    TURNS: "in turn",
}
"""Policies, and what they are called here."""
DRIVEN = ("slope-slack", QOS, "bucketing")
STREAMING = "Structured Streaming"
DECIDING = {(n, streams): f"{n:,} queries over {streams} stream{'s' * (streams > 1)}" for n, streams in MANY}
"""What scheduling takes, by the number of queries and of streams."""

Progress = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Load:
    """A load: phases of a share of the capacity and of so many seconds, and the part of it that each stream has."""

    name: str
    phases: tuple[tuple[float, float], ...]
    parts: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return sum(length for _, length in self.phases)

    def arrivals(self, stream: int, capacity: float) -> Floats:
        """When the tuples of a stream arrive, evenly at the rate of each phase, and for a while after the last."""
        part = self.parts[stream] / sum(self.parts)
        # Streams are not in step: each has its own place in the first interval.
        found, now, left = [], 0.0, (stream + 0.5) / QUERIES
        for share, length in (*self.phases, (self.phases[0][0], TAIL)):
            due = share * capacity * part * length
            found.append(now + np.arange(left, due) / due * length)
            now, left = now + length, left + np.ceil(due - left) - due
        return np.concatenate(found)

    def over(self, at: Floats) -> NDArray[np.bool_]:
        """Whether tuples of these times come while there is too much."""
        ends = np.cumsum([length for _, length in self.phases])
        phase = np.minimum(np.searchsorted(ends, at, side="right"), len(self.phases) - 1)
        return np.array([share > 1 for share, _ in self.phases])[phase]


LOADS = (
    Load("sustained", ((TOO_MUCH, SUSTAINED),), tuple(HOTTEST if i == HOT else OTHERS for i in range(QUERIES))),
    Load("fluctuating", CYCLES * CYCLE, (1,) * QUERIES),
)


def graphs() -> list[LatencyGraph]:
    """Those of the queries: every second one is loose."""
    kinds = [LatencyGraph.until(d1, d1 * DROP) for d1 in (TIGHT, LOOSE)]
    first = LatencyGraph.until(0.99 * TIGHT, 0.99 * TIGHT * DROP)
    return [first if i == HOT else kinds[i % 2] for i in range(QUERIES)]


def sql(stream: str) -> str:
    """A query with work in it: in each step a text becomes another one, in every second the one that it was."""
    text = "text"
    for i in range(STEPS):
        text = f"replace({text}, 'bc', 'a')" if i % 2 else f"replace({text}, 'a', 'bc')"
    return f"SELECT at, length({text}) AS w FROM {stream}"  # noqa: S608 - a name of ours


def rows(first: int, stamps: Floats) -> pa.Table:
    """Tuples that know when they arrived, with something to work on."""
    ids = np.arange(first, first + len(stamps))
    texts = pa.array([f"abacadab{i:06d}" for i in (ids % 100_003).tolist()], pa.string())
    return pa.table({"at": stamps, "text": pc.binary_repeat(texts, TEXT)})


COLUMNS = ("arrived AS at", f"repeat(concat('abacadab', lpad(id % 100003, 6, '0')), {TEXT}) AS text")
"""The same on Structured Streaming."""


def run(progress: Progress) -> Report:
    """All rounds, and whether results were worth more where the graphs decide."""
    found: list[Row] = []
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder, _bed(spark, Path(folder)) as bed:
            served = [row for turn in range(ROUNDS) for row in _round(bed, turn, progress)]
            found += [_middle(served, load, way) for load in LOADS for way in WAYS.values()]
        for n, streams in MANY:
            with tempfile.TemporaryDirectory() as folder:
                found += _decisions(spark, Path(folder), n, streams, progress)
    finally:
        spark.stop()
    for load in LOADS:
        progress(f"{STREAMING}, {load.name} overload")
        found.append(_streamed(load, median(row["capacity"] for row in found if row["load"] == load.name)))
        progress(_said(found[-1]))
    return Report("qos", tuple(found), tuple(checks(found)))


def _round(bed: "_Bed", turn: int, progress: Progress) -> Iterator[Row]:
    """Every way over every load, in an order of its own for each round."""
    ways = list(WAYS.items())
    capacity = bed.capacity()
    progress(f"round {turn + 1}: the capacity is {capacity:,.0f} tuples per second")
    for load in LOADS:
        for policy, name in (*ways[turn:], *ways[:turn]):
            progress(f"{name}, {load.name} overload")
            row = bed.serve(policy, load, capacity)
            progress(_said(row))
            yield row


def _middle(served: Sequence[Row], load: Load, way: str) -> Row:
    """The round of a way whose average is in the middle, and the averages of all its rounds."""
    rounds = sorted((row for row in served if (row["load"], row["way"]) == (load.name, way)), key=_average)
    return rounds[(len(rounds) - 1) // 2] | {"rounds": [_average(row) for row in rounds]}


def _average(row: Row) -> float:
    return float(row["average"])


@contextmanager
def _bed(spark: SparkSession, folder: Path) -> Iterator["_Bed"]:
    sources = [Played(rows(0, np.empty(0)).schema, rows, every=TICK) for _ in range(QUERIES)]
    with Engine(spark, folder, lanes={"jobs": 1, "resident": 1}) as engine:
        bed = _Bed(engine, sources)
        for i, (source, graph) in enumerate(zip(sources, graphs(), strict=True)):
            engine.stream(f"s{i}", source)
            engine.query(f"q{i}", sql(f"s{i}"), sink=callback(bed.hears(i)), qos=graph, limit="300s")
        engine.start(TURNS)
        yield bed


@dataclass
class _Bed:
    """An engine with the queries, each over a stream that the benchmark feeds; and how long their results took."""

    engine: Engine
    sources: Sequence[Played]
    took: Sequence[list[Floats]] = field(default_factory=lambda: [[] for _ in range(QUERIES)], init=False)

    def hears(self, query: int) -> Callable[[pa.Table, int], None]:
        """A sink that notes how long results took."""

        def hear(table: pa.Table, _: int) -> None:
            self.took[query].append(time.time() - table.column("at").to_numpy())

        return hear

    def capacity(self) -> float:
        """Tuples per second that all queries together get done, in turn, while more come than that.

        What comes takes its part of the machine, so it is less than they do of what is there already.
        """
        self.engine.switch(TURNS)
        began = time.time()
        for source in self.sources:
            source.play(np.zeros(CALIBRATED))
        _drained(self.engine, self.sources)
        found = [QUERIES * CALIBRATED / (time.time() - began)]
        while len(found) < 3 or not math.isclose(*found[-2:], rel_tol=ALIKE):
            if len(found) > TRIALS:
                break
            found.append(self._flowing(TOO_MUCH * max(found[0], found[-1])))
        return found[-1]

    def _flowing(self, rate: float) -> float:
        """Tuples per second that are done while so many come."""
        before, seconds = FLOWING
        for source in self.sources:
            source.play(np.arange(0.0, before + seconds, QUERIES / rate))
        time.sleep(before)
        done, began = self._done(), time.time()
        time.sleep(seconds)
        found = (self._done() - done) / (time.time() - began)
        _drained(self.engine, self.sources)
        return found

    def _done(self) -> int:
        return sum(len(some) for each in self.took for some in list(each))

    def serve(self, policy: str, load: Load, capacity: float) -> Row:
        """Serve a load under a policy: what its results were worth, and what a decision took."""
        self.engine.switch(policy)
        for some in self.took:
            some.clear()
        began = time.time()
        arrivals = [load.arrivals(i, capacity) for i in range(QUERIES)]
        for source, times in zip(self.sources, arrivals, strict=True):
            source.play(times)
        time.sleep(max(0.0, began + load.seconds + TAIL - time.time()))
        heard = [
            _heard(times[times < load.seconds], list(some)) for times, some in zip(arrivals, self.took, strict=True)
        ]
        found = _row(load, WAYS[policy], capacity, heard) | _decided(self.engine)
        _drained(self.engine, self.sources)
        return found


def _drained(engine: Engine, sources: Sequence[Played]) -> None:
    """Wait until all that was sent has come, and nothing is left to do."""
    sent = sum(source.sent for source in sources)
    while sum(each.tuples for each in engine.status().streams) < sent or any(
        each.pending for each in engine.status().queries
    ):
        time.sleep(0.02)


def _heard(arrivals: Floats, results: Sequence[Floats]) -> Heard:
    """The tuples of a query, whose results come in their order; what has none takes for ever."""
    took = np.full(len(arrivals), np.inf)
    known = np.concatenate([*results, np.empty(0)])[: len(arrivals)]
    took[: len(known)] = known
    return Heard(arrivals, took)


def _streamed(load: Load, capacity: float) -> Row:
    """The same on Structured Streaming."""
    ends = np.cumsum((0, *load.parts)).tolist()
    asked = [Asked(f"q{i}", sql("load"), ends[i], ends[i + 1]) for i in range(QUERIES)]
    phases = [(share * capacity, length) for share, length in load.phases]
    heard = query_each(asked, COLUMNS, phases, TAIL)
    return _row(load, STREAMING, capacity, [heard[each.name] for each in asked])


def _row(load: Load, way: str, capacity: float, heard: Sequence[Heard]) -> Row:
    """What results were worth: the mean of the queries, and that of all results; and what missed its critical point.

    The latter also for tuples that came while there was too much, and for the others.
    """
    drawn = graphs()
    worth = [graph.utilities(each.took) for graph, each in zip(drawn, heard, strict=True)]
    means = [float(each.mean()) for each in worth]
    late = np.concatenate([each.took > graph.deadline for graph, each in zip(drawn, heard, strict=True)])
    over = np.concatenate([load.over(each.at) for each in heard])
    took = np.concatenate([each.took for each in heard])
    return {
        "load": load.name,
        "way": way,
        "capacity": capacity,
        "tuples": len(took),
        "average": float(np.mean(means)),
        "per_result": float(np.concatenate(worth).mean()),
        "tight": float(np.mean(means[0::2])),
        "loose": float(np.mean(means[1::2])),
        "missed": float(late.mean()),
        "missed_over": float(late[over].mean()) if over.any() else None,
        "missed_under": float(late[~over].mean()) if not over.all() else None,
        "p50": _finite(np.quantile(took, 0.5, method="lower")),
        "queries": means,
        "decisions": None,
    }


def _said(row: Row) -> str:
    return f"{row['way']}: average QoS {row['average']:.2f}, {row['missed']:.0%} missed their critical point"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _decided(engine: Engine) -> Row:
    """How often it was decided since the policy was switched to, and what that took for each run.

    That is the time of the policy itself, and all of it: with what it is shown, and what becomes of its decision. One
    decision may be on many runs.
    """
    spent = engine._scheduler.accounts.overhead  # noqa: SLF001 - shown nowhere else
    units, runs = len({each.unit for each in engine.status().queries}), max(1, spent.runs)
    took = {"choosing": spent.choosing / runs, "deciding": spent.deciding / runs}
    return {"units": units, "decisions": spent.decisions, "runs": spent.runs, **took}


def _decisions(spark: SparkSession, folder: Path, n: int, streams: int, progress: Progress) -> Iterator[Row]:
    """What scheduling takes with very many units."""
    schema = pa.schema({"at": pa.float64()})
    sources = [Played(schema, lambda _, stamps: pa.table({"at": stamps}), every=TICK) for _ in range(streams)]
    with Engine(spark, folder, lanes={"jobs": 1, "resident": 1}) as engine:
        for k, source in enumerate(sources):
            engine.stream(f"s{k}", source)
        for k, graph in enumerate(graphs()[1:3]):
            texts = {
                f"q{i}": f"SELECT at FROM s{i // 2 % streams} WHERE at * 1000 % {n} < {i + 1}"  # noqa: S608
                for i in range(k, n, 2)
            }
            engine.query_many(texts, sink=lambda _: discard(), qos=graph)
        engine.start(TURNS, fuse=False)
        # What runs for the first time is compiled.
        _play(sources, np.zeros(streams))
        _drained(engine, sources)
        for policy, name in WAYS.items():
            progress(f"what scheduling takes, {DECIDING[n, streams]}, {name}")
            engine.switch(policy, fuse=False)
            _play(sources, np.arange(0.0, MANY_SECONDS, 1 / MANY_RATE))
            _drained(engine, sources)
            yield {"load": DECIDING[n, streams], "way": name, **_decided(engine)}


def _play(sources: Sequence[Played], times: Floats) -> None:
    """Deal tuples out to streams in turn."""
    for k, source in enumerate(sources):
        source.play(times[k :: len(sources)])


def checks(found: Sequence[Row]) -> list[Check]:
    """The goals: results are worth more where graphs decide, and nothing takes less time than to keep an order."""
    made = []
    for load in LOADS:
        average = {row["way"]: row["average"] for row in found if row["load"] == load.name}
        others = [way for way in average if way not in DRIVEN]
        made.append(
            at_least(
                f"{load.name} overload: average QoS by graphs, the lower / the best of the others",
                min(average[way] for way in DRIVEN) / max(1e-9, *(average[way] for way in others)),
                1.0,
                "×",
            )
        )
    for many in DECIDING.values():
        choosing = {row["way"]: row["choosing"] for row in found if row["load"] == many}
        made += [
            at_most(f"scheduling of a run, {many}: {QOS} / {other}", choosing[QOS] / choosing[other], 1.0, "×")
            for other in WAYS.values()
            if other != QOS
        ]
    return made

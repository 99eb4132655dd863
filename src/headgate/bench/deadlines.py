"""Who meets deadlines: ten real-time queries every two to twelve seconds, at more and more of what a lane can do.

Each way serves the same arrivals on Spark, one after the other: the two profiles that shed, rate-monotonic and
highest-priority-first scheduling that do not, and Structured Streaming with a query for each of them, triggered as
often as its windows end. The demand is the work of all queries with nothing shed, which grows with the rate as it did
where all of it could be done. At full load a query that fits with a reduction asks to be taken in, and then one that
does not fit at all.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.bench.played import Floats, Played
from headgate.bench.report import Check, Report, at_least, at_most
from headgate.bench.rivals.triggers import Asked, Batch, triggers
from headgate.control.deadlines.measures import Iterated, completion, errors, miss, useful
from headgate.engine.engine import Engine
from headgate.engine.session import session
from headgate.engine.sink import discard
from headgate.errors import InputError
from headgate.record import Follower
from headgate.record import Iterated as Done

LOADS = (0.6, 1.0, 1.5)
JUDGED = 1.5
"""The demand at which goals are."""
TIME = 2.0
"""Seconds here for one of the published mix: a Spark job takes longer than an operator."""
SECONDS = TIME * (6.0 + 6.0 + 20.0)
"""The published length, after the longest window has filled: before that, demand is not what it is said to be.

Windows are aligned with the clock, so the first that is full begins up to one period after the tuples do.
"""
RATE, FIXED = 400.0, 0.1
"""Tuples per second of each stream while the demand is first measured, and what of it may be there without any."""
TRAIN = 0.1
"""Seconds between two trains: short against all windows, and few to read for a long one."""
WARM, WARMING, CALIBRATING = 24.0, 3.0, 24.0
"""Seconds until a measurement, at how many times that rate, and those of a measurement."""
WAYS = ("rm", "hpf", "lrm-seed", "lrm+")
STREAMING = "Structured Streaming"
ADMISSION = "admission"

Progress = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asks:
    """A query of the mix: its text, period and weight, its cost per tuple of a stream, and results per tuple."""

    name: str
    period: float
    weight: float
    sql: str
    cost: float
    selectivity: float


def _worked(stream: str, cost: float) -> str:
    """A condition that always holds and takes time: the hash of a text that is longer where the cost is."""
    return f"length(sha2(repeat(lpad({stream}.id, 10, '0'), {round(1400 * cost)}), 256)) = 64"


def _mix() -> tuple[Asks, ...]:
    def select(name: str, period: float, weight: float, stream: str, cost: float, s: float, shown: str) -> Asks:
        sql = f"SELECT {shown} FROM {stream} WHERE {_worked(stream, cost)} AND {stream}.x < {s}"  # noqa: S608
        return Asks(name, TIME * period, weight, sql, cost, s)

    def join(name: str, period: float, weight: float, streams: str, cost: float, s: float, shown: str) -> Asks:
        first, others = streams[0], streams[1:]
        joined = " ".join(f"JOIN {each} ON {first}.k = {each}.k" for each in others)
        sql = f"SELECT {shown} FROM {first} {joined} WHERE {_worked(first, cost)} AND {first}.x < {s}"  # noqa: S608
        return Asks(name, TIME * period, weight, sql, cost, s)

    ids = "a.id, b.id AS other"
    return (
        select("q1", 1, 5, "a", 4.0, 0.5, "id, k, x"),
        select("q2", 2, 6, "b", 3.8, 0.3, "id, k, x"),
        select("q3", 2, 3, "a", 6.5, 0.6, "id, x * 2 AS y"),
        select("q4", 3, 2, "b", 5.5, 0.4, "id, x * 2 AS y"),
        join("q5", 4, 1, "ab", 14.0, 0.5, ids),
        join("q6", 5, 7, "bc", 13.6, 0.3, "b.id, c.id AS other"),
        join("q7", 5, 8, "abc", 27.8, 0.2667, f"{ids}, c.id AS third"),
        join("q8", 6, 9, "ac", 17.0, 0.4, "a.id, a.x + c.x AS y"),
        join("q9", 6, 10, "bc", 22.0, 0.5, "b.id * 2 AS id, c.id * 2 AS other"),
        Asks("q10", TIME * 6, 4, f"SELECT avg(x) AS mean FROM c WHERE {_worked('c', 4.0)}", 4.0, 0.05),  # noqa: S608
    )


MIX = _mix()


def _late_comer(name: str, cost: float) -> Asks:
    return Asks(name, TIME, 1, f"SELECT id FROM a WHERE {_worked('a', cost)}", cost, 1.0)  # noqa: S608


LATE = (_late_comer("heavy", 400.0), _late_comer("greedy", 4000.0))
"""Of the first, the least that is read of a window fits beside the others; of the second not even that."""
COLUMNS = "id;CAST(id * 7919 % 100003 AS INT) AS k;id * 0.6180339887D % 1 AS x"
"""The columns of each stream, of its number. No key comes twice in a window, so joins grow as their windows do."""


def rows(first: int, stamps: Floats) -> pa.Table:
    """Numbered tuples with a key to join on."""
    ids = np.arange(first, first + len(stamps))
    return pa.table({"id": ids, "k": (ids * 7919 % 100_003).astype(np.int32), "x": ids * 0.6180339887 % 1.0})


def arrivals(rate: float, seconds: float) -> Floats:
    """Tuples of a rate, evenly."""
    return np.arange(0.0, seconds, 1.0 / rate)


def run(progress: Progress) -> Report:
    """All rounds, and whether deadlines were met with results that are of use."""
    found: list[Row] = []
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        rates: dict[float, float] = {}
        for way in WAYS:
            with (
                tempfile.TemporaryDirectory() as folder,
                Engine(spark, folder, lanes={"jobs": 1, "resident": 0}) as e,
            ):
                bed = _Bed(e)
                progress(f"{way}: registering ten queries, and what they cost")
                bed.start(way)
                rates = rates or bed.rates(progress)
                for load in LOADS:
                    progress(f"{way} at {load:.0%} of the capacity")
                    found.append(bed.serve(way, load, rates[load]))
                    progress(_said(found[-1]))
                for late in LATE if way == "lrm+" else ():
                    progress(f"{late.name} asks to be taken in")
                    found.append(bed.admission(late, rates[1.0]))
                    progress(found[-1]["answer"])
    finally:
        spark.stop()
    asked = [Asked(each.name, each.sql, each.period) for each in MIX]
    for load in LOADS:
        progress(f"{STREAMING} at {load:.0%} of the capacity")
        began, batches = triggers(asked, COLUMNS, rates[load], SECONDS)
        found.append(_streamed(load, rates[load], began, batches))
        progress(_said(found[-1]))
    return Report("deadlines", tuple(found), tuple(checks(found)))


@dataclass
class _Bed:
    """An engine with the ten queries over three streams that the benchmark feeds."""

    engine: Engine
    sources: dict[str, Played] = field(default_factory=dict, init=False)
    _follower: Follower = field(init=False)

    def __post_init__(self) -> None:
        self._follower = Follower(self.engine.state)

    def start(self, way: str) -> None:
        """Begin, with nothing to do yet."""
        for name in "abc":
            self.sources[name] = Played(rows(0, np.empty(0)).schema, rows, every=TRAIN)
            self.engine.stream(name, self.sources[name])
        for each in MIX:
            self._ask(each)
        self.engine.start(deadlines=way)
        # Costs are known then, and what Spark and Java compile is compiled, as it will be later.
        self._play(WARMING * RATE, WARM)
        self._drained()

    def _ask(self, each: Asks) -> None:
        every = {"window": each.period, "slide": each.period, "deadline": each.period, "weight": each.weight}
        self.engine.query(each.name, each.sql, **every, time="arrival", sink=discard(), limit="300s")  # type: ignore[arg-type]

    def rates(self, progress: Progress) -> dict[float, float]:
        """The tuples per second of each stream at which the demand is so much of the time, by that demand."""
        low = self._demand(RATE)
        # Then where it is about all of the time: nearer to where it is wanted.
        full = RATE * (1 - FIXED) / (low - FIXED)
        per_tuple = (self._demand(full) - low) / (full - RATE)
        fixed = low - per_tuple * RATE
        progress(f"runs take {fixed:.0%} of the time, and a tuple of each stream {1e6 * per_tuple:,.0f} µs")
        return {load: (load - fixed) / per_tuple for load in LOADS}

    def _demand(self, rate: float) -> float:
        """The share of the time that all queries work at a rate at which they can."""
        self._follower.look()
        began = self._play(rate, CALIBRATING)
        self._drained()
        # Windows that the play has filled, and what they would take if they went on.
        whole = [each for each in self._iterated() if began + _asks(each.query).period < each.end]
        whole = [each for each in whole if each.end <= began + CALIBRATING]
        taken = {each.name: [i.worked for i in whole if i.query == each.name] for each in MIX}
        return float(sum(np.mean(found) / _asks(name).period for name, found in taken.items()))

    def serve(self, way: str, load: float, rate: float) -> Row:
        """Serve arrivals; how all queries fared until the last of them."""
        self._follower.look()
        began = self._play(rate, SECONDS)
        until = time.time()
        self._drained()
        iterated = self._iterated()
        records = [each for each in map(_record, iterated) if each.release > began + _asks(each.query).period]
        return _row(way, load, rate, records, until) | {"worked": _worked_share(iterated, began, until)}

    def admission(self, late: Asks, rate: float) -> Row:
        """Ask for much at full load: how long the answer takes, and what the others miss before and after."""
        self._follower.look()
        for source in self.sources.values():
            source.play(arrivals(rate, SECONDS))
        time.sleep(SECONDS / 3)
        began = time.time()
        try:
            self._ask(late)
            answer = "taken in"
        except InputError as error:
            answer = str(error)
        took = time.time() - began
        time.sleep(max(0.0, SECONDS * 2 / 3 - took))
        self._drained()
        records = [_record(each) for each in self._iterated()]
        if late.name in self.engine.queries:
            kept = [each.kept / each.tuples for each in records if each.query == late.name and each.tuples]
            answer += f" to read {np.mean(kept or [0.0]):.0%} of its windows"
            self.engine.remove(late.name)
        others = [each for each in records if each.query != late.name]
        before = [each for each in others if each.due < began]
        after = [each for each in others if began <= each.due < began + SECONDS / 3]
        given = {"way": ADMISSION, "query": late.name, "took": took, "answer": answer}
        return {**given, "before": miss(before), "after": miss(after)}

    def _play(self, rate: float, seconds: float) -> float:
        began = time.time()
        for source in self.sources.values():
            source.play(arrivals(rate, seconds))
        time.sleep(seconds)
        return began

    def _iterated(self) -> list[Done]:
        """What was done since the last look."""
        return [entry for entry in self._follower.look() if isinstance(entry, Done)]

    def _drained(self) -> None:
        """Wait until nothing is left to do: all windows have ended, and all iterations."""
        time.sleep(max(each.period for each in MIX) + 0.5)
        while any(each.pending for each in self.engine.status().queries):
            time.sleep(0.1)


def _asks(query: str) -> Asks:
    return next(each for each in (*MIX, *LATE) if each.name == query)


def _record(entry: Done) -> Iterated:
    asks = _asks(entry.query)
    left_out = entry.missed and entry.finish <= entry.due
    return Iterated(
        entry.query,
        round(entry.end / asks.period),
        entry.release,
        entry.due,
        entry.tuples,
        entry.kept * entry.tuples,
        entry.worked,
        entry.begin,
        np.inf if left_out else entry.finish,
        weight=asks.weight,
        selectivity=asks.selectivity,
    )


def _worked_share(iterated: Sequence[Done], began: float, until: float) -> float:
    """The share of the time in which iterations ran that were released in it."""
    worked: float = sum(each.worked for each in iterated if began <= each.release < until)
    return worked / (until - began)


def _row(way: str, load: float, rate: float, records: Sequence[Iterated], until: float) -> Row:
    kept = sum(each.kept for each in records) / max(1, sum(each.tuples for each in records))
    return {
        "way": way,
        "load": load,
        "rate": rate,
        "iterations": sum(each.due <= until for each in records),
        "miss": miss(records, until),
        "completion": completion(records, until),
        "useful": useful(records, until),
        "error": errors(records, until).output_percent,
        "kept": kept,
        "late": max((min(each.finish, until) - each.due for each in records if each.due <= until), default=0.0),
    }


def _said(row: Row) -> str:
    return f"{row['way']}: {row['miss']:.1%} missed, {row['useful']:.1%} useful, error {row['error']:.1f} %"


def _streamed(load: float, rate: float, began: float, batches: Sequence[Batch]) -> Row:
    """Every end of a period is an iteration: in time if a batch that began then or later was done by the next."""
    records = [record for each in MIX for record in _periods(each, began, rate, batches)]
    return _row(STREAMING, load, rate, records, began + SECONDS) | {"worked": None}


def _periods(asks: Asks, began: float, rate: float, batches: Sequence[Batch]) -> Iterator[Iterated]:
    mine = sorted((b for b in batches if b.query == asks.name), key=lambda b: b.started)
    n = rate * asks.period * (1 + asks.sql.count(" JOIN "))
    for i in range(int(began // asks.period) + 1, int((began + SECONDS) // asks.period) + 1):
        release = i * asks.period
        # Triggers go by another clock, which may be a little early.
        served = next((b for b in mine if b.started >= release - 0.05), None)
        start, end = (served.started, served.finished) if served else (np.inf, np.inf)
        times = {"begin": start, "finish": end, "weight": asks.weight, "selectivity": asks.selectivity}
        yield Iterated(asks.name, i, release, release + asks.period, n, n, **times)


def checks(found: Sequence[Row]) -> list[Check]:
    """The goals, at the highest demand."""
    by_way = {row["way"]: row for row in found if row.get("load") == JUDGED}
    plus, seed, rm, streamed = (by_way[way] for way in ("lrm+", "lrm-seed", "rm", STREAMING))
    asked = [row for row in found if row["way"] == ADMISSION]
    at = f"at {JUDGED:.0%}"
    return [
        at_most(f"lrm+ {at}: missed, %", 100 * plus["miss"], 3.0),
        at_least(f"lrm+ {at}: useful, %", 100 * plus["useful"], 90.0),
        at_least(f"rm {at}: missed, %", 100 * rm["miss"], 8.0),
        at_least(f"{STREAMING} {at}: missed, of what rm missed", streamed["miss"] / max(rm["miss"], 1e-9), 1.0, "×"),
        at_most(f"lrm-seed {at}: missed, of what rm missed", seed["miss"] / max(rm["miss"], 1e-9), 1.0, "×"),
        at_most(f"lrm+ {at}: error, of that of rm", plus["error"] / max(rm["error"], 1e-9), 1.0, "×"),
        *(at_most(f"{row['query']}: seconds until it is answered", row["took"], 1.0) for row in asked),
        *(
            at_most(f"{row['query']}: missed by others since, beyond before, points", _worse(row), 0.0)
            for row in asked
        ),
    ]


def _worse(asked: Row) -> float:
    return 100 * max(0.0, float(asked["after"]) - float(asked["before"]))

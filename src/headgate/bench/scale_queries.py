"""How many queries one engine can serve, on resident lanes: of few shapes, of many, and of one.

Each set of queries runs on an engine of its own over the ticks of `many-queries`. Beside the response times stands
where the time went, as shares of the time that was measured: the engine appending to its log, deciding, running the
lane, and staging and committing results.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from headgate.bench.report import Check, Report, at_most
from headgate.bench.rivals.bed import Bed, Noted, Row, Sinks, bed, one_function
from headgate.bench.rivals.sets import Set, alert, of_much, of_one_shape, of_shapes
from headgate.engine.readable import span
from headgate.engine.session import session
from headgate.engine.sink import callback, jsonl, memory, parquet, shared

FEW_SHAPES, SHAPES, QUERIES = 20, 1000, 1000
SAME = 100_000
"""Alerts of one shape."""
ADDED = 5
RATE, SLOWER = 100_000.0, 20_000.0
WARM_UP, SECONDS = 3.0, 10.0
SHORT_WARM_UP, SHORT = 1.0, 4.0
"""Of the rounds that show how costs grow and what sinks can take."""
GROWING_SAME = (1, 10, 100, 1000, 10_000, 100_000)
GROWING_SHAPES = (1, 10, 100, 1000)
WRITING, SHARE = 100, 0.1
"""Queries that match much, and the share of the tuples that each yields."""
SINK_RATES = tuple(500.0 * 2**k for k in range(10))
SOON = 0.1
"""The p99 beyond which sinks have become the limit."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A set of queries, the tuples per second that they get, and the p99 that is wanted."""

    what: str
    queries: Callable[[], Set]
    rate: float
    goal: float


CASES = (
    Case(f"{QUERIES:,} queries of {FEW_SHAPES} shapes", lambda: of_shapes(QUERIES, FEW_SHAPES), RATE, 0.05),
    Case(f"{QUERIES:,} queries of {SHAPES:,} shapes", lambda: of_shapes(QUERIES, SHAPES), SLOWER, 0.1),
    Case(f"{SAME:,} queries of one shape", lambda: of_one_shape(SAME), RATE, 0.1),
)


def run(progress: Progress) -> Report:
    """All parts, and whether the goals are met."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("starting Spark")
        spark = session()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            rows = [
                *scale(spark, folder / "scale", progress),
                *growth(spark, folder / "growth", progress),
                *sinks(spark, folder / "sinks", progress),
            ]
        finally:
            spark.stop()
    return Report("scale-queries", tuple(rows), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals."""
    found = {row["what"]: row for row in rows if row["part"] == "scale"}
    made = [
        at_most(f"p99 of {what} at {row['rate']:,.0f} tuples/s, ms", 1000 * row["p99"], 1000 * row["goal"])
        for what, row in found.items()
    ]
    for row in rows:
        if row["part"] == "added":
            made += [
                at_most(
                    f"adding a query to {row['queries']:,}, longest of {row['added']}, ms", 1000 * row["most"], 50
                ),
                at_most("p99 around the adding / p99 otherwise", row["p99"] / row["p99_before"], 1.5, "×"),
            ]
    for kind in dict.fromkeys(row["kind"] for row in rows if row["part"] == "growth"):
        first, *_, last = (row for row in rows if row["part"] == "growth" and row["kind"] == kind)
        of = f"cost per query, {kind}: {last['queries']:,} queries / {first['queries']:,}"
        if first["cpu"]:
            made.append(at_most(of, last["cpu"] / last["queries"] * first["queries"] / first["cpu"], 1.0, "×"))
    made.append(at_most("results that did not come in time", sum(row["missing"] for row in found.values()), 0))
    return made


def scale(
    spark: SparkSession,
    state: Path,
    progress: Progress,
    cases: Sequence[Case] = CASES,
    warm_up: float = WARM_UP,
    seconds: float = SECONDS,
) -> Iterator[Row]:
    """The sets, and queries that are added while the last of them runs."""
    for i, case in enumerate(cases):
        progress(f"registering {case.what}")
        with bed(spark, state / str(i), case.queries(), one_function) as made:
            progress(f"{case.what}, registered in {made.registered:.1f} s")
            found = made.play(case.rate, warm_up, seconds)
            progress(f"{case.what}: p50 {span(found['p50'])}, p99 {span(found['p99'])}")
            yield {"part": "scale", "what": case.what, "goal": case.goal, "registered": made.registered, **found}
            if case is cases[-1]:
                yield add(made, case.rate, found["p99"], progress, warm_up / 2)


def add(made: Bed, rate: float, before: float, progress: Progress, warm_up: float, number: int = ADDED) -> Row:
    """Add queries while others run: how long it takes, and what it does to the others."""
    took: list[float] = []
    sink = next(iter(made.engine.queries.values())).sink

    def during() -> None:
        for i in range(number):
            time.sleep(0.5)
            began = time.perf_counter()
            # Far above any price: it adds no results, so as many are expected as before.
            made.engine.query(f"late{i}", alert(i, 2000.0 + i), sink=sink)
            took.append(time.perf_counter() - began)

    found = made.play(rate, warm_up, number * 1.0, during)
    progress(f"adding a query takes {span(median(took))}; p99 around it {span(found['p99'])}")
    times = {"added": number, "median": median(took), "most": max(took), "p99_before": before}
    return {"part": "added", **times, **found}


def growth(
    spark: SparkSession,
    state: Path,
    progress: Progress,
    same: Sequence[int] = GROWING_SAME,
    shapes: Sequence[int] = GROWING_SHAPES,
    warm_up: float = SHORT_WARM_UP,
    seconds: float = SHORT,
) -> Iterator[Row]:
    """What a million tuples cost with few queries and with many."""
    cases = [("one shape", n, of_one_shape) for n in same] + [
        ("different shapes", n, lambda n: of_shapes(n, n)) for n in shapes
    ]
    for i, (kind, n, make) in enumerate(cases):
        with bed(spark, state / str(i), make(n), one_function) as made:
            found = made.play(SLOWER, warm_up, seconds)
            progress(f"{n:,} queries of {kind}: {found['cpu'] or 0:.2f} CPU seconds per million tuples")
            yield {"part": "growth", "kind": kind, **found}


def sinks(
    spark: SparkSession,
    state: Path,
    progress: Progress,
    queries: int = WRITING,
    rates: Sequence[float] = SINK_RATES,
    warm_up: float = SHORT_WARM_UP,
    seconds: float = SHORT,
) -> Iterator[Row]:
    """Queries that match much: the highest rate of results that each kind of sink takes soon enough."""
    out = state / "out"
    out.mkdir(parents=True)
    kinds: dict[str, Sinks] = {
        "callback": lambda ear: lambda _: callback(lambda rows, _: ear.take(rows["arrived"].to_numpy())),
        "memory": lambda ear: lambda _: Noted(memory(), ear),
        "jsonl": lambda ear: lambda name: Noted(jsonl(out / f"{name}.jsonl"), ear),
        "parquet": lambda ear: lambda name: Noted(parquet(out / name), ear),
        "one callback": one_function,
        "one parquet": lambda ear: shared("all", Noted(parquet(out / "all"), ear)),
    }
    for i, (kind, sink) in enumerate(kinds.items()):
        best: Row | None = None
        beyond: Row | None = None
        with bed(spark, state / str(i), of_much(queries, SHARE), sink) as made:
            for rate in rates:
                found = made.play(rate, warm_up, seconds)
                if found["missing"] or (found["p99"] or 0.0) > SOON:
                    beyond = found
                    break
                best = found
        progress(f"{kind}: {best['per_second'] if best else 0:,.0f} results per second")
        yield {"part": "sinks", "sink": kind, "highest": best, "beyond": beyond}

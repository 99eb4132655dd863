"""How fresh joins are: tables of a PostgreSQL that change at skewed rates, and a fifth of what full refreshes take.

Queries look rows up in two tables of five parts each, some parts much more often than others; parts change at rates
that have nothing to do with that. Full refreshes would read every part anew every 1.5 s. Each way of spending a fifth
of that has the same time and meets the same changes, one after the other on one engine, which goes on learning; the
order is another one for each seed. Rows carry a version, and so does a join's result: it was fresh if the database
had no newer one when the result came.
"""

import bisect
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.bench import postgres
from headgate.bench.played import Floats, Played
from headgate.bench.report import Check, Report, at_least, at_most
from headgate.engine import sink, table
from headgate.engine.engine import Engine
from headgate.engine.session import session
from headgate.errors import InputError
from headgate.freshness.baselines import by_change, uniform
from headgate.freshness.problem import Problem, perceived
from headgate.freshness.refreshing import SAVED, Way
from headgate.freshness.solver import solve

SEEDS = (1, 2, 3)
WAYS: tuple[Way, ...] = ("profile", "uniform", "change")
TABLES, PARTS, ROWS = 2, 5, 20
"""Tables, parts of each, and rows of a part."""
CHANGES = 2.0
"""Changes per second of all parts together."""
FULL, SHARE = 1.5, 0.2
"""Seconds from one full refresh to the next, and the share of that which the budget allows."""
THETA = 1.4
"""How skewed lookups are: the i-th part has a share of i^-θ."""
PERIOD = 10.0
RATE = 400.0
"""Tuples per second."""
LEARNING, SETTLING, SECONDS = 25.0, 4.0, 26.0

Progress = Callable[[str], None]
Row = dict[str, Any]
_N = TABLES * PARTS
BUDGET = SHARE * _N / FULL
"""Refreshes per second."""


@dataclass(frozen=True, slots=True)
class World:
    """What changes and what is looked up, part by part: changes per second, shares of lookups."""

    rates: Floats
    shares: Floats

    @classmethod
    def of(cls, seed: int) -> "World":
        """Exponential rates, and shares that fall by rank, each in an order of its own."""
        chance = np.random.default_rng(seed)
        rates = chance.exponential(size=_N)
        shares = chance.permutation(np.arange(1, _N + 1) ** -THETA)
        return cls(rates * CHANGES / rates.sum(), shares / shares.sum())

    def expected(self, way: Way) -> float:
        """The perceived freshness that theory has for a way which knows all this."""
        problem = Problem.of(self.shares, self.rates, BUDGET)
        f = {"profile": lambda p: solve(p).f, "uniform": uniform, "change": by_change}[way](problem)
        return perceived(problem, f)


@dataclass
class Changing:
    """The tables in the database, and when each part got which version."""

    database: postgres.Postgres
    times: list[list[float]] = field(default_factory=lambda: [[0.0] for _ in range(_N)])

    def make(self) -> None:
        """All parts at version 0."""
        for i in range(TABLES):
            keys = f"SELECT g, (g / {ROWS})::int, 0::bigint FROM generate_series(0, {PARTS * ROWS - 1}) g"  # noqa: S608
            self.database.sql(f"DROP TABLE IF EXISTS t{i}")
            self.database.sql(f"CREATE TABLE t{i} AS SELECT * FROM ({keys}) AS made(k, part, version)")  # noqa: S608

    @contextmanager
    def going_on(self, rates: Floats, seed: int) -> Iterator[None]:
        """Change parts at these rates, for as long as this lasts."""
        over = threading.Event()
        work = threading.Thread(target=self._change, args=(rates, np.random.default_rng(seed), over), daemon=True)
        work.start()
        try:
            yield
        finally:
            over.set()
            work.join()

    def _change(self, rates: Floats, chance: np.random.Generator, over: threading.Event) -> None:
        began = time.time()
        with self.database.connected() as connection:
            for at, part in _planned(rates, chance):
                over.wait(max(0.0, began + at - time.time()))
                if over.is_set():
                    return
                at_table, within = divmod(part, PARTS)
                newest = len(self.times[part])
                connection.do(f"UPDATE t{at_table} SET version = {newest} WHERE part = {within}")  # noqa: S608
                self.times[part].append(time.time())

    def newest(self, part: int, at: float) -> int:
        """The version that a part had at a time."""
        return bisect.bisect_right(self.times[part], at) - 1


def _planned(rates: Floats, chance: np.random.Generator) -> Iterator[tuple[float, int]]:
    """Which part changes when: by chance while it is learned, and after that in the same way for each way."""

    def drawn(seconds: float) -> list[tuple[float, int]]:
        times = np.sort(chance.uniform(0, seconds, chance.poisson(rates.sum() * seconds)))
        return list(zip(times.tolist(), chance.choice(_N, len(times), p=rates / rates.sum()).tolist(), strict=True))

    yield from drawn(LEARNING)
    again = drawn(SETTLING + SECONDS)
    for i in range(len(WAYS)):
        yield from ((LEARNING + i * (SETTLING + SECONDS) + at, part) for at, part in again)


@dataclass
class Seen:
    """What joins saw: of how many results, and how many of them were as the database was then."""

    changing: Changing
    results: int = 0
    fresh: int = 0
    on: bool = False

    def hear(self, rows: pa.Table, run: int) -> None:  # noqa: ARG002 - as sinks call
        """Count results as they come."""
        if not self.on:
            return
        now = time.time()
        parts, versions = rows.column("part").to_numpy(), rows.column("version").to_numpy()
        newest = {int(part): self.changing.newest(int(part), now) for part in np.unique(parts)}
        self.results += len(parts)
        self.fresh += int(sum(newest[int(part)] == version for part, version in zip(parts, versions, strict=True)))


def run(progress: Progress) -> Report:
    """All seeds, and whether the profile was ahead."""
    if missing := postgres.missing():
        name = missing.partition(" (")[0]
        raise InputError("benchmark fresh-tables has a database", f"no {name}", f"Install {missing}.")
    spark = session(jars=[postgres.JAR])
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with postgres.running() as database:
            found = [row for seed in SEEDS for row in _seed(seed, database, spark, progress)]
    finally:
        spark.stop()
    return Report("fresh-tables", tuple(found), tuple(checks(found)))


def _seed(seed: int, database: postgres.Postgres, spark: Any, progress: Progress) -> Iterator[Row]:  # noqa: ANN401
    world, changing = World.of(seed), Changing(database)
    changing.make()
    seen = Seen(changing)
    source = Played(_rows(world, seed)(0, np.empty(0)).schema, _rows(world, seed), every=0.02)
    with tempfile.TemporaryDirectory() as folder, Engine(spark, Path(folder), lanes=2) as engine:
        engine.stream("looks", source)
        bounds = [ROWS * i for i in range(1, PARTS)]
        for i in range(TABLES):
            place = table.jdbc(database.url, f"t{i}", database.properties)
            engine.table(f"t{i}", place, parts=table.ranges("k", *bounds))
            text = f"SELECT l.part, t.version FROM looks l JOIN t{i} t ON l.k = t.k WHERE l.at = {i}"  # noqa: S608
            engine.query(f"q{i}", text, sink=sink.callback(seen.hear))
        engine.refreshing(PERIOD * BUDGET, per=PERIOD, policy="uniform")
        engine.start()
        order = [WAYS[(i + seed) % len(WAYS)] for i in range(len(WAYS))]
        source.play(np.arange(0.0, LEARNING + len(order) * (SETTLING + SECONDS) + 5.0, 1 / RATE))
        with changing.going_on(world.rates, seed):
            progress(f"seed {seed}: learning what changes and what is looked up")
            time.sleep(LEARNING)
            for way in order:
                progress(f"seed {seed}: refreshing by {way}")
                yield _way(engine, way, seed, world, seen)


def _way(engine: Engine, way: Way, seed: int, world: World, seen: Seen) -> Row:
    engine.refreshing(PERIOD * BUDGET, per=PERIOD, policy=way)
    time.sleep(SETTLING)
    before = engine.status()
    seen.results, seen.fresh, seen.on = 0, 0, True
    began = time.time()
    time.sleep(SECONDS)
    seen.on = False
    took, after = time.time() - began, engine.status()
    refreshes = sum(each.refreshes for each in after.tables) - sum(each.refreshes for each in before.tables)
    estimated = after.refreshing.perceived if after.refreshing else None
    return {
        "seed": seed,
        "way": way,
        "results": seen.results,
        "fresh": seen.fresh / max(1, seen.results),
        "expected": world.expected(way),
        "estimated": estimated,
        "refreshes": refreshes,
        "allowed": BUDGET * took,
        "failures": sum(each.failures for each in after.tables) - sum(each.failures for each in before.tables),
        "response_p99": max((each.response_p99 or 0.0 for each in after.queries), default=0.0),
    }


def _rows(world: World, seed: int) -> Callable[[int, Floats], pa.Table]:
    chance = np.random.default_rng(1000 + seed)

    def rows(first: int, stamps: Floats) -> pa.Table:  # noqa: ARG001 - as it is played
        parts = chance.choice(_N, size=len(stamps), p=world.shares)
        keys = (parts % PARTS) * ROWS + chance.integers(0, ROWS, size=len(stamps))
        return pa.table({"part": parts.astype(np.int64), "at": parts // PARTS, "k": keys.astype(np.int64)})

    return rows


def checks(found: Sequence[Row]) -> list[Check]:
    """The goals: ahead of both with every seed, and within the budget."""
    fresh = {(row["seed"], row["way"]): row["fresh"] for row in found}
    seeds = sorted({row["seed"] for row in found})
    mean = {way: float(np.mean([fresh[seed, way] for seed in seeds])) for way in WAYS}
    others = [way for way in WAYS if way != "profile"]
    worst = {way: min(fresh[seed, "profile"] / max(fresh[seed, way], 1e-9) for seed in seeds) for way in others}
    over = max(row["refreshes"] - row["allowed"] for row in found)
    ahead = "fresh joins by profile, of those"
    return [
        *(at_least(f"{ahead} by {way}", mean["profile"] / mean[way], 1.0, "×") for way in others),
        *(at_least(f"{ahead} by {way}, with the worst seed", worst[way], 1.0, "×") for way in others),
        at_most("refreshes beyond the budget, in any round", over, float(SAVED)),
        at_most("refreshes that failed", float(sum(row["failures"] for row in found)), 0.0),
    ]

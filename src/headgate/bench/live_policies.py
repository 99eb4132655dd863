"""Do the policies matter on Spark? Every query-level policy over the same queries and arrivals, live and predicted.

Twenty queries whose work per tuple is spread 16 to 1 by real work in their SQL read one stream and keep one resident
lane busy for 0.8 of the time, in bursts of half as much more. A tuple costs a query about as much as the command
around it, or more: that is the grain for which the policies were published, and trains have one to some tuples. Each
policy serves the same arrivals, one after the other on the same engine, and the simulator says what it expects of it
for the `a` and `b` that the engine has measured. A second set of queries is light: there the command around them is
all that counts, and one fused unit is the answer.
"""

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headgate.bench.played import Floats, Played, Rows
from headgate.bench.report import Check, Report, at_least
from headgate.engine.engine import Engine
from headgate.engine.regime import AUTO
from headgate.engine.session import session
from headgate.engine.sink import discard
from headgate.engine.status import QueryStatus
from headgate.monitor.figures import Figures, Served, figures
from headgate.policy.registry import POLICIES
from headgate.sim.replay import replay
from headgate.sim.workload import UnitSpec, Workload

QUERIES = 20
LIGHT_QUERIES = 40
COSTS = (1, 2, 4, 8, 16)
SHARES = (0.1, 0.4, 0.7, 1.0)
"""Selectivities: every query of a cost has another one."""
LOAD = 0.8
SEEDS = (1, 2, 3)
SECONDS = 20.0
TEXT = 40_000
"""How often a text of some characters is repeated in each tuple, for queries to work on."""
CALIBRATED, LIGHT_CALIBRATED = 8, 16_000
"""Tuples of the longest train from which a and b are learned."""
SLICE = 0.05
"""Seconds of work in a train, at most."""
LIGHT_RATE = 20_000.0
LIGHT_SECONDS = 5.0
RANKED = ("fcfs", "rr", "hnr", "bsd")
BEST = {"avg": "hnr", "max": "lsf", "rms": "bsd"}
"""What each of these policies is the best at, as published."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Heavy:
    """A query with work in it: so many `steps` in which a text becomes another one, and a `share` of the tuples."""

    name: str
    number: int
    steps: int
    share: float

    @property
    def sql(self) -> str:
        """The filter depends on the work, so no tuple escapes it.

        The work is in the tuples: a long formula would cost its planning, however few there are. Its first step is
        like that of no other query, so that nothing is shared.
        """
        text = f"replace(text, 'ab', 'x{self.number}')"
        for i in range(1, self.steps):
            text = f"replace({text}, 'a', 'bc')" if i % 2 else f"replace({text}, 'bc', 'a')"
        inner = f"SELECT id, length({text}) AS w FROM load"  # noqa: S608 - numbers of ours
        return f"SELECT id, w FROM ({inner}) WHERE pmod(w * 7919 + id, 1000) < {self.share * 1000:g}"  # noqa: S608


def heavy() -> list[Heavy]:
    """The queries of the first table."""
    return [
        Heavy(f"q{i:02d}", i, COSTS[i % len(COSTS)], SHARES[i // len(COSTS) % len(SHARES)]) for i in range(QUERIES)
    ]


def light() -> dict[str, str]:
    """The queries of the second: plain filters."""
    text = "SELECT id, x * {0} AS y FROM load WHERE x % 100 = {0}"
    return {f"f{i:02d}": text.format(i) for i in range(LIGHT_QUERIES)}


def arrivals(rate: float, seconds: float, seed: int) -> Floats:
    """Bursts: Poisson arrivals that come three times as fast for a while as they do otherwise."""
    rng = np.random.default_rng(seed)
    found: list[Floats] = []
    now = 0.0
    while now < seconds:
        for factor, length in ((1.5, rng.exponential(2.0)), (0.5, rng.exponential(2.0))):
            n = rng.poisson(rate * factor * length)
            found.append(np.sort(rng.uniform(now, now + length, n)))
            now += length
    times = np.concatenate(found)
    times = times[times < seconds]
    # The same number of tuples for every seed, so that the load is what it is said to be.
    n = round(rate * seconds)
    return np.sort(rng.choice(times, n, replace=len(times) < n))


def rows(first: int, stamps: Floats) -> pa.Table:
    """Numbered tuples, for light queries."""
    ids = np.arange(first, first + len(stamps))
    return pa.table({"id": ids, "x": ids * 7919 % 100_003})


def texts(first: int, stamps: Floats) -> pa.Table:
    """Numbered tuples with something to work on."""
    ids = np.arange(first, first + len(stamps))
    short = pa.array([f"abacadab{i:06d}" for i in ids.tolist()], pa.string())
    return pa.table({"id": ids, "text": pc.binary_repeat(short, TEXT)})


def run(progress: Progress) -> Report:
    """Both tables, and whether live and predicted rankings agree."""
    spark = session()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with tempfile.TemporaryDirectory() as folder:
            with _Bed(spark, Path(folder) / "heavy", texts, {q.name: q.sql for q in heavy()}, progress) as bed:
                first = _compare(bed, progress)
            with _Bed(spark, Path(folder) / "light", rows, light(), progress) as bed:
                second = _light(bed, progress)
    finally:
        spark.stop()
    return Report("live-policies", (*first, *second), tuple(_checks(first, second)))


class _Bed:
    """An engine with queries over one stream that a benchmark feeds."""

    def __init__(
        self, spark: SparkSession, state: Path, rows: Rows, queries: dict[str, str], progress: Progress
    ) -> None:
        self.source = Played(rows(0, np.empty(0)).schema, rows)
        self.engine = Engine(spark, state)
        self.engine.stream("load", self.source)
        for i, (name, sql) in enumerate(queries.items()):
            progress(f"planning query {i + 1} of {len(queries)}")
            self.engine.query(name, sql, sink=discard(), limit="300s")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.stop()

    def calibrate(self, n: int, rounds: int) -> None:
        """Run every query over trains of several lengths, so that a and b are known."""
        self.engine.start("rr", train={"most": n}, fuse=False)
        for i in range(rounds):
            self.source.play(np.zeros(n >> (i % 3)))
            self.drain()

    def serve(
        self, policy: str, times: Floats, train: dict[str, float] | None, *, fuse: bool | None
    ) -> Sequence[QueryStatus]:
        """Serve arrivals under a policy until all is done; how the queries fared."""
        self.engine.switch(policy, train=train, fuse=fuse)
        self.source.play(times)
        self.drain()
        return self.engine.status().queries

    def drain(self) -> None:
        """Wait until every query has read all that was sent."""
        while any(self.source.sent > q.tuples for q in self.engine.status().queries):
            time.sleep(0.1)

    @property
    def costs(self) -> dict[str, tuple[float, float]]:
        """The a and b of each query, as measured."""
        return {q.name: (q.a, q.b) for q in self.engine.status().queries}

    @property
    def served(self) -> list[Served]:
        """What the queries did since the last switch."""
        return [query.served for query in self.engine.queries.values()]


def _compare(bed: _Bed, progress: Progress) -> list[dict[str, Any]]:
    progress("calibrating a and b")
    bed.calibrate(n=CALIBRATED, rounds=9)
    train = {"slice": SLICE, "most": math.inf}
    rate = LOAD / sum(b for _, b in bed.costs.values())
    for seed in SEEDS:
        # As arrivals cut them, trains are short and many, and their overhead is a part of the load.
        bed.serve("rr", arrivals(rate, SECONDS, 100 + seed), train, fuse=False)
        rate *= LOAD * SECONDS / sum(one.busy for one in bed.served)
    costs = bed.costs
    shares = {q.name: q.share for q in heavy()}
    a = mean(a for a, _ in costs.values())
    policies = (*POLICIES, AUTO)
    live: dict[str, list[Figures]] = {policy: [] for policy in policies}
    predicted: dict[str, list[Figures]] = {policy: [] for policy in policies}
    units: dict[str, int] = {}
    specs = tuple(UnitSpec(name, ("load",), *costs[name], S=shares[name]) for name in costs)
    # Seed by seed: the machine may be faster at one time than at another, for all policies then.
    for seed in SEEDS:
        times = arrivals(rate, SECONDS, seed)
        for policy in policies:
            progress(f"{policy}, seed {seed} of {SEEDS[-1]}")
            bed.serve(policy, times, train, fuse=None)
            live[policy].append(figures(_at(bed.served, costs), SECONDS))
            units[policy] = len({q.unit for q in bed.engine.status().queries})
            simulated = replay(Workload(specs, {"load": times}), "bsd" if policy == AUTO else policy, _train(train))
            predicted[policy].append(simulated.summary.overall)
    b = median(b for _, b in costs.values())
    return [_row("heavy", policy, live[policy], predicted[policy], units[policy], a, b) for policy in policies]


def _light(bed: _Bed, progress: Progress) -> list[dict[str, Any]]:
    progress("calibrating the light queries")
    bed.calibrate(n=LIGHT_CALIBRATED, rounds=6)
    costs = bed.costs
    rows = []
    for policy in (*RANKED, AUTO):
        live: list[Figures] = []
        units = 0
        for seed in SEEDS:
            progress(f"light queries, {policy}, seed {seed} of {SEEDS[-1]}")
            bed.serve(policy, arrivals(LIGHT_RATE, LIGHT_SECONDS, seed), None, fuse=None)
            live.append(figures(_at(bed.served, costs), LIGHT_SECONDS))
            units = len({q.unit for q in bed.engine.status().queries})
        a, b = (mean(each) for each in zip(*costs.values(), strict=True))
        rows.append(_row("light", policy, live, [], units, a, b))
    return rows


def _at(served: Sequence[Served], costs: dict[str, tuple[float, float]]) -> list[Served]:
    """The same, with slowdowns relative to the calibrated times: one yardstick for all policies."""
    for one in served:
        one.cost = type(one.cost)(*costs[one.unit])
    return list(served)


def _train(train: dict[str, float]) -> dict[str, Any]:
    return {"train": train}


def _row(
    table: str, policy: str, live: list[Figures], predicted: list[Figures], units: int, a: float, b: float
) -> dict[str, Any]:
    def over(found: list[Figures], name: str) -> float | None:
        return mean(getattr(f, name) for f in found) if found else None

    # Queries that are fused have no runs of their own.
    apart = [f for f in live if f.overhead]
    work = mean((f.utilisation - f.overhead) / f.overhead for f in apart) if apart else None
    return {
        "table": table,
        "policy": policy,
        "seeds": len(live),
        "units": units,
        "avg_slowdown": over(live, "avg_slowdown"),
        "max_slowdown": over(live, "max_slowdown"),
        "rms_slowdown": over(live, "rms_slowdown"),
        "avg_response": over(live, "avg_response"),
        "predicted_avg": over(predicted, "avg_slowdown"),
        "predicted_max": over(predicted, "max_slowdown"),
        "predicted_rms": over(predicted, "rms_slowdown"),
        "rms_by_seed": [f.rms_slowdown for f in live],
        "jobs": over(live, "runs"),
        "train": over(live, "avg_train"),
        "work_to_a": work,
        "utilisation": over(live, "utilisation"),
        "a": a,
        "b": b,
    }


def _others(rows: list[dict[str, Any]], column: str, policy: str) -> float:
    """The lowest value of another policy, relative to that of this one."""
    mine = next(row[column] for row in rows if row["policy"] == policy)
    # The default runs one of them under another name.
    return float(min(row[column] for row in rows if row["policy"] not in (policy, AUTO)) / mine)


def _checks(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[Check]:
    by = {row["policy"]: row for row in first}
    ranked = sorted(RANKED, key=lambda p: by[p]["rms_slowdown"])
    expected = sorted(RANKED, key=lambda p: by[p]["predicted_rms"])
    pairs = [(p, q) for i, p in enumerate(expected) for q in expected[i + 1 :]]
    agree = sum(ranked.index(p) < ranked.index(q) for p, q in pairs)
    best = {kind: _others(first, f"{kind}_slowdown", policy) for kind, policy in BEST.items()}
    lighter = {row["policy"]: row for row in second}
    apart = min(lighter[p]["avg_response"] for p in RANKED)
    return [
        at_least(
            f"pairs of {', '.join(RANKED)} in the predicted order of rms slowdown (live: {' < '.join(ranked)}; "
            f"predicted: {' < '.join(expected)})",
            agree,
            len(pairs),
        ),
        *(
            at_least(f"lowest {kind} slowdown of another policy / that of {policy}", best[kind], 1.0, "×")
            for kind, policy in BEST.items()
        ),
        at_least("work of a train / overhead a, under bsd", by["bsd"]["work_to_a"], 5.0, "×"),
        at_least(
            "light queries: best response of separate units / that of the default",
            apart / lighter[AUTO]["avg_response"],
            1.0,
            "×",
        ),
        Check(
            "light queries: units of the default",
            lighter[AUTO]["units"],
            f"< {LIGHT_QUERIES}",
            lighter[AUTO]["units"] < LIGHT_QUERIES,
        ),
        Check("heavy queries: units of the default", by[AUTO]["units"], f"= {QUERIES}", by[AUTO]["units"] == QUERIES),
    ]

"""The kernel of fused units alone: many queries over a train, at once and one by one.

A lane has one core, so each case runs in a process with one thread, and times are those of the core. What the kernel
is compared with gives the same rows: an expression for each query, all of them in one `select`; or, for alerts of one
shape, a join with the table of their constants.
"""

import functools
import operator
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from headgate.bench.report import Check, Report, at_least, at_most
from headgate.engine.kernel.expressions import arrow, expression
from headgate.engine.kernel.ir import Call, Column, Literal, Node, Segment
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import Add, Remove
from headgate.engine.kernel.shapes import shape_of

RUNS = {1_000: 60, 50_000: 20}
"""Lengths of trains, and how many of each."""
TRAINS = tuple(RUNS)
QUERIES, ALERTS = 1_000, 100_000
SYMBOLS, VENUES = 10_000, 20
_THREADS = "POLARS_MAX_THREADS"

Progress = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Progress) -> Report:
    """Measure all cases, and check them against the goals."""
    before = os.getloadavg()[0]
    rows: list[Row] = []
    threads = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        for case in (alike, different, alerts):
            progress(case.__doc__ or "")
            # A new process: Polars reads how many threads it may have when it is loaded.
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                rows += alone.submit(case).result()
    finally:
        if threads is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = threads
    load = {"part": "load", "before": before, "after": os.getloadavg()[0], "cores": os.cpu_count()}
    return Report("kernel", (*rows, load), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals."""
    short, long = ({row["case"]: row for row in _trains(rows) if row["tuples"] == n} for n in TRAINS)
    (changes,) = (row for row in rows if row["part"] == "changes")
    limits = {"alike": 2.0, "alerts": 5.0, "different": 40.0}
    return [
        *(
            at_most(f"{case}: a train of {min(TRAINS):,}, ms", 1000 * short[case]["kernel"], ms)
            for case, ms in limits.items()
        ),
        at_least(f"alike: one by one / kernel, {max(TRAINS):,} tuples", long["alike"]["ratio"], 10.0, "×"),
        at_least(f"different: one by one / kernel, {min(TRAINS):,} tuples", short["different"]["ratio"], 1.0, "×"),
        at_least(f"alerts: a join / kernel, {min(TRAINS):,} tuples", short["alerts"]["ratio"], 1.0, "×"),
        at_most(f"adding a query to {ALERTS:,}, ms", 1000 * changes["add"], 5.0),
        at_most("results that differ", sum(abs(row["results"] - row["expected"]) for row in _trains(rows)), 0),
    ]


def _trains(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["part"] == "trains"]


# What the queries are over

SYM, PRICE, VOL = Column("sym", "string"), Column("price", "double"), Column("vol", "bigint")
SIDE, VENUE = Column("side", "string"), Column("venue", "string")
VALUE = Call("Multiply", (PRICE, Call("Cast", (VOL,), "double")), "double")
COLUMNS = (("sym", SYM), ("price", PRICE))


def ticks(n: int, seed: int) -> pa.Table:
    """A train of the market: evenly drawn symbols and venues, prices with a long tail."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "sym": _symbols(rng, n),
            "price": rng.lognormal(4, 1, n),
            "vol": rng.integers(1, 10_000, n),
            "side": ["BS"[k] for k in rng.integers(0, 2, n)],
            "venue": _venues(rng, n),
        }
    )


def _symbols(rng: np.random.Generator, n: int) -> list[str]:
    return [f"S{k:05}" for k in rng.integers(0, SYMBOLS, n)]


def _venues(rng: np.random.Generator, n: int) -> list[str]:
    return [f"V{k}" for k in rng.integers(0, VENUES, n)]


class Draw:
    """Conditions with constants that are drawn."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        sample = ticks(50_000, seed)
        self._sorted = {"price": np.sort(sample["price"].to_numpy())}
        self._sorted["value"] = np.sort(sample["price"].to_numpy() * sample["vol"].to_numpy())

    def symbol(self, operand: Node = SYM) -> Call:
        """One symbol: a tuple in 10,000."""
        return _holds("EqualTo", operand, _text(*_symbols(self.rng, 1)))

    def venue(self) -> Call:
        """One venue: a tuple in 20."""
        return _holds("EqualTo", VENUE, _text(*_venues(self.rng, 1)))

    def volume(self) -> Call:
        """One volume: a tuple in 10,000."""
        return _holds("EqualTo", VOL, Literal(int(self.rng.integers(1, 10_000)), "bigint"))

    def above(self, share: float, name: str = "price", operand: Node = PRICE) -> Call:
        """A number so great that about this share of tuples has a greater one."""
        values = self._sorted[name]
        at = len(values) - 1 - int(len(values) * share * self.rng.uniform(0.8, 1.2))
        return _holds("GreaterThan", operand, Literal(float(values[at]), "double"))

    def band(self) -> tuple[Call, Call]:
        """A narrow range of prices."""
        low = float(self.rng.uniform(30, 80))
        ends = (("GreaterThanOrEqual", low), ("LessThanOrEqual", low + 0.01))
        return tuple(_holds(op, PRICE, Literal(end, "double")) for op, end in ends)  # type: ignore[return-value]


def _holds(op: str, *args: Node, options: tuple[object, ...] = ()) -> Call:
    return Call(op, args, "boolean", options)


def _text(value: str) -> Literal:
    return Literal(value, "string")


def _query(*where: Node, columns: Sequence[tuple[str, Node]] = COLUMNS) -> Segment:
    return Segment("ticks", (), where, None, tuple(columns))


BUY = _holds("EqualTo", SIDE, _text("B"))
LONG = _holds("EqualTo", Call("Length", (SYM,), "int"), Literal(6, "int"))
MANY = _holds("GreaterThan", VOL, Literal(9_000, "bigint"))


def twenty(draw: Draw) -> list[Segment]:
    """A query of each of 20 shapes, each for about one tuple in 10,000."""
    upper, double = Call("Upper", (SYM,), "string"), Call("Add", (PRICE, PRICE), "double")
    return [
        _query(draw.symbol()),
        _query(draw.volume()),
        _query(draw.above(1e-4)),
        _query(draw.above(1e-4, "value", VALUE)),
        _query(*draw.band()),
        _query(draw.symbol(), BUY),
        _query(draw.symbol(), _holds("Not", BUY)),
        _query(draw.symbol(), draw.above(0.5)),
        _query(draw.symbol(), MANY, draw.above(0.5)),
        _query(draw.venue(), draw.above(2e-3)),
        _query(draw.venue(), BUY, draw.above(4e-3)),
        _query(draw.venue(), draw.above(2e-3, "value", VALUE)),
        _query(draw.venue(), draw.volume()),
        _query(MANY, draw.above(1e-3)),
        _query(LONG, draw.symbol()),
        _query(draw.symbol(upper)),
        _query(_holds("Or", draw.symbol(), draw.volume())),
        _query(_holds("StartsWith", SYM, _text(_symbols(draw.rng, 1)[0]))),
        _query(_holds("In", SYM, *(_text(name) for name in _symbols(draw.rng, 2))), BUY),
        _query(_holds("GreaterThan", double, Literal(2 * float(draw.above(1e-4).args[1].value), "double"))),  # type: ignore[union-attr, arg-type]
    ]


def distinct(draw: Draw) -> Iterator[Segment]:
    """Queries without end, of which no two have the same shape."""
    rare: list[Callable[[], Node]] = [
        draw.symbol,
        draw.volume,
        lambda: draw.above(3e-4),
        lambda: draw.above(3e-4, "value", VALUE),
        lambda: _holds(
            "EqualTo",
            Call("Remainder", (VOL, Literal(int(draw.rng.integers(5_000, 9_999)), "bigint")), "bigint"),
            Literal(7, "bigint"),
        ),
        lambda: _holds("Like", SYM, _text(f"%{_symbols(draw.rng, 1)[0][2:]}%"), options=("\\",)),
    ]
    common: list[Callable[[], Node]] = [
        draw.venue,
        lambda: _holds("Not", draw.venue()),
        lambda: draw.above(0.3),
        lambda: draw.above(0.1, "value", VALUE),
        lambda: _holds("IsNotNull", VENUE),
        lambda: BUY,
        lambda: LONG,
        lambda: MANY,
    ]
    outputs = [SYM, PRICE, VOL, SIDE, VENUE, VALUE, Call("Upper", (SYM,), "string")]
    seen = set()
    while True:
        some = draw.rng.choice(len(common), draw.rng.integers(0, 4), replace=False)
        where = [rare[draw.rng.integers(len(rare))](), *(common[k]() for k in some)]
        shown = sorted(draw.rng.choice(len(outputs), draw.rng.integers(1, 4), replace=False))
        query = _query(*where, columns=[(f"c{k}", outputs[k]) for k in shown])
        shape, _ = shape_of(query)
        if shape not in seen:
            seen.add(shape)
            yield query


# The cases


def alike(runs: Mapping[int, int] = RUNS, count: int = QUERIES) -> list[Row]:
    """1,000 queries of 20 shapes"""
    draw = Draw(1)
    queries = [query for _ in range(count // 20) for query in twenty(draw)]
    return _one_by_one("alike", queries, runs)


def different(runs: Mapping[int, int] = RUNS, count: int = QUERIES) -> list[Row]:
    """1,000 queries of 1,000 shapes"""
    return _one_by_one("different", list(islice(distinct(Draw(2)), count)), runs)


def alerts(runs: Mapping[int, int] = RUNS, count: int = ALERTS) -> list[Row]:
    """100,000 queries of one shape"""
    rng = np.random.default_rng(3)
    prices = np.sort(ticks(50_000, 3)["price"].to_numpy())
    symbols = _symbols(rng, count)
    limits = prices[(len(prices) * (1 - rng.uniform(0, 0.1, count))).astype(np.int64) - 1]
    drawn = Draw(3)
    shape, _ = shape_of(_query(drawn.symbol(), drawn.above(0.1)))
    kernel = Kernel({})
    kernel.apply(Add(shape, range(count), (pa.array(symbols), pa.array(limits))))
    constants = pl.DataFrame({"_q": np.arange(count), "sym": symbols, "limit": limits})

    def joined(train: pa.Table) -> int:
        frame = pl.DataFrame(train)
        found = frame.join(constants, on="sym").filter(pl.col("price") > pl.col("limit"))
        return found.select("_q", "sym", "price").sort("_q", maintain_order=True).to_arrow().num_rows  # type: ignore[no-any-return]

    trains = [
        _measured("alerts", kernel, (count, 1), each, "a join with the constants", joined) for each in runs.items()
    ]
    return [*trains, _changes(kernel, shape, count)]


def _one_by_one(case: str, queries: Sequence[Segment], runs: Mapping[int, int]) -> list[Row]:
    kernel, shapes = Kernel({}), _added(queries)
    for change in shapes:
        kernel.apply(change)
    masks = [
        functools.reduce(operator.and_, map(expression, query.where)).alias(str(k)) for k, query in enumerate(queries)
    ]
    outputs = [[expression(node).alias(name) for name, node in query.columns] for query in queries]

    def separately(train: pa.Table) -> int:
        frame = pl.DataFrame(train)
        found = 0
        for k, mask in enumerate(frame.select(masks).get_columns()):
            rows = mask.arg_true()
            if len(rows):
                found += frame[rows].select(outputs[k]).to_arrow().num_rows
        return found

    size = len(queries), len(shapes)
    return [_measured(case, kernel, size, each, "an expression for each query", separately) for each in runs.items()]


def _added(queries: Sequence[Segment]) -> list[Add]:
    shapes: dict[Segment, list[tuple[int, tuple[Literal, ...]]]] = {}
    for number, query in enumerate(queries):
        shape, constants = shape_of(query)
        shapes.setdefault(shape, []).append((number, constants))
    return [
        Add(
            shape,
            [number for number, _ in some],
            tuple(
                pa.array([each.value for each in column], arrow(column[0].type))
                for column in zip(*(constants for _, constants in some), strict=True)
            ),
        )
        for shape, some in shapes.items()
    ]


def _measured(
    case: str,
    kernel: Kernel,
    size: tuple[int, int],
    runs: tuple[int, int],
    name: str,
    other: Callable[[pa.Table], int],
) -> Row:
    """Both ways over the same trains, in turn."""
    n, times = runs
    trains = [ticks(n, seed) for seed in range(100, 105)]
    ours: list[float] = []
    theirs: list[float] = []
    results = expected = 0
    for turn in range(times):
        train = trains[turn % len(trains)]
        needed = train.select(kernel.columns)
        spent, answer = _timed(lambda needed=needed: kernel.run(needed))  # type: ignore[misc]
        ours.append(spent)
        # The alternative may take a hundred times as long: a few times tell enough.
        if turn < len(trains):
            spent, rows = _timed(lambda train=train: other(train))  # type: ignore[misc]
            theirs.append(spent)
            results += sum(part.num_rows for part in answer.parts)
            expected += rows
    queries, shapes = size
    # The first trains are those on which the kernel measures what its conditions let through.
    took, alternative = median(ours[2 * len(trains) :]), median(theirs)
    row = {"part": "trains", "case": case, "queries": queries, "shapes": shapes, "tuples": n, "kernel": took}
    row |= {"other": name, "alternative": alternative, "ratio": alternative / took}
    return row | {"results": results, "expected": expected}


def _changes(kernel: Kernel, shape: Segment, count: int) -> Row:
    """A query comes, and one goes."""
    train = ticks(min(TRAINS), 200).select(kernel.columns)
    spent: dict[str, list[float]] = {"add": [], "after_add": [], "remove": [], "after_remove": [], "run": []}
    for number in range(count, count + 20):
        change = Add(shape, [number], (pa.array([f"N{number}"]), pa.array([1.0])))
        spent["add"].append(_timed(lambda change=change: kernel.apply(change))[0])  # type: ignore[misc]
        spent["after_add"].append(_timed(lambda: kernel.run(train))[0])
        spent["remove"].append(_timed(lambda number=number: kernel.apply(Remove([number])))[0])  # type: ignore[misc]
        spent["after_remove"].append(_timed(lambda: kernel.run(train))[0])
        spent["run"].append(_timed(lambda: kernel.run(train))[0])
    return {"part": "changes", "queries": count} | {name: median(times) for name, times in spent.items()}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found

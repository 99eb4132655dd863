"""Spark's way into the log: a data source whose plan is made once and whose tuples each job names anew.

A prepared plan reads `format("headgate")`. Which trains a job is for stands in a job-local property, so the same plan
runs over other tuples without being planned again, on several lanes at once, and a retried task reads the same.

This module and the droppers are shipped to the executors as they are: they need pyarrow and numpy there, and nothing
else of Headgate.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headgate.shed.droppers import STRATIFIED, Drop, Random, Stratified, evenly

PROPERTY = "headgate.input"
PANES = "__panes"
POSITION = "_position"
"""The time of a tuple where windows are over rows."""
HIDDEN = {
    "_arrival": "timestamp",
    "_time": "long",
    POSITION: "long",
    "_pane": "long",
    "_late": "long",
    "_kept": "double",
}
_STAMP = pa.timestamp("us", tz="UTC")
_TOGETHER = 65_536
"""Tuples from which on they are not read at once."""
_PANES_TOGETHER = 1 << 20
"""Partial results that are handed on at once, counted in each of their windows."""
_TRAINS = 2048
"""Trains that stay open: to open one takes longer than to read it, and every unit of a lane reads it."""


@dataclass(frozen=True)
class StreamInput:
    """The tuples of one stream that a job is for, by slices of trains.

    A slice is (file, offset, count, position of the first, watermark before, what of the tuples to drop). With a
    `sample` (first position, of, kept), so many are kept of those from that position on, evenly spread.
    """

    slices: tuple[tuple[str, int, int, int, int, Drop], ...]
    time: str | None
    sample: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class JobInput:
    """What a job reads.

    With `window` (size, slide) tuples get their pane; with `bounds` (start, end) only those of that window are read,
    and with `on_time` (low) only those from a time on that did not come behind the watermark. `panes` are the files
    with partial results, and `windows` the windows that they are put together for, in their order; `over_rows` says
    that their edges are positions.
    """

    streams: dict[str, StreamInput] = field(default_factory=dict)
    window: tuple[int, int] | None = None
    bounds: tuple[int, int] | None = None
    on_time: int | None = None
    panes: tuple[str, ...] = ()
    windows: tuple[tuple[int, int], ...] = ()
    over_rows: bool = False

    def text(self) -> str:
        """As the property holds it."""
        return json.dumps(asdict(self))


class Utility(NamedTuple):
    """Which tuples are worth more: those with one of the values in a column.

    Of the others so many percent are dropped (`low`), and so many of these (`high`).
    """

    column: str
    values: tuple[str | int | float, ...]
    low: int
    high: int

    @property
    def text(self) -> str:
        """As a `Drop` holds it."""
        return json.dumps(self)

    def protects(self, column: pa.ChunkedArray) -> Any:  # noqa: ANN401 - an array
        """Which of the tuples with such a column are worth more."""
        return np.asarray(pc.is_in(column, value_set=pa.array(self.values).cast(column.type)))


@lru_cache(256)
def utility_of(how: str) -> Utility | None:
    """The utility that a drop goes by, if it does."""
    return Utility(*json.loads(how)) if how not in ("", STRATIFIED) else None


class TrainSource(DataSource):
    """`format("headgate")`, with options stream and schema."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "headgate"

    def schema(self) -> StructType:
        """The columns that the option gives."""
        return StructType.fromJson(json.loads(self.options["schema"]))

    def reader(self, schema: StructType) -> "TrainReader":
        """A reader for all jobs of a plan."""
        return TrainReader(self.options["stream"], [f.name for f in schema.fields])


class TrainReader(DataSourceReader):
    """Reads what the job's property names."""

    def __init__(self, stream: str, columns: list[str]) -> None:
        self.stream, self.columns = stream, columns

    def partitions(self) -> list[InputPartition]:
        """One: a job runs on one lane."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - the only one
        """The tuples of the job."""
        context = TaskContext.get()
        named = json.loads((context and context.getLocalProperty(PROPERTY)) or "{}")
        of_panes = self.stream == PANES
        for table in panes(named, self.columns) if of_panes else tuples(named, self.stream, self.columns):
            yield from table.combine_chunks().to_batches()


def tuples(named: dict[str, Any], stream: str, columns: list[str]) -> Iterator[pa.Table]:
    """The tuples of a stream that a job names, some trains at a time."""
    given = named.get("streams", {}).get(stream)
    if not given:
        return
    for slices in _bundles(given["slices"]):
        yield _read(slices, named, stream, columns, given["time"], given.get("sample"))


def _bundles(slices: list[Any]) -> Iterator[list[Any]]:
    """The slices, some at a time: trains may be short, and what is done for many tuples at once costs little."""
    bundle, n = [], 0
    for each in slices:
        bundle.append(each)
        n += each[2]
        if n >= _TOGETHER:
            yield bundle
            bundle, n = [], 0
    if bundle:
        yield bundle


def _read(
    slices: list[Any],
    named: dict[str, Any],
    stream: str,
    columns: list[str],
    time: str | None,
    sample: tuple[int, int, int] | None,
) -> pa.Table:
    _, _, counts, firsts, befores, drops = zip(*slices, strict=True)
    wanted = {*columns, time, *(utility.column for _, how in drops if (utility := utility_of(how)))}
    stored = [name for name in _train(slices[0][0]).column_names if name in wanted]
    table = pa.concat_tables(_train(file).select(stored).slice(offset, n) for file, offset, n, *_ in slices)
    starts = np.cumsum([0, *counts[:-1]])
    positions = np.arange(table.num_rows) + np.repeat(np.array(firsts) - starts, counts)
    before = np.repeat(befores, counts)
    keep, share = _thinned(table, stream, positions, zip(drops, counts, strict=True))
    if sample:
        first, of, kept = sample
        keep = _both(keep, evenly(positions - first, of, kept))
        share = share * (kept / of)
    if time and (named.get("window") or named.get("bounds") or named.get("on_time") is not None):
        times = positions if time == POSITION else pc.cast(table.column(time), pa.int64()).to_numpy()
        keep = _both(keep, _kept(named, times, before))
        if not {"_time", "_pane", "_late"}.isdisjoint(columns):
            table = table.append_column("_time", pa.array(times))
            table = _with_panes(table, named.get("window"), times, before)
    if POSITION in columns:
        table = table.append_column(POSITION, pa.array(positions))
    if "_kept" in columns:
        table = table.append_column("_kept", pa.array(share))
    for name in ("_time", "_pane", "_late"):
        if name in columns and name not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, pa.int64()))
    table = table.select(columns)
    return table if keep is None else table.filter(pa.array(keep))


def panes(named: dict[str, Any], columns: list[str]) -> Iterator[pa.Table]:
    """The partial results of the panes of each window, tagged with the window."""
    edges = np.array(named.get("windows", ()), np.int64).reshape(-1, 2)
    firsts, ends = edges.T
    kind = pa.int64() if named.get("over_rows") else _STAMP
    for file in named.get("panes", ()):
        table = _open(file)
        starts = table.column("_pane").to_numpy()
        late = table.column("_late").to_numpy(zero_copy_only=False)
        # Windows are in order: those that a pane is in are in a row.
        low = np.searchsorted(ends, starts, side="right")
        counts = np.maximum(np.searchsorted(firsts, starts, side="right") - low, 0)
        rows = np.repeat(np.arange(len(starts)), counts)
        of = np.arange(len(rows)) + np.repeat(low - (np.cumsum(counts) - counts), counts)
        # A comparison with "not late", which is NaN here, is False.
        keep = np.flatnonzero(~(late[rows] >= ends[of]))
        keep = keep[np.argsort(of[keep], kind="stable")]
        for at in range(0, len(keep), _PANES_TOGETHER):
            some = keep[at : at + _PANES_TOGETHER]
            part = table.take(pa.array(rows[some]))
            for i, name in enumerate(("window_start", "window_end")):
                part = part.append_column(name, pa.array(edges[of[some], i]).cast(kind))
            yield part.select(columns)


def stays(
    stream: str,
    positions: Any,  # noqa: ANN401 - an array
    drop: Drop,
    column: Callable[[str], pa.ChunkedArray],
) -> tuple[Any, Any]:
    """Which of the tuples at these positions are not dropped, and the share that stays of tuples like each.

    `column` gives one of their columns, for where it is what they hold that decides.
    """
    percent, how = drop
    rates = np.full(len(positions), percent / 100)
    if utility := utility_of(how):
        rates = np.where(utility.protects(column(utility.column)), utility.high, utility.low) / 100
    dropper = Stratified if how == STRATIFIED else Random
    return dropper(seed_of(stream)).keep(positions, rates), 1 - rates


def _thinned(
    table: pa.Table,
    stream: str,
    positions: Any,  # noqa: ANN401 - an array
    drops: Iterable[tuple[Sequence[Any], int]],
) -> tuple[Any, Any]:
    """The same for tuples in a row, of which so many are dropped in one way and so many in another."""
    keep, share, at = None, np.ones(table.num_rows), 0
    for drop, some in groupby(drops, key=lambda each: Drop(*each[0])):
        here = slice(at, at := at + sum(count for _, count in some))
        if drop.percent:
            keep = np.ones(table.num_rows, dtype=bool) if keep is None else keep
            rows = table.slice(here.start, here.stop - here.start)
            keep[here], share[here] = stays(stream, positions[here], drop, rows.column)
    return keep, share


def seed_of(stream: str) -> int:
    """What the drops of a stream are drawn from: streams that are joined are not dropped at the same positions."""
    return zlib.crc32(stream.encode())


def _both(some: Any, others: Any) -> Any:  # noqa: ANN401 - arrays, or nothing
    if some is None or others is None:
        return others if some is None else some
    return some & others


def _open(file: str) -> pa.Table:
    with pa.memory_map(file) as source:
        return pa.ipc.open_file(source).read_all().replace_schema_metadata()


def _train(file: str) -> pa.Table:
    """A train, which several units read one after the other."""
    found = Path(file).stat()
    return _mapped(file, found.st_ino, found.st_mtime_ns, found.st_size)


@lru_cache(_TRAINS)
def _mapped(file: str, *_: int) -> pa.Table:
    return _open(file)


def _kept(named: dict[str, Any], times: Any, before: Any) -> Any:  # noqa: ANN401 - arrays
    if named.get("bounds"):
        start, end = named["bounds"]
        return (times >= start) & (times < end) & (before < end)
    if named.get("on_time") is not None:
        return (times >= named["on_time"]) & (times >= before)
    return None


def _with_panes(table: pa.Table, window: list[int] | None, times: Any, before: Any) -> pa.Table:  # noqa: ANN401
    if not window:
        return table
    size, slide = window
    pane = int(np.gcd(size, slide))
    starts = times // pane * pane
    ends = ((times - size) // slide + 1) * slide + size
    late = pa.array(before, mask=ends > before)
    return table.append_column("_pane", pa.array(starts)).append_column("_late", late)

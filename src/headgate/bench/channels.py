"""What it costs to ask a lane, on real Spark: over a Unix socket, over Arrow Flight, by files, and as a job.

The same program over the same trains everywhere, in turn; beside it the kernel alone, which all of them wait for. An
answer of no bytes is the round trip: a command there, and word that it is done.
"""

import os
import queue
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.bench.report import Check, Report, at_least, at_most
from headgate.engine.kernel.ir import Column, Segment
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import Add, Answer, Program
from headgate.engine.lanes import Executor, JobLane, Lane
from headgate.engine.quiet import spoken_to
from headgate.engine.reader import JobInput, StreamInput
from headgate.engine.resident.lane import Channel, ResidentLane
from headgate.engine.session import session
from headgate.shed.droppers import UNSHED

SIZES = (0, 1 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20)
"""Bytes of an answer."""
_ROW = 1 << 10
"""Bytes of a tuple: long ones, so that moving them is more than finding them."""
_SLOTS = 6
_NEVER, _ALWAYS = 1 << 62, 0

Progress = Callable[[str], None]
Row = dict[str, Any]


def run(progress: Progress, sizes: Sequence[int] = SIZES, rounds: int = 30) -> Report:
    """Measure all ways, and check them against the goals."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        progress("starting Spark")
        with spoken_to(folder / "spark.log"):
            spark = session(master=f"local[{_SLOTS}]")
        opened.callback(spark.stop)
        spark.sparkContext.setLogLevel("ERROR")
        lanes = _lanes(spark, folder / "lanes")
        for lane in lanes.values():
            opened.callback(lane.close)
        rows = [measured(lanes, train(folder, size // _ROW), size, rounds, progress) for size in sizes]
    load = {"part": "load", "before": before, "after": os.getloadavg()[0], "cores": os.cpu_count()}
    return Report("channels", (*rows, load), tuple(checks(rows)))


def checks(rows: Sequence[Row]) -> list[Check]:
    """The goals."""
    trip = rows[0]
    return [
        at_most("round trip over a Unix socket, ms", 1000 * trip["unix"], 1.0),
        at_most("round trip over Arrow Flight, ms", 1000 * trip["flight"], 2.0),
        at_least("round trip: a job / Arrow Flight", trip["job"] / trip["flight"], 10.0, "×"),
    ]


def measured(lanes: Mapping[str, Lane], given: JobInput, size: int, rounds: int, progress: Progress) -> Row:
    """The median time of each way, in turns; large answers less often."""
    program = Program("texts", {}, [Add(_ALL, [0])])
    kernel = _Alone(program, given)
    runs = rounds if size <= 1 << 20 else max(3, rounds // 5)
    took: dict[str, list[float]] = {"kernel": [], **{name: [] for name in lanes}}
    for i in range(runs):
        progress(f"answers of {size:,} bytes, round {i + 1} of {runs}")
        took["kernel"].append(_timed(kernel.run))
        for name, lane in lanes.items():
            # Twice, and the second counts: the others have had the caches.
            times = _ask(lane, lambda executor: [_timed(lambda: executor.answer(program, given)) for _ in range(2)])
            took[name].append(times[1])
    found = {name: median(times[1:]) for name, times in took.items()}
    return {"part": "answers", "bytes": size, "runs": runs - 1, **found}


_TEXT = Column("text", "string")
_ALL = Segment("texts", (), (), None, (("text", _TEXT),))


class _Alone:
    """The program in this process."""

    def __init__(self, program: Program, given: JobInput) -> None:
        self._kernel = Kernel(program.tables)
        for change in program.changes:
            self._kernel.apply(change)
        self._files = [slice_[0] for stream in given.streams.values() for slice_ in stream.slices]

    def run(self) -> Answer:
        """What a worker does between the command and the answer."""
        tables = []
        for file in self._files:
            with pa.memory_map(file) as source:
                tables.append(pa.ipc.open_file(source).read_all().select([_TEXT.name]))
        return self._kernel.run(pa.concat_tables(tables)) if tables else Answer(())


def _lanes(spark: SparkSession, folder: Path) -> dict[str, Lane]:
    ways: dict[str, tuple[Channel, int]] = {
        "unix": ("unix", _NEVER),
        "unix_file": ("unix", _ALWAYS),
        "flight": ("flight", _NEVER),
        "flight_file": ("flight", _ALWAYS),
    }
    found: dict[str, Lane] = {}
    for name, (kind, large) in ways.items():
        lane = ResidentLane(name, spark, folder, channel=kind, large=large)
        if not lane.ready(60):
            raise RuntimeError(lane.trouble)
        found[name] = lane
    return found | {"job": JobLane("job", spark)}


def train(folder: Path, n: int) -> JobInput:
    """A train of so many tuples, as a job's input."""
    if not n:
        return JobInput()
    file = folder / f"{n}.arrow"
    table = pa.table({"text": [f"{i:0{_ROW}}" for i in range(n)]})
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return JobInput({"texts": StreamInput(((str(file), 0, n, 0, 0, UNSHED),), None)})


def _ask(lane: Lane, what: Callable[[Executor], list[float]]) -> list[float]:
    """What comes of some work on a lane."""
    found: queue.SimpleQueue[list[float] | Exception] = queue.SimpleQueue()

    def work(executor: Executor) -> None:
        try:
            found.put(what(executor))
        except Exception as error:  # noqa: BLE001 - raised below, where somebody waits for it
            found.put(error)

    lane.assign("bench", work)
    got = found.get()
    if isinstance(got, Exception):
        raise got
    return got


def _timed(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began

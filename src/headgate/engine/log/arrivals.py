"""What comes to a stream as its next train: when it arrived, its event times, and the watermarks around it."""

import json
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.engine.log.files import ARRIVAL, STAMP
from headgate.engine.log.mark import Mark
from headgate.engine.log.stored import StoredTrain
from headgate.engine.source.protocol import Rejected
from headgate.engine.windows import NEVER

_MICROS = 1_000_000


class Arrivals:
    """Makes trains of the rows that come to a stream. The `delay` is in microseconds; `stored` is what files hold."""

    def __init__(self, stream: str, schema: pa.Schema, event_time: str | None, delay: int) -> None:
        self.stream, self.event_time, self.delay = stream, event_time, delay
        self.stored = pa.schema([*schema, pa.field(ARRIVAL, STAMP)])

    def timed(self, rows: pa.Table, stamps: NDArray[np.int64]) -> tuple[pa.Table, NDArray[np.int64], list[Rejected]]:
        """The rows without those that have no event time though the stream has."""
        if self.event_time is None or not rows.column(self.event_time).null_count:
            return rows, stamps, []
        missing = np.asarray(pc.is_null(rows.column(self.event_time)))
        bad = rows.filter(pa.array(missing)).to_pylist()
        reason = f"no event time: column {self.event_time} is empty"
        found = [Rejected(json.dumps(row, default=str), reason, f"stream {self.stream}") for row in bad]
        return rows.filter(pa.array(~missing)), stamps[~missing], found

    def train(
        self, last: StoredTrain | None, rows: pa.Table, stamps: NDArray[np.int64]
    ) -> tuple[StoredTrain, int, pa.Table]:
        """The train of some rows, how many of them are late, and what is stored of them."""
        seq, first = (last.seq + 1, last.end) if last else (0, 0)
        before, arrival_before = marks(last)
        event_first = event_last = None
        after, late = before, 0
        if self.event_time is not None:
            times = pc.cast(rows.column(self.event_time), pa.int64())
            event_first, event_last = (value.as_py() for value in pc.min_max(times).values())
            after = max(before, event_last - self.delay)
            late = pc.sum(pc.less(times, before)).as_py() if event_first < before else 0
        stored = rows.append_column(self.stored.field(ARRIVAL), pa.array(stamps).cast(STAMP)).cast(self.stored)
        arrived = int(stamps[0]), int(stamps[-1]), float(stamps.sum(dtype=np.float64)) / _MICROS
        train = StoredTrain(
            *(seq, first, rows.num_rows, 0, *arrived),
            *(event_first, event_last, before, after, arrival_before, arrived[1]),
        )
        return train, late, stored


def stamped(last: StoredTrain | None, n: int, arrived: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """When each of n rows arrived, in microseconds: as given, or now."""
    earliest = max(0, last.arrival_after) if last else 0
    given = np.full(n, time.time()) if arrived is None else arrived
    # Time may step back; arrival is an order, so it does not.
    stamps: NDArray[np.int64] = np.maximum.accumulate(np.maximum(np.rint(given * _MICROS).astype(np.int64), earliest))
    return stamps


def marks(last: StoredTrain | None) -> tuple[int, int]:
    """The watermarks behind the newest train, over event time and arrival."""
    return (last.event_after, last.arrival_after) if last else (NEVER, NEVER)


def empty(last: StoredTrain | None, after: tuple[int, int]) -> StoredTrain:
    """A train without tuples that moves the watermarks."""
    before, now = marks(last), round(time.time() * _MICROS)
    seq, first = (last.seq + 1, last.end) if last else (0, 0)
    newest = last.newest if last else now
    return StoredTrain(seq, first, 0, 0, newest, now, 0.0, None, None, before[0], after[0], before[1], after[1])


def unmoved(last: StoredTrain | None) -> StoredTrain:
    """A train that only says what its source has found, which is no tuple: the stream is as silent as before."""
    train = empty(last, marks(last))
    return replace(train, arrived_last=last.arrived_last) if last else train


def begun_at(mark: Mark) -> StoredTrain:
    """A train without tuples that says what was before."""
    at = mark.arrival if mark.arrival > NEVER else round(time.time() * _MICROS)
    times = mark.event, mark.event, mark.arrival, mark.arrival
    return StoredTrain(0, mark.position, 0, 0, at, at, 0.0, None, None, *times)

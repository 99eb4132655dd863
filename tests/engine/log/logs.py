"""Logs in one line, and what they should say of each tuple, worked out one by one."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headgate.engine.log.files import STAMP
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stream import StreamLog
from headgate.engine.windows import NEVER

SCHEMA = pa.schema([("t", STAMP), ("k", pa.int64()), ("v", pa.int64())])
MICRO = 1e-6


def table(times, keys=None, first=0):
    """Tuples with these event times in microseconds, numbered from `first` on; keys go round unless given."""
    numbers = list(range(first, first + len(times)))
    stamps = pa.array(times, pa.int64()).cast(STAMP)
    return pa.table([stamps, pa.array(keys or [n % 3 for n in numbers], pa.int64()), pa.array(numbers)], SCHEMA)


def opened(folder, manifest=None, *, name="s", event_time="t", delay=0, **more):
    """The log of a stream in a folder; its delay in microseconds."""
    manifest = manifest or Manifest(folder / "manifest.db")
    made = StreamLog(
        name,
        SCHEMA,
        folder / "streams" / name,
        folder / "dead" / name,
        manifest,
        event_time=event_time,
        delay=delay * MICRO,
        **more,
    )
    made.manifest = manifest
    return made


def feed(log, trains, arrivals=None):
    """Append trains given by their event times; arrivals in microseconds, the first tuple's at 0 unless given."""
    for times in trains:
        at = log.head
        came = arrivals[at : at + len(times)] if arrivals is not None else range(at, at + len(times))
        log.append(table(times, first=at), {"at": at}, arrived=np.array(came, dtype=np.float64) * MICRO)


@dataclass(frozen=True)
class Came:
    """A tuple: its number, its event time, and the watermark before its train."""

    position: int
    time: int
    before: int


def told(trains, delay=0):
    """Every tuple of trains given by their event times."""
    found, mark = [], NEVER
    for times in trains:
        found += [Came(len(found) + i, time, mark) for i, time in enumerate(times)]
        mark = max([mark, *(time - delay for time in times)])
    return found


def windows_of(time, size, slide):
    """The windows that a time is in, by trying all that could be."""
    near = range(-((abs(time) + size) // slide + 2) * slide, (abs(time) + 1) // slide * slide + 2 * slide, slide)
    return [(start, start + size) for start in near if start <= time < start + size]

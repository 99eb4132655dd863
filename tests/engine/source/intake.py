"""An intake in memory, with a clock that only waiting moves."""

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

START = 1_000_000.0
PATIENCE = 120


class CrashError(Exception):
    """The process ended just after an append."""


@dataclass
class Memory:
    """What a source has appended, and its state. `crash` is the append after which the process ends.

    A source without an end is stopped when it pauses (`stop_at_pause`), or after an append (`stop`).
    """

    schema: pa.Schema
    folder: str = ""
    state: dict | None = None
    clock: float = START
    crash: int | None = None
    stop: int | None = None
    stop_at_pause: bool = False
    trains: list[pa.Table] = field(default_factory=list)
    arrived: list[np.ndarray] = field(default_factory=list)
    rejected: list = field(default_factory=list)
    states: list[dict] = field(default_factory=list)

    def append(self, rows, state, *, arrived=None, rejected=()):
        assert rows.schema.equals(self.schema)
        rows.validate(full=True)
        arrived = np.full(rows.num_rows, self.clock) if arrived is None else arrived
        assert len(arrived) == rows.num_rows
        assert (np.diff(arrived) >= 0).all()
        self.state = json.loads(json.dumps(state))
        self.trains.append(rows)
        self.arrived.append(arrived)
        self.rejected += rejected
        self.states.append(self.state)
        if self.crash is not None and len(self.trains) >= self.crash:
            raise CrashError

    def now(self):
        return self.clock

    def wait(self, seconds):
        self.clock += seconds
        return (self.stop_at_pause and seconds > 0) or (self.stop is not None and len(self.trains) >= self.stop)

    @property
    def rows(self):
        return pa.concat_tables([self.schema.empty_table(), *self.trains])

    @property
    def times(self):
        """When the tuples arrived, in seconds from the start."""
        return np.concatenate([np.zeros(0), *self.arrived]) - START


def fed(source, **how):
    """An intake that a source has fed until it ended or was stopped."""
    intake = Memory(source.schema(None), **how)
    source.run(intake)
    return intake


def crashed(source, crash, **how):
    """The same, with the process ending after an append and a new one going on a while later."""
    first = Memory(source.schema(None), crash=crash, **how)
    with contextlib.suppress(CrashError):
        source.run(first)
    second = Memory(first.schema, **how, state=first.state, clock=first.clock + 3)
    second.trains, second.arrived, second.rejected = first.trains[:], first.arrived[:], first.rejected[:]
    source.run(second)
    return second


@dataclass
class Live(Memory):
    """An intake with the real clock, stopped when the test says so."""

    def __post_init__(self):
        self.stopping = threading.Event()
        self.failure = None

    def now(self):
        return time.time()

    def wait(self, seconds):
        return self.stopping.wait(seconds)

    @property
    def taken(self):
        return self.rows.num_rows + len(self.rejected)


@contextlib.contextmanager
def running(source, state=None):
    """The intake of a source that runs. Ends the source, and fails if it had failed."""
    intake = Live(source.schema(None), state=state)

    def run():
        try:
            source.run(intake)
        except Exception as error:  # noqa: BLE001 - raised where the test waits or ends
            intake.failure = error

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield intake
    finally:
        intake.stopping.set()
        thread.join(PATIENCE)
    if intake.failure is not None:
        raise intake.failure
    assert not thread.is_alive()


def until_taken(intake, n):
    """Wait until so many rows are there, tuples or refused."""
    for _ in range(PATIENCE * 100):
        if intake.failure is not None:
            raise intake.failure
        if intake.taken >= n:
            return
        time.sleep(0.01)
    pytest.fail(f"{intake.taken} of {n} rows were taken")

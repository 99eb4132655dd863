"""What a lane says to its worker, and what it hears from it."""

import contextlib
import itertools
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.engine.kernel.program import Answer, Program
from headgate.engine.reader import JobInput
from headgate.engine.resident import answers
from headgate.engine.resident.channel import Channel
from headgate.engine.resident.messages import Answered, End, Failed, Run

_LOOK = 0.25
"""Seconds after which a lane that waits for an answer looks whether it should still wait."""


class ProgramError(Exception):
    """A program that could not run, for a reason that is not that of one query."""


class StoppedError(Exception):
    """A run that was stopped by whoever asked for it."""

    def __str__(self) -> str:
        return "the run was stopped"


class Conversation:
    """One with a worker that is there. A worker that is silent for too long is as good as gone: ConnectionError."""

    def __init__(self, channel: Channel, silence: float, folder: Path) -> None:
        self._channel, self._silence, self._folder = channel, silence, folder
        self._known: dict[str, tuple[weakref.ref[Program], int]] = {}
        self._numbers = itertools.count(1)
        self._silent, self._looked = 0.0, time.monotonic()

    def answer(self, program: Program, given: JobInput, stopped: Callable[[], bool]) -> Answer:
        """Have a program run. It is sent once; later only what has changed in it."""
        number = next(self._numbers)
        _, known = self._known.get(program.id, (None, 0))
        changes = program.changes[known:]
        gone = [key for key, (there, _) in self._known.items() if there() is None]
        self._channel.send(Run(number, program.id, program.source, program.tables, changes, _plain(given), gone))
        for key in gone:
            del self._known[key]
        self._known[program.id] = weakref.ref(program), known + len(changes)
        while not stopped():
            reply, body = self._next(_LOOK)
            if isinstance(reply, Answered) and reply.number == number:
                read = self._read(reply.file) if reply.file else body
                return answers.unpacked(reply.sizes, reply.errors, read, reply.joined)
            if isinstance(reply, Failed) and reply.number == number:
                del self._known[program.id]
                raise ProgramError(reply.error)
        raise StoppedError

    def listen(self) -> None:
        """Hear what has come meanwhile: signs of life."""
        while self._next(0.0)[0] is not None:
            pass

    def end(self) -> None:
        """Send the worker home."""
        with contextlib.suppress(ConnectionError):
            self._channel.send(End())

    def _next(self, timeout: float) -> tuple[object, pa.Buffer | None]:
        try:
            found = self._channel.receive(timeout)
        except TimeoutError:
            # Time in which nobody looked, since the driver was busy or stood still, is not the worker's.
            now = time.monotonic()
            self._silent += min(now - self._looked, 2 * _LOOK)
            self._looked = now
            if self._silent > self._silence:
                msg = f"silent for {self._silent:.1f} s"
                raise ConnectionAbortedError(msg) from None
            return None, None
        self._silent, self._looked = 0.0, time.monotonic()
        return found

    def _read(self, name: str) -> pa.Buffer:
        """What the worker has written. The file is gone at once, its bytes when nobody needs them any more."""
        file = self._folder / Path(name).name
        with pa.memory_map(str(file)) as mapped:
            body = mapped.read_buffer()
        file.unlink()
        return body


def _plain(given: JobInput) -> dict[str, Any]:
    """What a job reads, as plain values. Slices may be many, and need no copies."""
    return vars(given) | {"streams": {name: vars(stream) for name, stream in given.streams.items()}}

"""The Python process of a resident lane: it does what it is told, and says that it is alive."""

import contextlib
import logging
import os
import resource
import threading
from pathlib import Path

import pyarrow as pa

from headgate.engine import memory
from headgate.engine.kernel.program import Answer
from headgate.engine.resident import answers, flight, unix
from headgate.engine.resident.channel import Channel
from headgate.engine.resident.entry import Resident
from headgate.engine.resident.kernels import Kernels
from headgate.engine.resident.messages import Answered, Beat, Failed, Run

BEAT = 0.5
"""Seconds between two signs of life."""

_TIDY = 64
"""Runs from one collection of garbage to the next, each of what has been made since the last one."""

_log = logging.getLogger(__name__)


def serve(resident: Resident) -> None:
    """Call the lane, and do what it says, until it says that there is nothing more or until it is gone."""
    pa.set_cpu_count(1)
    _limit(resident.memory)
    call = resident.call
    channel = (unix if call.kind == "unix" else flight).connect(call.address, call.token)
    over = threading.Event()
    threading.Thread(target=_beat, args=(channel, over), name="headgate-beat", daemon=True).start()
    worker = Worker(channel, resident.most, Path(resident.folder))
    try:
        with contextlib.suppress(ConnectionError), memory.uncollected():
            while worker.step():
                pass
    finally:
        over.set()
        channel.close()


class Worker:
    """Runs programs, one command at a time."""

    def __init__(self, channel: Channel, most: int, folder: Path) -> None:
        self._channel, self._most, self._folder = channel, most, folder
        self._kernels = Kernels()
        self._runs = 0

    def step(self) -> bool:
        """Do as the next message says; False if it is the last."""
        command, _ = self._channel.receive()
        if not isinstance(command, Run):
            return False
        for program in command.forget:
            self._kernels.forget(program)
            memory.unsettle()
        try:
            self._kernels.apply(command.program, command.tables, command.changes)
            self._reply(command.number, self._kernels.run(command.program, command.source, command.given))
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the lane is told
            _log.debug("run %d", command.number, exc_info=True)
            self._kernels.forget(command.program)
            self._channel.send(Failed(command.number, f"{type(error).__name__}: {error}"))
        self._runs += 1
        if self._runs % _TIDY == 0:
            memory.settle()
        return True

    def _reply(self, number: int, answer: Answer) -> None:
        if answers.size(answer) <= self._most:
            sizes, body = answers.packed(answer)
            self._channel.send(Answered(number, sizes, answer.errors, None, answer.joined), body)
            return
        file = f"{os.getpid()}-{number}.arrow"
        with pa.OSFile(str(self._folder / file), "wb") as sink:
            sizes = answers.write(answer, sink)
        self._channel.send(Answered(number, sizes, answer.errors, file, answer.joined))


def _beat(channel: Channel, over: threading.Event) -> None:
    with contextlib.suppress(ConnectionError):
        while not over.wait(BEAT):
            channel.send(Beat())


def _limit(memory: int | None) -> None:
    """Let the process allocate so much more than it has now: what explodes ends itself, and not its machine."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return
    page = resource.getpagesize()
    more = memory or page * os.sysconf("SC_PHYS_PAGES")
    most = int(statm.read_text().split()[0]) * page + more
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))

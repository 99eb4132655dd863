"""Which process is meant: a number alone may have gone to another one."""

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Process:
    """A process by its number, the moment of its start, and the machine that both belong to."""

    pid: int
    started: str
    machine: str

    @classmethod
    def this(cls) -> Self:
        """The running one."""
        return cls(os.getpid(), _started(os.getpid()), _machine())

    def kill(self) -> bool:
        """Kill it if it is on this machine and still there. Tells whether."""
        if not self.started or self.machine != _machine() or _started(self.pid) != self.started:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return True


def _started(pid: int) -> str:
    """When a process was started, in ticks since the machine was; empty if there is none, or no way to know."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The name of the command, in brackets, may have spaces in it.
    return text.rpartition(")")[2].split()[19]


def _machine() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""

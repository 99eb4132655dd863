"""A system in a process of its own, as the benchmark sees it."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Self

from headgate.bench.rivals.tree import Used, used
from headgate.errors import HeadgateError

_MEMORY = Path("/dev/shm")  # noqa: S108 - only a place for a folder with a random name
_LONGEST_START = 300.0
_LONGEST_END = 15.0
_SAMPLES = range(3)


@dataclass(frozen=True, slots=True)
class Plan:
    """A round: tuples per second, seconds before and while it is measured, and those to wait for late results."""

    rate: float
    warm_up: float
    seconds: float
    patience: float


class Process:
    """Runs a module of this package with some queries; ended, with all it has started, at the end of `with`.

    Its files, which are checkpoints and the like, are in memory where the machine has a folder there.
    """

    def __init__(self, module: str, queries: int, options: tuple[str, ...]) -> None:
        command = [sys.executable, "-m", "headgate.bench.rivals.child", module, str(queries), *options]
        self._name = module
        self._folder = tempfile.TemporaryDirectory(
            dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None, ignore_cleanup_errors=True
        )
        places = dict.fromkeys(("TMPDIR", "SPARK_LOCAL_DIRS"), self._folder.name)
        self._log = Path(self._folder.name) / "log"
        with self._log.open("wb") as errors:
            self._child = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=os.environ | places | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
        self._said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, args=(self._child.stdout,), daemon=True)
        self._listener.start()

    def __enter__(self) -> Self:
        try:
            self._hear("ready", _LONGEST_START)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.stdin:
            self._child.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_LONGEST_END)
        # Whatever it has started is in its session, and may have outlived it.
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._listener.join()
        self._folder.cleanup()

    def play(self, plan: Plan) -> dict[str, Any]:
        """One round: its response times, the processor seconds per million tuples, and the memory after it."""
        if self._child.stdin is None:
            raise HeadgateError("the process takes no orders")
        self._child.stdin.write(json.dumps(asdict(plan)).encode() + b"\n")
        self._child.stdin.flush()
        self._hear("measuring", plan.warm_up + _LONGEST_END)
        before = used(self._child.pid)
        found: dict[str, Any] = self._hear("round", plan.seconds + plan.patience + _LONGEST_END)
        after = [used(self._child.pid) for _ in _SAMPLES]
        return {"rate": plan.rate, **found, **_spent(before, after, plan.rate * plan.seconds)}

    def _listen(self, out: IO[bytes]) -> None:
        with out:
            for line in out:
                # Java processes may print what they like between our lines.
                if line.startswith(b"{"):
                    self._said.put(json.loads(line))
        self._said.put(None)

    def _hear(self, what: str, patience: float) -> Any:  # noqa: ANN401 - any JSON
        limit = time.monotonic() + patience
        while True:
            try:
                said = self._said.get(timeout=max(0.0, limit - time.monotonic()))
            except queue.Empty:
                raise HeadgateError(f"{self._name} was silent for {patience:.0f} s") from None
            if said is None:
                last = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()][-1:]
                raise HeadgateError(f"{self._name} ended: {' '.join(last)[:300]}")
            if what in said:
                return said[what]


def _spent(before: Used | None, after: Sequence[Used | None], tuples: float) -> dict[str, Any]:
    known = [each for each in after if each is not None]
    if before is None or not known:
        return {"cpu": None, "memory": None}
    # A process that is about to start another one has, for a moment, a child as large as itself.
    memory = min(each.memory for each in known)
    return {"cpu": (known[0].cpu - before.cpu) / tuples * 1e6, "memory": memory}

"""Several nodes on this machine for a benchmark: a coordinator in this process, nodes in processes of their own."""

import json
import math
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from headgate.bench.processors import starting_on
from headgate.cluster.apart import beginnings
from headgate.cluster.balance import Balance
from headgate.cluster.coordinator import Coordinator
from headgate.cluster.gathered import gathered
from headgate.cluster.membership import digest
from headgate.cluster.questions import questions
from headgate.cluster.server import CoordinatorServer
from headgate.engine.pipeline import load
from headgate.engine.status import NAME as STATUS

_POLL = 0.05
Rows = Counter[tuple[Any, ...]]


class Rack:
    """A cluster over a pipeline, until it is left. Nodes are killed, paused and started by their names.

    Nodes `apart` have the pipeline in a folder of their own, in which their results are too. Those that `processors`
    names have one of this machine's, each with its Spark.
    """

    def __init__(
        self,
        pipeline: Path,
        nodes: Sequence[str],
        master: str = "local[3]",
        balance: Balance | None = None,
        *,
        apart: bool = False,
        processors: Mapping[str, int] = MappingProxyType({}),
        patience: float = 5.0,
    ) -> None:
        self.folder, self._pipeline, self._master = pipeline.parent / "cluster", pipeline, master
        self._apart, self._processors = apart, processors
        loaded = load(pipeline)
        begins = beginnings(loaded) if apart else None
        count, same = len(nodes), digest(loaded)
        asked = questions(loaded)
        made = Coordinator(
            self.folder, asked, nodes=count, patience=patience, balance=balance, apart=begins, pipeline=same
        )
        self._server = CoordinatorServer(made, token=secrets.token_urlsafe(8))
        self.coordinator = made
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._names = nodes

    def __enter__(self) -> Self:
        self._server.start()
        for name in self._names:
            self.start(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.signal(name, signal.SIGCONT)
            self._processes[name].terminate()
        for name, process in self._processes.items():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                self.signal(name, signal.SIGKILL)
        self._server.close()

    def start(self, name: str) -> None:
        """Start a node, perhaps again."""
        log = self.folder / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        pipeline, folder = self._pipeline, self.folder
        if self._apart:
            pipeline, folder = self.home(name) / pipeline.name, self.home(name) / "state"
            pipeline.parent.mkdir(exist_ok=True)
            shutil.copyfile(self._pipeline, pipeline)
        command = [sys.executable, "-m", "headgate", "node", str(pipeline), "--name", name, "--no-ui"]
        command += ["--at", self._server.address, "--folder", str(folder), "--master", self._master]
        environment = {**os.environ, "HEADGATE_TOKEN": self._server.token}
        with log.open("ab") as out, starting_on(self._processors.get(name)):
            self._processes[name] = subprocess.Popen(  # noqa: S603 - this very package
                command, stdout=out, stderr=out, env=environment, start_new_session=True
            )

    def home(self, name: str) -> Path:
        """The folder of a node apart."""
        return self._pipeline.parent / name

    def gathered(self, query: str) -> Rows:
        """How often each result of a query is there that counts, of nodes apart."""
        places = [self.home(name) / "out" / query for name in self._names]
        return rows(gathered(query, self.coordinator.told().instances[query], places))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send something to a node with its Spark, all of its processes at once."""
        try:
            os.killpg(self._processes[name].pid, number)
        except ProcessLookupError:
            return
        if number == signal.SIGKILL:
            self._processes.pop(name).wait()

    def until(self, holds: Callable[[], bool], longest: float) -> float:
        """Wait until something holds; how many seconds that took, infinite if it never did."""
        began = time.monotonic()
        while (took := time.monotonic() - began) < longest:
            if holds():
                return took
            time.sleep(_POLL)
        return float("inf")

    def active(self, *, without: str | None = None) -> bool:
        """Whether every query runs, and none of them on a node."""
        return all(
            each["status"] in ("ACTIVE", "STOP_PREPARING") and each["node"] != without for each in self.queries()
        )

    def caught_up(self, within: float = 1.0) -> bool:
        """Whether nothing waits for longer than some seconds, by what nodes last wrote of themselves."""
        waits: dict[str, float] = {}
        for name in self._processes:
            file = (self.home(name) / "state" if self._apart else self.folder / "nodes" / name) / STATUS
            if file.exists():
                waits |= {each["name"]: each["oldest_wait"] for each in json.loads(file.read_text())["queries"]}
        return all(waits.get(each["name"], math.inf) < within for each in self.queries())

    def queries(self) -> Sequence[Mapping[str, Any]]:
        """Where each query is."""
        return self.coordinator.told().queries


def write(file: Path, pipeline: Mapping[str, Any]) -> Path:
    """A pipeline as a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(dict(pipeline), sort_keys=False))
    return file


def run_alone(pipeline: Path, master: str | None = None, processor: int | None = None) -> None:
    """Run a pipeline to its end on one engine, perhaps on one processor."""
    command = [sys.executable, "-m", "headgate", "run", str(pipeline), "--json", "--no-ui"]
    command += ["--master", master] if master else []
    with starting_on(processor):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - as above


def results(folder: Path) -> Rows:
    """How often each row is there in a folder of Parquet files, whichever instance wrote it."""
    parts = [pq.read_table(file) for file in sorted(folder.glob("part-*.parquet"))]
    if not parts:
        return Counter()
    return rows(pa.concat_tables(parts))


def rows(table: pa.Table) -> Rows:
    """How often each row is in a table."""
    columns = [_plain(column) for column in table.columns]
    return Counter(zip(*columns, strict=True))


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Values to compare: sums of floating-point numbers may differ in the last digits."""
    return [round(value, 6) if isinstance(value, float) else value for value in column.to_pylist()]

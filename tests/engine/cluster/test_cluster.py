"""The same pipeline on a standalone cluster of two workers on this machine: equal results, with a worker lost too."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

import headgate
from engine.cluster.program import QUERIES
from engine.crash.pipeline import left_over, results

CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATHS = os.pathsep.join([str(Path(headgate.__file__).parents[1]), str(Path(__file__).parents[2])])
LONGEST = 300


def started(command, log, **env):
    """A process with all that it starts, in a group of its own."""
    with log.open("ab") as out:
        return subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, **env, "PYTHONPATH": PATHS, "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if "-m" in command else out,
            stderr=out,
            text=True,
            start_new_session=True,
        )


def killed(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


def said(log, text):
    """Wait until a log says something; gives how."""
    limit = time.monotonic() + LONGEST
    while time.monotonic() < limit:
        if log.exists() and (found := re.search(text, log.read_text())):
            return found
        time.sleep(0.1)
    return pytest.fail(f"{log} does not say {text}: {log.read_text() if log.exists() else 'nothing'}")


class Cluster:
    """A master and two workers with a core each, on the loopback."""

    def __init__(self, folder):
        self._folder = folder
        self.processes = []

    def __enter__(self):
        local = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
        at = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self._start("Master", "master", at, local)
        self.master = said(self._folder / "master.log", r"Starting Spark master at (spark://\S+)")[1]
        said(self._folder / "master.log", "New state: ALIVE")
        for name in ("first", "second"):
            work = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            work += ["--work-dir", self._folder / name, self.master]
            self._start("Worker", name, work, local)
        for name in ("first", "second"):
            said(self._folder / f"{name}.log", "Successfully registered with master")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            killed(process)

    def lose_a_worker(self):
        """Kill a worker with its executor."""
        killed(self.processes.pop())

    def _start(self, kind, name, arguments, env):
        command = [CLASS, f"org.apache.spark.deploy.{kind.lower()}.{kind}", *arguments]
        self.processes.append(started(command, self._folder / f"{name}.log", **env))


def run(master, folder, *, every=0.0, at_half=lambda: None):
    """Run the pipeline to its end; what a reader then finds."""
    folder.mkdir(parents=True)
    local = {"SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "engine.cluster.program", master, folder, every]
    program = started(command, folder / "log", **local)
    try:
        for word in ("started", "half"):
            assert program.stdout.readline().strip() == word, (folder / "log").read_text()[-2000:]
        at_half()
        assert program.stdout.readline().strip() == "done", (folder / "log").read_text()[-2000:]
    finally:
        killed(program)
    assert left_over(folder / "out") == []
    return results(folder / "out", QUERIES)


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    found = run("local[2]", tmp_path_factory.mktemp("local") / "run")
    assert all(found.values())
    return found


@pytest.fixture
def cluster(tmp_path):
    with Cluster(tmp_path) as made:
        yield made


def test_a_cluster_gives_what_one_machine_gives(local, cluster, tmp_path):
    assert run(cluster.master, tmp_path / "run") == local


def test_a_worker_that_dies_half_way_takes_nothing_along_and_repeats_nothing(local, cluster, tmp_path):
    assert run(cluster.master, tmp_path / "run", every=0.3, at_half=cluster.lose_a_worker) == local
    assert len(cluster.processes) == 2

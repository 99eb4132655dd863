"""A process that is killed twenty times at any instant, and in the end has done what an undisturbed one does."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headgate
from engine.crash.java import PORT, SECRET
from engine.crash.pipeline import left_over, results, wanted

KILLS = 20
TRAINS = 60
EVERY = 0.2
"""Seconds between trains, so that the kills come while there are trains to read."""


class Program:
    """A module of this folder as a process, in a group with all processes that it starts."""

    def __init__(self, module, *arguments, log, **env):
        paths = [str(Path(headgate.__file__).parents[1]), str(Path(__file__).parents[2])]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"engine.crash.{module}", *map(str, arguments)],
                env={**os.environ, **env, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def said(self):
        """The next line that it prints; nothing once it has ended."""
        return self._process.stdout.readline().strip()

    def kill(self):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class Spark:
    """Java, and the engine over it."""

    def __init__(self, log):
        self._log, self._java = log, None

    def run(self, folder, every, trains=TRAINS, module="program"):
        if self._java is None:
            self._java = Program("java", log=self._log)
            self._listens = dict(zip((PORT, SECRET), self._java.said().split(), strict=True))
        return Program(module, folder, trains, every, log=self._log, **self._listens)

    def kill(self):
        if self._java is not None:
            self._java.kill()
            self._java = None


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    made = Spark(tmp_path_factory.mktemp("spark") / "log")
    yield made
    made.kill()


def finish(java, folder):
    """Let the engine run to its end, with all trains at once."""
    engine = java.run(folder, 0)
    try:
        assert [engine.said() for _ in range(3)] == ["opening", "started", "done"]
    finally:
        engine.kill()


@pytest.fixture(scope="module")
def undisturbed(java, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(java, folder)
    return results(folder / "out")


def test_an_undisturbed_run_gives_every_tuple_once(undisturbed):
    for name, rows in wanted(TRAINS).items():
        assert undisturbed[name] == rows, name
    assert all(undisturbed.values())


def test_twenty_kills_lose_nothing_and_repeat_nothing(java, undisturbed, tmp_path):
    chance = random.Random(20)
    for kill in range(1, KILLS + 1):
        engine = java.run(tmp_path, EVERY)
        try:
            assert engine.said() == "opening"
            # Most die at work, some while they still look at what the one before has left.
            if kill % 4:
                assert engine.said() == "started"
            time.sleep(chance.uniform(0, 1.5))
        finally:
            engine.kill()
        if kill % 7 == 0:
            java.kill()
    finish(java, tmp_path)
    found = results(tmp_path / "out")
    for name, rows in undisturbed.items():
        assert found[name] == rows, name
    assert left_over(tmp_path / "out") == []

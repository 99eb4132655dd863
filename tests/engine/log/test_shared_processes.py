"""A shared log and processes that feed it, sleep in the middle of it, and die."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import headgate
from headgate.engine.log.files import read
from headgate.engine.log.shared import SharedTrains


@contextmanager
def feeder(shared, node, most, every=0.0):
    """A process that feeds the log, once it has begun."""
    paths = [str(Path(headgate.__file__).parents[1]), str(Path(__file__).parents[2])]
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.log.feeder", str(shared), str(node), str(most), str(every)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout.readline() == "started\n"
            yield process
        finally:
            process.kill()


def values(trains):
    found = [read(trains.path(seq), ["v"]).column(0).to_pylist() for seq in trains.numbers()]
    return [value for each in found for value in each]


def feed(process):
    process.stdin.write("feed\n")
    process.stdin.flush()


def test_two_processes_that_feed_a_stream_by_turns_and_sleep_in_the_middle_make_one_log(tmp_path):
    trains, writers, turn = SharedTrains(tmp_path / "shared"), [], 0
    with ExitStack() as stack:
        both = [stack.enter_context(feeder(trains.folder, tmp_path / node, 10**9, 0.001)) for node in "ab"]
        feed(both[0])
        while turn < 10 or len(dict.fromkeys(writers)) < 2:
            # One sleeps, wherever it is, and the other feeds, and goes on doing so when the first wakes up.
            sleeper, other = both[turn % 2], both[1 - turn % 2]
            sleeper.send_signal(signal.SIGSTOP)
            feed(other)
            time.sleep(0.05)
            sleeper.send_signal(signal.SIGCONT)
            time.sleep(0.02)
            writers += [last.writer for last in [trains.read(trains.last() or 0)] if last]
            turn += 1
    numbers = trains.numbers()
    assert numbers == list(range(len(numbers)))
    assert values(trains) == list(range(3 * len(numbers)))
    assert [trains.read(seq).train.first for seq in numbers] == [3 * seq for seq in numbers]

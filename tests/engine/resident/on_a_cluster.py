"""Asks a resident lane on a cluster, and takes from it first its worker and then its executor in mid-run.

`python -m engine.resident.on_a_cluster MASTER FOLDER` says what the lane answers each time, and ends with it open.
"""

import os
import signal
import sys
from pathlib import Path

from engine.crash.java import say
from engine.resident.programs import ask, begun, pairs, program, train
from headgate.engine.resident.lane import LaneLostError, ResidentLane
from headgate.engine.session import session


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def executor(pid):
    """Spark forks workers from a daemon of the executor's."""
    return parent(parent(pid))


def main(master, folder):
    spark = session(master=master)
    spark.sparkContext.setLogLevel("ERROR")
    given, asked = train(folder), program(997, 998)
    lane = ResidentLane("r", spark, folder / "lanes", silence=10.0)

    say(f"{lane.ready(90)} {lane._channel} {lane.trouble}")
    say(pairs(ask(lane, asked, given)))
    for victim in (lambda pid: pid, executor):
        pid = lane._task._process.pid
        # It cannot answer before it is killed.
        os.kill(pid, signal.SIGSTOP)
        run = begun(lane, asked, given)
        os.kill(victim(pid), signal.SIGKILL)
        try:
            run.result()
        except LaneLostError:
            say("lost")
        say(lane.ready(90) and pairs(ask(lane, asked, given)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

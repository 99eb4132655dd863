"""A process that feeds a shared log: `python -m engine.log.feeder SHARED NODE MOST EVERY`.

It says `started` and follows; with every line of input it is told to feed.
"""

import sys
from pathlib import Path

from engine.log.logs import opened, table
from headgate.engine.intake import LiveStream
from headgate.engine.log.shared import SharedTrains

SECOND = 1_000_000


class Counting:
    """A source of numbered tuples, one per second of event time, that goes on behind its state."""

    def __init__(self, most, every=0.0):
        self.most, self.every = most, every

    def schema(self, spark):
        return table([]).schema

    def run(self, intake):
        while (at := (intake.state or {"next": 0})["next"]) < self.most:
            count = min(3, self.most - at)
            times = [n * SECOND for n in range(at, at + count)]
            intake.append(table(times, first=at), {"next": at + count})
            if intake.wait(self.every):
                return


def main(shared, node, most, every):
    node.mkdir()
    log = opened(node, shared=SharedTrains(shared))
    stream = LiveStream(log, Counting(most, every), node / "source", None, feeds=False)
    stream.start()
    sys.stdout.write("started\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        stream.feed(True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))

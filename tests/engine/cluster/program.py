"""Runs the pipeline on a cluster until its streams have ended.

`python -m engine.cluster.program MASTER FOLDER EVERY` says `started`, and `half` when half of the trains have come.
"""

import sys
import time
from pathlib import Path

import headgate as hg
from engine.crash.java import say
from engine.crash.pipeline import register, sinks

TRAINS = 20
QUERIES = ("dear", "named", "sliding", "pairs")


def main(master, folder, every):
    engine = hg.Engine(state=folder / "state", master=master)
    engine.spark.sparkContext.setLogLevel("ERROR")
    register(engine, folder / "out", sinks(folder / "out", QUERIES), trains=TRAINS, every=every)
    engine.start("bsd", train={"most": 500})
    say("started")
    while engine.status().streams[0].tuples < TRAINS * 100:
        time.sleep(0.05)
    say("half")
    engine.wait()
    failed = [query for query in engine.stop().queries if query.status != "running"]
    say(failed or "done")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))

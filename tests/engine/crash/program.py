"""Runs the pipeline until its streams have ended: `python -m engine.crash.program FOLDER TRAINS EVERY`.

It says where it is, so that it can be killed there: `opening` before it looks at its state, `started`, `done`.
"""

import sys
from pathlib import Path

import headgate as hg
from engine.crash.java import attached, say
from engine.crash.pipeline import register, sinks


def main(folder, trains, every):
    spark = attached()
    say("opening")
    engine = hg.Engine(spark, folder / "state", lanes=2)
    register(engine, folder / "out", sinks(folder / "out"), trains=trains, every=every)
    engine.start("bsd", train={"most": 500}, fuse=True)
    say("started")
    engine.wait()
    failed = [query for query in engine.stop().queries if query.status != "running"]
    say(failed or "done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))

"""Runs queries that are shed more or less: `python -m engine.crash.shedding FOLDER TRAINS EVERY`.

What is dropped changes with every control period, and from one process to the next, and so does how it is chosen. It
says where it is, as `program` does, and in the end what every query has counted.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import headgate as hg
from engine.crash.java import attached, say
from engine.crash.pipeline import SECOND, STAMP, START
from headgate.engine.source.given import rows
from headgate.policy.protocol import Why
from headgate.shed.protocol import Order
from headgate.shed.registry import MANAGERS, Listed

COUNT = 300
QUERIES = {
    "plain": {"sql": "SELECT id FROM ticks"},
    "other": {"sql": "SELECT id, id % 3 AS rest FROM ticks WHERE id >= 0"},
    "panes": {"sql": "SELECT count(*) AS n, sum(id) AS total FROM ticks", "window": "4s"},
    "windows": {"sql": "SELECT id FROM ticks ORDER BY id LIMIT 100000", "window": "3s"},
    "due": {"sql": "SELECT id FROM ticks", "window": "2s", "deadline": "2s"},
    "riding": {"sql": "SELECT id FROM ticks WHERE id >= 100", "cls": "reports"},
    "worth": {"sql": "SELECT id, kind FROM ticks", "cls": "prized"},
    "prized": {"sql": "SELECT count(*) AS n FROM ticks", "window": "4s", "cls": "prized"},
}


class Moody:
    """A load manager of no use: it orders whatever comes to its mind."""

    sheds = "read"

    def cycle(self, seen):
        return Order(random.choice([0.0, 0.2, 0.5, 0.9]), 1.0, Why("as it likes"))

    def rescale(self, ratio):
        pass


def ticks(k):
    """Train k, a second of event time, all in order."""
    at = START + k * SECOND + np.arange(COUNT) * (SECOND // COUNT)
    ids = np.arange(k * COUNT, (k + 1) * COUNT)
    return pa.table({"id": ids, "kind": ids % 4, "at": pa.array(at).cast(STAMP)})


def main(folder, trains, every):
    MANAGERS["moody"] = Listed("moody", "tests", "d", Moody, ())
    spark = attached()
    say("opening")
    engine = hg.Engine(spark, folder / "state", lanes=2)
    engine.query_class("boards", priority=3, delay_target="1s")
    engine.query_class("reports", delay_target="1s")
    # What is protected differs from one process to the next; what is decided stays.
    engine.query_class("prized", delay_target="1s", protect={"ticks": {"kind": [random.choice([0, 1]), 2]}})
    engine.stream("ticks", rows([ticks(k) for k in range(trains)], every=every), event_time="at")
    for name, query in QUERIES.items():
        engine.query(name, **{"cls": "boards", **query}, sink=hg.sink.jsonl(folder / f"{name}.jsonl"))
    # With hardly any time, windows with a deadline are thinned, or left out.
    due = hg.Deadlines(share=random.choice([0.9, 0.04, 0.02]))
    how = {"dropper": random.choice(["random", "stratified"]), "place": random.choice(["even", "lsrm"])}
    engine.start(train={"most": 500}, shed=hg.Shed("dilos+sharing", "moody", period=0.02, **how), deadlines=due)
    say("started")
    engine.wait()
    last = engine.stop()
    say(json.dumps({q.name: [q.status, q.tuples, q.shed, q.pending, q.late] for q in last.queries}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))

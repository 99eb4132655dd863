"""A process that sheds and is killed at any instant: every tuple is dropped or processed once, and counted so."""

import json
import random
import time

import numpy as np

from engine.crash.shedding import COUNT, QUERIES
from engine.crash.test_kills import Spark

KILLS = 3
TRAINS = 80
EVERY = 0.1


def rows(folder, name):
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def test_every_tuple_is_accounted_for_across_kills(tmp_path):
    java = Spark(tmp_path / "log")
    chance = random.Random(6)
    try:
        for kill in range(KILLS):
            engine = java.run(tmp_path, EVERY, TRAINS, "shedding")
            try:
                assert [engine.said() for _ in range(2)] == ["opening", "started"]
                time.sleep(chance.uniform(0.5, 2.5))
            finally:
                engine.kill()
            if kill == KILLS // 2:
                java.kill()
        engine = java.run(tmp_path, EVERY, TRAINS, "shedding")
        try:
            assert [engine.said() for _ in range(2)] == ["opening", "started"]
            counted = json.loads(engine.said())
        finally:
            engine.kill()
    finally:
        java.kill()
    offered = TRAINS * COUNT
    for name in QUERIES:
        status, tuples, shed, pending, late = counted[name]
        assert (status, tuples + pending, pending, late) == ("running", offered, 0, 0), name
        assert shed < offered, name
    # What a process finds when it starts keeps its rates, so a query that was always killed may shed nothing.
    assert any(counted[name][2] for name in QUERIES)
    for name in ("plain", "other", "windows", "due", "worth"):
        ids = [row["id"] for row in rows(tmp_path, name)]
        assert len(set(ids)) == len(ids) == offered - counted[name][2], name
    # Which of the first hundred tuples it has lost is not said.
    ids = [row["id"] for row in rows(tmp_path, "riding")]
    assert len(set(ids)) == len(ids)
    assert 0 <= offered - counted["riding"][2] - len(ids) <= 100
    for name in ("panes", "prized"):
        assert sum(row["n"] for row in rows(tmp_path, name)) == offered - counted[name][2], name
    # What every process protects has lost no more than what none does.
    kinds = np.bincount([row["kind"] for row in rows(tmp_path, "worth")], minlength=4)
    assert kinds[2] >= kinds[3]
    assert all(row["_kept"] <= 1 for name in QUERIES for row in rows(tmp_path, name))

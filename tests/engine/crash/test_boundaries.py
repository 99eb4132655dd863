"""A crash before and after every step that an engine takes: in the end everything is there once."""

import itertools

import pytest

import headgate as hg
from engine.crash.hooks import STEPS, Crash, Doom, abandon
from engine.crash.pipeline import left_over, register, results, sinks

QUERIES = ("dear", "seventh", "sliding", "pairs", "visits", "picked", "chained")
TRAINS = 24
CALLS = {"trains are dropped": (1,), "queries join a cohort": (1, 2), "rows are staged for a stream": (1,)}
"""At which calls of a step after a start to crash.

Trains are dropped once a second, cohorts made at a start, and few runs have rows for the one stream of results.
"""
LATER = 60.0


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    finish(spark, folder)
    return results(folder / "out", QUERIES)


def begin(engine, folder, made, every):
    register(engine, folder / "out", made, trains=TRAINS, every=every)
    engine.start("bsd", train={"most": 500}, fuse=True)


def finish(spark, folder):
    with hg.Engine(spark, folder / "state", lanes=2) as engine:
        begin(engine, folder, sinks(folder / "out", QUERIES), every=0)
        assert engine.wait(300)
        assert {(query.status, query.reason) for query in engine.status().queries} == {("running", None)}


def crash(spark, folder, doom):
    """Run until doom strikes, in whichever thread."""
    made = sinks(folder / "out", QUERIES)
    with doom.hanging():
        engine = hg.Engine(spark, folder / "state", lanes=2)
        try:
            begin(engine, folder, made, every=0.05)
            while not doom.struck.wait(0.05) and not engine.done:
                pass
            # What is done once a second comes after the last tuple too.
            doom.struck.wait(LATER)
        except Crash:
            pass
        finally:
            abandon(engine)
            for each in made.values():
                each.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_around_a_step_loses_nothing_and_repeats_nothing(step, spark, undisturbed, tmp_path):
    folders = [tmp_path / "0"]
    for n, moment in itertools.product(CALLS.get(step, (1, 3)), ("before", "after")):
        doom = Doom(step, moment, n)
        crash(spark, folders[-1], doom)
        if not doom.struck.is_set():
            # On a slow machine the runs before were long, and have left too little for so many calls.
            folders.append(tmp_path / str(len(folders)))
            crash(spark, folders[-1], doom := Doom(step, moment, n))
        assert doom.struck.is_set(), f"there was no call {n} of this step"
    for folder in folders:
        finish(spark, folder)
        found = results(folder / "out", QUERIES)
        for name, rows in undisturbed.items():
            assert found[name] == rows, name
        assert left_over(folder / "out") == []

"""For the whole suite: one Spark, the same Hypothesis examples in every run, no compiled code that is out of date."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from headgate.bench.postgres import JAR
from headgate.engine.session import session

# Tests are over before the optimising compiler has paid for itself, and two of them run at a time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

settings.register_profile("headgate", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("headgate")

LONGEST = ("engine/crash/", "engine/results/", "engine/cluster/", "tests/cluster/test_live")

PACKAGE = Path(__file__).parents[1] / "src" / "headgate"


def pytest_configure(config):
    """Drop compiled kernels that are older than the sources.

    numba looks at the file of a kernel alone, not at the files whose functions were compiled into it.
    """
    if hasattr(config, "workerinput"):
        return
    newest = max(path.stat().st_mtime for path in PACKAGE.rglob("*.py"))
    for path in PACKAGE.rglob("*.nb[ic]"):
        # Another run may be at it.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < newest:
                path.unlink()


def pytest_collection_modifyitems(items):
    """What takes longest first: at the end, one process would still be at it while the other has nothing to do."""
    items.sort(key=lambda item: not any(part in item.nodeid for part in LONGEST))


@pytest.fixture(scope="session")
def spark():
    """One Spark for all tests of a process: whoever makes it first decides what it has and where it runs."""
    # Engines of several tests may be there at a time, each with a resident lane.
    own = session(master="local[6]", jars=[JAR] if JAR.exists() else [])
    own.sparkContext.setLogLevel("ERROR")
    yield own
    SparkSession.active().stop()

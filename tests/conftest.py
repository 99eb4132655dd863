"""For the whole suite: one Spark, the same Hypothesis examples in every run, no compiled code that is out of date.

And an end to every test: one that hangs fails, and the others go on.
"""

import faulthandler
import os
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from headgate.bench.postgres import JAR
from headgate.engine.session import session

# Tests are over before the optimising compiler has paid for itself, and two of them run at a time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# How fast examples are made says something of the machine only.
SLOW = [HealthCheck.too_slow]
settings.register_profile("headgate", deadline=None, derandomize=True, max_examples=30, suppress_health_check=SLOW)
settings.load_profile("headgate")

HANGS = 1200
"""Seconds after which a test, or what it is given, counts as hanging: more than any takes on a slow machine."""
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


@contextmanager
def _ending():
    """Fail what is still at it after a time, and say where each thread stands."""

    def end(number, frame):
        faulthandler.dump_traceback(sys.__stderr__)
        pytest.fail(f"it hangs: it was not over after {HANGS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with _ending():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with _ending():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    with _ending():
        return (yield)


@pytest.fixture(scope="session")
def spark():
    """One Spark for all tests of a process: whoever makes it first decides what it has and where it runs."""
    # Engines of several tests may be there at a time, each with a resident lane.
    own = session(master="local[6]", jars=[JAR] if JAR.exists() else [])
    own.sparkContext.setLogLevel("ERROR")
    yield own
    SparkSession.active().stop()

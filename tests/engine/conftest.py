import os

import pytest
from pyspark.sql import SparkSession

from headgate.bench.postgres import JAR
from headgate.engine.session import session

# Tests are over before the optimising compiler has paid for itself, and two of them run at a time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark():
    """One Spark for all tests of a process."""
    # Engines of several tests may be there at a time, each with a resident lane.
    own = session(master="local[6]", jars=[JAR] if JAR.exists() else [])
    own.sparkContext.setLogLevel("ERROR")
    yield own
    SparkSession.active().stop()

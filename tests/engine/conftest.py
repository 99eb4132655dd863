import os

import pytest
from pyspark.sql import SparkSession

from headgate.engine.session import session

# Tests are over before the optimising compiler has paid for itself, and two of them run at a time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark():
    """One Spark for all tests of a process."""
    own = session(master="local[2]")
    own.sparkContext.setLogLevel("ERROR")
    yield own
    SparkSession.active().stop()

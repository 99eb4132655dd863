import os

import pytest

from headgate.engine.session import session

os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark():
    """Spark, which other tests of the process may share; so it ends with the process."""
    own = session(master="local[2]")
    own.sparkContext.setLogLevel("ERROR")
    return own

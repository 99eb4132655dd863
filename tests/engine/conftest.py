import pytest
from pyspark.sql import SparkSession

from headgate.engine.session import session


@pytest.fixture(scope="session")
def spark():
    """One Spark for all tests of a process."""
    own = session(master="local[2]")
    own.sparkContext.setLogLevel("ERROR")
    yield own
    SparkSession.active().stop()

import pytest

from engine.live import Fed
from headgate import Engine


@pytest.fixture
def fed():
    return Fed()


@pytest.fixture
def engine(spark, tmp_path, fed):
    """An engine with a stream that is fed by hand."""
    with Engine(spark, tmp_path / "state", lanes=2) as made:
        made.stream("s", fed, event_time="t")
        yield made

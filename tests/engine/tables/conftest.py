import json
import threading

import pytest

from engine.live import Fed
from headgate import Engine

JOINED = "SELECT s.v, d.k, d.version FROM s JOIN d ON s.k = d.k"
SPARKS = "SELECT s.v, d.k, d.version FROM s JOIN d ON s.k <= d.k AND s.k >= d.k"
"""The same, in a way that only Spark can run."""


class Elsewhere:
    """A table that lives elsewhere: rows (k, version) for each key, which may change, vanish, or be slow to read."""

    def __init__(self, keys=3):
        self.versions = dict.fromkeys(range(keys), 0)
        self.broken = None
        self.asked = self.reads = 0
        self.gate = threading.Event()
        self.gate.set()

    def change(self, *keys):
        # At once: whoever reads meanwhile sees all of it or nothing.
        changed = keys or self.versions
        self.versions = {key: n + (key in changed) for key, n in self.versions.items()}

    def __call__(self, spark):
        self.asked += 1
        self.gate.wait(300)
        self.reads += 1
        if self.broken:
            raise self.broken
        return spark.createDataFrame([(k, n) for k, n in self.versions.items()], "k long, version long").coalesce(1)

    def version(self, spark):
        return json.dumps(sorted(self.versions.items()))


@pytest.fixture
def fed():
    return Fed()


@pytest.fixture
def elsewhere():
    return Elsewhere()


@pytest.fixture
def engine(spark, tmp_path, fed):
    """An engine with a stream that is fed by hand."""
    with Engine(spark, tmp_path / "state", lanes=2) as made:
        made.stream("s", fed, event_time="t")
        yield made

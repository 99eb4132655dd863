from importlib import import_module

import pytest

from headgate.web.app import Pages
from headgate.web.watch import Watch
from web.invented import Invented
from web.receiver import Receiver

TOKEN = "the token"


class Shown:
    """An engine that is made up, and what is answered about it."""

    def __init__(self, queries=60, **given):
        self.engine = Invented(queries, **given)
        self.watch = Watch(self.engine)
        self.engine.listen(self.watch.journal.hear)
        self.pages = Pages(self.engine, self.watch, TOKEN)
        self.app = self.pages.app(["gate.example"])

    def tick(self):
        """Let half a second pass, and look."""
        self.engine.tick()
        self.watch.look()


@pytest.fixture
def shown():
    return Shown()


@pytest.fixture
def otel():
    """What pushes, where the extra is installed."""
    why = "pushing metrics takes OpenTelemetry: pip install 'headgate[otel]'"
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason=why)
    return import_module("headgate.web.telemetry")


@pytest.fixture
def receiver(otel):
    found = Receiver()
    yield found
    found.close()

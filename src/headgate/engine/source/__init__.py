"""Where the tuples of a stream come from. What a user writes as `headgate.source`."""

from headgate.engine.source.auctions import nexmark
from headgate.engine.source.given import rows
from headgate.engine.source.kafka import kafka
from headgate.engine.source.market import ticks
from headgate.engine.source.replayed import replay
from headgate.engine.source.streaming import spark
from headgate.engine.source.tcp import socket
from headgate.engine.source.watched import folder

__all__ = ["folder", "kafka", "nexmark", "replay", "rows", "socket", "spark", "ticks"]

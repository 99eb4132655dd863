"""JSON lines over TCP, from any number of clients at once.

Lines are stamped when they have been received. There is no answer: what a client has sent but the stream has not
taken when the process ends is lost, as far as the client did not keep it.
"""

import logging
import selectors
import socket as sockets
import time
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.engine.source.decode import decode, reject
from headgate.engine.source.json_lines import JsonLines
from headgate.engine.source.protocol import Intake, Rejected
from headgate.engine.source.pump import MOST_ROWS
from headgate.engine.source.schemas import Columns, declared
from headgate.engine.spans import seconds
from headgate.errors import InputError

LONGEST_LINE = 1 << 20
_READ = 1 << 18
_MOST_BYTES = 1 << 24
_MOST_CLIENTS = 500
_TOO_LONG = f"longer than {LONGEST_LINE} bytes"

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Socket:
    """A port that takes lines. See `socket`."""

    host: str
    columns: Columns
    every: float
    _port: int
    _listener: sockets.socket | None = field(default=None, repr=False)

    @property
    def port(self) -> int:
        """The port; if 0 was given, the one that is free, which is taken by asking."""
        if self._port == 0:
            self._listening()
        return self._port

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - one has to be running for a schema as text
        schema = declared(self.columns)
        JsonLines(schema)
        return schema

    def run(self, intake: Intake) -> None:
        with self._listening() as listener, selectors.DefaultSelector() as ready:
            try:
                _Server(intake, JsonLines(intake.schema), ready).serve(listener, self.every)
            finally:
                self._listener = None
                for key in list(ready.get_map().values()):
                    cast("sockets.socket", key.fileobj).close()

    def _listening(self) -> sockets.socket:
        if self._listener is None:
            try:
                self._listener = sockets.create_server((self.host, self._port))
            except (OSError, OverflowError) as error:
                got = f"{self.host}:{self._port} ({error})"
                raise InputError("a socket's address is free", got, "Choose another port, or 0 for any.") from None
            self._port = self._listener.getsockname()[1]
        return self._listener


def socket(port: int, *, host: str = "127.0.0.1", schema: Columns, every: str | float = "50ms") -> Socket:
    """Lines with a JSON object each, sent to a port; 0 is any free one, told by the attribute `port`.

    A train is cut `every` so often, or at 50,000 lines. Lines that are no tuples are refused.
    """
    if not 0 <= port <= 65535:
        raise InputError("a port is a number from 0 to 65535", port, "Give a number such as 9999, or 0 for any.")
    return Socket(host, schema, seconds(every, "every", above=0), port)


@dataclass(slots=True, eq=False)
class _Client:
    """A connection: what has come of a line that has no end yet, and how many lines there were."""

    name: str
    rest: bytearray = field(default_factory=bytearray)
    lines: int = 0
    skipping: bool = False

    def received(self, data: bytes) -> list[bytes]:
        """The lines that end in what has come; of one that is too long, the beginning, as soon as it is."""
        self.rest += data
        if b"\n" not in data:
            ended = []
        else:
            *ended, rest = self.rest.split(b"\n")
            self.rest = bytearray(rest)
        if ended and self.skipping:
            del ended[0]
            self.skipping = False
        if self.skipping:
            self.rest.clear()
        elif len(self.rest) > LONGEST_LINE:
            ended.append(self.rest[: LONGEST_LINE + 1])
            self.rest, self.skipping = bytearray(), True
        return [bytes(line) for line in ended]


@dataclass(slots=True, eq=False)
class _Train:
    """Lines that have been received and are not appended yet."""

    lines: list[bytes] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    size: int = 0

    @property
    def full(self) -> bool:
        return len(self.lines) >= MOST_ROWS or self.size >= _MOST_BYTES

    def add(self, client: _Client, lines: list[bytes], now: float) -> None:
        for line in lines:
            client.lines += 1
            self.size += len(line)
            place = f"{client.name} line {client.lines}"
            if len(line) > LONGEST_LINE:
                self.rejected.append(reject(line, _TOO_LONG, place))
            else:
                self.lines.append(line)
                self.places.append(place)
                self.arrived.append(now)


@dataclass(slots=True, eq=False)
class _Server:
    """Receives lines until it is told to stop, and appends them."""

    intake: Intake
    text: JsonLines
    ready: selectors.BaseSelector
    train: _Train = field(default_factory=_Train)

    def serve(self, listener: sockets.socket, every: float) -> None:
        listener.setblocking(False)
        self.ready.register(listener, selectors.EVENT_READ)
        cut = time.monotonic() + every
        stop = False
        while not stop:
            for key, _ in self.ready.select(max(cut - time.monotonic(), 0)):
                if key.fileobj is listener:
                    self._accept(listener)
                else:
                    self._receive(cast("sockets.socket", key.fileobj), key.data)
            stop = self.intake.wait(0)
            if stop or self.train.full or time.monotonic() >= cut:
                self._append()
                cut = time.monotonic() + every

    def _accept(self, listener: sockets.socket) -> None:
        try:
            connection, address = listener.accept()
        except (ConnectionError, BlockingIOError):
            return  # gone before its turn
        if len(self.ready.get_map()) > _MOST_CLIENTS:
            _log.warning("more than %d connections; refused one from %s", _MOST_CLIENTS, address[0])
            connection.close()
            return
        connection.setblocking(False)
        self.ready.register(connection, selectors.EVENT_READ, _Client(f"{address[0]}:{address[1]}"))

    def _receive(self, connection: sockets.socket, client: _Client) -> None:
        try:
            data = connection.recv(_READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        now = self.intake.now()
        if data:
            self.train.add(client, client.received(data), now)
            return
        self.ready.unregister(connection)
        connection.close()
        if client.rest:
            self.train.add(client, [bytes(client.rest)], now)

    def _append(self) -> None:
        train, self.train = self.train, _Train()
        if not train.lines and not train.rejected:
            return
        found = decode(self.text, train.lines, train.places.__getitem__)
        arrived = np.maximum.accumulate(np.array(train.arrived, np.float64))[found.lines]
        rejected = [*train.rejected, *(row for _, row in found.rejected)]
        if len(found.lines) or rejected:
            taken = (self.intake.state or {}).get("lines", 0) + len(found.lines) + len(rejected)
            self.intake.append(found.rows, {"lines": taken}, arrived=arrived, rejected=rejected)

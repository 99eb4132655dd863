"""A channel over Arrow Flight, where the worker may be on another machine.

The driver is the server. The worker calls it with the token, and the call lasts for as long as both talk. The token
keeps strangers out; it does not hide what is said from who can listen on the network.
"""

import contextlib
import hmac
import pickle
import queue
import threading
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import flight

from headgate.engine.resident.channel import Connected, introduced, introduction
from headgate.engine.resident.process import Process

_SCHEMA = pa.schema([("body", pa.uint8())])
_HEADER = "authorization"
_BROKEN = (flight.FlightError, pa.ArrowException, OSError)
_OVER = None


class _Words:
    """Messages as Flight has them: the value as metadata, the bytes as a column, so that they are not copied."""

    def __init__(self, writer: flight.MetadataRecordBatchWriter) -> None:
        self._writer, self._lock, self._open = writer, threading.Lock(), True
        writer.begin(_SCHEMA)

    def send(self, value: object, body: pa.Buffer | None = None) -> None:
        """Send a message."""
        head = pickle.dumps(value, protocol=5)
        with self._lock:
            # Flight frees the stream of a call that is over, and a write into that would end the process.
            if not self._open:
                raise ConnectionResetError("it has ended")
            try:
                if body:
                    column = pa.Array.from_buffers(pa.uint8(), body.size, [None, body])
                    self._writer.write_with_metadata(pa.record_batch([column], schema=_SCHEMA), head)
                else:
                    self._writer.write_metadata(head)
            except _BROKEN as error:
                raise ConnectionError(str(error)) from None

    def end(self) -> None:
        """Send nothing more."""
        with self._lock:
            self._open = False


def _message(reader: flight.FlightStreamReader | flight.MetadataRecordBatchReader) -> tuple[object, pa.Buffer | None]:
    """Read one. StopIteration, or an error of Flight's, if there is none."""
    chunk = reader.read_chunk()
    # Only who has shown the token gets as far as this.
    value = pickle.loads(chunk.app_metadata)  # noqa: S301
    return value, chunk.data.column(0).buffers()[1] if chunk.data is not None else None


class FlightChannel(_Words):
    """The driver's end. Flight's thread reads, since nothing else can wait for a message only for a while."""

    def __init__(self, writer: flight.MetadataRecordBatchWriter) -> None:
        super().__init__(writer)
        self._heard: queue.SimpleQueue[tuple[object, pa.Buffer | None] | None] = queue.SimpleQueue()

    def receive(self, timeout: float | None = None) -> tuple[object, pa.Buffer | None]:
        """The next message."""
        try:
            heard = self._heard.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None
        if heard is _OVER:
            self._heard.put(_OVER)
            raise ConnectionResetError("it has ended")
        return heard

    def close(self) -> None:
        """Hang up: the call ends with the worker's next sign of life, or with its life."""
        self.end()
        self._heard.put(_OVER)

    def read(self, reader: flight.MetadataRecordBatchReader) -> None:
        """Pass on what is heard, until the end."""
        with contextlib.suppress(StopIteration, *_BROKEN):
            while self._open:
                self._heard.put(_message(reader))
        self.close()


class FlightListener(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """A server for one call."""

    def __init__(self, token: str, connected: Connected, host: str, bind: str) -> None:
        # It serves as soon as it is made.
        self._connected, self._taken = connected, threading.Lock()
        super().__init__(f"grpc://{bind}:0", middleware={"token": _Guard(token)})
        self.address = f"grpc://{host}:{self.port}"

    def do_exchange(
        self,
        context: flight.ServerCallContext,  # noqa: ARG002 - as Flight calls it
        descriptor: flight.FlightDescriptor,
        reader: flight.MetadataRecordBatchReader,
        writer: flight.MetadataRecordBatchWriter,
    ) -> None:
        """Talk with the first that calls."""
        process = introduction(descriptor.command)
        if not self._taken.acquire(blocking=False):
            raise flight.FlightUnavailableError("the lane has its worker")
        channel = FlightChannel(writer)
        self._connected(channel, process)
        channel.read(reader)

    def close(self) -> None:
        """Stop when the call is over, which for a worker out of reach may take as long as the network likes."""
        threading.Thread(target=self.shutdown, name="headgate-listener", daemon=True).start()


class _Guard(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Lets nobody in without the token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._wanted = f"Bearer {token}".encode()

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str | bytes]]) -> None:  # noqa: ARG002
        """Compare."""
        (given, *_) = headers.get(_HEADER) or ("",)
        if not hmac.compare_digest(given if isinstance(given, bytes) else given.encode(), self._wanted):
            raise flight.FlightUnauthenticatedError("another token is wanted")


class _Caller(_Words):
    """The worker's end."""

    def __init__(self, client: flight.FlightClient, token: str) -> None:
        self._client = client
        options = flight.FlightCallOptions(headers=[(_HEADER.encode(), f"Bearer {token}".encode())])
        descriptor = flight.FlightDescriptor.for_command(introduced(Process.this()))
        writer, self._reader = client.do_exchange(descriptor, options)
        super().__init__(writer)

    def receive(self, timeout: float | None = None) -> tuple[object, pa.Buffer | None]:  # noqa: ARG002
        """The next message, however long it takes."""
        try:
            return _message(self._reader)
        except (StopIteration, *_BROKEN) as error:
            raise ConnectionError(str(error)) from None

    def close(self) -> None:
        """Hang up."""
        self.end()
        with contextlib.suppress(*_BROKEN):
            self._writer.done_writing()


def connect(address: str, token: str) -> _Caller:
    """The worker's end."""
    return _Caller(flight.connect(address), token)

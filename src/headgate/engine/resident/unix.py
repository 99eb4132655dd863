"""A channel over a Unix socket, where the driver and the worker are on one machine."""

import contextlib
import hmac
import pickle
import select
import shutil
import socket
import struct
import tempfile
import threading
from pathlib import Path

import pyarrow as pa

from headgate.engine.resident.channel import Connected, introduced, introduction
from headgate.engine.resident.process import Process

_STALLED = 10.0
"""Seconds after which the driver gives up a message that has begun. A worker waits: its driver may be busy."""
_LENGTHS = struct.Struct("<QQ")
_LENGTH = struct.Struct("<I")
_MOST_SAID = 1 << 12
_LONGEST = 70
"""A socket's path has room for a hundred characters or so."""
_SMALL = 1 << 16


class UnixChannel:
    """Messages over a connected socket: two lengths, the pickled value, the bytes."""

    def __init__(self, connection: socket.socket, patience: float | None) -> None:
        self._socket = connection
        self._socket.settimeout(patience)
        self._readable = select.poll()
        self._readable.register(connection, select.POLLIN)
        self._lock = threading.Lock()

    def send(self, value: object, body: pa.Buffer | None = None) -> None:
        """Send a message."""
        head = pickle.dumps(value, protocol=5)
        rest = memoryview(body or b"")
        start = _LENGTHS.pack(len(head), len(rest)) + head
        # A large body is not copied for the sake of one system call less.
        parts: list[bytes | memoryview] = [start, rest] if len(rest) > _SMALL else [start + rest]
        try:
            with self._lock:
                for part in parts:
                    self._socket.sendall(part)
        except OSError as error:
            raise ConnectionError(_why(error)) from None

    def receive(self, timeout: float | None = None) -> tuple[object, pa.Buffer | None]:
        """The next message."""
        if not self._readable.poll(None if timeout is None else timeout * 1000):
            raise TimeoutError
        try:
            head, size = _LENGTHS.unpack(_taken(self._socket, _LENGTHS.size))
            # Only who has shown the token gets as far as this.
            value = pickle.loads(_taken(self._socket, head))  # noqa: S301
            return value, _taken(self._socket, size) if size else None
        except OSError as error:
            raise ConnectionError(_why(error)) from None

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class UnixListener:
    """A socket in a folder that only its owner may enter."""

    def __init__(self, token: str, connected: Connected) -> None:
        self._token, self._connected = token.encode(), connected
        parent = tempfile.gettempdir()
        self._folder = tempfile.mkdtemp(prefix="headgate-", dir=parent if len(parent) < _LONGEST else "/tmp")  # noqa: S108
        self.address = str(Path(self._folder) / "lane")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.address)
        self._socket.listen()
        self._thread = threading.Thread(target=self._accept, name="headgate-listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and leave nothing behind."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError), self._socket:
            while not self._welcome(self._socket.accept()[0]):
                pass
        shutil.rmtree(self._folder, ignore_errors=True)

    def _welcome(self, caller: socket.socket) -> bool:
        caller.settimeout(_STALLED)
        try:
            if not hmac.compare_digest(_taken(caller, len(self._token)).to_pybytes(), self._token):
                raise ConnectionRefusedError
            (size,) = _LENGTH.unpack(_taken(caller, _LENGTH.size))
            process = introduction(_taken(caller, min(size, _MOST_SAID)).to_pybytes())
        except (OSError, ValueError):
            caller.close()
            return False
        self._connected(UnixChannel(caller, _STALLED), process)
        return True


def connect(address: str, token: str) -> UnixChannel:
    """The worker's end."""
    connection = socket.socket(socket.AF_UNIX)
    said = introduced(Process.this())
    try:
        connection.connect(address)
        connection.sendall(token.encode() + _LENGTH.pack(len(said)) + said)
    except OSError:
        connection.close()
        raise
    return UnixChannel(connection, patience=None)


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _taken(connection: socket.socket, size: int) -> pa.Buffer:
    """Exactly so many bytes."""
    buffer = pa.allocate_buffer(size)
    rest = memoryview(buffer)
    while rest:
        got = connection.recv_into(rest)
        if not got:
            raise ConnectionResetError("it has ended")
        rest = rest[got:]
    return buffer

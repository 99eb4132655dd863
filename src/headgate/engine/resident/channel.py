"""What a channel between a lane and its worker does: whole messages in their order, each a value and maybe bytes."""

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

import pyarrow as pa

from headgate.engine.resident.process import Process

Kind = Literal["unix", "flight"]


class Channel(Protocol):
    """One end. It belongs to one thread; but others may send as well."""

    def send(self, value: object, body: pa.Buffer | None = None) -> None:
        """Send a message. ConnectionError: there is nobody at the other end any more."""

    def receive(self, timeout: float | None = None) -> tuple[object, pa.Buffer | None]:
        """The next message. TimeoutError: none began to come; ConnectionError: none will."""

    def close(self) -> None:
        """Hear and say nothing more."""


Connected = Callable[[Channel, Process], None]
"""What a listener does with the worker that has come."""


class Listener(Protocol):
    """Waits in the driver for one worker, and takes no other."""

    @property
    def address(self) -> str:
        """Where the worker finds it."""

    def close(self) -> None:
        """Wait no longer."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a worker needs to know to call back: where, and the secret that shows that it is the one."""

    kind: Kind
    address: str
    token: str = field(repr=False)


def new_token() -> str:
    """A secret for one worker."""
    return secrets.token_hex(32)


def introduced(process: Process) -> bytes:
    """How a worker says who it is."""
    return json.dumps(asdict(process)).encode()


def introduction(said: bytes) -> Process:
    """Who a worker says that it is; ValueError if it says something else."""
    try:
        return Process(**json.loads(said))
    except TypeError as error:
        raise ValueError(str(error)) from None

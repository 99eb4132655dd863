"""The server: a thread of the engine's process that answers on a port of this machine."""

import asyncio
import errno
import secrets
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn

from headgate.errors import InputError
from headgate.web.app import Pages
from headgate.web.served import Served
from headgate.web.watch import Watch

_NEXT = 50
"""Ports that are tried, one after the other, where the first is taken."""
_LEAST = 8
"""Characters of a token, which whoever may reach the port can try to guess."""


class Server:
    """Serves the pages of an engine until it is closed. Changes need its token."""

    def __init__(self, served: Served, host: str, port: int, token: str | None = None) -> None:
        self.token = secrets.token_urlsafe(16) if token is None else hard(token)
        self._socket = bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"
        self._watch = Watch(served)
        config = uvicorn.Config(
            Pages(served, self._watch, self.token).app([host]),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = _Quiet(config)
        sockets = [self._socket]
        self._thread = threading.Thread(target=lambda: self._server.run(sockets), name="headgate-web", daemon=True)

    def start(self) -> Self:
        """Begin to answer."""
        self._watch.start()
        self._thread.start()
        return self

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""
        return self._watch.over

    def close(self) -> None:
        """Answer no more."""
        if self.closed:
            return
        # Pages end by themselves once nobody looks any more.
        self._watch.close()
        self._server.end()
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def hard(token: str) -> str:
    """A token that is hard to guess, as far as its length says."""
    if len(token) < _LEAST:
        # What was given is a secret, however short.
        got = f"{len(token)}" if token else "an empty one"
        raise InputError(f"a token has {_LEAST} characters or more", got, "Give a longer one, or none: it is random.")
    return token


class _Quiet(uvicorn.Server):
    """Does nothing while nobody asks: others look ten times a second whether to end, and what the time is."""

    _loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Wait for the end."""
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        if not await self.on_tick(0):
            await self._ended.wait()

    def end(self) -> None:
        """Answer no more, from another thread; nothing if the server has given up already."""
        self.should_exit = True
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)


def bound(host: str, port: int, tries: int = _NEXT) -> socket.socket:
    """A socket on a port, or on the next one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + tries if port else 1):
        found = socket.socket(family, socket.SOCK_STREAM)
        # Connections of a server that has just ended do not count.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, candidate))
            found.listen()
        except (OSError, OverflowError) as error:
            found.close()
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                continue
            said = getattr(error, "strerror", None) or str(error)
            remedy = "Name an address of this machine and a port above 1023."
            raise InputError("a server has an address", f"{host}:{candidate} ({said})", remedy) from None
        return found
    got = f"{port}, which is taken" if tries == 1 else f"none from {port} to {port + tries - 1}"
    raise InputError("a server has a port that is free", got, "Name another port.")

"""The server: a thread of the engine's process that answers on a port of this machine."""

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


class Server:
    """Serves the pages of an engine until it is closed. Changes need its token."""

    def __init__(self, served: Served, host: str, port: int, token: str | None = None) -> None:
        self.token = secrets.token_urlsafe(16) if token is None else token
        self._socket = bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"
        self._watch = Watch(served)
        self._pages = Pages(served, self._watch, self.token)
        config = uvicorn.Config(
            self._pages.app([host]),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
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
        return self._pages.over

    def close(self) -> None:
        """Answer no more."""
        self._pages.over = self._server.should_exit = True
        self._watch.close()
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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

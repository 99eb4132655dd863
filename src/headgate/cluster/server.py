"""The coordinator on a port: reports of nodes, moves that people ask for, and how everything is."""

import logging
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headgate.cluster import messages
from headgate.cluster.coordinator import Coordinator
from headgate.errors import HeadgateError, InputError
from headgate.web.guard import TOKEN, same
from headgate.web.server import bound

_LONGEST = 10.0
_LOOK = 0.1
_ALL = ("0.0.0.0", "::", "")  # noqa: S104 - to know them
_LARGEST = 16_000_000
"""Bytes of a message; a report has some hundreds for each query."""
_STRANGER = "the token is not that of this coordinator. Set HEADGATE_TOKEN to what it printed or was given."
_log = logging.getLogger(__name__)


class CoordinatorServer:
    """Serves a coordinator until it is closed. Whoever asks needs the token."""

    def __init__(
        self, coordinator: Coordinator, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        self.coordinator = coordinator
        self.token = secrets.token_urlsafe(16) if token is None else token
        self._socket = bound(host, port, tries=1)
        self.port: int = self._socket.getsockname()[1]
        # On all addresses it is reached by the name of the machine, by which others know it.
        named = socket.gethostname() if host in _ALL else host
        self.address = f"http://{f'[{named}]' if ':' in named else named}:{self.port}"
        routes = [
            Route("/report", self._report, methods=["POST"]),
            Route("/admit", self._admit, methods=["POST"]),
            Route("/move", self._move, methods=["POST"]),
            Route("/drain", self._drain, methods=["POST"]),
            Route("/leave", self._leave, methods=["POST"]),
            Route("/status", self._status),
        ]
        # Whatever name it is asked by: no page of a browser can know the token, nor put it into a header.
        app = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._over = threading.Event()
        sockets = [self._socket]
        self._threads = [
            threading.Thread(target=lambda: self._server.run(sockets), name="headgate-coordinator", daemon=True),
            threading.Thread(target=self._look, name="headgate-looks", daemon=True),
        ]

    def start(self) -> Self:
        """Begin to answer."""
        for thread in self._threads:
            thread.start()
        return self

    def close(self) -> None:
        """Answer no more."""
        self._over.set()
        self._server.should_exit = True
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look(self) -> None:
        said = ""
        while not self._over.wait(_LOOK):
            try:
                self.coordinator.look()
            except HeadgateError as error:
                # A full disk, say. The next look tries again.
                if str(error) != said:
                    _log.warning("%s", error)
                said = str(error)
            except Exception:  # noqa: BLE001 - it has to go on looking
                _log.exception("the coordinator could not look around")
            else:
                said = ""

    async def _report(self, request: Request) -> Response:
        known, wait = request.query_params.get("version"), _seconds(request.query_params.get("wait", "0"))

        def heard(given: bytes) -> Mapping[str, Any]:
            serial, version, wanted = self.coordinator.report(messages.report(given), known, wait)
            return {"serial": serial, "version": version, "wanted": wanted}

        # A report may wait for news, and that in a thread of its own.
        return await self._answered(request, heard)

    async def _admit(self, request: Request) -> Response:
        def admitted(given: bytes) -> Mapping[str, Any]:
            self.coordinator.admit(messages.report(given))
            return {}

        return await self._answered(request, admitted)

    async def _move(self, request: Request) -> Response:
        def moved(given: bytes) -> Mapping[str, Any]:
            query, to, how = messages.move(given)
            self.coordinator.move(query, to, how=how)
            return {}

        return await self._answered(request, moved)

    async def _drain(self, request: Request) -> Response:
        def drained(given: bytes) -> Mapping[str, Any]:
            self.coordinator.drain(messages.drain(given))
            return {}

        return await self._answered(request, drained)

    async def _leave(self, request: Request) -> Response:
        def left(given: bytes) -> Mapping[str, Any]:
            self.coordinator.leave(*messages.leave(given))
            return {}

        return await self._answered(request, left)

    async def _status(self, request: Request) -> Response:
        return await self._answered(request, lambda _: asdict(self.coordinator.told()))

    async def _answered(self, request: Request, answer: Callable[[bytes], Mapping[str, Any]]) -> Response:
        # Before anything is read: who has no token takes no memory.
        if not same(request.headers.get(TOKEN, ""), self.token):
            return JSONResponse({"error": _STRANGER}, 403)
        try:
            return JSONResponse(await run_in_threadpool(answer, await _body(request)))
        except HeadgateError as error:
            return JSONResponse({"error": str(error)}, 400)
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 - whoever asks is to be answered
            _log.exception("a defect of the coordinator")
            return JSONResponse({"error": f"a defect of the coordinator, {type(error).__name__}; see its log"}, 500)


async def _body(request: Request) -> bytes:
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > _LARGEST:
            rule = f"a message has at most {_LARGEST:,} bytes"
            raise InputError(rule, "a longer one", "Give a coordinator of its own to a part of the queries.")
    return bytes(found)


def _seconds(given: str) -> float:
    """For how long a report waits: what is no such number is none, and an answer comes at once."""
    try:
        return min(_LONGEST, max(0.0, float(given)))
    except ValueError:
        return 0.0


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    served = "/report, /admit, /move, /drain, /leave and /status"
    said = f"a coordinator answers to {served}, not to {request.method} {request.url.path}"
    return JSONResponse({"error": said}, status)

"""The coordinator on a port: reports of nodes, moves that people ask for, and how everything is."""

import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headgate.cluster import messages
from headgate.cluster.coordinator import Coordinator
from headgate.errors import HeadgateError
from headgate.web.guard import TOKEN, Guard, same
from headgate.web.server import bound

_LONGEST = 10.0
_LOOK = 0.1
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
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        routes = [
            Route("/report", self._report, methods=["POST"]),
            Route("/move", self._move, methods=["POST"]),
            Route("/status", self._status),
        ]
        app = Guard(Starlette(routes=routes), [host])
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
        while not self._over.wait(_LOOK):
            try:
                self.coordinator.look()
            except Exception:  # noqa: BLE001 - a full disk, say; the next look tries again
                _log.exception("the coordinator could not look around")

    async def _report(self, request: Request) -> Response:
        given, known = await request.body(), request.query_params.get("version")
        wait = min(_LONGEST, max(0.0, float(request.query_params.get("wait", "0"))))

        def heard() -> Mapping[str, Any]:
            serial, version, wanted = self.coordinator.report(messages.report(given), known, wait)
            return {"serial": serial, "version": version, "wanted": wanted}

        # A report may wait for news, and that in a thread of its own.
        return await self._answered(request, heard)

    async def _move(self, request: Request) -> Response:
        given = await request.body()

        def moved() -> Mapping[str, Any]:
            query, to, how = messages.move(given)
            self.coordinator.move(query, to, how=how)
            return {}

        return await self._answered(request, moved)

    async def _status(self, request: Request) -> Response:
        return await self._answered(request, lambda: asdict(self.coordinator.told()))

    async def _answered(self, request: Request, answer: Callable[[], Mapping[str, Any]]) -> Response:
        if not same(request.headers.get(TOKEN, ""), self.token):
            return JSONResponse({"error": "the token is not that of this coordinator"}, 403)
        try:
            return JSONResponse(await run_in_threadpool(answer))
        except HeadgateError as error:
            return JSONResponse({"error": str(error)}, 400)

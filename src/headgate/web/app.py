"""What is answered where: pages, rows as they change, one query, the network, metrics, health; and changes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from anyio import to_thread
from bokeh.settings import settings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from headgate.errors import HeadgateError, InputError
from headgate.printed import finite
from headgate.record import Changed, Iterated, Ran, Refused
from headgate.web.audience import Asked
from headgate.web.guard import TOKEN, Guard, same
from headgate.web.metrics import Scraped
from headgate.web.network import network
from headgate.web.oracle import CHOICES, Oracle
from headgate.web.served import Served
from headgate.web.watch import LOGS, PARTS, Watch

STATIC = Path(__file__).parent / "static"
_CHARTS = Path(settings.bokehjs_path()) / "js"
_SCRIPTS = ("bokeh.min.js", "bokeh-api.min.js")
_WATCHERS = 64
"""Pages that may be open at a time."""
_HEARTBEAT = 3.0
"""Seconds of silence after which something is sent, so that the other side knows that somebody is there."""
_FRESH = 10.0
"""Seconds after which an engine that has shown nothing new is not ready."""
_LONGEST = 4096
"""Bytes of a form."""
_SCRAPED = "text/plain; version=0.0.4; charset=utf-8"
"""The format of Prometheus."""
_RUNS = 30
"""Runs of a query that its page shows."""


class Pages:
    """The answers."""

    def __init__(self, served: Served, watch: Watch, token: str) -> None:
        self._served, self._watch, self._token = served, watch, token
        self._oracle = Oracle(served.state)
        self._scraped = Scraped()

    def app(self, known: list[str]) -> Starlette:
        """The application, which answers under the names that are known."""
        return Starlette(
            routes=[
                Route("/", self._index),
                Route("/live", self._live),
                Route("/api/queries/{name}", self._query),
                Route("/api/network", self._network),
                Route("/api/queries/{name}/{change:str}", self._change_query, methods=["POST"]),
                Route("/api/streams/{name}/{change:str}", self._change_query, methods=["POST"]),
                Route("/api/classes/{name}/priority", self._change_class, methods=["POST"]),
                Route("/api/choices", self._choices),
                Route("/api/whatif", self._whatif, methods=["POST"]),
                Route("/api/explain", self._explain, methods=["POST"]),
                Route("/metrics", self._metrics),
                Route("/healthz", self._healthy),
                Route("/readyz", self._ready),
                Route("/charts/{script}", self._charts),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            middleware=[Middleware(Guard, known=known)],
        )

    async def _index(self, _: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def _charts(self, request: Request) -> Response:
        script = request.path_params["script"]
        return FileResponse(_CHARTS / script) if script in _SCRIPTS else _error(404, "there is no such script")

    # Looking

    async def _live(self, request: Request) -> Response:
        asked = [each for each in request.query_params.get("of", "totals").split(",") if each in (*PARTS, *LOGS)]
        if len(self._watch.audience) >= _WATCHERS:
            return _error(503, f"{_WATCHERS} pages are open already; close one of them")
        return StreamingResponse(self._events(tuple(dict.fromkeys(asked))), media_type="text/event-stream")

    async def _events(self, asked: Asked) -> AsyncIterator[bytes]:
        """Messages as they come; whoever is slow misses some, and then gets everything again."""
        audience = self._watch.audience
        with audience.seat(asked) as seat:
            while not self._watch.over:
                if message := audience.take(seat):
                    yield message
                    continue
                try:
                    await asyncio.wait_for(seat.news.wait(), _HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"

    def _query(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            described = asdict(self._served.described(name))
        except HeadgateError as error:
            return _error(404, self._refusal(name) or str(error))
        frame, journal = self._watch.frame, self._watch.journal
        seen = next((each for each in frame.snapshot.queries if each.name == name), None)
        status = None
        if seen:
            promised = frame.promised(seen)
            own = {"state": promised.state, "target": promised.target, "slack": promised.slack}
            status = {**asdict(seen), **own}
        unit = seen.unit if seen else name
        runs = [_told(run) for run in journal.since(Ran, 0, journal.count) if run.unit == unit][-_RUNS:]
        changes = [asdict(each) for each in journal.since(Changed, 0, journal.count) if each.unit in (unit, name)]
        iterations = [asdict(each) for each in journal.since(Iterated, 0, journal.count) if each.query == name]
        deadline = next((asdict(each) for each in frame.snapshot.deadlines if each.name == name), None)
        found = {**described, "status": status, "runs": runs[::-1], "changes": changes[-_RUNS:][::-1]}
        return JSONResponse(finite({**found, "iterations": iterations[-_RUNS:][::-1], "deadline": deadline}))

    def _refusal(self, name: str) -> str | None:
        """Why a query is not there that was refused."""
        journal = self._watch.journal
        refused = [each for each in journal.since(Refused, 0, journal.count) if each.query == name]
        return f"query '{name}' was refused: {refused[-1].why}" if refused else None

    def _network(self, _: Request) -> Response:
        return JSONResponse(asdict(network(self._watch.frame)))

    async def _choices(self, _: Request) -> Response:
        found = self._watch.frame.snapshot
        classes, queries = [each.name for each in found.classes], [each.name for each in found.queries]
        return JSONResponse({**CHOICES, "class": classes, "like": queries})

    def _metrics(self, _: Request) -> Response:
        return Response(self._scraped.text(self._watch.frame.snapshot), media_type=_SCRAPED)

    async def _healthy(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, _: Request) -> Response:
        age = time.time() - self._watch.frame.snapshot.time
        if not self._served.running:
            return PlainTextResponse("the engine does not run\n", 503)
        if age > _FRESH:
            return PlainTextResponse(f"no news from the engine for {age:.0f} s\n", 503)
        return PlainTextResponse("ok\n")

    # Changing

    async def _change_query(self, request: Request) -> Response:
        changes = {"pause": self._served.pause, "resume": self._served.resume}
        change, name = request.path_params["change"], request.path_params["name"]
        if change not in changes:
            return _error(404, "a query or a stream is paused or resumed")
        return await self._changed(request, lambda _: changes[change](name))

    async def _change_class(self, request: Request) -> Response:
        name = request.path_params["name"]
        return await self._changed(request, lambda given: self._served.prioritise(name, _priority(given)), "priority")

    async def _whatif(self, request: Request) -> Response:
        """Changes nothing, but takes the time of a processor: for whoever has the token."""
        return await self._granted(request, self._oracle.predict)

    async def _explain(self, request: Request) -> Response:
        return await self._granted(request, self._oracle.explain)

    async def _changed(self, request: Request, change: Callable[[str], None], field: str | None = None) -> Response:
        async def make(form: Mapping[str, str]) -> Mapping[str, Any]:
            await to_thread.run_sync(change, form.get(field or "", ""))
            return {"done": True}

        return await self._granted(request, make)

    async def _granted(
        self, request: Request, answer: Callable[[Mapping[str, str]], Awaitable[Mapping[str, Any]]]
    ) -> Response:
        """Answer somebody who has the token."""
        form = await _form(request)
        if not same(request.headers.get(TOKEN) or form.get("token", ""), self._token):
            return _error(403, f"this needs the token that was printed at the start, as the header {TOKEN}")
        try:
            return JSONResponse(await answer(form))
        except HeadgateError as error:
            return _error(400, str(error))


def _told(run: Ran) -> dict[str, Any]:
    """A run as a page shows it."""
    names = ("lane", "started", "finished", "n", "results", "formula", "over", "error")
    return {**{name: getattr(run, name) for name in names}, "terms": dict(run.terms)}


def _priority(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise InputError("a priority is a number", f"'{given}'", "Give one above 0, such as 2.") from None


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; of one that is longer than any of ours, none."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST:
            return {}
    return dict(parse_qsl(body.decode(errors="replace")))


def _error(code: int, said: str) -> Response:
    return JSONResponse({"error": said}, code)

"""Who may ask for what: names that no other page can fake, a token for changes, and headers that browsers obey."""

import hmac
import ipaddress
from collections.abc import Sequence
from email.utils import formatdate

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "X-Headgate-Token"  # noqa: S105 - the name of the header
_HEADERS = {
    # Charts style themselves as they are drawn; scripts come from here alone.
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Guard:
    """Lets requests through that were meant for this server, and puts the headers on all answers.

    A page of another site can have its own name lead here, but then its name stands in the request: only addresses
    and the names that are `known` are answered.
    """

    def __init__(self, app: ASGIApp, known: Sequence[str]) -> None:
        self._app, self._known = app, {"localhost", *(name.lower() for name in known)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {"Date": formatdate(usegmt=True), **_HEADERS}.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http" and not self._meant(Headers(scope=scope).get("host", "")):
            said = "this server is asked by its address; use the one that was printed when it started"
            await JSONResponse({"error": said}, 403)(scope, receive, send_on)
            return
        await self._app(scope, receive, send_on)

    def _meant(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        name = name.removeprefix("[").removesuffix("]").lower()
        if name in self._known:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def same(given: str, token: str) -> bool:
    """Whether a token is the right one, in a time that does not tell how much of it is."""
    return hmac.compare_digest(given.encode(), token.encode())

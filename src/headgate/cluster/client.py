"""How a node, or a person, reaches the coordinator."""

import http.client
import json
import urllib.parse
from collections.abc import Mapping
from typing import Any

from headgate.cluster import messages
from headgate.cluster.placement import How, Report, Wanted
from headgate.errors import HeadgateError, InputError
from headgate.web.guard import TOKEN

_TIMEOUT = 5.0


class UnreachableError(HeadgateError):
    """The coordinator does not answer."""


class Client:
    """A connection that is made anew where it was lost. For one thread."""

    def __init__(self, address: str, token: str) -> None:
        found = urllib.parse.urlsplit(address if "//" in address else f"http://{address}")
        if found.scheme != "http" or not found.hostname:
            raise InputError("a coordinator has an address", f"'{address}'", "Write it like http://127.0.0.1:4060.")
        self.address = f"http://{found.netloc}"
        self._host, self._port = found.hostname, found.port or 80
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def report(self, report: Report, version: str | None = None, wait: float = 0.0) -> tuple[int, str, Wanted]:
        """Report, and hear what is wanted: when it was said, in which version, and what."""
        asked = urllib.parse.urlencode({"wait": wait, **({"version": version} if version else {})})
        found = self._ask("POST", f"/report?{asked}", messages.written(report), wait)
        return int(found["serial"]), str(found["version"]), messages.wanted(found["wanted"])

    def move(self, query: str, to: str, how: How = "unimico") -> None:
        """Have a query run on another node."""
        self._ask("POST", "/move", {"query": query, "to": to, "how": how})

    def status(self) -> Mapping[str, Any]:
        """How everything is."""
        return self._ask("GET", "/status")

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, wait: float = 0.0
    ) -> Mapping[str, Any]:
        kept = self._connection is not None
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._host, self._port, timeout=_TIMEOUT + wait)
        try:
            text = None if body is None else json.dumps(body)
            self._connection.request(method, path, text, {TOKEN: self._token})
            answer = self._connection.getresponse()
            found: Mapping[str, Any] = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            if kept and isinstance(error, ConnectionError):
                # Nobody used it for a while, and the other side closed it. To say a thing twice is harmless.
                self.close()
                return self._ask(method, path, body, wait)
            self.close()
            said = str(error) or type(error).__name__
            raise UnreachableError(f"the coordinator at {self.address} does not answer: {said}") from error
        if answer.status != http.client.OK:
            raise HeadgateError(f"the coordinator at {self.address} says: {found.get('error', answer.status)}")
        return found

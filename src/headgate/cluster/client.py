"""How a node, or a person, reaches the coordinator."""

import http.client
import json
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

from headgate.cluster import messages
from headgate.cluster.instances import How, Report, Serial, Wanted
from headgate.errors import HeadgateError, InputError
from headgate.web.guard import TOKEN

_TIMEOUT = 5.0
_POLL, _LONGEST, _DRAINED = 0.05, 60.0, 600.0


class UnreachableError(HeadgateError):
    """The coordinator does not answer."""


class Client:
    """A connection that is made anew where it was lost. For one thread."""

    def __init__(self, address: str, token: str) -> None:
        try:
            found = urllib.parse.urlsplit(address if "//" in address else f"http://{address}")
            host, port = found.hostname, found.port
        except ValueError:
            host = port = None
        if not host or found.scheme != "http":
            raise InputError("a coordinator has an address", f"'{address}'", "Write it like http://127.0.0.1:4060.")
        self.address = f"http://{found.netloc}"
        self._host, self._port = host, port or 80
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def report(self, report: Report, version: str | None = None, wait: float = 0.0) -> tuple[Serial, str, Wanted]:
        """Report, and hear what is wanted: when it was said, in which version, and what."""
        asked = urllib.parse.urlencode({"wait": wait, **({"version": version} if version else {})})
        found = self._ask("POST", f"/report?{asked}", messages.written(report), wait)
        return messages.answer(found)

    def admit(self, report: Report) -> None:
        """Ask whether such a node would be heard, and hear why not."""
        self._ask("POST", "/admit", messages.written(report))

    def move(self, query: str, to: str, how: How = "unimico") -> None:
        """Have a query run on another node."""
        self._ask("POST", "/move", {"query": query, "to": to, "how": how})

    def leave(self, node: str, life: str, why: str) -> None:
        """Say that a node has stopped."""
        self._ask("POST", "/leave", {"node": node, "life": life, "why": why})

    def drain(self, node: str, longest: float = _DRAINED) -> float:
        """Have a node give its queries away, and wait until it has none; how many seconds that took."""
        began = time.monotonic()
        self._ask("POST", "/drain", {"node": node})
        while (taken := time.monotonic() - began) < longest:
            told = self.status()
            queries = next((each["queries"] for each in told["nodes"] if each["name"] == node), 0)
            if not queries and all(each["node"] != node for each in told["queries"]):
                return taken
            time.sleep(_POLL)
        raise HeadgateError(f"{node} has queries after {longest:g} s; headgate nodes shows what is in the way")

    def migrate(self, query: str, to: str, longest: float = _LONGEST) -> float:
        """Have a query run on another node, and wait until it does; how many seconds that took."""
        began = time.monotonic()
        self.move(query, to)
        while (taken := time.monotonic() - began) < longest:
            told = self.status()
            found = next((each for each in told["queries"] if each["name"] == query), None)
            if found and found["node"] == to and found["status"] == "ACTIVE":
                return taken
            last = next(
                (each for each in reversed(told["moves"]) if (each["query"], each["to"]) == (query, to)), None
            )
            if last and last["outcome"] not in (None, "done"):
                raise HeadgateError(f"{query} does not move to {to}: {last['outcome']}")
            time.sleep(_POLL)
        said = f"{query} does not run on {to} after {longest:g} s; headgate nodes shows what is in the way"
        raise HeadgateError(said)

    def status(self) -> Mapping[str, Any]:
        """How everything is."""
        return messages.told(self._ask("GET", "/status"))

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
            found = json.loads(answer.read())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            self.close()
            raise UnreachableError(f"what answers at {self.address} is no coordinator") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            if kept and isinstance(error, ConnectionError):
                # Nobody used it for a while, and the other side closed it. To say a thing twice is harmless.
                self.close()
                return self._ask(method, path, body, wait)
            self.close()
            said = str(error) or type(error).__name__
            raise UnreachableError(f"the coordinator at {self.address} does not answer: {said}") from error
        if not isinstance(found, dict) or (answer.status != http.client.OK and "error" not in found):
            raise UnreachableError(f"what answers at {self.address} is no coordinator")
        if answer.status != http.client.OK:
            raise HeadgateError(f"the coordinator at {self.address} says: {found['error']}")
        return found

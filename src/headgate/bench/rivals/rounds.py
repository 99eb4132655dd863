"""What a system's process does: it plays the rounds that it is told to on standard input and answers with figures."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headgate.bench.rivals.alerts import SYMBOLS, Alert, Expected
from headgate.bench.rivals.tuples import Ints, Pool, Round

_MICROS = 1_000_000


class Feed(Protocol):
    """Brings the tuples."""

    def play(self, rate: float, seconds: float) -> Round:
        """Begin a round now; the one before is over."""


class Ear(Protocol):
    """The user's function, for the results of all queries."""

    @property
    def results(self) -> int:
        """How many rows there have been."""

    def waited(self, since: float) -> NDArray[np.float64]:
        """The response times of results whose tuples arrived since a time."""


class PythonEar:
    """A function in Python that notes of each result how long it took."""

    def __init__(self) -> None:
        self._heard: list[tuple[float, Ints]] = []
        self.results = 0

    def take(self, arrived: Ints) -> None:
        """Results that are here now, by the arrival of their tuples."""
        self._heard.append((time.time() * _MICROS, arrived))
        self.results += len(arrived)

    def waited(self, since: float) -> NDArray[np.float64]:
        """The response times of results whose tuples arrived since a time."""
        # More results come meanwhile.
        heard = self._heard.copy()
        if not heard:
            return np.zeros(0)
        arrived = np.concatenate([times for _, times in heard])
        seen = np.repeat([now for now, _ in heard], [len(times) for _, times in heard])
        waited: NDArray[np.float64] = (seen - arrived) / _MICROS
        return waited[arrived >= since * _MICROS]


def serve(feed: Feed, ear: Ear, queries: Sequence[Alert]) -> None:
    """Play rounds until standard input ends."""
    expected = Expected.of(Pool.of(SYMBOLS), queries)
    _say({"ready": True})
    for line in sys.stdin:
        told = json.loads(line)
        _say({"round": play(feed, ear, expected, **told)})


def play(
    feed: Feed, ear: Ear, expected: Expected, *, rate: float, warm_up: float, seconds: float, patience: float
) -> dict[str, Any]:
    """One round: how soon the results of the time after the warm-up were there, and how many were not.

    What is missing when the patience is at its end counts as having waited so long.
    """
    played = feed.play(rate, warm_up + seconds)
    # Results of earlier rounds may still be on their way.
    total = expected.over(replace(played, first=0))
    since = played.began + warm_up
    time.sleep(max(0.0, since - time.time()))
    _say({"measuring": True})
    time.sleep(max(0.0, since + seconds - time.time()))
    limit = time.time() + patience
    while ear.results < total and time.time() < limit:
        time.sleep(0.01)
    missing = total - ear.results
    waited = np.concatenate([ear.waited(since), np.full(max(0, missing), patience)])
    p50, p99 = np.quantile(waited, [0.5, 0.99]).tolist() if len(waited) else (None, None)
    return {"p50": p50, "p99": p99, "results": len(waited), "missing": missing}


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()

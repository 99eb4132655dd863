"""Long work beside short work, in one interpreter: what is not urgent lets others have their turn."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_TURN, _REST = 0.0005, 0.0002
"""Seconds of work, and of rest: a thread that is not asked keeps the interpreter for 5 ms, longer than many a run."""


def gently(items: Iterable[T]) -> Iterator[T]:
    """The items, with rests after every half millisecond."""
    until = time.perf_counter() + _TURN
    for each in items:
        if time.perf_counter() > until:
            time.sleep(_REST)
            until = time.perf_counter() + _TURN
        yield each

"""Processors of this machine, so that the engines of a benchmark can have one each."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


def own(count: int) -> tuple[int, ...]:
    """So many processors that this process may use; none where there are fewer, or where none can be chosen."""
    if not hasattr(os, "sched_getaffinity"):
        return ()
    found = sorted(os.sched_getaffinity(0))
    return tuple(found[:count]) if len(found) >= count else ()


@contextmanager
def starting_on(processor: int | None) -> Iterator[None]:
    """What this thread starts meanwhile runs on that processor alone, with all that it starts in turn.

    Set before the start and not after it: threads that are there already would keep to where they were.
    """
    if processor is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

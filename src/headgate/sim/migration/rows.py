"""What flows through a query: tuples of streams, and rows of operators."""

from collections.abc import Sequence
from dataclasses import dataclass

Value = tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Tuple:
    """A tuple of a stream. Those of all streams have one order: by time, then by stream, then as they come."""

    ts: int
    stream: int
    number: int
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row between operators or a result; the sign is -1 where it takes an earlier one back.

    `begin` is the earliest time of what it is made of, or the start of its window; `at` is when it is known.
    """

    begin: int
    at: int
    value: Value
    sign: int = 1


def merged(streams: Sequence[Sequence[Tuple]]) -> list[Tuple]:
    """The tuples of all streams in their one order."""
    return sorted(each for stream in streams for each in stream)

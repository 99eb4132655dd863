"""The queries of a unit, as a list of changes: what a lane has applied of it, it need not be sent again."""

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from headgate.engine.kernel.ir import Segment

NUMBER = "_q"
"""The column of results that says whose they are."""

Joined = Mapping[str, Mapping[int, int]]
"""Rows that were looked up, by table and part; -1 where nothing was found."""

_ids = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Add:
    """Queries of one shape, each with a number of its own, and a column of constants for each parameter."""

    shape: Segment
    numbers: Sequence[int]
    constants: tuple[pa.Array, ...] = ()


@dataclass(frozen=True, slots=True)
class Remove:
    """Queries that are no longer wanted."""

    numbers: Sequence[int]


Change = Add | Remove


@dataclass
class Program:
    """What a unit runs. `tables` are the folders with the snapshots of the reference tables that it looks up."""

    source: str
    tables: Mapping[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    id: str = field(default_factory=lambda: f"{os.getpid()}-{next(_ids)}")


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of a train: tables that begin with the column of query numbers, sorted by it; and who failed.

    `joined` says how many rows were looked up in each reference table, by the part of it in which they were found.
    """

    parts: tuple[pa.Table, ...]
    errors: Mapping[int, str] = field(default_factory=dict)
    joined: Joined = field(default_factory=dict)

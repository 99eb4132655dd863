"""The input: seeded streams out of order, recorded in virtual time, and tables to join them with."""

from functools import cache
from itertools import pairwise

import pyarrow as pa

import headgate as hg

TICKS = hg.source.ticks(seed=7, rate=25, symbols=40, count=3000, disorder="1.9s")
_EVENTS = {"seed": 11, "rate": 0.05, "count": 3260, "disorder": "110s"}  # most of a day
SOURCES = {
    "ticks": TICKS,
    **{kind: hg.source.nexmark(kind, **_EVENTS) for kind in ("persons", "auctions", "bids")},
}
TIMES = {"ticks": ("ts", "2s"), **dict.fromkeys(("persons", "auctions", "bids"), ("dateTime", "2min"))}
"""The event time of each stream, and its delay, which is longer than the disorder: no tuple is late."""

_SECTORS = ("energy", "health", None, "retail")
_SYMBOLS = [*(f"AA{letter}" for letter in "BCDEFGHIJKLMNOPQRSTUVWXYZ"), "ABA", "ABB", "ABC", "ABD", "XYZ"]
TABLES = {
    "symbols": pa.table(
        {
            "sym": _SYMBOLS,
            "sector": [_SECTORS[i % 4] for i in range(30)],
            "lot": [(1, 10, 100)[i % 3] for i in range(30)],
        }
    ),
    "bands": pa.table({"label": ["low", "mid", "high"], "low": [0.0, 40.0, 35.0], "high": [20.0, 200.0, 1e9]}),
    "side_input": pa.table({"key": list(range(0, 100, 3)), "value": [f"v{k}" for k in range(0, 100, 3)]}),
}


class _Recording:
    """An intake whose clock is moved on by waiting."""

    state = None
    folder = ""

    def __init__(self):
        self.tables, self.clock = [], 0.0

    def append(self, rows, state, *, arrived=None, rejected=()):
        self.tables.append(rows)

    def now(self):
        return self.clock

    def wait(self, seconds):
        self.clock += seconds
        return False


@cache
def recorded(stream):
    """All tuples of a stream, in the order in which they come."""
    intake = _Recording()
    SOURCES[stream].run(intake)
    return pa.concat_tables(intake.tables)


def trains(stream, number):
    """The tuples of a stream in so many trains of about the same length."""
    table = recorded(stream)
    edges = [len(table) * k // number for k in range(number + 1)]
    return [table.slice(low, high - low) for low, high in pairwise(edges)]

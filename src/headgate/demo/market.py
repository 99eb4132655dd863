"""What the demonstration has to serve: market ticks with the notes of traders, and sixty queries over them."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headgate.bench.played import Floats, Played, Rows
from headgate.engine.source import ticks

SEED = 7
WINDOW = "3s"
"""What boards look back on."""
_SYMBOLS = 50
_VENUES = ("ARCA", "BATS", "EDGX", "IEX", "NSDQ", "NYSE")
_DESKS = ("index arb", "cash equity", "delta one", "programme", "retail", "market making")
_MANNERS = ("work it slowly", "cross at the close", "sweep the book", "post and wait", "peg to the mid")
_NOTES = 997
"""Different notes that there are, over and over."""
_WORDS = ("client", "desk", "account", "order", "price", "limit", "close", "open", "cross", "peg", "sweep", "post")
"""Words that reports take out of notes, to see what else is the same in them."""
_STEPS = 40


@dataclass(frozen=True)
class Class:
    """A class of queries: what it is for, its priority and its delay target in seconds."""

    name: str
    what: str
    priority: float
    target: float


CLASSES = (
    Class("alerts", "a trade that somebody waits for", 6.0, 1.0),
    Class("boards", "what screens show of the last seconds", 3.0, 3.0),
    Class("reports", "a search through the notes of traders", 1.0, 6.0),
)


@dataclass(frozen=True)
class Query:
    """A query of the demonstration."""

    name: str
    cls: str
    sql: str
    window: str | None = None
    slide: str | None = None


def queries() -> list[Query]:
    """Alerts that somebody waits for, boards that are looked at, and reports that have time."""
    found = []
    for i in range(18):
        sym = f"AA{chr(ord('A') + i)}"
        where = f"sym = '{sym}' AND vol > {1000 + 100 * i}"
        found.append(Query(f"large_{sym}", "alerts", f"SELECT sym, price, vol, ts FROM ticks WHERE {where}"))  # noqa: S608
        where = f"sym = '{sym}' AND side = 'S' AND price * vol > {5000 * (i + 1)}"
        found.append(Query(f"sold_{sym}", "alerts", f"SELECT sym, price * vol AS value FROM ticks WHERE {where}"))  # noqa: S608
    for venue in _VENUES:
        where = f"FROM ticks WHERE venue = '{venue}' GROUP BY sym"
        for name, output in (
            ("vwap", "sum(price * vol) / sum(vol) AS vwap, max(price) - min(price) AS spread"),
            ("flow", "sum(CASE WHEN side = 'B' THEN vol ELSE -vol END) AS flow, count(*) AS trades"),
        ):
            found.append(Query(f"{name}_{venue}", "boards", f"SELECT sym, {output} {where}", WINDOW, "1s"))
    return [*found, *(Query(f"notes_{i:02d}", "reports", _report(i)) for i in range(12))]


def _report(number: int) -> str:
    """Ticks whose note is of one of many lengths once words and the numbers of clients are taken out of it."""
    left = "note"
    for i in range(_STEPS):
        left = f"replace({left}, '{_WORDS[(i + number) % len(_WORDS)]}{number % 3}', '{i % 10}')"
    inner = f"SELECT sym, vol, translate({left}, '0123456789', '') AS text FROM ticks"  # noqa: S608
    return f"SELECT sym, vol, text FROM ({inner}) WHERE pmod(length(text) * 7919 + vol, 101) = {number}"  # noqa: S608


def source() -> Played:
    """Ticks that come when they are told to, the same for the same numbers."""
    made, notes = ticks(SEED, symbols=_SYMBOLS), _notes()

    def rows(first: int, stamps: Floats) -> pa.Table:
        numbers = np.arange(first, first + len(stamps))
        found = made.rows(numbers, np.round(stamps * 1e6).astype(np.int64))
        return found.append_column("note", notes.take(pa.array(numbers % _NOTES)))

    of: Rows = rows
    return Played(rows(0, np.empty(0)).schema, of)


def _notes() -> pa.Array:
    rng = np.random.default_rng(SEED)
    return pa.array(
        f"client {rng.integers(10_000, 99_999)} of desk {rng.choice(_DESKS)}: {rng.choice(_MANNERS)}, "
        f"limit {rng.integers(10, 500)}.{rng.integers(0, 99):02d}, account {rng.integers(100, 999)}-"
        f"{rng.integers(1000, 9999)}, not before {rng.integers(9, 16)}:{rng.integers(0, 59):02d}, order "
        f"{rng.integers(1, 10**9):09d} in {rng.integers(2, 40)} parts"
        for _ in range(_NOTES)
    )

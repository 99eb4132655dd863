"""Sets of queries for `headgate bench scale-queries`, and how many results they have."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from headgate.bench.rivals.alerts import SYMBOLS, Alert, Expected, Matches
from headgate.bench.rivals.shapes import shaped
from headgate.bench.rivals.tuples import POOL, Pool, Round

MORE_SYMBOLS = 10_000


@dataclass(frozen=True)
class Set:
    """Queries by name, and how many results they have over a round."""

    texts: Mapping[str, str]
    expected: Callable[[Round], int]
    symbols: int = SYMBOLS


def of_shapes(queries: int, shapes: int) -> Set:
    """Queries of so many shapes; about one tuple in 10,000 matches each."""
    made = shaped(queries, shapes)
    return Set({f"q{i}": alert.sql for i, alert in enumerate(made)}, Expected.of(Pool.of(SYMBOLS), made).over)


def of_one_shape(queries: int, symbols: int = MORE_SYMBOLS) -> Set:
    """Alerts on a symbol and a price; one tuple of the symbol in a hundred matches."""
    thresholds: dict[int, list[float]] = {}
    texts = {}
    for i in range(queries):
        symbol, price = i % symbols, round(981.0 + i // symbols * 20 * symbols / max(queries, symbols), 2)
        thresholds.setdefault(symbol, []).append(price)
        texts[f"q{i}"] = alert(symbol, price)
    pool = Pool.of(symbols)
    found = np.zeros(POOL, dtype=np.int64)
    order = np.argsort(pool.symbol, kind="stable")
    starts = np.searchsorted(pool.symbol[order], np.arange(symbols + 1))
    for symbol, prices in thresholds.items():
        where = order[starts[symbol] : starts[symbol + 1]]
        found[where] = np.searchsorted(np.array(prices), pool.price[where], side="left")
    return Set(texts, Expected(found).over, symbols)


def alert(symbol: int, price: float) -> str:
    """One of these alerts."""
    return f"SELECT id, sym, price, arrived FROM ticks WHERE sym = 'S{symbol:04d}' AND price > {price}E0"  # noqa: S608


def of_much(queries: int, share: float) -> Set:
    """Queries that each yield a share of the tuples."""
    made = [
        Alert(f"vol % 1000 >= {1000 - round(1000 * share)}", _remainder(share), amount=f"price * {i}E0")
        for i in range(queries)
    ]
    return Set({f"q{i}": each.sql for i, each in enumerate(made)}, Expected.of(Pool.of(SYMBOLS), made).over)


def _remainder(share: float) -> Matches:
    return lambda ticks: ticks.vol % 1000 >= 1000 - round(1000 * share)

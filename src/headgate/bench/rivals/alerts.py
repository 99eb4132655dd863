"""The queries: filters of alert type over the ticks, in SQL for all systems and in numpy for who has no SQL.

Every query yields (id, label, amount, arrived), so that one function can take the results of all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.bench.rivals.tuples import POOL, Ints, Pool, Round

SYMBOLS = 1000

Matches = Callable[[Pool], NDArray[np.bool_]]
Column = Callable[[Pool], NDArray[np.generic]]


@dataclass(frozen=True)
class Alert:
    """A query: its condition and its two computed columns, each in both forms."""

    where: str
    matches: Matches
    label: str = "sym"
    labels: Column = lambda t: t.names[t.symbol]
    amount: str = "price"
    amounts: Column = lambda t: t.price

    @property
    def sql(self) -> str:
        """The whole text."""
        return f"SELECT id, {self.label} AS label, {self.amount} AS amount, arrived FROM ticks WHERE {self.where}"  # noqa: S608 - constants of ours


def alerts(n: int) -> list[Alert]:
    """So many, of ten shapes, each shape with other constants."""
    return [SHAPES[i % len(SHAPES)](i // len(SHAPES)) for i in range(n)]


def _above(k: int) -> Alert:
    symbol, price = 37 * k % SYMBOLS, 100.0 + 70 * (k % 10)
    return Alert(f"sym = 'S{symbol:04d}' AND price > {price}E0", lambda t: (t.symbol == symbol) & (t.price > price))


def _large(k: int) -> Alert:
    price = 50.0 * (k % 10)
    return Alert(f"vol > 998 AND price > {price}E0", lambda t: (t.vol > 998) & (t.price > price))


def _value(k: int) -> Alert:
    value = 955_000.0 + 1500 * (k % 10)
    return Alert(
        f"price * vol > {value}E0",
        lambda t: t.price * t.vol > value,
        amount="price * vol",
        amounts=lambda t: t.price * t.vol,
    )


def _prefix(k: int) -> Alert:
    prefix, vol = f"S{(7 * k) % 100:03d}", 920 + k % 10
    return Alert(
        f"sym LIKE '{prefix}%' AND vol > {vol}",
        lambda t: np.char.startswith(t.names, prefix)[t.symbol] & (t.vol > vol),
        amount="vol * 1.5E0",
        amounts=lambda t: t.vol * 1.5,
    )


def _among(k: int) -> Alert:
    some, price = [(13 * k + step) % SYMBOLS for step in (0, 111, 222, 333)], 150.0 + 10 * (k % 10)
    listed = ", ".join(f"'S{symbol:04d}'" for symbol in some)
    return Alert(f"sym IN ({listed}) AND price < {price}E0", lambda t: np.isin(t.symbol, some) & (t.price < price))


def _graded(k: int) -> Alert:
    symbol, price = (500 + 29 * k) % SYMBOLS, 300.0 + 40 * (k % 10)
    return Alert(
        f"sym = 'S{symbol:04d}'",
        lambda t: t.symbol == symbol,
        label=f"CASE WHEN price > {price}E0 THEN 'dear' WHEN vol > 500 THEN 'much' ELSE 'plain' END",
        labels=lambda t: np.where(t.price > price, "dear", np.where(t.vol > 500, "much", "plain")),
    )


def _between(k: int) -> Alert:
    low = 20.0 + 9 * (k % 100)
    return Alert(
        f"price BETWEEN {low}E0 AND {low + 0.5}E0",
        lambda t: (t.price >= low) & (t.price <= low + 0.5),
        label="UPPER(sym)",
        labels=lambda t: np.char.upper(t.names)[t.symbol],
    )


def _either(k: int) -> Alert:
    one, other, rest = 41 * k % SYMBOLS, (41 * k + 500) % SYMBOLS, k % 4
    return Alert(
        f"(sym = 'S{one:04d}' OR sym = 'S{other:04d}') AND vol % 4 = {rest}",
        lambda t: ((t.symbol == one) | (t.symbol == other)) & (t.vol % 4 == rest),
    )


def _near(k: int) -> Alert:
    price = 30.0 + 9 * (k % 100)
    return Alert(
        f"ABS(price - {price}E0) < 0.255E0",
        lambda t: np.abs(t.price - price) < 0.255,
        amount="ABS(price - 500.0E0) * 2.0E0",
        amounts=lambda t: np.abs(t.price - 500.0) * 2.0,
    )


def _ends(k: int) -> Alert:
    ending, vol = f"{(3 * k) % 100:02d}", 940 + k % 10
    return Alert(
        f"sym LIKE '%{ending}' AND vol > {vol} AND NOT price < 200.0E0",
        lambda t: np.char.endswith(t.names, ending)[t.symbol] & (t.vol > vol) & ~(t.price < 200.0),
        label="CONCAT(sym, '!')",
        labels=lambda t: np.char.add(t.names, "!")[t.symbol],
    )


SHAPES: Sequence[Callable[[int], Alert]] = (
    _above,
    _large,
    _value,
    _prefix,
    _among,
    _graded,
    _between,
    _either,
    _near,
    _ends,
)


class Expected:
    """How many results the queries have over a range of tuples."""

    def __init__(self, results: Ints) -> None:
        """From the number of results of each tuple of the pool."""
        self._before = np.concatenate([[0], np.cumsum(results)])

    @classmethod
    def of(cls, pool: Pool, queries: Sequence[Alert]) -> "Expected":
        """Those of some queries."""
        found: Ints = np.zeros(POOL, dtype=np.int64)
        for query in queries:
            found += query.matches(pool)
        return cls(found)

    def over(self, played: Round) -> int:
        """Those of a round."""
        return self._up_to(played.end) - self._up_to(played.first)

    def _up_to(self, end: int) -> int:
        turns, rest = divmod(end, POOL)
        return int(turns * self._before[-1] + self._before[rest])

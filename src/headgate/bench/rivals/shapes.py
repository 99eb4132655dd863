"""Queries of as many shapes as are wanted: a condition on the price, one on the volume and one on the symbol.

They hold for about one tuple in forty, in twenty, and in ten to fifty, so a query matches about one in ten thousand.
There are eight, six and eight kinds of condition and three of output: 1,152 shapes.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from headgate.bench.rivals.alerts import Alert, Matches
from headgate.bench.rivals.tuples import Pool

Condition = tuple[str, Matches]
Kind = Callable[[int], Condition]
"""Makes conditions that differ in their constants, for numbers below 100."""


def _dear(k: int) -> Condition:
    price = 973.0 + k / 20
    return f"price > {price}E0", lambda t: t.price > price


def _cheap(k: int) -> Condition:
    price = 23.0 + k / 20
    return f"price < {price}E0", lambda t: t.price < price


def _range(k: int) -> Condition:
    low = 100.0 + 5 * k
    return f"price BETWEEN {low}E0 AND {low + 25}E0", lambda t: (t.price >= low) & (t.price <= low + 25)


def _around(k: int) -> Condition:
    price = 200.0 + 4 * k
    return f"ABS(price - {price}E0) < 12.5E0", lambda t: np.abs(t.price - price) < 12.5


def _rounded(k: int) -> Condition:
    rest = k % 40
    return f"FLOOR(price) % 40 = {rest}", lambda t: np.floor(t.price) % 40 == rest


def _root(k: int) -> Condition:
    root = 31.2 + k / 1000
    return f"SQRT(price) > {root}E0", lambda t: np.sqrt(t.price) > root


def _square(k: int) -> Condition:
    square = 943_000.0 + 200 * k
    return f"price * price > {square}E0", lambda t: t.price * t.price > square


def _outside(k: int) -> Condition:
    low = 11.0 + k / 20
    return f"NOT (price >= {low}E0 AND price <= 987.5E0)", lambda t: ~((t.price >= low) & (t.price <= 987.5))


def _much(k: int) -> Condition:
    vol = 940 + k // 5
    return f"vol > {vol}", lambda t: t.vol > vol


def _little(k: int) -> Condition:
    vol = 40 + k // 5
    return f"vol <= {vol}", lambda t: t.vol <= vol


def _remainder(k: int) -> Condition:
    rest = k % 20
    return f"vol % 20 = {rest}", lambda t: t.vol % 20 == rest


def _some(k: int) -> Condition:
    low = 100 + 5 * k
    return f"vol BETWEEN {low} AND {low + 49}", lambda t: (t.vol >= low) & (t.vol <= low + 49)


def _far(k: int) -> Condition:
    least = 470 + k // 10
    return f"ABS(vol - 500) > {least}", lambda t: np.abs(t.vol - 500) > least


def _cased(k: int) -> Condition:
    vol = 940 + k // 5
    text = f"CASE WHEN vol < 500 THEN 2 * vol ELSE 2 * vol - 999 END > {vol}"
    return text, lambda t: np.where(t.vol < 500, 2 * t.vol, 2 * t.vol - 999) > vol


def _prefix(k: int) -> Condition:
    prefix = f"S0{k % 10}"
    return f"sym LIKE '{prefix}%'", _named(lambda names: np.char.startswith(names, prefix))


def _suffix(k: int) -> Condition:
    end = f"{k % 10}"
    return f"sym LIKE '%{end}'", _named(lambda names: np.char.endswith(names, end))


def _within(k: int) -> Condition:
    part = f"{k:02d}"
    return f"sym LIKE '%{part}%'", _named(lambda names: np.char.find(names, part) >= 0)


def _among(k: int) -> Condition:
    some = [f"S{(17 * k + 20 * i) % 1000:04d}" for i in range(50)]
    listed = ", ".join(f"'{name}'" for name in some)
    return f"sym IN ({listed})", _named(lambda names: np.isin(names, some))


def _late(k: int) -> Condition:
    name = f"S{940 + k // 5:04d}"
    return f"sym > '{name}'", _named(lambda names: names > name)


def _early(k: int) -> Condition:
    name = f"S{40 + k // 5:04d}"
    return f"LOWER(sym) < '{name.lower()}'", _named(lambda names: names < name)


def _cut(k: int) -> Condition:
    part = f"{k % 10}"
    return f"SUBSTRING(sym, 4, 1) = '{part}'", _named(lambda names: np.array([n[3] == part for n in names]))


def _two(k: int) -> Condition:
    first, end = f"S0{k % 10}", f"{k // 10}"
    text = f"(sym LIKE '{first}%{end}' OR sym LIKE '%{end}{end}')"
    return text, _named(
        lambda names: (
            np.char.startswith(names, first) & np.char.endswith(names, end) | np.char.endswith(names, end + end)
        )
    )


PRICES: Sequence[Kind] = (_dear, _cheap, _range, _around, _rounded, _root, _square, _outside)
VOLUMES: Sequence[Kind] = (_much, _little, _remainder, _some, _far, _cased)
NAMES: Sequence[Kind] = (_prefix, _suffix, _within, _among, _late, _early, _cut, _two)
OUTPUTS = (
    ("sym", "price"),
    ("CONCAT(sym, '!')", "price * vol"),
    ("CASE WHEN price > 500E0 THEN 'dear' ELSE 'cheap' END", "price + vol"),
)


def shaped(queries: int, shapes: int) -> list[Alert]:
    """So many queries of so many shapes, those of a shape with different constants."""
    every = list(product(OUTPUTS, PRICES, VOLUMES, NAMES))
    # Spread over all, so that a few shapes have all kinds of condition too.
    chosen = [every[i * len(every) // shapes] for i in range(shapes)]
    return [_query(*chosen[i % shapes], i // shapes) for i in range(queries)]


def _query(output: tuple[str, str], price: Kind, volume: Kind, name: Kind, number: int) -> Alert:
    made = [kind(step * number % 100) for kind, step in ((price, 7), (volume, 11), (name, 13))]

    def matches(ticks: Pool) -> NDArray[np.bool_]:
        found = np.ones(len(ticks.symbol), dtype=bool)
        for _, holds in made:
            found &= holds(ticks)
        return found

    label, amount = output
    return Alert(" AND ".join(text for text, _ in made), matches, label=label, amount=amount)


def _named(holds: Callable[[NDArray[np.str_]], NDArray[np.bool_]]) -> Matches:
    return lambda t: holds(t.names)[t.symbol]

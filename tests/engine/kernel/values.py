"""Rows with the values at which arithmetic goes wrong, in two columns of every type of number."""

import itertools
import math
import random
from decimal import Decimal

import pyarrow as pa

_WHOLE = {"tiny": (pa.int8(), 7), "small": (pa.int16(), 15), "i": (pa.int32(), 31), "l": (pa.int64(), 63)}
_DECIMALS = {"d": (10, 2), "e": (8, 3), "m": (38, 0), "n": (18, 6)}
_FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e300, -1e300, 5e-324, 2.675]
_FLOATS += [1.005, 0.285, 127.7, 128.5, -128.9, 32768.0, 2147483647.0, 2147483648.5, -2147483649.0, 9.3e18, -9.3e18]
_FLOATS += [123456789.125, 1e15 + 0.5, 0.1, 1 / 3, 9007199254740993.0, 1e22, 1e-7]


def rows(n=300, seed=1):
    """So many rows."""
    rng = random.Random(seed)
    columns = {}
    for name, (kind, bits) in _WHOLE.items():
        ends = [-(2**bits), 2**bits - 1, 1 - 2**bits, 0, 1, -1, 2, 3, 7, -7, 10]
        columns[name] = (
            kind,
            lambda e=ends, b=bits: rng.choice([*e, rng.randrange(-(2**b), 2**b), rng.randrange(-9, 9)]),
        )
    for name, kind in (("x", pa.float64()), ("f", pa.float32())):
        columns[name] = (
            kind,
            lambda: rng.choice([*_FLOATS, rng.uniform(-9, 9), rng.randrange(-900, 900) / 8, rng.gauss(0, 1e6)]),
        )
    for name, (p, s) in _DECIMALS.items():
        ends = [0, 1, -1, 5, -5, 15, 25, 10**p - 1, 1 - 10**p, 10**s, -(10**s)]
        columns[name] = (
            pa.decimal128(p, s),
            lambda e=ends, p=p, s=s: Decimal(
                f"{rng.choice([*e, rng.randrange(1 - 10**p, 10**p), rng.randrange(-999, 999)])}e-{s}"
            ),
        )
    columns["ok"] = (pa.bool_(), lambda: rng.random() < 0.5)
    columns["s"] = (pa.string(), lambda: rng.choice(TEXTS))
    return pa.table(
        {
            f"{name}{i}": pa.array([None if rng.random() < 0.07 else make() for _ in range(n)], kind)
            for (name, (kind, make)), i in itertools.product(columns.items(), (1, 2))
        }
    )


TEXTS = [
    "",
    " ",
    "1",
    "-1",
    "+1",
    " 12 ",
    "1.9",
    "-1.9",
    ".5",
    ".",
    "+.",
    "-",
    "+",
    "1.",
    "1.x",
    "1e3",
    "0x1p3",
    "128",
    "-129",
]
TEXTS += [
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "00012",
    "1_000",
    "1,5",
    "\t7\n",
    "\u00a07",
    "٣",
    "1 2",
]
TEXTS += [
    "true",
    "T",
    "yes",
    "Y",
    "no",
    "0",
    "false",
    "f",
    " TRUE ",
    "nan",
    "NaN",
    "Infinity",
    "-inf",
    "1d",
    "1f",
    "1.5e-3",
    "--1",
    "1..2",
]
TEXTS += ["\x7f5", "\x005", "\u20035", "\u00855", "1.5.5", "4.9e-324", "1e400", "é", "TRUé", "\u0130"]

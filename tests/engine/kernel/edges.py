"""Rows of values at which things go wrong, of every type, by chance."""

import math
import struct
from decimal import Decimal

import pyarrow as pa

DAY = 86_400_000_000
TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "price": pa.decimal128(10, 2),
    "long": pa.decimal128(38, 6),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
}
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "price", "long")
SCALES = {"price": 2, "long": 6}

_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, math.nan, math.inf, -math.inf, 0.1, 1e15 + 0.5, 1e300, 5e-324, 2.675]
_FLOATS += [3e9, -3e9, 1e19, 127.5, 128.0, 0.285, 1.005, 1e-7, 123456.789]
_LETTERS = [*"abcABC%_\\ éßİΣ😀\n\r09-.", "e\u0301"]
_TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    " a ",
    "A",
    "aab",
    "1",
    "-12",
    " 7 ",
    "2024-01-05",
    "é😀",
    "\x00",
    "true",
    "b" * 200,
]
_DAYS = [0, -1, 1, 59, 60, 11_016, 19_782, 19_783, 19_787, -719_162, -719_163, 2_932_896, 2_932_897, -800_000]
_ODD_NAMES = ("order", "Größe", "a b", "x.y", "`", "k0")


def _whole(bits):
    top = 2 ** (bits - 1)
    edges = [0, 1, -1, 2, 3, 7, 10, 100, -100, top - 1, -top]
    return lambda chance: chance.choice([*edges, chance.randint(-top, top - 1), chance.randint(-9, 9)])


def _float(chance):
    return chance.choice([*_FLOATS, chance.randint(-999, 999) / 8, chance.uniform(-1e6, 1e6), chance.uniform(-9, 9)])


def _single(chance):
    return struct.unpack("f", struct.pack("f", min(max(_float(chance), -1e38), 1e38)))[0]


def _text(chance):
    drawn = "".join(chance.choice(_LETTERS) for _ in range(chance.randint(0, 6)))
    return chance.choice([*_TEXTS, drawn, drawn, drawn, drawn])


def _day(chance):
    return chance.choice([*_DAYS, chance.randint(-800_000, 3_000_000), chance.randint(19_700, 19_800)])


def _micros(chance):
    return _day(chance) * DAY + chance.choice([0, 1, DAY - 1, 999_999, chance.randrange(DAY)])


def _units(precision, scale):
    top = 10**precision - 1
    edges = [0, 1, -1, 5, 10**scale, -(10**scale), 5 * 10**scale // 2, top, -top]
    return lambda chance: chance.choice([*edges, chance.randint(-top, top), chance.randint(-(10**7), 10**7)])


VALUES = {
    "boolean": lambda chance: chance.random() < 0.5,
    "tinyint": _whole(8),
    "smallint": _whole(16),
    "int": _whole(32),
    "bigint": _whole(64),
    "float": _single,
    "double": _float,
    "price": _units(10, 2),
    "long": _units(38, 6),
    "string": _text,
    "date": _day,
    "timestamp": _micros,
}
"""By type; decimals and times as whole numbers."""


def tables(chance, prefix="", odd=True):
    """The names of the columns of each type, and rows of them. Values repeat, so that some are equal."""
    names, columns = {}, {}
    rows = chance.randint(0, 25)
    unused = list(_ODD_NAMES) if odd else []
    for kind in TYPES:
        names[kind] = [f"{prefix}{kind}{i}" for i in range(chance.randint(1, 2))]
        if unused and chance.random() < 0.1:
            names[kind].append(unused.pop())
        pool = [None, *(VALUES[kind](chance) for _ in range(chance.randint(1, 8)))]
        for name in names[kind]:
            columns[name] = _array(kind, [chance.choice(pool) for _ in range(rows)])
    return names, pa.table(columns)


def _array(kind, values):
    if kind in SCALES:
        exact = [None if each is None else Decimal(f"{each}e-{SCALES[kind]}") for each in values]
        return pa.array(exact, TYPES[kind])
    if kind in ("date", "timestamp"):
        return pa.array(values, pa.int32() if kind == "date" else pa.int64()).cast(TYPES[kind])
    return pa.array(values, TYPES[kind])

"""SQL from a typed grammar, and rows of values at which things go wrong, by chance."""

import datetime as dt
import math
import re
import struct
from decimal import Decimal

import pyarrow as pa

_DAY = 86_400_000_000

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


def _whole(bits):
    top = 2 ** (bits - 1)
    edges = [0, 1, -1, 2, 3, 7, 10, 100, -100, top - 1, -top]
    return lambda chance: chance.choice([*edges, chance.randint(-top, top - 1), chance.randint(-9, 9)])


_FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, math.nan, math.inf, -math.inf, 0.1, 1e15 + 0.5, 1e300, 5e-324, 2.675]
_FLOATS += [3e9, -3e9, 1e19, 127.5, 128.0, 0.285, 1.005, 1e-7, 123456.789]
_LETTERS = [
    "a",
    "b",
    "c",
    "A",
    "B",
    "%",
    "_",
    "\\",
    " ",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "Σ",
    "😀",
    "\n",
    "\r",
    "0",
    "9",
    "-",
    ".",
]
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


def _float(chance):
    return chance.choice(
        [*_FLOATS, chance.randint(-1000, 1000) / 8, chance.uniform(-1e6, 1e6), chance.uniform(-10, 10)]
    )


def _text(chance):
    drawn = "".join(chance.choice(_LETTERS) for _ in range(chance.randint(0, 6)))
    return chance.choice([*_TEXTS, drawn, drawn, drawn, drawn])


def _day(chance):
    return chance.choice([*_DAYS, chance.randint(-800_000, 3_000_000), chance.randint(19_700, 19_800)])


def _micros(chance):
    return _day(chance) * _DAY + chance.choice([0, 1, _DAY - 1, 999_999, chance.randrange(_DAY)])


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
    "float": lambda chance: struct.unpack("f", struct.pack("f", min(max(_float(chance), -1e38), 1e38)))[0],
    "double": _float,
    "price": _units(10, 2),
    "long": _units(38, 6),
    "string": _text,
    "date": _day,
    "timestamp": _micros,
}
"""As Arrow's arrays take them; decimals and times as whole numbers."""

_SCALES = {"price": 2, "long": 6}
_ODD_NAMES = ("order", "Größe", "a b", "x.y", "`", "k0")


def array(kind, values):
    """An Arrow array of values as they are drawn."""
    if kind in _SCALES:
        exact = [None if each is None else Decimal(f"{each}e-{_SCALES[kind]}") for each in values]
        return pa.array(exact, TYPES[kind])
    if kind in ("date", "timestamp"):
        return pa.array(values, pa.int32() if kind == "date" else pa.int64()).cast(TYPES[kind])
    return pa.array(values, TYPES[kind])


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
            columns[name] = array(kind, [chance.choice(pool) for _ in range(rows)])
    return names, pa.table(columns)


_ANY = [
    "coalesce(<T>, <T>)",
    "nvl(<T>, <'T>)",
    "nullif(<T>, <T>)",
    "if(<boolean>, <T>, <T>)",
    "CASE WHEN <boolean> THEN <T> WHEN <boolean> THEN <'T> ELSE <T> END",
    "CASE WHEN <boolean> THEN <T> END",
    "CASE <A> WHEN <'A> THEN <T> ELSE <T> END",
]
_ORDERED = ["greatest(<T>, <T>)", "least(<T>, <T>, <'T>)"]
_ARITHMETIC = [
    "<T> + <T>",
    "<T> - <'T>",
    "<T> * <T>",
    "<T> % <T>",
    "-<T>",
    "abs(<T>)",
    "try_add(<T>, <T>)",
    "try_subtract(<T>, <T>)",
]
_WHOLE = ["<T> & <T>", "<T> | <T>", "<T> ^ <T>", "~<T>", "pmod(<T>, <T>)"]
RULES = {
    "boolean": [
        *("<A> = <A>", "<A> <> <A>", "<A> < <A>", "<A> <= <'A>", "<A> > <'A>", "<A> >= <A>", "<A> <=> <A>"),
        *(
            "<A> IS NULL",
            "<A> IS NOT NULL",
            "<A> IN (<'A>, <'A>, <'A>)",
            "<A> IN (<'A>, NULL)",
            "<A> NOT IN (<'A>, <A>)",
        ),
        *(
            "<A> BETWEEN <'A> AND <A>",
            "<A> NOT BETWEEN <'A> AND <'A>",
            "<N> < <M>",
            "<N> = <'M>",
            "<N> IN (<'M>, <'N>)",
        ),
        *(
            "<boolean> AND <boolean>",
            "<boolean> OR <boolean>",
            "NOT <boolean>",
            "<boolean> IS TRUE",
            "<boolean> IS NOT FALSE",
        ),
        *("<string> LIKE <'like>", "<string> NOT LIKE <'like>", "<string> ILIKE <'like>", "<string> RLIKE <'regex>"),
        *("startswith(<string>, <string>)", "endswith(<string>, <'string>)", "contains(<string>, <string>)"),
        *(
            "isnan(<double>)",
            "<date> < <timestamp>",
            "<timestamp> > '2024-01-01'",
            "<date> IN ('2024-02-29', '1970-01-01')",
        ),
        *("CAST(<N> AS boolean)", "<string> = <int>", "CAST(<string> AS boolean)", "<boolean> = <int>"),
    ],
    "tinyint": [*_ARITHMETIC, "CAST(<N> AS tinyint)", "CAST(<boolean> AS tinyint)"],
    "smallint": [*_ARITHMETIC, "CAST(<N> AS smallint)", "CAST(<timestamp> AS smallint)"],
    "int": [
        *(
            *_ARITHMETIC,
            *_WHOLE,
            "CAST(<N> AS int)",
            "CAST(<string> AS int)",
            "CAST(<boolean> AS int)",
            "<smallint> + <int>",
        ),
        *(
            "length(<string>)",
            "octet_length(<string>)",
            "instr(<string>, <'string>)",
            "locate(<'string>, <string>, <'small>)",
        ),
        *(
            "year(<date>)",
            "month(<timestamp>)",
            "day(<date>)",
            "quarter(<date>)",
            "dayofweek(<date>)",
            "weekday(<date>)",
        ),
        *(
            "dayofyear(<date>)",
            "weekofyear(<date>)",
            "hour(<timestamp>)",
            "minute(<timestamp>)",
            "second(<timestamp>)",
        ),
        *(
            "datediff(<date>, <date>)",
            "unix_date(<date>)",
            "shiftleft(<int>, <'small>)",
            "shiftright(<int>, <'small>)",
        ),
        *("round(<int>, -1)", "bround(<int>, -2)", "sign(<int>)", "shiftrightunsigned(<int>, <'small>)"),
    ],
    "bigint": [
        *(
            *_ARITHMETIC,
            *_WHOLE,
            "CAST(<N> AS bigint)",
            "CAST(<timestamp> AS bigint)",
            "<int> + <bigint>",
            "<N> div <M>",
        ),
        *(
            "unix_seconds(<timestamp>)",
            "unix_millis(<timestamp>)",
            "unix_micros(<timestamp>)",
            "unix_timestamp(<timestamp>)",
        ),
        *(
            "timestampdiff(<unit>, <timestamp>, <timestamp>)",
            "floor(<double>)",
            "ceil(<double>)",
            "round(<bigint>, -3)",
        ),
        *(
            "shiftleft(<bigint>, <'small>)",
            "shiftrightunsigned(<bigint>, <'small>)",
            "floor(<float>)",
            "CAST(<string> AS bigint)",
        ),
    ],
    "float": [*_ARITHMETIC, "CAST(<N> AS float)", "CAST(<timestamp> AS float)", "round(<float>, 1)"],
    "double": [
        *(
            *_ARITHMETIC,
            "<T> / <T>",
            "<N> / <'M>",
            "<int> / <int>",
            "CAST(<N> AS double)",
            "<N> + <double>",
            "<double> * <M>",
        ),
        *(
            "sqrt(<double>)",
            "round(<double>, 2)",
            "bround(<double>, 1)",
            "rint(<double>)",
            "ln(<double>)",
            "exp(<double>)",
        ),
        *(
            "months_between(<timestamp>, <timestamp>)",
            "CAST(<timestamp> AS double)",
            "nanvl(<double>, <double>)",
            "pmod(<T>, <T>)",
        ),
        *(
            "sign(<double>)",
            "pow(<double>, <'double>)",
            "CAST(<string> AS double)",
            "cbrt(<double>)",
            "log10(<double>)",
        ),
    ],
    "price": ["CAST(<N> AS decimal(10,2))", "CAST(<price> * <price> AS decimal(10,2))", "abs(<price>)", "-<price>"],
    "long": [
        *(
            "<price> + <price>",
            "<price> - <long>",
            "<price> * <price>",
            "<price> / <price>",
            "<price> % <price>",
            "<long> + <long>",
        ),
        *(
            "<int> * <price>",
            "<long> / <int>",
            "CAST(<N> AS decimal(38,6))",
            "round(<price>, 1)",
            "floor(<price>)",
            "<long> * <price>",
        ),
        *("ceil(<price>)", "<price> % <'int>", "CAST(<price> AS decimal(6,3))", "bround(<price>, 0)"),
    ],
    "string": [
        *(
            "upper(<string>)",
            "lower(<string>)",
            "reverse(<string>)",
            "concat(<string>, <string>)",
            "<string> || <'string>",
        ),
        *("substring(<string>, <int>, <int>)", "substring(<string>, <'small>, <'small>)", "left(<string>, <int>)"),
        *(
            "right(<string>, <'small>)",
            "trim(<string>)",
            "ltrim(<string>)",
            "rtrim(<string>)",
            "trim(BOTH <'string> FROM <string>)",
        ),
        *(
            "replace(<string>, <'string>, <'string>)",
            "translate(<string>, <'string>, <'string>)",
            "lpad(<string>, <'small>, <'string>)",
        ),
        *(
            "rpad(<string>, <'small>, <'string>)",
            "repeat(<string>, <'small>)",
            "substring_index(<string>, <'string>, <'small>)",
        ),
        *(
            "split_part(<string>, <'string>, <'small>)",
            "concat_ws(<'string>, <string>, <string>)",
            "date_format(<timestamp>, <'format>)",
        ),
        *(
            "CAST(<date> AS string)",
            "CAST(<timestamp> AS string)",
            "CAST(<int> AS string)",
            "CAST(<boolean> AS string)",
        ),
        *(
            "CAST(<price> AS string)",
            "CAST(<double> AS string)",
            "from_unixtime(<int>)",
            "dayname(<date>)",
            "CAST(<bigint> AS string)",
        ),
    ],
    "date": [
        *(
            "date_add(<date>, <'int>)",
            "date_add(<date>, <smallint>)",
            "date_sub(<date>, <'small>)",
            "add_months(<date>, <'small>)",
        ),
        *("add_months(<date>, <tinyint>)", "last_day(<date>)", "next_day(<date>, 'Mon')", "trunc(<date>, <'unit>)"),
        *(
            "CAST(<timestamp> AS date)",
            "CAST(<string> AS date)",
            "make_date(<int>, <'small>, <'small>)",
            "make_date(2024, <int>, <int>)",
        ),
        *("<date> + INTERVAL 1 MONTH", "<date> - INTERVAL 3 DAYS", "<date> + <'small>"),
    ],
    "timestamp": [
        *(
            "date_trunc(<'unit>, <timestamp>)",
            "CAST(<date> AS timestamp)",
            "<timestamp> + INTERVAL 1 HOUR",
            "timestamp_seconds(<int>)",
        ),
        *(
            "<timestamp> - INTERVAL 2 MONTHS",
            "timestampadd(<unit>, <'small>, <timestamp>)",
            "CAST(<int> AS timestamp)",
        ),
        *("timestamp_millis(<int>)", "timestampadd(<unit>, <tinyint>, <timestamp>)", "CAST(<double> AS timestamp)"),
    ],
}
for _kind, _rules in RULES.items():
    _rules += [each.replace("<T>", f"<{_kind}>").replace("<'T>", f"<'{_kind}>") for each in (*_ANY, *_ORDERED)]
    _rules[:] = [each.replace("<T>", f"<{_kind}>").replace("<'T>", f"<'{_kind}>") for each in _rules]

_WORDS = {
    "like": ["a%", "%b", "%a%", "_", "a_c", "%", "", "\\%%", "%😀%", "a%b", "é%", "%\n"],
    "regex": ["a", "^a", "a+b?$", "[a-c]{2}", "(a|é).", "(?i)AB", "\\d", "^[^a]", "😀", "b|^$", "\\s"],
    "format": ["yyyy-MM-dd", "HH:mm:ss.SSS", "yyyyMMdd", "dd/MM/yyyy HH"],
    "unit": ["year", "quarter", "month", "week", "day", "hour", "minute", "second"],
}
_HOLE = re.compile(r"<('?)([A-Za-z]+)>")


class Grammar:
    """Expressions over columns of these names, by type."""

    def __init__(self, chance, names):
        self.chance, self.names = chance, names

    def expression(self, kind, depth):
        """One of the type, or of a close one, nested no deeper."""
        if depth == 0 or self.chance.random() < 0.1:
            return self.literal(kind) if self.chance.random() < 0.2 else self.column(kind)
        return f"({self.filled(self.chance.choice(RULES[kind]), depth - 1)})"

    def filled(self, rule, depth):
        """A rule with expressions of this depth in its holes; those of one name are of one type."""
        bound = {
            "A": self.chance.choice(list(TYPES)),
            "N": self.chance.choice(NUMBERS),
            "M": self.chance.choice(NUMBERS),
        }

        def fill(hole):
            kind = bound.get(hole[2], hole[2])
            if hole[1]:
                return self.literal(kind)
            return self.chance.choice(_WORDS["unit"]) if kind == "unit" else self.expression(kind, depth)

        return _HOLE.sub(fill, rule)

    def column(self, kind):
        return "`" + self.chance.choice(self.names[kind]).replace("`", "``") + "`"

    def literal(self, kind):
        if kind in _WORDS:
            return quoted(self.chance.choice(_WORDS[kind]))
        if kind == "small":
            return str(self.chance.randint(-3, 12))
        value = VALUES[kind](self.chance)
        if self.chance.random() < 0.05:
            return f"CAST(NULL AS {sql_type(kind)})"
        return _WRITTEN.get(kind, str)(value)


_JOINS = ("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
_EIGHTHS = "if(<boolean>, <int> * 0.125D, CAST(<'float> AS double))"
"""Doubles of which the sum is the same in any order: nobody promises one."""

_AGGREGATES = [
    *(
        "count(*)",
        "count(<A>)",
        "min(<A>)",
        "max(<A>)",
        "sum(<int>)",
        "sum(<bigint>)",
        "sum(<price>)",
        "avg(<price>)",
    ),
    *("avg(<int>)", f"sum({_EIGHTHS})", f"avg({_EIGHTHS})", "sum(<price> * <tinyint>)", "try_sum(<bigint>)"),
    *(
        "count(*) FILTER (WHERE <boolean>)",
        "sum(<bigint>) FILTER (WHERE <boolean>)",
        "max(<A>) FILTER (WHERE <boolean>)",
    ),
    *("max_by(<A>, <int>)", "min_by(<A>, <date>)", "max_by(<A>, <double>)", "first(<A>)", "last(<A>, true)"),
    *("bool_and(<boolean>)", "bool_or(<boolean>)", "count_if(<boolean>)", "bit_and(<int>)", "bit_xor(<bigint>)"),
    *("max(<A>) IS NULL", "sum(<int>) / count(<A>) + 1", "count(<A>, <N>)"),
]
_HAVING = ["count(*) > 1", "max(<A>) > <'A>", "sum(<int>) IS NOT NULL AND count(<A>) >= 1"]


class Queries:
    """Queries over the stream t and the table r, with columns of these names."""

    def __init__(self, chance, stream, table):
        self.chance, self.own, self.of_table = chance, Grammar(chance, stream), Grammar(chance, table)
        self.both = Grammar(chance, {kind: stream[kind] + table[kind] for kind in stream})

    def maybe(self, text):
        return text() if self.chance.random() < 0.5 else ""

    def one(self):
        scope, source = self.own, "t"
        if self.chance.random() < 0.4:
            join, kind = self.chance.choice(_JOINS), self.chance.choice(list(TYPES))
            on = f"{self.own.expression(kind, 1)} = {self.of_table.column(kind)}"
            on += self.maybe(lambda: f" AND {self.both.expression('boolean', 1)}")
            source = f"t {join} r ON {on}"
            scope = self.own if "SEMI" in join or "ANTI" in join else self.both
        source += self.maybe(lambda: f" WHERE {scope.expression('boolean', 2)}")
        if self.chance.random() < 0.4:
            return self._grouped(scope, source)
        return f"SELECT {_named(self._some(scope))} FROM {source}"

    def _some(self, scope, most=4):
        return [scope.expression(self.chance.choice(list(TYPES)), 1) for _ in range(self.chance.randint(1, most))]

    def _grouped(self, scope, source):
        keys = self._some(scope, 2) if self.chance.random() < 0.7 else []
        found = [scope.filled(scope.chance.choice(_AGGREGATES), 1) for _ in range(self.chance.randint(1, 3))]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = self.maybe(lambda: " HAVING " + scope.filled(scope.chance.choice(_HAVING), 0))
        return f"SELECT {_named([*keys, *found])} FROM {source}{group}{having}"


def _named(expressions):
    return ", ".join(f"{each} AS c{i}" for i, each in enumerate(expressions))


def sql_type(kind):
    return {"price": "decimal(10,2)", "long": "decimal(38,6)"}.get(kind, kind)


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _written_float(kind):
    def write(value):
        return repr(value) + "D" if math.isfinite(value) and kind == "double" else f"CAST('{value!r}' AS {kind})"

    return write


def _cast(kind):
    return lambda value: f"CAST('{value}' AS {sql_type(kind)})"


def _decimal(kind):
    return lambda value: _cast(kind)(Decimal(f"{value}e-{_SCALES[kind]}"))


def _within(days):
    return max(-719_162, min(days, 2_932_896))


def _date(days):
    return f"DATE'{dt.date(1970, 1, 1) + dt.timedelta(days=_within(days))}'"


def _timestamp(micros):
    days, rest = divmod(micros, _DAY)
    return (
        f"TIMESTAMP'{dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(days=_within(days), microseconds=rest)}'"
    )


_WRITTEN = {
    "boolean": lambda value: str(value).upper(),
    "tinyint": _cast("tinyint"),
    "smallint": _cast("smallint"),
    "int": lambda value: f"({value})" if value > -(2**31) else "(-2147483647 - 1)",
    "bigint": lambda value: f"({value}L)" if value > -(2**63) else "(-9223372036854775807L - 1L)",
    "float": _written_float("float"),
    "double": _written_float("double"),
    "price": _decimal("price"),
    "long": _decimal("long"),
    "string": quoted,
    "date": _date,
    "timestamp": _timestamp,
}

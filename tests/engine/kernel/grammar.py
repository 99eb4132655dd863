"""SQL from a typed grammar, by chance."""

import datetime as dt
import math
import re
from decimal import Decimal

from engine.kernel.edges import DAY, NUMBERS, SCALES, TYPES, VALUES

_ANY = """
    coalesce(<T>, <T>); nvl(<T>, <'T>); nullif(<T>, <T>); if(<boolean>, <T>, <T>); CASE WHEN <boolean> THEN <T> END;
    CASE WHEN <boolean> THEN <T> WHEN <boolean> THEN <'T> ELSE <T> END; CASE <A> WHEN <'A> THEN <T> ELSE <T> END;
    greatest(<T>, <T>); least(<T>, <T>, <'T>)
"""
_ARITHMETIC = """
    <T> + <T>; <T> - <'T>; <T> * <T>; <T> % <T>; -<T>; abs(<T>); try_add(<T>, <T>); try_subtract(<T>, <T>);
    CAST(<N> AS <type>)
"""
_BITS = "<T> & <T>; <T> | <T>; <T> ^ <T>; ~<T>; pmod(<T>, <T>); shiftleft(<T>, <'small>); shiftright(<T>, <'small>)"
_RULES = {
    "boolean": """
        <A> = <A>; <A> <> <A>; <A> < <A>; <A> <= <'A>; <A> > <'A>; <A> >= <A>; <A> <=> <A>; <A> IS NULL;
        <A> IS NOT NULL; <A> IN (<'A>, <'A>, <'A>); <A> IN (<'A>, NULL); <A> NOT IN (<'A>, <A>);
        <A> BETWEEN <'A> AND <A>; <A> NOT BETWEEN <'A> AND <'A>; <N> < <M>; <N> = <'M>; <N> IN (<'M>, <'N>);
        <boolean> AND <boolean>; <boolean> OR <boolean>; NOT <boolean>; <boolean> IS TRUE; <boolean> IS NOT FALSE;
        <string> LIKE <'like>; <string> NOT LIKE <'like>; <string> ILIKE <'like>; <string> RLIKE <'regex>;
        startswith(<string>, <string>); endswith(<string>, <'string>); contains(<string>, <string>);
        isnan(<double>); <date> < <timestamp>; <timestamp> > '2024-01-01'; <date> IN ('2024-02-29', '1970-01-01');
        CAST(<N> AS boolean); CAST(<string> AS boolean); <string> = <int>; <boolean> = <int>
    """,
    "tinyint": f"{_ARITHMETIC}; CAST(<boolean> AS tinyint)",
    "smallint": f"{_ARITHMETIC}; CAST(<timestamp> AS smallint)",
    "int": f"""
        {_ARITHMETIC}; {_BITS}; CAST(<string> AS int); CAST(<boolean> AS int); <smallint> + <int>; round(<int>, -1);
        length(<string>); octet_length(<string>); instr(<string>, <'string>); locate(<'string>, <string>, <'small>);
        year(<date>); month(<timestamp>); day(<date>); quarter(<date>); dayofweek(<date>); weekday(<date>);
        dayofyear(<date>); weekofyear(<date>); hour(<timestamp>); minute(<timestamp>); second(<timestamp>);
        datediff(<date>, <date>); unix_date(<date>); shiftrightunsigned(<int>, <'small>)
    """,
    "bigint": f"""
        {_ARITHMETIC}; {_BITS}; CAST(<timestamp> AS bigint); CAST(<string> AS bigint); <int> + <bigint>;
        <int> div <bigint>; unix_seconds(<timestamp>); unix_millis(<timestamp>); unix_micros(<timestamp>);
        unix_timestamp(<timestamp>); timestampdiff(<unit>, <timestamp>, <timestamp>); floor(<double>); ceil(<double>);
        floor(<float>); round(<bigint>, -3); shiftrightunsigned(<bigint>, <'small>)
    """,
    "float": f"{_ARITHMETIC}; CAST(<timestamp> AS float); round(<float>, 1)",
    "double": f"""
        {_ARITHMETIC}; <T> / <T>; <N> / <'M>; <int> / <int>; <N> + <double>; <double> * <M>; sqrt(<double>);
        round(<double>, 2); bround(<double>, 1); rint(<double>); ln(<double>); exp(<double>); sign(<double>);
        months_between(<timestamp>, <timestamp>); CAST(<timestamp> AS double); CAST(<string> AS double);
        nanvl(<double>, <double>); pmod(<T>, <T>); pow(<double>, <'double>); cbrt(<double>); log10(<double>)
    """,
    "price": "CAST(<N> AS decimal(10,2)); CAST(<price> * <price> AS decimal(10,2)); abs(<price>); -<price>",
    "long": """
        <price> + <price>; <price> - <long>; <price> * <price>; <price> / <price>; <price> % <price>; <long> + <long>;
        <int> * <price>; <long> / <int>; <long> * <price>; <price> % <'int>; CAST(<N> AS decimal(38,6));
        CAST(<price> AS decimal(6,3)); round(<price>, 1); bround(<price>, 0); floor(<price>); ceil(<price>)
    """,
    "string": """
        upper(<string>); lower(<string>); reverse(<string>); concat(<string>, <string>); <string> || <'string>;
        substring(<string>, <int>, <int>); substring(<string>, <'small>, <'small>); left(<string>, <int>);
        right(<string>, <'small>); trim(<string>); ltrim(<string>); rtrim(<string>);
        trim(BOTH <'string> FROM <string>); replace(<string>, <'string>, <'string>); repeat(<string>, <'small>);
        translate(<string>, <'string>, <'string>); lpad(<string>, <'small>, <'string>);
        rpad(<string>, <'small>, <'string>); substring_index(<string>, <'string>, <'small>);
        split_part(<string>, <'string>, <'small>); concat_ws(<'string>, <string>, <string>);
        date_format(<timestamp>, <'format>); dayname(<date>);
        CAST(<date> AS string); CAST(<timestamp> AS string); CAST(<int> AS string); CAST(<boolean> AS string);
        CAST(<price> AS string); CAST(<double> AS string); CAST(<bigint> AS string); from_unixtime(<int>)
    """,
    "date": """
        date_add(<date>, <'int>); date_add(<date>, <smallint>); date_sub(<date>, <'small>); <date> + <'small>;
        add_months(<date>, <'small>); add_months(<date>, <tinyint>); last_day(<date>); next_day(<date>, 'Mon');
        trunc(<date>, <'unit>); CAST(<timestamp> AS date); CAST(<string> AS date); make_date(2024, <int>, <int>);
        make_date(<int>, <'small>, <'small>); <date> + INTERVAL 1 MONTH; <date> - INTERVAL 3 DAYS
    """,
    "timestamp": """
        date_trunc(<'unit>, <timestamp>); CAST(<date> AS timestamp); <timestamp> + INTERVAL 1 HOUR;
        <timestamp> - INTERVAL 2 MONTHS; timestampadd(<unit>, <'small>, <timestamp>); CAST(<int> AS timestamp);
        timestampadd(<unit>, <tinyint>, <timestamp>); CAST(<double> AS timestamp); timestamp_seconds(<int>);
        timestamp_millis(<int>)
    """,
}
_AGGREGATES = """
    count(*); count(<A>); count(<A>, <N>); min(<A>); max(<A>); sum(<int>); sum(<bigint>); sum(<price>); avg(<price>);
    avg(<int>); sum(<eighths>); avg(<eighths>); sum(<price> * <tinyint>); try_sum(<bigint>); max(<A>) IS NULL;
    count(*) FILTER (WHERE <boolean>); sum(<bigint>) FILTER (WHERE <boolean>); max(<A>) FILTER (WHERE <boolean>);
    max_by(<A>, <int>); min_by(<A>, <date>); max_by(<A>, <double>); first(<A>); last(<A>, true); bool_and(<boolean>);
    bool_or(<boolean>); count_if(<boolean>); bit_and(<int>); bit_xor(<bigint>); sum(<int>) / count(<A>) + 1
"""
_HAVING = "count(*) > 1; max(<A>) > <'A>; sum(<int>) IS NOT NULL AND count(<A>) >= 1"
_EIGHTHS = "if(<boolean>, <int> * 0.125D, CAST(<'float> AS double))"
"""Doubles of which the sum is the same in any order, of which there is none."""

_WORDS = {
    "like": ["a%", "%b", "%a%", "_", "a_c", "%", "", "\\%%", "%😀%", "a%b", "é%", "%\n"],
    "regex": ["a", "^a", "a+b?$", "[a-c]{2}", "(a|é).", "(?i)AB", "\\d", "^[^a]", "😀", "b|^$", "\\s"],
    "format": ["yyyy-MM-dd", "HH:mm:ss.SSS", "yyyyMMdd", "dd/MM/yyyy HH"],
    "unit": ["year", "quarter", "month", "week", "day", "hour", "minute", "second"],
}
_JOINS = ("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
_HOLE = re.compile(r"<('?)([A-Za-z]+)>")


def sql_type(kind):
    return {"price": "decimal(10,2)", "long": "decimal(38,6)"}.get(kind, kind)


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _listed(rules):
    return [rule for each in rules.split(";") if (rule := " ".join(each.split()))]


def _of(kind, rules):
    own = f"{rules}; {_ANY}".replace("<T>", f"<{kind}>").replace("<'T>", f"<'{kind}>")
    return _listed(own.replace("<type>", sql_type(kind)))


RULES = {kind: _of(kind, rules) for kind, rules in _RULES.items()}
AGGREGATES, HAVING = _listed(_AGGREGATES.replace("<eighths>", _EIGHTHS)), _listed(_HAVING)


class Grammar:
    """Expressions over columns of these names, by type. Constants may be by a chance of their own."""

    def __init__(self, chance, names, constants=None):
        self.chance, self.names, self.constants = chance, names, constants or chance

    def expression(self, kind, depth):
        """One of the type, or of a close one, nested no deeper."""
        if depth == 0 or self.chance.random() < 0.1:
            return self.literal(kind) if self.chance.random() < 0.2 else self.column(kind)
        return f"({self.filled(self.chance.choice(RULES[kind]), depth - 1)})"

    def filled(self, rule, depth):
        """A rule with expressions of this depth in its holes; those of one name are of one type."""
        bound = {
            hole: self.chance.choice(list(kinds)) for hole, kinds in (("A", TYPES), ("N", NUMBERS), ("M", NUMBERS))
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
            return quoted(self.constants.choice(_WORDS[kind]))
        if kind == "small":
            return str(self.constants.randint(-3, 12))
        if self.constants.random() < 0.05:
            return f"CAST(NULL AS {sql_type(kind)})"
        return _written(kind, VALUES[kind](self.constants))


class Queries:
    """Queries over the stream t and the table r, with columns of these names."""

    def __init__(self, chance, stream, table, constants):
        self.chance = chance
        self.own, self.of_table = Grammar(chance, stream, constants), Grammar(chance, table, constants)
        self.both = Grammar(chance, {kind: stream[kind] + table[kind] for kind in stream}, constants)

    def one(self):
        scope, source = self.own, self._source()
        if self.chance.random() < 0.4:
            join, kind = self.chance.choice(_JOINS), self.chance.choice(list(TYPES))
            on = f"{self.own.expression(kind, 1)} = {self.of_table.column(kind)}"
            on += self._maybe(lambda: f" AND {self.both.expression('boolean', 1)}")
            source += f" {join} r ON {on}"
            scope = self.own if "SEMI" in join or "ANTI" in join else self.both
        source += self._maybe(lambda: f" WHERE {scope.expression('boolean', 2)}")
        if self.chance.random() < 0.4:
            return self._grouped(scope, source)
        return f"SELECT {_named(self._some(scope, 4))} FROM {source}"

    def _source(self):
        match self.chance.randrange(6):
            case 0:
                return f"(SELECT * FROM t WHERE {self.own.expression('boolean', 1)})"
            case 1:
                kind = self.chance.choice(list(TYPES))
                some = f"{self.own.expression(kind, 1)} IN (SELECT {self.of_table.column(kind)} FROM r)"
                return f"(SELECT * FROM t WHERE {some})"
        return "t"

    def _grouped(self, scope, source):
        keys = self._some(scope, 2) if self.chance.random() < 0.7 else []
        found = [scope.filled(self.chance.choice(AGGREGATES), 1) for _ in range(self.chance.randint(1, 3))]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        having = self._maybe(lambda: " HAVING " + scope.filled(self.chance.choice(HAVING), 0))
        return f"SELECT {_named([*keys, *found])} FROM {source}{group}{having}"

    def _some(self, scope, most):
        return [scope.expression(self.chance.choice(list(TYPES)), 1) for _ in range(self.chance.randint(1, most))]

    def _maybe(self, text):
        return text() if self.chance.random() < 0.5 else ""


def _named(expressions):
    return ", ".join(f"{each} AS c{i}" for i, each in enumerate(expressions))


def _written(kind, value):
    """A literal in SQL."""
    match kind:
        case "boolean":
            return str(value).upper()
        case "int" if value > -(2**31):
            return f"({value})"
        case "bigint" if value > -(2**63):
            return f"({value}L)"
        case "double" if math.isfinite(value):
            return f"{value!r}D"
        case "string":
            return quoted(value)
        case "price" | "long":
            value = Decimal(f"{value}e-{SCALES[kind]}")
        case "date":
            value = (_EPOCH + dt.timedelta(days=_within(value))).date()
        case "timestamp":
            value = _EPOCH + dt.timedelta(days=_within(value // DAY), microseconds=value % DAY)
    return f"CAST('{value}' AS {sql_type(kind)})"


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _within(days):
    """What Python has dates for."""
    return max(-719_162, min(days, 2_932_896))

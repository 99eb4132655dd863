"""The same SQL by Spark and by the kernel's expressions, over one table `t` and tables to look up."""

import itertools
import math
import struct
from collections import Counter

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.engine.kernel.expressions import arrow, expression
from headgate.engine.kernel.functions.aggregates import aggregate
from headgate.engine.kernel.ir import Literal
from headgate.engine.log.files import write
from headgate.engine.prepared import Views
from headgate.engine.reader import JobInput, StreamInput
from headgate.engine.sql.catalyst import NotFusableError, segment
from headgate.shed.droppers import UNSHED

_files = itertools.count()


class Sides:
    """Both ways to answer a query over rows; `tables` are looked up, by name."""

    def __init__(self, spark, folder, rows, tables=None):
        self.folder, self.rows, self.views = folder, rows, Views(spark)
        self.views.add_stream("t", rows.schema)
        self.tables = tables or {}
        for name, table in self.tables.items():
            file = folder / f"{name}-{next(_files)}.parquet"
            pq.write_table(table, file)
            self.views.add_table(name, spark.read.parquet(str(file)))
        self._given(rows)

    def _given(self, rows):
        self.rows = rows
        file = self.folder / f"{next(_files)}.arrow"
        write(rows, file)
        self.given = JobInput({"t": StreamInput(((str(file), 0, rows.num_rows, 0, 0, UNSHED),), None)})

    def prepare(self, sql):
        return self.views.prepare(sql, {"t": self.rows.column_names})

    def segment(self, sql):
        """The kernel's form of a query; raises NotFusableError."""
        return segment(self.prepare(sql).frame)

    def spark(self, sql):
        return self.prepare(sql).run(self.given, "test")

    def kernel(self, sql):
        return evaluate(self.segment(sql), self.rows, self.tables)

    def check(self, sql):
        """Fail if the two differ."""
        prepared = self.prepare(sql)
        found = evaluate(segment(prepared.frame), self.rows, self.tables)
        assert_same(found, prepared.run(self.given, "test"), sql)

    def check_each(self, expressions):
        """Fail if one of many expressions differs; in one job. Gives back why those that are refused are."""
        refused, taken = {}, []
        self.prepare("SELECT * FROM t")
        for each in expressions:
            try:
                segment(self.views.spark.sql(f"SELECT {each} AS c FROM t"))
                taken.append(each)
            except NotFusableError as reason:
                refused[each] = str(reason)
        if taken:
            self.check_all(taken)
        return refused

    def check_all(self, expressions):
        """Fail if one of many expressions differs, or is refused; in one job."""
        names = [f"c{i}" for i in range(len(expressions))]
        sql = f"SELECT {', '.join(f'{e} AS {n}' for e, n in zip(expressions, names, strict=True))} FROM t"
        found, expected = self.kernel(sql), self.spark(sql)
        for name, text in zip(names, expressions, strict=True):
            assert_same(found.select([name]), expected.select([name]), text, of=self.rows)


def evaluate(segment, rows, tables=None):
    """A segment over rows, in the plainest way."""
    frame = pl.from_arrow(rows).with_row_index("_row")
    for number, lookup in enumerate(segment.lookups):
        frame = _looked_up(frame, number, lookup, pl.from_arrow(tables[lookup.table]))
    for condition in segment.where:
        frame = frame.filter(expression(condition))
    if segment.grouping:
        frame = _grouped(frame, segment.grouping)
    found = [frame.select(expression(node)).to_series() for _, node in segment.columns]
    # A constant is one value, and so is a choice that has always been for one.
    arrays = [each.new_from_index(0, frame.height) if len(each) != frame.height else each for each in found]
    arrays = [each.to_arrow() for each in arrays]
    kinds = [arrow(node.type) for _, node in segment.columns]
    for (name, node), array in zip(segment.columns, arrays, strict=True):
        wanted = pl.Series([], dtype=pl.Series(pa.array([], arrow(node.type))).dtype).to_arrow().type
        assert array.type == wanted, f"{name} is {array.type}, not {wanted}"
    schema = pa.schema(list(zip((name for name, _ in segment.columns), kinds, strict=True)))
    return pa.Table.from_arrays([array.cast(kind) for array, kind in zip(arrays, kinds, strict=True)], schema=schema)


def _grouped(frame, grouping):
    constants = [arg for part in grouping.parts for arg in part.args if isinstance(arg, Literal)]
    frame = frame.with_columns([expression(each).alias(f"_c{i}") for i, each in enumerate(constants)])

    def argument(node):
        return pl.col(f"_c{constants.index(node)}") if isinstance(node, Literal) else expression(node)

    parts = [
        aggregate(part, [argument(arg) for arg in part.args], expression(part.where) if part.where else None)
        for part in grouping.parts
    ]
    keys = [expression(key).alias(f"k{i}") for i, key in enumerate(grouping.keys)]
    named = [part.alias(f"a{i}") for i, part in enumerate(parts)]
    found = frame.group_by(keys).agg(named) if keys else frame.select([pl.len().alias("_n"), *named])
    for condition in grouping.having:
        found = found.filter(expression(condition))
    return found


def _looked_up(frame, number, lookup, table):
    table = table.rename(lambda name: f"{number}:{name}").with_row_index("_match")
    on = [f"_key{i}" for i in range(len(lookup.keys))]
    left = frame.with_columns([expression(a).alias(n) for (a, _), n in zip(lookup.keys, on, strict=True)])
    right = table.with_columns([expression(b).alias(n) for (_, b), n in zip(lookup.keys, on, strict=True)])
    pairs = left.with_row_index("_left").join(right, on=on, how="inner")
    if lookup.condition is not None:
        pairs = pairs.filter(expression(lookup.condition))
    numbered = frame.with_row_index("_left")
    if lookup.kind in ("semi", "anti"):
        return numbered.join(pairs, on="_left", how=lookup.kind).drop("_left")
    how = "inner" if lookup.kind == "inner" else "left"
    found = numbered.join(pairs.select("_left", "_match"), on="_left", how=how)
    return found.join(table, on="_match", how="left").drop("_left", "_match")


def assert_same(found, expected, what, of=None):
    """The same columns, and the same rows in any order; `of` are the rows that they come from, if in their order."""
    assert found.schema == expected.schema, f"{what}: {found.schema} is not {expected.schema}"
    have, want = ([tuple(map(_exact, row)) for row in zip(*_columns(t), strict=True)] for t in (found, expected))
    if of is not None:
        rows = list(zip(*_columns(of), strict=True))
        wrong = [(row, a, b) for row, a, b in zip(rows, have, want, strict=True) if a != b]
        shown = "\n".join(f"  of {row}: {a}, not {b}" for row, a, b in wrong[:5])
        assert not wrong, f"{what}: {len(wrong)} of {len(rows)} rows differ:\n{shown}"
    missing, extra = (Counter(map(repr, a)) - Counter(map(repr, b)) for a, b in ((want, have), (have, want)))
    wrong = missing + extra
    assert not wrong, f"{what}: without {list(missing)[:5]}, but with {list(extra)[:5]}"


def _columns(table):
    return [_values(column) for column in table.columns]


def _values(column):
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):  # a time that Python does not have
        return column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64()).to_pylist()


def _exact(value):
    """A value that is equal to another only if they are the same, to the sign of zero; all NaN are the same."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack("d", value).hex() + f" {value!r}"
    return value

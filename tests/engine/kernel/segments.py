"""Rows, and segments over them, for Hypothesis: every type, NULL, NaN, both zeros, extremes."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from headgate.engine.kernel.expressions import arrow
from headgate.engine.kernel.ir import Call, Column, Grouping, Literal, Lookup, Part, Segment
from headgate.engine.kernel.program import Add
from headgate.engine.kernel.shapes import segment_of, shape_of

NAN, INF = float("nan"), float("inf")
UTC = dt.UTC
VALUES = {
    "boolean": [True, False],
    "int": [-(2**31), -1, 0, 1, 2, 3, 2**31 - 1],
    "bigint": [-(2**63), -(2**63) + 1, -(2**63) + 2, -1, 0, 1, 2, 3, 2**63 - 2, 2**63 - 1],
    "float": [-INF, -1.5, -0.0, 0.0, 0.5, 2.0, INF, NAN],
    "double": [-INF, -1e300, -1.5, -0.0, 0.0, 5e-324, 0.1, 0.5, 2.0, 3.0, INF, NAN],
    "decimal(10,2)": [Decimal("-99999999.99"), Decimal("-1.00"), Decimal("0.00"), Decimal("1.50"), Decimal("2.00")],
    "decimal(38,6)": [Decimal("-1" + "0" * 30), Decimal(0), Decimal("1.500000"), Decimal("9" * 32 + ".999999")],
    "string": ["", "a", "ab", "abc", "abd", "b", "B", "é", "\U0001f600", "a%", "zz"],
    "binary": [b"", b"a", b"ab", b"\xff"],
    "date": [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29)],
    "timestamp": [
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(2024, 2, 29, tzinfo=UTC),
    ],
}
COLUMNS = {name: Column(name, kind) for name, kind in zip("bilfdmwsxyt", VALUES, strict=True)}
BY_TYPE = {column.type: column for column in COLUMNS.values()}
SCHEMA = pa.schema([(name, arrow(column.type)) for name, column in COLUMNS.items()])
ORDERS = ("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
COMPARISONS = ("EqualTo", "EqualTo", "EqualTo", "EqualNullSafe", *ORDERS)


def values(kind, null=True):
    found = st.sampled_from(VALUES[kind])
    return st.one_of(st.none(), found, found, found) if null else found


def tables(most=30):
    row = st.fixed_dictionaries({name: values(column.type) for name, column in COLUMNS.items()})
    return st.lists(row, max_size=most).map(lambda rows: pa.Table.from_pylist(rows, SCHEMA))


def literals(kind):
    return values(kind).map(lambda value: Literal(value, kind))


def holds(op, *args, options=()):
    return Call(op, args, "boolean", options)


def negated(node):
    return holds("Not", node)


OPERANDS = st.one_of(
    st.sampled_from(list(COLUMNS.values())),
    st.sampled_from(
        [
            Call("Add", (COLUMNS["d"], COLUMNS["d"]), "double"),
            Call("Add", (COLUMNS["d"], Literal(1e300, "double")), "double"),
            Call("Abs", (Call("Subtract", (COLUMNS["d"], Literal(0.5, "double")), "double"),), "double"),
            Call("Cast", (COLUMNS["i"],), "double"),
            Call("Upper", (COLUMNS["s"],), "string"),
            Call("Coalesce", (COLUMNS["s"], Literal("b", "string")), "string"),
        ]
    ),
)


@st.composite
def comparisons(draw):
    operand = draw(OPERANDS)
    match draw(st.integers(0, 9)):
        case 0:
            return holds(draw(st.sampled_from(("IsNull", "IsNotNull"))), operand)
        case 1:
            few = draw(st.lists(literals(operand.type), min_size=1, max_size=4))
            return holds("In", operand, *few)
        case 2:
            word = draw(values("string", null=False))
            pattern = draw(st.sampled_from((word + "%", "%" + word, word, "%" + word + "%", "_%")))
            return holds("Like", COLUMNS["s"], Literal(pattern, "string"), options=("\\",))
        case 3:
            op = draw(st.sampled_from(("StartsWith", "EndsWith")))
            return holds(op, COLUMNS["s"], draw(literals("string")))
        case 4:
            return COLUMNS["b"]
        case 5:
            low, high = draw(literals(operand.type)), draw(literals(operand.type))
            return holds("And", holds("GreaterThanOrEqual", operand, low), holds("LessThanOrEqual", operand, high))
        case _:
            sides = [operand, draw(literals(operand.type))]
            if operand.type == "double" and draw(st.booleans()):
                sides[1] = Call("Cast", (draw(literals("int")),), "double")
            return holds(draw(st.sampled_from(COMPARISONS)), *draw(st.permutations(sides)))


def conditions():
    return st.recursive(
        comparisons(),
        lambda inner: st.one_of(
            inner.map(negated),
            st.tuples(st.sampled_from(("And", "Or")), inner, inner).map(lambda given: holds(*given)),
        ),
        max_leaves=4,
    )


OUTPUTS = st.one_of(
    st.sampled_from(list(COLUMNS.values())),
    st.sampled_from(
        [Call("Add", (COLUMNS["d"], Literal(1.0, "double")), "double"), Call("Upper", (COLUMNS["s"],), "string")]
    ),
    st.sampled_from(["string", "double", "bigint"]).flatmap(literals),
)

KEYS = [*(COLUMNS[name] for name in "sib"), Call("NormalizeNaNAndZero", (COLUMNS["d"],), "double")]


@st.composite
def segments(draw, lookups=()):
    where = tuple(draw(st.lists(conditions(), max_size=3)))
    outputs = OUTPUTS
    if any(lookup.kind in ("inner", "left") for lookup in lookups):
        outputs = st.one_of(outputs, st.sampled_from(lookups[0].columns))
        if draw(st.booleans()):
            where += (holds(draw(st.sampled_from(ORDERS)), Column("0:i", "int"), draw(literals("int"))),)
    if draw(st.integers(0, 3)):
        nodes = draw(st.lists(outputs, min_size=1, max_size=3))
        return Segment("t", lookups, where, None, tuple((f"c{k}", node) for k, node in enumerate(nodes)))
    keys = tuple(draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True)))
    parts = (
        Part("Count", (COLUMNS["i"],), "bigint"),
        Part("Max", (draw(st.sampled_from([COLUMNS["l"], COLUMNS["t"]])),), draw(st.just("bigint"))),
    )[: draw(st.integers(1, 2))]
    parts = tuple(Part(part.op, part.args, part.args[0].type if part.op == "Max" else part.type) for part in parts)
    having = (holds("GreaterThan", Column("a0", "bigint"), Literal(draw(st.integers(0, 2)), "bigint")),)
    columns = [(f"k{k}", Column(f"k{k}", key.type)) for k, key in enumerate(keys)]
    columns += [(f"a{k}", Column(f"a{k}", part.type)) for k, part in enumerate(parts)]
    return Segment("t", lookups, where, Grouping(keys, parts, draw(st.sampled_from((having, ())))), tuple(columns))


@st.composite
def lookups(draw):
    """A join with `r`, a table like the stream's."""
    name = draw(st.sampled_from("sild"))
    key = COLUMNS[name]
    columns = tuple(Column(f"0:{each.name}", each.type) for each in COLUMNS.values())
    other = next(each for each in columns if each.name == f"0:{name}")
    condition = holds("LessThanOrEqual", COLUMNS["i"], Column("0:i", "int"))
    kind = draw(st.sampled_from(("inner", "left", "semi", "anti")))
    keys = ((key, other), (COLUMNS["b"], Column("0:b", "boolean")))[: draw(st.integers(1, 2))]
    return Lookup("r", kind, keys, columns, draw(st.sampled_from((None, condition))))


def like(segment, most=8):
    """Some segments of the same shape."""
    shape, constants = shape_of(segment)
    others = st.tuples(*(literals(each.type) for each in constants))
    return st.lists(others.map(lambda given: segment_of(shape, given)), min_size=1, max_size=most)


def added(segments_by_number):
    """The changes that add queries, those of a shape together."""
    shapes = {}
    for number, segment in segments_by_number.items():
        shape, constants = shape_of(segment)
        shapes.setdefault(shape, []).append((number, constants))
    for shape, queries in shapes.items():
        rows = [constants for _, constants in queries]
        arrays = tuple(
            pa.array([each.value for each in column], arrow(column[0].type)) for column in zip(*rows, strict=True)
        )
        yield Add(shape, [number for number, _ in queries], arrays)

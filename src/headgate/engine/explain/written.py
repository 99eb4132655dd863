"""What the kernel computes, as short SQL for people: `?` stands for a constant that each query has its own of."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence

from headgate.engine.kernel.ir import Call, Column, Grouping, Literal, Lookup, Node, Parameter, Part, Segment
from headgate.engine.kernel.types import FLOATS, WHOLE
from headgate.engine.sql.plan import HIDDEN

_BINARY = {
    "Or": (1, "OR"),
    "And": (2, "AND"),
    "EqualTo": (4, "="),
    "EqualNullSafe": (4, "<=>"),
    "LessThan": (4, "<"),
    "LessThanOrEqual": (4, "<="),
    "GreaterThan": (4, ">"),
    "GreaterThanOrEqual": (4, ">="),
    "Like": (4, "LIKE"),
    "ILike": (4, "ILIKE"),
    "RLike": (4, "RLIKE"),
    "BitwiseOr": (5, "|"),
    "BitwiseXor": (6, "^"),
    "BitwiseAnd": (7, "&"),
    "Add": (8, "+"),
    "Subtract": (8, "-"),
    "Multiply": (9, "*"),
    "Divide": (9, "/"),
    "IntegralDivide": (9, "DIV"),
    "Remainder": (9, "%"),
}
"""How tightly an operator binds, and its sign."""

_NOT, _COMPARISON, _UNARY, _ATOM = 3, 4, 10, 11
_NEGATED = {"EqualTo": "<>", "Like": "NOT LIKE", "ILike": "NOT ILIKE", "RLike": "NOT RLIKE", "In": "NOT IN"}
_NUMBERS = (*WHOLE, *FLOATS)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
_UNSEEN = "NormalizeNaNAndZero"

Names = Mapping[str, str]
"""What columns are shown as, where that is not their name."""


def text(node: Node, names: Names | None = None) -> str:
    """A node as SQL."""
    return _Written(names or {}).node(node)[1]


def shape(segment: Segment) -> str:
    """A segment as SQL."""
    names = tables(segment.lookups)
    parts = [f"FROM {segment.source}", *lookups(segment.lookups)]
    if segment.where:
        parts.append("WHERE " + _conjunction(segment.where, names))
    if segment.grouping:
        keys = [text(key, names) for key in segment.grouping.keys if not _is_hidden(key)]
        parts += ["GROUP BY " + ", ".join(keys)] if keys else []
        names = _behind(segment.grouping, names)
        if segment.grouping.having:
            parts.append("HAVING " + _conjunction(segment.grouping.having, names))
    shown = [(name, node) for name, node in segment.columns if not _hides(name, node, segment.grouping)]
    columns = ", ".join(_column(name, text(node, names)) for name, node in shown)
    return " ".join(["SELECT", columns, *parts])


def lookups(given: Sequence[Lookup]) -> list[str]:
    """Joins with tables, as SQL."""
    names = tables(given)
    found = []
    for lookup in given:
        on = [f"{text(a, names)} = {text(b, names)}" for a, b in lookup.keys]
        on += [text(lookup.condition, names)] if lookup.condition else []
        found.append(f"{_JOINS[lookup.kind]} {lookup.table} ON {' AND '.join(on)}")
    return found


def tables(given: Sequence[Lookup]) -> dict[str, str]:
    """The columns of tables, by the table's name."""
    found = {}
    for number, lookup in enumerate(given):
        for column in lookup.columns:
            found[column.name] = column.name.replace(f"{number}:", f"{lookup.table}.", 1)
    return found


def _conjunction(conditions: Sequence[Node], names: Names) -> str:
    return " AND ".join(_Written(names).within(_BINARY["And"][0], each) for each in conditions)


class _Written:
    """Writes nodes; each with how tightly its outermost operator binds."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def node(self, node: Node) -> tuple[int, str]:
        match node:
            case Column(name=name):
                return _ATOM, self._names.get(name, name)
            case Literal():
                return _literal(node)
            case Parameter():
                return _ATOM, "?"
            case Call(op="Cast", args=(inner,)) if _widens(inner.type, node.type):
                return self.node(inner)
            case Call(op="Cast", args=(inner,)):
                return _ATOM, f"{self.within(_ATOM, inner)}::{node.type}"
            case Call(op=op, args=(inner,)) if op == _UNSEEN:
                return self.node(inner)
            case Call(op="UnaryMinus", args=(inner,)):
                return _UNARY, f"-{self.within(_ATOM, inner)}"
            case Call(op="IsNull" | "IsNotNull" as op, args=(inner,)):
                return _COMPARISON, f"{self.within(_COMPARISON + 1, inner)} IS {'NOT ' * (op == 'IsNotNull')}NULL"
            case Call(op="Not", args=(Call(op=op) as inner,)) if op in _NEGATED:
                return _COMPARISON, self._compared(inner, _NEGATED[op])
            case Call(op="Not", args=(inner,)):
                return _NOT, f"NOT {self.within(_NOT, inner)}"
            case Call(op="In"):
                return _COMPARISON, self._compared(node, "IN")
            case Call(op=op, args=(_, _)) if op in _BINARY:
                return self._binary(node)
            case Call(op="CaseWhen", args=args):
                return _ATOM, self._case(args)
        return _ATOM, f"{_name(node.op)}({', '.join(self.node(each)[1] for each in node.args)})"

    def within(self, binding: int, node: Node) -> str:
        """A node as a part of what binds so tightly."""
        own, written = self.node(node)
        return written if own >= binding else f"({written})"

    def _binary(self, call: Call) -> tuple[int, str]:
        binding, sign = _BINARY[call.op]
        # a - (b - c), but a AND b AND c; and comparisons are not compared.
        left = binding + 1 if binding == _COMPARISON else binding
        right = binding if call.op in ("And", "Or", "Add", "Multiply") else binding + 1
        a, b = call.args
        return binding, f"{self.within(left, a)} {sign} {self.within(right, b)}"

    def _compared(self, call: Call, sign: str) -> str:
        first, *others = call.args
        left = self.within(_COMPARISON + 1, first)
        if call.op == "In":
            return f"{left} {sign} ({', '.join(self.node(each)[1] for each in others)})"
        return f"{left} {sign} {self.within(_COMPARISON + 1, others[0])}"

    def _case(self, args: Sequence[Node]) -> str:
        texts = [self.node(each)[1] for each in args]
        whens = [f"WHEN {when} THEN {then}" for when, then in zip(texts[::2], texts[1::2], strict=False)]
        otherwise = [f"ELSE {texts[-1]}"] if len(texts) % 2 else []
        return " ".join(["CASE", *whens, *otherwise, "END"])


def _literal(literal: Literal) -> tuple[int, str]:
    match literal.value:
        case None:
            return _ATOM, "NULL"
        case bool() as value:
            return _ATOM, str(value).upper()
        case str() as value:
            quoted = value.replace("'", "\\'")
            return _ATOM, f"'{quoted}'"
        case dt.datetime() as value:
            return _ATOM, f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
        case dt.date() as value:
            return _ATOM, f"DATE '{value}'"
        case bytes() as value:
            return _ATOM, f"X'{value.hex().upper()}'"
    return (_UNARY if str(literal.value).startswith("-") else _ATOM), str(literal.value)


def _widens(kind: str, other: str) -> bool:
    """Whether a cast is one that Spark puts in so that two numbers can meet."""
    return kind in _NUMBERS and other in _NUMBERS and _NUMBERS.index(kind) < _NUMBERS.index(other)


def _name(op: str) -> str:
    return _WORDS.sub("_", op).lower().removeprefix("string_")


def _is_hidden(node: Node) -> bool:
    return isinstance(node, Column) and node.name in HIDDEN


def _hides(name: str, node: Node, grouping: Grouping | None) -> bool:
    """Whether a column is one that Headgate has added."""
    if name in HIDDEN:
        return True
    keys = grouping.keys if grouping else ()
    return isinstance(node, Column) and any(node.name == f"k{i}" and _is_hidden(key) for i, key in enumerate(keys))


def _behind(grouping: Grouping, names: Names) -> dict[str, str]:
    """What the columns behind a grouping stand for."""
    keys = {f"k{i}": text(key, names) for i, key in enumerate(grouping.keys)}
    return {**keys, **{f"a{i}": _part(part, names) for i, part in enumerate(grouping.parts)}}


def _part(part: Part, names: Names) -> str:
    args = ", ".join(text(each, names) for each in part.args)
    where = f" FILTER (WHERE {text(part.where, names)})" if part.where else ""
    return f"{_name(part.op)}({'DISTINCT ' * part.distinct}{args}){where}"


def _column(name: str, written: str) -> str:
    """A column of the result; names that Headgate has given say nothing."""
    return (
        written
        if name == written or name.startswith("__") or name == written.rpartition(".")[2]
        else f"{written} AS {name}"
    )

"""Queries that differ in constants only have one shape: the segment with Parameters in their place.

The constants are those that conjuncts compare with, and output columns that are nothing but a constant. A conjunct is
brought into one form first, so that `5 < x`, `NOT (x <= 5)` and `x > 2 + 3` are one shape.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import polars as pl

from headgate.engine.kernel.expressions import expression
from headgate.engine.kernel.ir import Call, Literal, Node, Parameter, Segment
from headgate.engine.kernel.types import is_simple

MIRRORED = {
    "EqualTo": "EqualTo",
    "EqualNullSafe": "EqualNullSafe",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
"""What comparisons are when their sides change places."""

_OPPOSITE = {
    "LessThan": "GreaterThanOrEqual",
    "LessThanOrEqual": "GreaterThan",
    "GreaterThan": "LessThanOrEqual",
    "GreaterThanOrEqual": "LessThan",
    "IsNull": "IsNotNull",
    "IsNotNull": "IsNull",
}
_LISTED = 16
"""Longer lists of IN belong to the shape."""


def shape_of(segment: Segment) -> tuple[Segment, tuple[Literal, ...]]:
    """The segment with Parameters for its constants, and these."""
    found: list[Literal] = []

    def take(literal: Literal) -> Parameter:
        found.append(literal)
        return Parameter(len(found) - 1, literal.type)

    where = tuple(_open(each, take) for each in conjuncts(segment.where))
    grouping = segment.grouping
    if grouping:
        grouping = replace(grouping, having=tuple(_open(each, take) for each in conjuncts(grouping.having)))
    columns = tuple((name, _opened(folded(node), take)) for name, node in segment.columns)
    return replace(segment, where=where, grouping=grouping, columns=columns), tuple(found)


def segment_of(shape: Segment, constants: tuple[Literal, ...]) -> Segment:
    """The segment of a query of a shape."""

    def fill(node: Node) -> Node:
        return substituted(node, lambda parameter: constants[parameter.number])

    grouping = shape.grouping
    if grouping:
        grouping = replace(grouping, having=tuple(map(fill, grouping.having)))
    columns = tuple((name, fill(node)) for name, node in shape.columns)
    return replace(shape, where=tuple(map(fill, shape.where)), grouping=grouping, columns=columns)


def substituted(node: Node, value: Callable[[Parameter], Node]) -> Node:
    """The node with something else for its parameters."""
    if isinstance(node, Parameter):
        return value(node)
    if isinstance(node, Call):
        return replace(node, args=tuple(substituted(arg, value) for arg in node.args))
    return node


def conjuncts(where: tuple[Node, ...]) -> Iterator[Node]:
    """Conditions of which each has to be true, in the one form; those that always are, are left out."""
    for each in itertools.chain.from_iterable(_split(_formed(folded(node))) for node in where):
        if each != Literal(value=True, type="boolean"):
            yield each


def folded(node: Node) -> Node:
    """The node with what depends on constants only computed."""
    if not isinstance(node, Call):
        return node
    call = replace(node, args=tuple(folded(arg) for arg in node.args))
    if not call.args or not is_simple(call.type) or not all(isinstance(arg, Literal) for arg in call.args):
        return call
    try:
        return Literal(pl.select(expression(call)).item(), call.type)
    except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - then it fails, or not, where it is needed
        return call


def _formed(node: Node) -> Node:
    """NOT as far down as it goes, and constants to the right. Both hold with NULL and NaN as well."""
    match node:
        case Call(op="Not", args=(Call(op="Not", args=(inner,)),)):
            return _formed(inner)
        case Call(op="Not", args=(Call(op="And" | "Or", args=args) as inner,)):
            other = "Or" if inner.op == "And" else "And"
            return Call(other, tuple(_formed(Call("Not", (arg,), "boolean")) for arg in args), "boolean")
        case Call(op="Not", args=(Call(op=op) as inner,)) if op in _OPPOSITE:
            return _formed(replace(inner, op=_OPPOSITE[op]))
        case Call(op="And" | "Or" | "Not", args=args):
            return replace(node, args=tuple(map(_formed, args)))
        case Call(op=op, args=(Literal() as left, right)) if op in MIRRORED and not isinstance(right, Literal):
            return replace(node, op=MIRRORED[op], args=(right, left))
        case Call(op="Like", args=(value, Literal(value=str(pattern))), options=(str(escape),)):
            return _simpler(node, value, pattern, escape)
    return node


def _simpler(like: Call, value: Node, pattern: str, escape: str) -> Call:
    """A pattern with one % at its end, or at its start, is a prefix, or a suffix."""
    word = pattern.strip("%")
    if not any(special in word for special in ("%", "_", escape)):
        for op, same in (("StartsWith", word + "%"), ("EndsWith", "%" + word)):
            if pattern == same:
                return Call(op, (value, Literal(word, "string")), "boolean")
    return like


def _split(node: Node) -> Iterator[Node]:
    if isinstance(node, Call) and node.op == "And":
        for arg in node.args:
            yield from _split(arg)
    else:
        yield node


def _open(node: Node, take: Callable[[Literal], Parameter]) -> Node:
    """The condition with Parameters for what it compares with."""
    match node:
        case Call(op="And" | "Or" | "Not", args=args):
            return replace(node, args=tuple(_open(arg, take) for arg in args))
        case Call(op=op, args=(value, Literal() as constant)) if op in MIRRORED or op in ("StartsWith", "EndsWith"):
            return replace(node, args=(value, _opened(constant, take)))
        case Call(op="In", args=(value, *others)) if len(others) <= _LISTED and _are_literals(others):
            return replace(node, args=(value, *(_opened(other, take) for other in others)))
    return node


def _opened(node: Node, take: Callable[[Literal], Parameter]) -> Node:
    return take(node) if isinstance(node, Literal) and is_simple(node.type) else node


def _are_literals(nodes: list[Node]) -> bool:
    return all(isinstance(node, Literal) for node in nodes)

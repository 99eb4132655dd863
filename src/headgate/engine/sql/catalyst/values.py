"""Constants of a plan, as Python values. What is constant is computed by Spark, once."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

from headgate.engine.kernel.ir import Literal
from headgate.engine.kernel.types import decimal
from headgate.engine.sql.catalyst.tree import Java, Tree, simple_name

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FROM_TEXT: dict[str, Callable[[str], object]] = {
    "boolean": lambda text: text == "true",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int),
    **dict.fromkeys(("float", "double"), float),
    "string": str,
}
"""Types of which a literal's text in JSON says all. That of times depends on the time zone of the JVM."""


def literal(node: Tree) -> Literal:
    """A literal of the plan."""
    kind = simple_name(node.fields["dataType"])
    text = node.fields["value"]
    if text is None:
        return Literal(None, kind)
    if decimal(kind):
        return Literal(Decimal(text), kind)
    if kind in _FROM_TEXT:
        return Literal(_FROM_TEXT[kind](text), kind)
    return Literal(_value(node.java().value(), kind), kind)


def folded(node: Tree) -> Literal | None:
    """The value of an expression that reads no column, as Spark computes it; None if it is no constant."""
    java = node.java()
    if not java.foldable():
        return None
    kind = java.dataType().simpleString()
    return Literal(_value(java.eval(None), kind), kind)


def _value(internal: Java, kind: str) -> object:
    """A value as Catalyst keeps it: times are numbers since 1970, texts and decimals have classes of their own."""
    if internal is None:
        return None
    if kind == "string":
        return internal.toString()
    if decimal(kind):
        return Decimal(internal.toString())
    # A date outside of what Python has stays a number, for which no operation has a use.
    if kind == "date":
        return _within(lambda: _EPOCH.date() + dt.timedelta(days=internal), internal)
    if kind == "timestamp":
        return _within(lambda: _EPOCH + dt.timedelta(microseconds=internal), internal)
    if kind == "timestamp_ntz":
        return _within(lambda: _EPOCH.replace(tzinfo=None) + dt.timedelta(microseconds=internal), internal)
    if kind == "interval":
        return (internal.months, internal.days, internal.microseconds)
    return internal


def _within(make: Callable[[], object], otherwise: object) -> object:
    try:
        return make()
    except OverflowError:
        return otherwise

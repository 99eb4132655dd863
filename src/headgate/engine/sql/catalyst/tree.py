"""Catalyst's trees as Python has them: one JSON text for the shape, and the Java objects for what JSON leaves out."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import _parse_datatype_json_value

Java = Any
"""An object in Spark's JVM."""

_PIECE = 4000


@dataclass(frozen=True, slots=True)
class Tree:
    """A node. `java` finds the object that it stands for, which takes a while; it is asked for details only."""

    name: str
    fields: Mapping[str, Any]
    children: "tuple[Tree, ...]"
    java: Callable[[], Java]

    def expressions(self, field: str) -> "list[Tree]":
        """The expressions in a field of a plan's node: one, or a list of them."""
        found = self.fields.get(field) or []
        if found and isinstance(found[0], list):
            return [_tree(each, _item(self.java, field, i)) for i, each in enumerate(found)]
        return [_tree(found, _member(self.java, field))] if found else []

    @property
    def id(self) -> int:
        """The number by which Catalyst knows a column."""
        return int(self.fields["exprId"]["id"])


def tree(java: Java) -> Tree:
    """The tree of an expression or a small plan in the JVM."""
    return _tree(json.loads(java.toJSON()), lambda: java)


def plan_tree(frame: DataFrame) -> Tree:
    """The tree of the analysed plan of a query."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    jvm: Java = frame.sparkSession._jvm  # noqa: SLF001
    writer = jvm.java.io.StringWriter()
    getattr(getattr(jvm.org.json4s.jackson, "JsonMethods$"), "MODULE$").mapper().writeValue(writer, plan.jsonValue())
    text = writer.getBuffer()
    # In pieces: an answer of more than 8 kB comes 40 ms later, when TCP has waited for an acknowledgement.
    size = text.length()
    pieces = (text.substring(at, min(at + _PIECE, size)) for at in range(0, size, _PIECE))
    return _tree(json.loads("".join(pieces)), lambda: plan)


def simple_name(data_type: object) -> str:
    """A type as JSON has it, by the short name that SQL uses."""
    return _parse_datatype_json_value(data_type).simpleString()  # type: ignore[arg-type]


def _tree(nodes: list[dict[str, Any]], java: Callable[[], Java]) -> Tree:
    return _node(iter(nodes), _once(java))


def _node(nodes: Iterator[dict[str, Any]], java: Callable[[], Java]) -> Tree:
    """The next node of the list, which has each before its children."""
    fields = next(nodes)
    children = tuple(_node(nodes, _once(_child(java, i))) for i in range(fields["num-children"]))
    return Tree(fields["class"].rpartition(".")[2], fields, children, java)


def _once(find: Callable[[], Java]) -> Callable[[], Java]:
    found: list[Java] = []

    def get() -> Java:
        if not found:
            found.append(find())
        return found[0]

    return get


def _child(java: Callable[[], Java], number: int) -> Callable[[], Java]:
    return lambda: java().children().apply(number)


def _item(java: Callable[[], Java], field: str, number: int) -> Callable[[], Java]:
    return lambda: getattr(java(), field)().apply(number)


def _member(java: Callable[[], Java], field: str) -> Callable[[], Java]:
    def find() -> Java:
        found = getattr(java(), field)()
        # The condition of a join may be none.
        return found.get() if found.getClass().getName() == "scala.Some" else found

    return find

"""GROUP BY and aggregates."""

from collections.abc import Sequence
from dataclasses import replace

from headgate.engine.kernel.functions.aggregates import AGGREGATES, refusal
from headgate.engine.kernel.ir import Call, Column, Grouping, Literal, Node, Part
from headgate.engine.kernel.types import FLOATS, is_simple
from headgate.engine.sql.catalyst.expressions import Expressions, NotFusableError, replacement
from headgate.engine.sql.catalyst.tree import Tree


def grouped(
    over: Expressions, keys: Sequence[Tree], outputs: Sequence[Tree]
) -> tuple[Grouping, list[tuple[int, Node]]]:
    """The groups, and the columns behind them by Catalyst's numbers."""
    found = [over.node(each) for each in keys]
    kept = list(dict.fromkeys(each for each in found if not isinstance(each, Literal)))
    if found and not kept:
        raise NotFusableError("it groups by a constant")
    for each in kept:
        if not is_simple(each.type):
            raise NotFusableError(f"it groups by values of type {each.type}")
    groups = _Groups(over, kept)
    named = [(each.id, groups.node(each)) for each in outputs]
    return Grouping(tuple(normal(key) for key in kept), tuple(groups.parts)), named


def normal(key: Node) -> Node:
    """A key of which equal values look the same: 0.0 and -0.0 are equal."""
    return Call("NormalizeNaNAndZero", (key,), key.type) if key.type in FLOATS else key


class _Groups(Expressions):
    """Rewrites what stands beside aggregates, over the columns of keys and parts."""

    def __init__(self, over: Expressions, keys: Sequence[Node]) -> None:
        super().__init__(over.columns, tries=over.tries)
        self._rows = over
        self._keys = {key: Column(f"k{i}", key.type) for i, key in enumerate(keys)}
        self.parts: list[Part] = []

    def node(self, given: Tree) -> Node:
        if given.name == "AggregateExpression":
            part = self._part(given)
            if part not in self.parts:
                self.parts.append(part)
            return Column(f"a{self.parts.index(part)}", part.type)
        if _aggregates(given):
            return super().node(given)
        return self._key(self._rows.node(given))

    def _key(self, node: Node) -> Node:
        if node in self._keys:
            return self._keys[node]
        if isinstance(node, Column):
            raise NotFusableError(f"'{node.name}' is neither in GROUP BY nor in an aggregate")
        if isinstance(node, Call):
            return replace(node, args=tuple(self._key(each) for each in node.args))
        return node

    def _part(self, given: Tree) -> Part:
        function, *condition = given.children
        name = self._rows.operation(function)
        while name not in AGGREGATES:
            found = replacement(function.java())
            if found is None:
                raise NotFusableError(f"it calls {function.java().prettyName()}()")
            function, name = found, self._rows.operation(found)
        args = tuple(self._rows.node(each) for each in _arguments(function))
        where = self._rows.node(condition[0]) if condition else None
        part = Part(name, args, AGGREGATES[name].type(args), where, given.fields["isDistinct"])
        if reason := refusal(part):
            raise NotFusableError(reason)
        return part


def _arguments(function: Tree) -> Sequence[Tree]:
    """The arguments of an aggregate; the fields of a struct that rows are ordered by are several."""
    if function.name in ("MinBy", "MaxBy"):
        value, order = function.children
        fields = order.children[1::2] if order.name == "CreateNamedStruct" else ()
        if len(fields) > 1:
            return value, *fields
    return function.children


def _aggregates(given: Tree) -> bool:
    return given.name == "AggregateExpression" or any(map(_aggregates, given.children))

"""Catalyst's expressions as those of the kernel."""

from collections.abc import Mapping

from headgate.engine.kernel.expressions import refusal
from headgate.engine.kernel.functions import OPS
from headgate.engine.kernel.ir import Call, Literal, Node
from headgate.engine.sql.catalyst.tree import Java, Tree, simple_name, tree
from headgate.engine.sql.catalyst.values import folded, literal

_CONSTANTS = ("Pi", "EulerNumber")
_SUBQUERIES = ("ScalarSubquery", "Exists", "InSubquery", "ListQuery", "OuterReference")


class NotFusableError(Exception):
    """A query that stays on its own Spark plan; says why, as "it ..."."""


class Expressions:
    """Rewrites expressions over columns, which are known by Catalyst's numbers for them.

    With `tries`, some of the plan's operations may be those that yield NULL where others overflow.
    """

    def __init__(self, columns: Mapping[int, Node], *, tries: bool) -> None:
        self.columns, self.tries = columns, tries
        self._common: list[tuple[Tree, Node]] = []

    def node(self, given: Tree) -> Node:
        """An expression of the kernel that gives the same."""
        match given.name:
            case "AttributeReference":
                return self._column(given)
            case "Literal":
                return literal(given)
            case "Alias":
                return self.node(given.children[0])
            case "With":
                return self._with(given)
            case "CommonExpressionRef":
                return self._reference(given)
        if given.name in _SUBQUERIES:
            raise NotFusableError("it has a subquery in an expression")
        if given.name == "Collate":
            raise NotFusableError("it has a collation")
        if "replacement" in given.fields and len(given.children) == 1:
            return self.node(given.children[0])
        args = tuple(self.node(each) for each in given.children)
        if all(isinstance(each, Literal) for each in args) and (args or given.name in _CONSTANTS):
            constant = folded(given)
            if constant is not None:
                return constant
        return self._call(given, args)

    def conjuncts(self, condition: Tree) -> tuple[Node, ...]:
        """The conditions that are to be true together."""
        return tuple(_conjuncts(self.node(condition)))

    def operation(self, given: Tree) -> str:
        """The name of an operation: TryAdd, where it yields NULL instead of an overflow."""
        if self.tries and ("evalMode" in given.fields or "evalContext" in given.fields):
            java = given.java()
            mode = java.evalMode() if "evalMode" in given.fields else java.evalContext().evalMode()
            if mode.toString() == "TRY":
                return f"Try{given.name}"
        return given.name

    def _column(self, given: Tree) -> Node:
        found = self.columns.get(given.id)
        if found is None:
            raise NotFusableError(f"it uses '{given.fields['name']}' of another query")
        return found

    def _with(self, given: Tree) -> Node:
        inner, *defined = given.children
        before = list(self._common)
        self._common += [(each, self.node(each.children[0])) for each in defined]
        found = self.node(inner)
        self._common = before
        return found

    def _reference(self, given: Tree) -> Node:
        if len(self._common) == 1:
            return self._common[0][1]
        number = given.java().id().id()
        return next(node for each, node in self._common if each.java().id().id() == number)

    def _call(self, given: Tree, args: tuple[Node, ...]) -> Node:
        name = self.operation(given)
        op = OPS.get(name)
        if op is None:
            if found := replacement(given.java()):
                return self.node(found)
            raise NotFusableError(f"it calls {given.java().prettyName().lower()}()")
        kind = op.type(args) if callable(op.type) else op.type or simple_name(given.fields["dataType"])
        call = Call(name, args, kind, tuple(_option(given, field) for field in op.options))
        if reason := refusal(call):
            raise NotFusableError(reason)
        return call


def replacement(java: Java) -> Tree | None:
    """What Spark will put in the place of a function that it has for convenience only."""
    if any(method.getName() == "replacement" for method in java.getClass().getMethods()):
        return tree(java.replacement())
    return None


def _conjuncts(node: Node) -> list[Node]:
    if isinstance(node, Call) and node.op == "And":
        return [each for side in node.args for each in _conjuncts(side)]
    return [node]


def _option(given: Tree, field: str) -> object:
    value = given.fields.get(field)
    return getattr(given.java(), field)() if value is None else value

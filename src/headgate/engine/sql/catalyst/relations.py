"""Catalyst's relations - projections, filters, joins and groups - as a segment of a fused unit."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from pyspark.sql import DataFrame

from headgate.engine.kernel.ir import Call, Column, Grouping, Lookup, Node, Segment, walk
from headgate.engine.kernel.types import arrow, is_simple
from headgate.engine.reader import PANES
from headgate.engine.sql.catalyst.expressions import Expressions, NotFusableError
from headgate.engine.sql.catalyst.groups import grouped, normal
from headgate.engine.sql.catalyst.tree import Tree, plan_tree, simple_name, tree

_PASSED = ("SubqueryAlias", "ResolvedHint", "Repartition")
_WORDS = {
    "Distinct": "DISTINCT",
    "Sort": "ORDER BY",
    "GlobalLimit": "LIMIT",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Union": "UNION",
    "Except": "EXCEPT",
    "Intersect": "INTERSECT",
    "Window": "a window function",
    "Generate": "a function that yields several rows",
    "Expand": "several groupings",
    "LocalRelation": "VALUES",
    "OneRowRelation": "a SELECT without FROM",
}
_KINDS: dict[str, OneOf["inner", "left", "semi", "anti"]] = {
    "Inner": "inner",
    "Cross": "inner",
    "LeftOuter": "left",
    "LeftSemi": "semi",
    "LeftAnti": "anti",
}
_MIRRORED = {"Inner": "Inner", "Cross": "Inner", "RightOuter": "LeftOuter"}
_ODD = re.compile(r"\^.*|\d+:.*|\?\d+|\*|_q", re.DOTALL)
"""Names of columns that would mean something else in the kernel."""


@dataclass(frozen=True)
class Rows:
    """What a part of a plan yields: rows of a stream or, with `table`, of a table that is to be looked up.

    `output` is the order of its columns, by Catalyst's numbers. A table's columns have their own names in `columns`.
    """

    source: str
    table: bool
    columns: Mapping[int, Node]
    output: tuple[int, ...]
    lookups: tuple[Lookup, ...] = ()
    where: tuple[Node, ...] = ()
    grouping: Grouping | None = None


def segment(frame: DataFrame) -> Segment:
    """What a query does with a train of its stream; raises NotFusableError, with the reason, if that is too much."""
    plan = plan_tree(frame)
    text = plan.java().treeString(True, False, 2**31 - 1, False, False)
    rows = _Plan(tries="try_" in text).rows(plan)
    if rows.table:
        raise NotFusableError("it reads no stream")
    columns = tuple(zip(frame.columns, (rows.columns[number] for number in rows.output), strict=True))
    for (name, node), field in zip(columns, frame.schema.fields, strict=True):
        kind = field.dataType.simpleString()
        if node.type != kind or not (is_simple(kind) or (isinstance(node, Column) and _passes(kind))):
            raise NotFusableError(f"its column '{name}' has type {kind}")
    return _with_used_columns(Segment(rows.source, rows.lookups, rows.where, rows.grouping, columns))


class _Plan:
    def __init__(self, *, tries: bool) -> None:
        self._tries = tries
        self._shared: dict[int, Tree] = {}

    def rows(self, node: Tree) -> Rows:
        if node.name in _PASSED:
            return self.rows(node.children[0])
        known: dict[str, Callable[[Tree], Rows]] = {
            "View": self._view,
            "WithCTE": self._with,
            "CTERelationRef": self._shared_rows,
            "Project": self._project,
            "Filter": self._filter,
            "Aggregate": self._aggregate,
            "Join": self._join,
        }
        if node.name not in known:
            raise NotFusableError(f"it has {_WORDS.get(node.name, node.name)}")
        return known[node.name](node)

    def _view(self, node: Tree) -> Rows:
        name = node.fields["desc"]["identifier"]["table"]
        below = node.children[0]
        attributes = _attributes(below)
        for each in attributes:
            if _ODD.fullmatch(each.fields["name"]):
                raise NotFusableError(f"it reads a column named '{each.fields['name']}'")
        columns = {a.id: Column(a.fields["name"], simple_name(a.fields["dataType"])) for a in attributes}
        # A stream, behind its repartitioning; with its hidden columns it is __name.
        stream = below.name == "Repartition" and below.children[0].name == "DataSourceV2Relation"
        source = name.removeprefix("__") if stream and name != PANES else name
        return Rows(source, not stream, columns, tuple(columns))

    def _with(self, node: Tree) -> Rows:
        *shared, plan = node.children
        self._shared |= {each.fields["id"]: each.children[0] for each in shared}
        return self.rows(plan)

    def _shared_rows(self, node: Tree) -> Rows:
        rows = self.rows(self._shared[node.fields["cteId"]])
        numbers = tuple(each.id for each in node.expressions("output"))
        columns = {new: rows.columns[old] for new, old in zip(numbers, rows.output, strict=True)}
        return replace(rows, columns=columns, output=numbers)

    def _project(self, node: Tree) -> Rows:
        rows = self.rows(node.children[0])
        over = Expressions(rows.columns, tries=self._tries)
        named = [(each.id, over.node(each)) for each in node.expressions("projectList")]
        return replace(rows, columns=dict(named), output=tuple(number for number, _ in named))

    def _filter(self, node: Tree) -> Rows:
        rows = self.rows(node.children[0])
        conditions = _together(node.expressions("condition"))
        listed = [each for each in conditions if each.name == "InSubquery"]
        plain = [each for each in conditions if each.name != "InSubquery"]
        over = Expressions(rows.columns, tries=self._tries)
        found = tuple(condition for each in plain for condition in over.conjuncts(each))
        if rows.grouping:
            if listed:
                raise NotFusableError("it has a subquery in HAVING")
            return replace(rows, grouping=replace(rows.grouping, having=rows.grouping.having + found))
        for each in listed:
            rows = self._in_table(rows, each)
        return replace(rows, where=rows.where + found)

    def _in_table(self, rows: Rows, node: Tree) -> Rows:
        """The rows with values that a table has: `x IN (SELECT y FROM table)`, where it stands for itself."""
        *values, query = node.children
        table = self.rows(tree(query.java().plan()))
        if rows.table or not table.table:
            raise NotFusableError("it has a subquery in an expression")
        lookup = _Lookup(rows, table, "semi")
        over = Expressions(rows.columns, tries=self._tries)
        pairs = zip(values, table.output, strict=True)
        equal = [Call("EqualTo", (over.node(value), lookup.columns[other]), "boolean") for value, other in pairs]
        found, where = lookup.on(equal)
        return replace(rows, lookups=(*rows.lookups, found), where=rows.where + where)

    def _aggregate(self, node: Tree) -> Rows:
        rows = self.rows(node.children[0])
        if rows.table or rows.grouping:
            raise NotFusableError("it groups " + ("a table before it joins it" if rows.table else "what is grouped"))
        over = Expressions(rows.columns, tries=self._tries)
        keys, outputs = (node.expressions(f"{part}Expressions") for part in ("grouping", "aggregate"))
        grouping, named = grouped(over, keys, outputs)
        return replace(rows, columns=dict(named), output=tuple(number for number, _ in named), grouping=grouping)

    def _join(self, node: Tree) -> Rows:
        left, right = (self.rows(each) for each in node.children)
        kind = node.fields["joinType"].get("object", "").rpartition(".")[2].rstrip("$")
        output = left.output if kind in ("LeftSemi", "LeftAnti") else left.output + right.output
        if left.table:
            left, right, kind = right, left, _MIRRORED.get(kind, "")
        if left.table or not right.table:
            raise NotFusableError("it joins two tables" if left.table else "it joins two streams")
        if left.grouping:
            raise NotFusableError("it joins after it groups")
        if kind not in _KINDS:
            raise NotFusableError("it has a join that keeps rows of a table without a tuple")
        lookup = _Lookup(left, right, _KINDS[kind])
        over = Expressions({**left.columns, **lookup.columns}, tries=self._tries)
        given = [each for on in node.expressions("condition") for each in over.conjuncts(on)]
        found, where = lookup.on(given)
        columns = left.columns if kind in ("LeftSemi", "LeftAnti") else {**left.columns, **lookup.columns}
        return replace(left, columns=columns, output=output, lookups=(*left.lookups, found), where=left.where + where)


class _Lookup:
    """A join of rows with a table."""

    def __init__(self, rows: Rows, table: Rows, kind: OneOf["inner", "left", "semi", "anti"]) -> None:
        self.table, self.kind = table, kind
        self.prefix = f"{len(rows.lookups)}:"
        self.columns = {number: self._own(node) for number, node in table.columns.items()}
        if kind == "left" and not all(isinstance(node, Column) for node in self.columns.values()):
            raise NotFusableError("it computes columns of a table before a LEFT JOIN")

    def on(self, conditions: Sequence[Node]) -> tuple[Lookup, tuple[Node, ...]]:
        """The lookup by the conditions of the join, and those of them that may as well be checked after it."""
        keys: list[tuple[Node, Node]] = []
        rest = [self._own(each) for each in self.table.where]
        where: list[Node] = []
        for each in conditions:
            key = self._key(each)
            if key:
                keys.append(key)
            elif self.kind in ("inner", "semi") and not self._reads_table(each):
                where.append(each)
            else:
                rest.append(each)
        if not keys:
            raise NotFusableError("it joins a table without an equality")
        return Lookup(self.table.source, self.kind, tuple(keys), (), _all(rest)), tuple(where)

    def _key(self, condition: Node) -> tuple[Node, Node] | None:
        if not isinstance(condition, Call) or condition.op != "EqualTo":
            return None
        a, b = condition.args
        if self._reads_table(a):
            a, b = b, a
        names = _names(b)
        if self._reads_table(a) or not names or not all(name.startswith(self.prefix) for name in names):
            return None
        return normal(a), normal(b)

    def _reads_table(self, node: Node) -> bool:
        return any(name.startswith(self.prefix) for name in _names(node))

    def _own(self, node: Node) -> Node:
        """A table's expression, with the number of the lookup in the names of its columns."""
        match node:
            case Column():
                return replace(node, name=self.prefix + node.name)
            case Call():
                return replace(node, args=tuple(self._own(each) for each in node.args))
        return node


def _together(conditions: list[Tree]) -> list[Tree]:
    """Conditions that are to be true together, each by itself."""
    return [
        part for each in conditions for part in (_together(list(each.children)) if each.name == "And" else [each])
    ]


def _all(conditions: list[Node]) -> Node | None:
    found = None
    for each in conditions:
        found = each if found is None else Call("And", (found, each), "boolean")
    return found


def _names(node: Node) -> set[str]:
    return {each.name for each in walk(node) if isinstance(each, Column)}


def _attributes(node: Tree) -> list[Tree]:
    """The columns of what a view stands for."""
    if "output" in node.fields:
        return node.expressions("output")
    if node.name == "Project":
        return node.expressions("projectList")
    if len(node.children) == 1:
        return _attributes(node.children[0])
    raise NotFusableError(f"it reads a view of {node.name}")


def _passes(kind: str) -> bool:
    try:
        return arrow(kind) is not None
    except KeyError:
        return False


def _with_used_columns(found: Segment) -> Segment:
    """The segment, with the columns of tables that it uses in its lookups."""
    nodes = [*found.where, *(node for _, node in found.columns)]
    if found.grouping:
        nodes += [*found.grouping.keys, *(arg for part in found.grouping.parts for arg in part.args)]
        nodes += [part.where for part in found.grouping.parts if part.where]
    for lookup in found.lookups:
        nodes += [side for key in lookup.keys for side in key]
        nodes += [lookup.condition] if lookup.condition else []
    used = dict.fromkeys(each for node in nodes for each in walk(node) if isinstance(each, Column))
    lookups = tuple(
        replace(lookup, columns=tuple(each for each in used if each.name.startswith(f"{number}:")))
        for number, lookup in enumerate(found.lookups)
    )
    return replace(found, lookups=lookups)

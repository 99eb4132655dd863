"""Which aggregates split into parts, one per pane and train, and how the parts are put together again.

`x` and `y` stand for the arguments of a call, `f` for its FILTER, `p`, `q` and `r` for the columns with the parts.
Parts are plain values, no structs, so that equal parts of several aggregates are computed and kept once.
"""

from dataclasses import dataclass

from sqlglot import exp

from headgate.engine.sql.dialect import expression, write
from headgate.engine.sql.functions import ORDERED
from headgate.engine.sql.tuples import is_aggregate

BY_POSITION = "named_struct('t', _time, 'i', _position)"
"""The order of the tuples of a stream: by time, and where that is the same, as they came."""

_ITSELF = ("sum", "min", "max", "bool_and", "every", "bool_or", "some", "any", "bit_and", "bit_or", "bit_xor")


class UndividedError(Exception):
    """A query or aggregate that cannot be evaluated by panes; says why."""


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of an aggregate, and the expression over them that gives its value."""

    parts: tuple[str, ...]
    whole: str


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate as a query calls it."""

    name: str
    arguments: tuple[exp.Expr, ...]
    where: exp.Expr | None
    ignore_nulls: bool

    @property
    def filter(self) -> str:
        """Its FILTER clause, which for those that ignore nulls leaves out nulls too."""
        conditions = [f"({write(self.where)})"] if self.where else []
        if self.ignore_nulls:
            conditions.append(f"({write(self.arguments[0])}) IS NOT NULL")
        return f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""


def calls(tree: exp.Expr) -> list[exp.Expr]:
    """The aggregates of an expression or SELECT, each with what belongs to it: FILTER, IGNORE NULLS, WITHIN GROUP."""

    def whole(node: exp.Expr) -> bool:
        return is_call(node) or (isinstance(node, exp.Query) and node is not tree)

    return [node for node in tree.walk(prune=whole) if is_call(node)]


def is_call(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, with all that belongs to it."""
    return is_aggregate(function(node))


def function(node: exp.Expr) -> exp.Expr:
    """What is called, without what belongs to it."""
    around = _around(node)
    found: exp.Expr = around[-1].this if around else node
    return found


def _around(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    while isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        found.append(node)
        node = node.this
    return found


def call(node: exp.Expr) -> Call:
    """The parts of a call that `is_call` has found."""
    around = {type(each): each for each in _around(node)}
    if exp.WithinGroup in around:
        raise UndividedError("WITHIN GROUP needs all tuples of a window")
    where = around[exp.Filter].expression.this if exp.Filter in around else None
    ignores = exp.IgnoreNulls in around
    called = function(node)
    name, arguments = called.name.lower(), tuple(called.expressions)
    if name in ORDERED:
        match arguments:
            case (x, exp.Boolean(this=given)):
                ignores, arguments = ignores or bool(given), (x,)
            case (exp.IgnoreNulls(this=x),):
                ignores, arguments = True, (x,)
    return Call(name, arguments, where, ignores)


def split(call: Call) -> Split:
    """The parts of an aggregate; raises UndividedError if it has none."""
    inner = [node for argument in call.arguments for node in argument.walk()]
    if any(isinstance(node, exp.Distinct) for node in inner):
        raise UndividedError(f"{call.name}(DISTINCT ...) needs all tuples of a window")
    if any(map(is_call, inner)):
        raise UndividedError("an aggregate of an aggregate is not computed by panes")
    if any(isinstance(node, exp.Star) for node in inner) and [write(a) for a in call.arguments] != ["*"]:
        raise UndividedError("an aggregate of t.* is not computed by panes")
    if call.ignore_nulls and call.name not in ORDERED:
        raise UndividedError(f"{call.name}() with IGNORE NULLS is not computed by panes")
    found = _SPLITS.get((call.name, len(call.arguments))) or _SPLITS.get((call.name, None))
    if found is None:
        raise UndividedError(f"{call.name}() needs all tuples of a window")
    x, y = [*(write(each) for each in call.arguments), "", ""][:2]
    if call.name == "count":
        x = ", ".join(write(each) for each in call.arguments)
    parts = tuple(part.format(x=x, y=y, f=call.filter) for part in found.parts)
    return Split(parts, found.whole)


def in_order(call: Call) -> exp.Expr:
    """first() and its like, as an aggregate that says in which order."""
    return expression(f"{ORDERED[call.name]}({write(call.arguments[0])}, {BY_POSITION}){call.filter}")


def _ordered(by: str) -> Split:
    time, position = f"{by[:3]}(_time){{f}}", f"{by}(_position, {BY_POSITION}){{f}}"
    whole = f"{by}({{p}}, named_struct('t', {{q}}, 'i', {{r}})) FILTER (WHERE {{q}} IS NOT NULL)"
    return Split((f"{by}({{x}}, {BY_POSITION}){{f}}", time, position), whole)


def _spread(value: str) -> Split:
    """Variances, from the number, mean and sum of squared distances of each part: sums of squares would cancel."""
    squares = "var_pop(({x}) * 1e0){f} * count({x}){f}"
    listed = "collect_list(named_struct('n', {p} * 1e0, 'm', {q}, 's', {r})) FILTER (WHERE {p} > 0)"
    zero = "named_struct('n', 0e0, 'm', 0e0, 's', 0e0)"
    merged = (
        "named_struct('n', a.n + b.n, 'm', a.m + (b.m - a.m) * b.n / (a.n + b.n), "
        "'s', a.s + b.s + (b.m - a.m) * (b.m - a.m) * a.n * b.n / (a.n + b.n))"
    )
    whole = f"aggregate({listed}, {zero}, (a, b) -> {merged}, a -> {value})"
    return Split(("count({x}){f}", "avg(({x}) * 1e0){f}", squares), whole)


_POPULATION = "CASE WHEN a.n > 0 THEN a.s / a.n END"
_SAMPLE = "CASE WHEN a.n > 1 THEN a.s / (a.n - 1) END"
# The sum is exact where it fits, for decimals; whole numbers that overflow it are summed as Spark's avg() does.
_MEAN = Split(("coalesce(try_sum({x}){f} * 1e0, sum(({x}) * 1e0){f})", "count({x}){f}"), "(sum({p}) / sum({q}))")
_DISTINCT = Split(("hll_sketch_agg(CAST({x} AS STRING)){f}",), "hll_sketch_estimate(hll_union_agg({p}))")

_SPLITS: dict[tuple[str, int | None], Split] = {
    **{(name, 1): Split((f"{name}({{x}}){{f}}",), f"{name}({{p}})") for name in _ITSELF},
    ("count", None): Split(("count({x}){f}",), "sum({p})"),
    ("count_if", 1): Split(("count_if({x}){f}",), "sum({p})"),
    **{(name, 1): _MEAN for name in ("avg", "mean")},
    ("var_pop", 1): _spread(_POPULATION),
    ("stddev_pop", 1): _spread(f"sqrt({_POPULATION})"),
    **{(name, 1): _spread(_SAMPLE) for name in ("var_samp", "variance")},
    **{(name, 1): _spread(f"sqrt({_SAMPLE})") for name in ("stddev", "stddev_samp", "std")},
    **{
        (by, 2): Split((f"{by}({{x}}, {{y}}){{f}}", f"{by[:3]}({{y}}){{f}}"), f"{by}({{p}}, {{q}})")
        for by in ("min_by", "max_by")
    },
    **{(name, 1): _ordered(by) for name, by in ORDERED.items()},
    ("approx_count_distinct", 1): _DISTINCT,
}
"""By name and number of arguments; None is any number."""

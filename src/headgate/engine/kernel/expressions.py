"""From expressions of queries to Polars' expressions that give what Spark would."""

from collections.abc import Callable, Sequence

import polars as pl

from headgate.engine.kernel.functions import OPS
from headgate.engine.kernel.ir import Call, Column, Literal, Node, Parameter, walk
from headgate.engine.kernel.types import arrow, dtype, is_simple

__all__ = ["arrow", "dtype", "expression", "parameter", "refusal"]


_WORTH = 4
"""So many operations that would be done over again are worth a column of their own."""


def expression(node: Node, apart: Callable[[Call], pl.Expr] | None = None) -> pl.Expr:
    """The value of a node for each row. Parameters are columns, named by `parameter`.

    Some operations mention an argument several times, and Polars would compute it as often. Where that is much, the
    argument is what `apart` says of it.
    """
    match node:
        case Column(name=name):
            return pl.col(name)
        case Literal(value=value, type=kind):
            # What is not simple, such as an interval, an operation takes from its call.
            return pl.lit(value, dtype(kind)) if is_simple(kind) else pl.lit(None)
        case Parameter(number=number):
            return pl.col(parameter(number))
        case Call(op=op, args=args):
            parts = [expression(each, apart) for each in args]
            found = OPS[op].build(node, parts)
            if apart is None or _repeated(found, args, parts) < _WORTH:
                return found
            given = zip(args, parts, strict=True)
            return OPS[op].build(
                node, [apart(each) if isinstance(each, Call) and _work(each) else part for each, part in given]
            )


def _repeated(built: pl.Expr, args: Sequence[Node], parts: Sequence[pl.Expr]) -> float:
    """The operations in arguments that are done over again, by how often their columns are mentioned."""
    once = sum(len(part.meta.root_names()) for part in parts)
    again = len(built.meta.root_names()) - once
    return again / once * sum(_work(each) for each in args) if again > 0 and once else 0.0


def _work(node: Node) -> int:
    """The operations in a node that depends on columns."""
    nodes = list(walk(node))
    return sum(isinstance(each, Call) for each in nodes) if any(isinstance(each, Column) for each in nodes) else 0


def parameter(number: int) -> str:
    """The name of the column with the values of a parameter."""
    return f"?{number}"


def refusal(call: Call) -> str | None:
    """Why a call, whose arguments are fine, is left to Spark; None if the kernel computes it."""
    if call.op not in OPS:
        return f"it uses {call.op}"
    for each in (call, *call.args):
        # What a Literal is good for, such as an interval, is up to the operation.
        if not isinstance(each, Literal) and not is_simple(each.type):
            return f"it computes with values of type {each.type}"
    return OPS[call.op].refuse(call)

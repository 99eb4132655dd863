"""From expressions of queries to Polars' expressions that give what Spark would."""

import polars as pl

from headgate.engine.kernel.functions import OPS
from headgate.engine.kernel.ir import Call, Column, Literal, Node, Parameter
from headgate.engine.kernel.types import arrow, dtype, is_simple

__all__ = ["arrow", "dtype", "expression", "parameter", "refusal"]


def expression(node: Node) -> pl.Expr:
    """The value of a node for each row. Parameters are columns, named by `parameter`."""
    match node:
        case Column(name=name):
            return pl.col(name)
        case Literal(value=value, type=kind):
            # What is not simple, such as an interval, an operation takes from its call.
            return pl.lit(value, dtype(kind)) if is_simple(kind) else pl.lit(None)
        case Parameter(number=number):
            return pl.col(parameter(number))
        case Call(op=op, args=args):
            return OPS[op].build(node, [expression(each) for each in args])


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

"""The operations that the kernel computes as Spark does, by their names in Catalyst. A module for each family.

A module has OPS, or CASTS by the types from and to. What is not here stays with Spark.
"""

import polars as pl

from headgate.engine.kernel.functions import (
    arithmetic,
    casts,
    casts_of_numbers,
    casts_of_times,
    formats,
    logic,
    mathematics,
    patterns,
    strings,
    times,
)
from headgate.engine.kernel.functions.op import Build, Op
from headgate.engine.kernel.ir import Call
from headgate.engine.kernel.types import base

CASTS: dict[tuple[str, str], Build] = {**casts.CASTS, **casts_of_numbers.CASTS, **casts_of_times.CASTS}


def _cast(call: Call, args: list[pl.Expr]) -> pl.Expr:
    return CASTS[_ends(call)](call, args) if call.args[0].type != call.type else args[0]


def _no_cast(call: Call) -> str | None:
    if call.args[0].type == call.type or _ends(call) in CASTS:
        return casts.refusal(call) or casts_of_numbers.refusal(call)
    return f"it casts {call.args[0].type} to {call.type}"


def _ends(call: Call) -> tuple[str, str]:
    return base(call.args[0].type), base(call.type)


OPS: dict[str, Op] = {
    **logic.OPS,
    **arithmetic.OPS,
    **mathematics.OPS,
    **strings.OPS,
    **patterns.OPS,
    **times.OPS,
    **formats.OPS,
    "Cast": Op(_cast, None, _no_cast),
}

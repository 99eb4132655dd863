"""Casts between numbers. A value that does not fit becomes what it becomes in Spark; nothing raises."""

from headgate.engine.kernel.functions.op import Build
from headgate.engine.kernel.types import FLOATS, WHOLE, dtype

CASTS: dict[tuple[str, str], Build] = {
    (a, b): lambda call, args: args[0].cast(dtype(call.type)) for a in (*WHOLE, *FLOATS) for b in (*WHOLE, *FLOATS)
}
"""By the types from and to, without precision and scale."""

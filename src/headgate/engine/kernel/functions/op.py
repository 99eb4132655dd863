"""What is known of an operation: how Polars computes it, what type it has, and what of it is not supported."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import polars as pl

from headgate.engine.kernel.ir import Call, Node

Build: TypeAlias = Callable[[Call, list[pl.Expr]], pl.Expr]
"""From a call and its arguments, as expressions, to the expression of its value. It never raises on a value."""

Rule: TypeAlias = Callable[[tuple[Node, ...]], str]


def _nothing(call: Call) -> str | None:  # noqa: ARG001 - one of many such
    return None


def first(args: tuple[Node, ...]) -> str:
    """The type of the first argument."""
    return args[0].type


@dataclass(frozen=True, slots=True)
class Op:
    """An operation of Catalyst.

    `type` is what it yields: a name, or a rule by the arguments; None where Spark's plan itself says it. `refuse`
    gives the reason why a call is left to Spark, as "it ...". `options` are the fields of Catalyst's node that are no
    expressions but matter.
    """

    build: Build
    type: str | Rule | None = first
    refuse: Callable[[Call], str | None] = _nothing
    options: tuple[str, ...] = ()

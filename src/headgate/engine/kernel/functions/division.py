"""Division of doubles."""

import polars as pl


def quotient(dividend: pl.Expr, divisor: pl.Expr | float) -> pl.Expr:
    """The quotient to the last bit. By a single number Polars would multiply with its inverse, which is another."""
    for_each_row = dividend.is_null().cast(pl.Float64) + divisor
    return dividend / for_each_row

"""Whether two tables hold the same rows, in any order, and what differs if they do not."""

import math
from collections import Counter

_RELATIVE = 1e-9
_SHOWN = 5


def difference(got, expected, within=0.0):
    """What differs between two tables, as text; nothing if they hold the same rows.

    Floating-point numbers may differ by a billionth, and with `within` all numbers by that share.
    """
    if (have := _columns(got)) != (want := _columns(expected)):
        return f"columns {have}, not {want}"
    a, b = (sorted(_rows(table), key=lambda row: _key(row, within)) for table in (got, expected))
    if len(a) == len(b) and all(map(_close(within), a, b)):
        return ""
    lines = [f"{len(a)} rows, not {len(b)}"]
    have, want = (Counter(map(_rounded, rows)) for rows in (a, b))
    for word, rows in (("missing", want - have), ("too many", have - want)):
        lines += [f"  {word}: {row}" for row in list(rows.elements())[:_SHOWN]]
        lines += [f"  {word}: {rows.total() - _SHOWN} more"] * (rows.total() > _SHOWN)
    return "\n".join(lines)


def _columns(table):
    return [(field.name, str(field.type).replace(" not null", "")) for field in table.schema]


def _rows(table):
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def _key(row, within):
    """Exact values first: rows that differ in those never stand side by side because of a rounding."""
    exact = [repr(value) for value in row if not _inexact(value, within)]
    numbers = [value for value in row if _inexact(value, within)]
    return exact, [(math.isnan(x), x) for x in numbers]


def _inexact(value, within):
    return isinstance(value, float) or (within and isinstance(value, int))


def _close(within):
    def close(a, b):
        if isinstance(a, list | tuple) and isinstance(b, list | tuple):
            return len(a) == len(b) and all(map(close, a, b))
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
        if a is not None and b is not None and _inexact(a, within) and _inexact(b, within):
            both_nan = math.isnan(a) and math.isnan(b)
            return both_nan or math.isclose(a, b, rel_tol=max(within, _RELATIVE))
        return a == b

    return close


def _rounded(value):
    if isinstance(value, list | tuple):
        return tuple(map(_rounded, value))
    if isinstance(value, dict):
        return tuple((key, _rounded(each)) for key, each in value.items())
    return float(f"{value:.8g}") if isinstance(value, float) else value

"""How the rows of benchmarks are drawn."""

from headgate.bench.tables import Rows
from headgate.experiments.report import Figure, Line, Outcome


def scale_queries(rows: Rows) -> Outcome:
    """What tuples cost with more and more queries: all of them together, and each."""
    found = [row for row in rows if row["part"] == "growth" and row["cpu"] is not None]
    kinds = dict.fromkeys(row["kind"] for row in found)
    together, each = [], []
    for kind in kinds:
        mine = [row for row in found if row["kind"] == kind]
        numbers = [row["queries"] for row in mine]
        together.append(Line(kind, numbers, [row["cpu"] for row in mine]))
        each.append(Line(kind, numbers, [row["cpu"] / row["queries"] for row in mine]))
    axis = "CPU seconds per million tuples"
    figures = (
        Figure("all queries together", "queries", axis, tuple(together), log_x=True),
        Figure("per query", "queries", axis, tuple(each), log_x=True),
    )
    return Outcome("scale-queries", "What queries cost as they become more", "", "", (), figures)

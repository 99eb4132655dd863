"""What a run came to: the figures of each group of queries, as tables for people and as one JSON document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from headgate.engine.readable import count, span
from headgate.engine.view import plain, state
from headgate.printed import finite

Row = Mapping[str, Any]

_OF_INTEREST = ("failed", "trying", "paused")


def document(snapshot: Row) -> dict[str, Any]:
    """The snapshot as `--json` prints it, with its groups of queries as classes and null for what is not a number."""
    parts = {name: snapshot[name] for name in ("policy", "elapsed", "streams", "tables", "queries", "accounting")}
    return dict(finite({**parts, "classes": groups(snapshot["queries"])}))


def failed(snapshot: Row) -> bool:
    """Whether a stream or a query gave up."""
    return any(each["status"] == "failed" for each in (*snapshot["streams"], *snapshot["queries"]))


def groups(queries: Sequence[Row]) -> list[dict[str, Any]]:
    """The figures of each group, every result counted alike.

    The p99 of a group is the highest of its queries': 99 % of all its results came within it, or more.
    """
    names = dict.fromkeys(query["group"] for query in queries)
    return [_group(name, [query for query in queries if query["group"] == name]) for name in names]


def closing(snapshot: Row) -> Iterator[RenderableType]:
    """What is printed at the end of a run."""
    done = snapshot["accounting"]
    yield Text(
        f"{span(snapshot['elapsed'])} under {snapshot['policy']}: {count(done['tuples'])} tuples in, "
        f"{count(done['results'])} results out, {count(done['runs'])} runs",
        style="bold",
    )
    yield _by_group(snapshot)
    yield Text()
    yield _by_stream(snapshot)
    for noun, rows in (("stream", snapshot["streams"]), ("query", snapshot["queries"])):
        for row in rows:
            if state(row) in _OF_INTEREST and row["reason"]:
                style = "red" if row["status"] == "failed" else "yellow"
                yield Text(plain(f"{noun} {row['name']} ({state(row)}): {row['reason']}"), style=style)
    for table in snapshot["tables"]:
        if table["problem"]:
            yield Text(plain(f"table {table['name']}: {table['problem']}"), style="yellow")


def _group(name: str, queries: Sequence[Row]) -> dict[str, Any]:
    measured = [query for query in queries if query["response_mean"] is not None]
    return {
        "name": name,
        "queries": len(queries),
        "failed": sum(query["status"] == "failed" for query in queries),
        "results": sum(query["results"] for query in queries),
        "response_mean": _mean(measured, "response_mean"),
        "response_p99": max((query["response_p99"] for query in measured), default=None),
        "slowdown_mean": _mean(measured, "slowdown_mean"),
        "slowdown_rms": _mean(measured, "slowdown_rms", power=2),
    }


def _mean(queries: Sequence[Row], figure: str, power: int = 1) -> float | None:
    """The mean over all results, or for a power of 2 the root of the mean square."""
    known = [(query["results"], query[figure]) for query in queries if query[figure] is not None]
    results = sum(n for n, _ in known)
    return (sum(n * value**power for n, value in known) / results) ** (1 / power) if results else None


def _by_group(snapshot: Row) -> Table:
    table = _table("group", "queries", "results", "response mean", "p99", "slowdown mean", "rms")
    for row in groups(snapshot["queries"]):
        times = [span(row["response_mean"]), span(row["response_p99"])]
        slowdowns = [count(row["slowdown_mean"]), count(row["slowdown_rms"])]
        table.add_row(Text(plain(row["name"])), count(row["queries"]), count(row["results"]), *times, *slowdowns)
    return table


def _by_stream(snapshot: Row) -> Table:
    table = _table("stream", "status", "tuples", "rejected", "late")
    for row in snapshot["streams"]:
        figures = (row["tuples"], sum(row["rejected"].values()), row["late"])
        table.add_row(Text(row["name"]), state(row), *map(count, figures))
    return table


def _table(first: str, *rest: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first, no_wrap=True)
    for heading in rest:
        table.add_column(heading, justify="left" if heading == "status" else "right", no_wrap=True)
    return table

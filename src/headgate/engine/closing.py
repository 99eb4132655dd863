"""What a run came to: the figures of each class of queries, as tables for people and as one JSON document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from headgate.engine.readable import count, share, span
from headgate.engine.view import asked, budget, plain, state, troubles
from headgate.printed import finite

Row = Mapping[str, Any]

_OF_INTEREST = ("failed", "trying", "paused")


def document(snapshot: Row) -> dict[str, Any]:
    """The snapshot as `--json` prints it, with its classes and null for what is not a number."""
    names = ("policy", "elapsed", "streams", "tables", "refreshing", "queries", "deadlines", "qos", "accounting")
    parts = {name: snapshot.get(name) for name in names}
    return dict(finite({**parts, "classes": classes(snapshot)}))


def failed(snapshot: Row) -> bool:
    """Whether a stream or a query gave up."""
    return any(each["status"] == "failed" for each in (*snapshot["streams"], *snapshot["queries"]))


def classes(snapshot: Row) -> list[dict[str, Any]]:
    """The figures of each class, every result counted alike."""
    return [
        {**each, **_slowdowns([query for query in snapshot["queries"] if query["cls"] == each["name"]])}
        for each in snapshot["classes"]
    ]


def closing(snapshot: Row) -> Iterator[RenderableType]:
    """What is printed at the end of a run."""
    done = snapshot["accounting"]
    yield Text(
        f"{span(snapshot['elapsed'])} under {snapshot['policy']}: {count(done['tuples'])} tuples in, "
        f"{count(done['results'])} results out, {count(done['runs'])} runs",
        style="bold",
    )
    yield _by_class(snapshot)
    yield Text()
    if worth := snapshot["qos"]:
        missed = share(worth["missed"] / worth["results"])
        queries = "1 query" if worth["queries"] == 1 else f"{count(worth['queries'])} queries"
        yield Text(
            f"average QoS {worth['average']:.3f} over {queries}, "
            f"{worth['per_result']:.3f} per result; {missed} of {count(worth['results'])} missed their critical point"
        )
        yield Text()
    if snapshot["deadlines"]:
        yield _by_deadline(snapshot)
        yield Text(asked(snapshot))
        yield Text()
    yield _by_stream(snapshot)
    if refreshing := snapshot.get("refreshing"):
        yield Text()
        yield from map(Text, budget(refreshing))
        yield _by_table(snapshot)
    for noun, rows in (("stream", snapshot["streams"]), ("query", snapshot["queries"])):
        for row in rows:
            if state(row) in _OF_INTEREST and row["reason"]:
                style = "red" if row["status"] == "failed" else "yellow"
                yield Text(plain(f"{noun} {row['name']} ({state(row)}): {row['reason']}"), style=style)
    for row in snapshot["deadlines"]:
        if row["reason"]:
            yield Text(
                plain(f"query {row['name']}, when it last missed its deadline: {row['reason']}"), style="yellow"
            )
    for table in snapshot["tables"]:
        for each in troubles(table):
            yield Text(plain(each), style="yellow")


def _slowdowns(queries: Sequence[Row]) -> dict[str, Any]:
    return {
        "queries": len(queries),
        "failed": sum(query["status"] == "failed" for query in queries),
        "slowdown_mean": _mean(queries, "slowdown_mean"),
        "slowdown_rms": _mean(queries, "slowdown_rms", power=2),
    }


def _mean(queries: Sequence[Row], figure: str, power: int = 1) -> float | None:
    """The mean over all results, or for a power of 2 the root of the mean square."""
    known = [(query["results"], query[figure]) for query in queries if query[figure] is not None]
    results = sum(n for n, _ in known)
    return (sum(n * value**power for n, value in known) / results) ** (1 / power) if results else None


def _by_class(snapshot: Row) -> Table:
    rows = classes(snapshot)
    managed = any(row["delay_target"] is not None for row in rows)
    headings = ("queries", "results", "response mean", "p99", "slowdown mean", "rms")
    table = _table("class", *headings, *(("target", "within", "shed", "kept") if managed else ()))
    for row in rows:
        times = [span(row["response_mean"]), span(row["response_p99"])]
        slowdowns = [count(row["slowdown_mean"]), count(row["slowdown_rms"])]
        cells = [count(row["queries"]), count(row["results"]), *times, *slowdowns]
        table.add_row(Text(plain(row["name"])), *cells, *(_promised(row) if managed else ()))
    return table


def _promised(row: Row) -> list[str]:
    """The delay target of a class, how many results were within it, and what was dropped for that."""
    passed = row["processed"] + row["shed"]
    within = None if row["late"] is None else 1 - row["late"]
    kept = row["processed"] / passed if passed else 1.0
    return [span(row["delay_target"]), share(within), count(row["shed"]), share(kept)]


def _by_deadline(snapshot: Row) -> Table:
    headings = ("every", "due in", "weight", "iterations", "missed", "useful", "kept", "done in", "longest")
    table = _table("deadline query", *headings)
    for row in snapshot["deadlines"]:
        n = row["iterations"] or None
        rates = (share(row["missed"] / n if n else None), share(row["useful"] / n if n else None), share(row["kept"]))
        promised = (span(row["stride"]), span(row["deadline"]), f"{row['weight']:g}", count(row["iterations"]))
        table.add_row(Text(plain(row["name"])), *promised, *rates, span(row["finish_p50"]), span(row["worst"]))
    return table


def _by_table(snapshot: Row) -> Table:
    table = _table("table", "age", "fresh", "joins see", "lookups", "refreshes", "changed", "failed")
    for row in snapshot["tables"]:
        shares = share(row["freshness"]), share(row["perceived"]), share(row["accesses"])
        counts = map(count, (row["refreshes"], row["changed"], row["failures"]))
        table.add_row(Text(plain(row["name"])), span(row["age"]), *shares, *counts)
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

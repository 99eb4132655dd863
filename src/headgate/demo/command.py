"""`headgate demo`: sixty queries on Spark under a load that rises past capacity, served in three ways."""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.demo.market import Snapshot

_LINE_EVERY = 4.0


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(epilog="Example: headgate demo --json")(demo)


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    no_view: Annotated[bool, typer.Option("--no-view", help="Lines of text, even in a terminal.")] = False,
) -> None:
    """Run sixty queries over market ticks on Spark: a load past capacity, served in three ways in turn."""
    from headgate.demo.market import run

    out, err = stdout(), Console(stderr=True, highlight=False)
    with tempfile.TemporaryDirectory() as folder, err.status("starting Spark") as status:
        in_view = out.is_terminal and not (no_view or as_json)
        with _in_view(out, status.stop) if in_view else _in_lines(err) as show:
            rounds = run(status.update, show, Path(folder), lambda said: err.print(said, soft_wrap=True))
    if as_json:
        typer.echo(json.dumps({"rounds": _json(rounds)}, indent=2))
        return
    for part in closing(rounds):
        out.print(part)


def closing(rounds: Sequence[tuple[str, "Snapshot"]]) -> list[Table | Text]:
    """What each class of queries got in each round."""
    from headgate.engine.closing import classes
    from headgate.engine.readable import share, span

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("\nclass", "\nqueries", "\ntarget"):
        table.add_column(heading, justify="left" if "class" in heading else "right")
    for heading in ("mean response", "p99"):
        for i, (name, _) in enumerate(rounds):
            table.add_column(f"{'' if i else heading}\n{name}", justify="right", no_wrap=True)
    table.add_column(f"lost\n{rounds[-1][0]}", justify="right", style="bold", no_wrap=True)
    by_round = [{row["name"]: row for row in classes(snapshot)} for _, snapshot in rounds]
    for name, first in by_round[0].items():
        times = [span(each[name][figure]) for figure in ("response_mean", "response_p99") for each in by_round]
        lost = share(rounds[-1][1]["lost"][name])
        table.add_row(name, str(first["queries"]), span(first["delay_target"]), *times, lost)
    said = (
        f"\nThe same ticks and the same {len(rounds[-1][1]['queries'])} queries. Under fcfs whoever came first goes "
        "first. bsd goes by what tuples have waited relative to what they cost, and runs alike queries together. "
        "With classes, each has its share of the time by its priority; what cannot be in time is dropped, of the "
        "class that has too much."
    )
    return [Text("What each round came to", style="bold"), table, Text(said)]


def _json(rounds: Sequence[tuple[str, "Snapshot"]]) -> list[dict[str, Any]]:
    from headgate.engine.closing import document

    return [{"round": name, "lost": snapshot["lost"], **document(snapshot)} for name, snapshot in rounds]


@contextmanager
def _in_view(out: Console, first: Callable[[], None]) -> Iterator[Callable[[str, "Snapshot"], None]]:
    """The live view, from the first snapshot on; then whatever was shown before has to go."""
    from headgate.engine.view import view

    live = Live(console=out, auto_refresh=False, screen=True)

    def show(title: str, snapshot: "Snapshot") -> None:
        if not live.is_started:
            first()
            live.start()
        live.update(view(snapshot, *out.size, title), refresh=True)

    try:
        yield show
    finally:
        live.stop()


@contextmanager
def _in_lines(err: Console) -> Iterator[Callable[[str, "Snapshot"], None]]:
    from headgate.engine.view import line

    title, due = "", 0.0

    def show(new: str, snapshot: "Snapshot") -> None:
        nonlocal title, due
        if new != title:
            err.print(new, style="bold")
            title, due = new, 0.0
        if snapshot["elapsed"] >= due:
            err.print(line(snapshot), soft_wrap=True)
            due = snapshot["elapsed"] + _LINE_EVERY

    yield show

"""`headgate demo`: sixty queries on Spark under a load that rises past capacity, served in two ways."""

import json
import tempfile
from collections.abc import Callable, Iterator
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
    from headgate.demo.rounds import Outcome

_LINE_EVERY = 3.0
_REPORT = Path("headgate-demo")
_STYLES = {"kept": "green", "missed": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(epilog="Example: headgate demo --report demo")(demo)


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    no_view: Annotated[bool, typer.Option("--no-view", help="Lines of text, even in a terminal.")] = False,
    report: Annotated[Path, typer.Option(help="The folder that the report is written to.")] = _REPORT,
) -> None:
    """See a load of three times what this machine can do, served first come first served and then by DILoS."""
    from headgate.demo.report import document, write
    from headgate.demo.rounds import run

    out, err = stdout(), Console(stderr=True, highlight=False)
    with tempfile.TemporaryDirectory() as folder, err.status("starting Spark") as status:
        in_view = out.is_terminal and not (no_view or as_json)
        with _in_view(out, status) if in_view else _in_lines(err) as show:
            outcome = run(status.update, show, Path(folder), lambda said: err.print(said, soft_wrap=True))
    page = write(outcome, report).resolve()
    if as_json:
        typer.echo(json.dumps(document(outcome), indent=2))
        return
    for part in closing(outcome):
        out.print(part)
    out.print(f"\nreport: {page.as_uri()}", soft_wrap=True, highlight=False)


def closing(outcome: "Outcome") -> Iterator[Table | Text]:
    """What each class of queries got in each round."""
    from headgate.demo.report import HEADINGS, rows, summary

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for i, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if i < 2 else "right")
    for row in rows(outcome):
        *cells, verdict = row
        table.add_row(*cells, Text(verdict, style=_STYLES[verdict]))
    yield table
    yield Text(f"\n{summary(outcome)} Both had the same ticks and the same queries.")


@contextmanager
def _in_view(out: Console, status: Any) -> Iterator[Callable[[str, dict[str, Any]], None]]:  # noqa: ANN401 - rich's
    """The live view, from the first snapshot on; then whatever was shown before has to go."""
    from headgate.engine.view import view

    live = Live(console=out, auto_refresh=False, screen=True)

    def show(title: str, snapshot: dict[str, Any]) -> None:
        if not live.is_started:
            status.stop()
            live.start()
        live.update(view(snapshot, *out.size, title), refresh=True)

    try:
        yield show
    finally:
        live.stop()


@contextmanager
def _in_lines(err: Console) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """A line for each class every so often."""
    from headgate.engine.readable import share, span

    title, due = "", 0.0

    def show(new: str, snapshot: dict[str, Any]) -> None:
        nonlocal title, due
        if new != title:
            err.print(new, style="bold", soft_wrap=True)
            title, due = new, 0.0
        if snapshot["time"] < due:
            return
        due = snapshot["time"] + _LINE_EVERY
        said = []
        for cls in snapshot["classes"]:
            late = f"{share(cls['late'])} late" if cls["late"] is not None else "no results yet"
            dropped = f", drops {share(cls['drop'])}" if cls["drop"] else ""
            said.append(f"{cls['name']} {span(cls['response_mean'])} of {span(cls['delay_target'])}, {late}{dropped}")
        err.print(f"  {' · '.join(said)}", soft_wrap=True)

    yield show

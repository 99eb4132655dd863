"""`headgate reproduce`: the published experiments on the command line."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from headgate.experiments.report import Outcome

_STYLE = {"in band": "green", "out of band": "bold red", "miss": "yellow", "reported": "dim"}
_TRACES = "HEADGATE_TRACES"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="reproduce")(reproduce)


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Experiments, or a prefix of their ids; all if none.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs and fewer seeds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 where a value is out of its band.")] = False,
    trace: Annotated[Path | None, typer.Option(help="A packet trace to use beside the surrogate.")] = None,
    plots: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("reproduction"),
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Draw no figures.")] = False,
    report: Annotated[Path | None, typer.Option(help="Markdown file for tables and figures.")] = None,
) -> None:
    """Repeat published experiments: 'paper says / we measure', each row with its band and verdict.

    The bursty surrogate is always used. A packet trace is used beside it where --trace names one, or where the folder
    in HEADGATE_TRACES or ../shared/data has the Bellcore trace.

    Example: headgate reproduce QRY-E1 QRY-E5 --quick
    """
    # Imported here, so that the other commands do not wait for the compiler.
    from headgate.experiments.report import Scale, counted
    from headgate.experiments.runner import chosen, run
    from headgate.experiments.traces import available

    out, err = Console(), Console(stderr=True)
    experiments = chosen(ids or [])
    if listing:
        if as_json:
            listed = [{"id": e.id, "title": e.title, "figure": e.figure} for e in experiments]
            typer.echo(json.dumps({"experiments": listed}, indent=2))
            return
        table = Table("id", "experiment", "in the paper", box=None)
        for experiment in experiments:
            table.add_row(experiment.id, experiment.title, experiment.figure)
        out.print(table)
        return
    folders = [Path(p) for p in (os.environ.get(_TRACES), "../shared/data") if p]
    scale = Scale(quick, available(trace, folders))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("simulations", total=None)
        outcomes = run(experiments, scale, lambda done, total: bar.update(task, completed=done, total=total))
    figures = {}
    if not no_plots:
        from headgate.experiments.plots import save

        figures = {o.id: save(o, plots) for o in outcomes}
        err.print(f"figures: {plots}", highlight=False)
    if report is not None:
        from headgate.experiments.markdown import page

        near = {name: Path(os.path.relpath(path, report.parent)) for name, path in figures.items()}
        words = [*(ids or []), *(["--quick"] if quick else [])]
        report.write_text(page(outcomes, near, " ".join(["headgate reproduce", *words])), encoding="utf-8")
        err.print(f"report: {report}", highlight=False)
    if as_json:
        typer.echo(json.dumps({"experiments": [o.as_json() for o in outcomes]}, indent=2, ensure_ascii=False))
    else:
        for outcome in outcomes:
            _show(outcome, out)
        out.print(counted(outcomes), highlight=False)
    if check and any(row.verdict == "out of band" for o in outcomes for row in o.rows):
        raise typer.Exit(1)


def _show(outcome: "Outcome", console: Console) -> None:
    table = Table(title=f"{outcome.id}  {outcome.title}", title_justify="left", title_style="bold")
    for column in ("what", "paper says", "we measure", "band", "verdict"):
        table.add_column(column, overflow="fold")
    for row in outcome.rows:
        verdict = f"[{_STYLE[row.verdict]}]{row.verdict}[/]"
        table.add_row(row.what, row.paper, row.measured, row.band or "–", verdict)
    console.print(table)
    console.print(f"trace: {outcome.trace}\nseeds: {outcome.seeds}", style="dim", highlight=False)
    for note in outcome.notes:
        console.print(f"note: {note}", style="dim", highlight=False)
    console.print()

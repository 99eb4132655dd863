"""`headgate bench`: benchmarks on the command line."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headgate.errors import InputError

BENCHMARKS = {"sim": "the compiled kernels against SimPy, and the time of one decision"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="bench")(bench)


def bench(
    name: Annotated[
        str, typer.Argument(help=f"Which one: {', '.join(f'{k} ({v})' for k, v in BENCHMARKS.items())}.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 where a goal is missed.")] = False,
) -> None:
    """Measure speed side by side with the alternative, in one run.

    Example: headgate bench sim --json
    """
    if name not in BENCHMARKS:
        raise InputError("a known benchmark", f"'{name}'", f"Choose {', '.join(BENCHMARKS)}.")
    from headgate.bench.sim import run

    out, err = Console(), Console(stderr=True)
    with err.status("measuring") as status:
        report = run(lambda what: status.update(f"measuring {what}"))
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        machine = report.machine
        out.print(f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}", style="dim")
        table = Table("what", "executions", "seconds", "per second", "relative to SimPy")
        for row in report.rows:
            against = f"{row['ratio']:.3g}×" if row["ratio"] is not None else "–"
            table.add_row(
                row["what"], f"{row['executions']:,}", f"{row['seconds']:.3f}", f"{row['per_second']:,.0f}", against
            )
        out.print(table)
        goals = Table("goal", "measured", "wanted", "")
        for c in report.checks:
            goals.add_row(c.what, f"{c.value:,.4g}", c.goal, "[green]met[/]" if c.ok else "[red]missed[/]")
        out.print(goals)
    if check and not all(c.ok for c in report.checks):
        raise typer.Exit(1)

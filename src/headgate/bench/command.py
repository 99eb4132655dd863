"""`headgate bench`: benchmarks on the command line."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headgate.bench import tables
from headgate.bench.report import Report
from headgate.errors import InputError
from headgate.printed import stdout


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What it compares, how its rows are shown, and whether they are drawn. It is `run` in the module of its name."""

    what: str
    tables: Callable[[tables.Rows], list[Table]]
    drawn: bool = False


BENCHMARKS = {
    "sim": Benchmark("the compiled kernels against SimPy, and the time of one decision", tables.sim),
    "engine": Benchmark(
        "prepared plans, overhead, ingest, and responses against Structured Streaming", tables.engine
    ),
    "live-policies": Benchmark("every policy over the same queries on Spark, and as predicted", tables.live_policies),
    "channels": Benchmark("what it costs to ask a lane: Unix socket, Arrow Flight, files, a job", tables.channels),
    "commits": Benchmark("what a commit costs, with and without the disk", tables.commits),
    "kernel": Benchmark("the kernel of fused units alone: queries at once, and one by one", tables.kernel),
    "many-queries": Benchmark(
        "up to 100 queries on Headgate, Structured Streaming, Flink and Bytewax", tables.many_queries
    ),
    "overload": Benchmark("classes of queries on time, from half of the capacity to three times", tables.overload),
    "whatif": Benchmark("live runs beside what the simulator makes of their records", tables.whatif),
    "deadlines": Benchmark(
        "real-time queries from 60 to 150 % of the capacity, and on Structured Streaming", tables.deadlines
    ),
    "nodes": Benchmark("three engines of which one is killed and one paused, against one engine", tables.nodes),
    "moves": Benchmark("queries that move between two engines: not at all, UniMiCo, stop and copy", tables.moves),
    "balance": Benchmark(
        "a node with too much to do and one that is added, each on its own processor: with balancing, and without",
        tables.balance,
    ),
    "ui": Benchmark("an engine that is watched on its dashboard, against one that is not", tables.ui),
    "fresh-tables": Benchmark(
        "what joins see of tables that change, by how a refresh budget is spent", tables.fresh_tables
    ),
    "qos": Benchmark(
        "what results are worth by their QoS graphs under overload, and on Structured Streaming", tables.qos
    ),
    "freshness": Benchmark(
        "plans for half a million copies: exact, by a general solver, by groups", tables.freshness
    ),
    "scale-queries": Benchmark("up to 100,000 queries on one engine", tables.scale_queries, drawn=True),
}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="bench")(bench)


def bench(
    name: Annotated[
        str, typer.Argument(help=f"Which one: {', '.join(f'{k} ({v.what})' for k, v in BENCHMARKS.items())}.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 where a goal is missed.")] = False,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for figures, which scale-queries has.", show_default=False)
    ] = None,
) -> None:
    """Measure speed side by side with the alternative, in one run.

    Example: headgate bench sim --json
    """
    if name not in BENCHMARKS:
        raise InputError("a known benchmark", f"'{name}'", f"Choose {', '.join(BENCHMARKS)}.")
    report = _measured(name)
    if as_json:
        typer.echo(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        out, machine = stdout(), report.machine
        out.print(f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}", style="dim")
        for table in (*BENCHMARKS[name].tables(report.rows), tables.goals(report.checks)):
            out.print(table)
    if plots is not None and BENCHMARKS[name].drawn:
        from headgate.bench import figures
        from headgate.experiments.plots import save

        save(getattr(figures, name.replace("-", "_"))(report.rows), plots)
    if check and any(c.ok is False for c in report.checks):
        raise typer.Exit(1)


def _measured(name: str) -> Report:
    """Run it, and say on standard error how far it is."""
    err = Console(stderr=True, highlight=False)
    with err.status("getting ready") as status:
        show = status.update if err.is_terminal else err.print
        try:
            module = import_module(f"headgate.bench.{name.replace('-', '_')}")
        except ModuleNotFoundError as error:
            remedy = "Install headgate with its extra: pip install 'headgate[bench]'."
            raise InputError(
                f"benchmark {name} has what it compares with", f"no module {error.name}", remedy
            ) from None
        report: Report = module.run(lambda what: show(f"measuring {what}"))
    return report

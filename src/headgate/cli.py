"""The command line. It prints; everything else is done by the packages, which it imports when they are needed."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from headgate import __version__
from headgate.bench.command import register as register_bench
from headgate.cluster.command import register as register_cluster
from headgate.demo.command import register as register_demo
from headgate.engine.command import register as register_engine
from headgate.errors import HeadgateError, InputError
from headgate.experiments.command import register as register_reproduce
from headgate.printed import WIDE, finite, stdout
from headgate.sim.command import register as register_whatif

if TYPE_CHECKING:
    from headgate.sim.scenario import Scenario, ScenarioResult


class _Group(TyperGroup):
    """Prints a user's mistake in one line, without a traceback."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        try:
            return super().invoke(ctx)
        except HeadgateError as error:
            _to_stderr().print(Text(f"error: {error}", style="red"), soft_wrap=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Quality of service for continuous queries on Spark: run them, and compare policies before you deploy one.",
    epilog="Begin with: headgate sim --demo, or headgate run examples/pipelines/market.yaml --for 30s",
)


def main() -> None:
    """The `headgate` command."""
    app(prog_name="headgate")


def _version(asked: bool) -> None:
    if asked:
        print(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: headgate sim examples/bursty.yaml --seeds 5 --plot bursty.png")
def sim(
    scenario: Annotated[Path | None, typer.Argument(help="The scenario, a YAML file; see docs/scenario.md.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the slowdowns into a .png, .svg or .pdf file.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Use the seeds 1 to N, not those of the file.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Run the scenario that comes with Headgate.")] = False,
    from_run: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Replay the run recorded in a state folder.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="With --from-run: the policies to compare; all if not given.")
    ] = None,
) -> None:
    """Simulate a scenario, or a recorded run, under several policies, and compare slowdown and response time."""
    if (scenario is not None) + demo + (from_run is not None) != 1:
        got = "more than one" if scenario or demo or from_run else "none"
        raise InputError("sim takes a scenario file or --demo or --from-run", got, "Try headgate sim --demo.")
    if from_run:
        if plot or seeds:
            got = "--plot" if plot else "--seeds"
            raise InputError("a recorded run is replayed once, into a table", got, "Leave it out.")
        _replay(from_run, policies, as_json=as_json)
        return
    if policies is not None:
        raise InputError("a scenario names its policies", "--policies", "Write them in the file.")
    from headgate.sim.scenario import DEMO, load  # noqa: PLC0415 - numba and scipy load for a second

    if plot:
        from headgate.sim.scenario import plots  # noqa: PLC0415 - so does matplotlib

        plots.check(plot)
    loaded = load(scenario or DEMO)
    if seeds:
        loaded = loaded.with_seeds(range(1, seeds + 1))
    result = _run(loaded)
    if plot:
        plots.slowdowns(result, plot)
    if as_json:
        print(json.dumps(_json(result), indent=2, allow_nan=False))
        return
    _show(result, explained=demo)


def _replay(folder: Path, policies: str | None, *, as_json: bool) -> None:
    from headgate.record import read  # noqa: PLC0415
    from headgate.sim.comparison import by_class, compare, legend, overview  # noqa: PLC0415

    recorded = read(folder)
    names = None if policies is None else [name.strip() for name in policies.split(",") if name.strip()]
    with _to_stderr().status("replaying") as status:
        found = compare(recorded, names, lambda policy: status.update(f"replaying under {policy}"))
    if as_json:
        print(json.dumps(finite(found.as_json()), indent=2, allow_nan=False))
        return
    console, began = stdout(), recorded.began
    lanes = f"{began.lanes} lane{'s' if began.lanes > 1 else ''}"
    console.print(Text(f"{recorded.path}: {recorded.ended - recorded.since:,.1f} s on {lanes}", style="bold"))
    console.print(overview(found))
    console.print(legend(found), style="dim")
    if classes := by_class(found):
        console.print("\naverage slowdown by class of queries", style="bold")
        console.print(classes)


def _run(scenario: "Scenario") -> "ScenarioResult":
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    from headgate.sim.scenario import run  # noqa: PLC0415

    console = _to_stderr()
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading arrivals", total=None)
        return run(scenario, lambda n, total, now: bar.update(task, completed=n, total=total, description=now))


def _show(result: "ScenarioResult", *, explained: bool) -> None:
    from headgate.sim.scenario.tables import by_class, findings, legend, overview  # noqa: PLC0415

    console = stdout()
    unbounded = console.options.update(max_width=10 * WIDE)
    spread = console.measure(overview(result), options=unbounded).maximum <= console.width
    console.print(Text(result.scenario, style="bold"))
    console.print(overview(result, spread=spread))
    console.print(legend(result, spread=spread), style="dim")
    if classes := by_class(result):
        console.print("\naverage slowdown by class of queries", style="bold")
        console.print(classes)
    if explained:
        console.print()
        for sentence in findings(result):
            console.print(sentence)


def _json(result: "ScenarioResult") -> dict[str, Any]:
    """The result as JSON has it: the figures of a policy beside its name, null for what is not a number."""
    found = finite(asdict(result))
    for policy in found["policies"]:
        policy.update(policy.pop("figures"))
        policy["classes"] = policy.pop("classes")
    return dict(found)


@app.command(epilog="Example: headgate policies --json")
def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """List the scheduling policies, those of classes last: what each optimises, its rule and its options."""
    from rich.table import Table  # noqa: PLC0415

    from headgate.policy.classes.registry import SCHEDULERS  # noqa: PLC0415
    from headgate.policy.registry import POLICIES  # noqa: PLC0415

    classed = [each for name, each in SCHEDULERS.items() if name not in POLICIES]
    listed = [(p.name, p.optimises, p.formula, p.options) for p in POLICIES.values()]
    listed += [(each.name, each.optimises, each.formula, each.options) for each in classed]
    if as_json:
        rows = [dict(zip(("name", "optimises", "formula", "options"), each, strict=True)) for each in listed]
        print(json.dumps({"policies": rows}, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("policy", style="bold", no_wrap=True)
    table.add_column("optimises")
    table.add_column("priority, highest first; of classes, the rule")
    table.add_column("options")
    for *words, options in listed:
        table.add_row(*map(Text, words), ", ".join(options))
    console = stdout()
    console.print(table)
    console.print(
        "\nS results per tuple, C expected and T ideal processing time, W wait of the oldest tuple.\n"
        f"Every policy down to {list(POLICIES)[-1]} also takes label, level, sharing, price and statistics in a "
        "scenario; see docs/scenario.md. The others are for classes of queries on the engine; see "
        "docs/class-scheduling.md."
    )


register_engine(app)
register_cluster(app)
register_whatif(app)
register_reproduce(app)
register_bench(app)
register_demo(app)


def _to_stderr() -> Console:
    return Console(stderr=True, highlight=False)


if __name__ == "__main__":
    main()

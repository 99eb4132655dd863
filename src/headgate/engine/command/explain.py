"""`headgate explain`: how a pipeline would run, or why something happened in a run."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from headgate.engine.command.starting import Json, logged, planned
from headgate.errors import InputError
from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.engine.explain import Explanation
    from headgate.engine.pipeline import Pipeline


def explain(
    what: Annotated[
        Path, typer.Argument(metavar="PIPELINE|RUN", help="A pipeline, a YAML file; or a run, its state folder.")
    ],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Of a run: the moment, 12.5s after its start, -5s before its end, or 14:03:22."
        ),
    ] = None,
    of_tuple: Annotated[
        str | None, typer.Option("--tuple", metavar="STREAM:NUMBER", help="Of a run: what became of a tuple.")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a run: with whom a query ran, what it lost, why it was late."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how the queries of a pipeline would run, without running it; or why something happened in a run."""
    if what.is_dir() or what.suffix == ".jsonl":
        _explain_run(what, at, of_tuple, query, as_json=as_json)
        return
    if at or of_tuple or query:
        got = "--at" if at else "--tuple" if of_tuple else "--query"
        raise InputError(f"{got} is about a run", f"'{what}', which is no folder", "Name the state folder of a run.")
    from headgate.engine.pipeline import load

    loaded = load(what)
    with os.fdopen(os.dup(2), "w") as stderr, TemporaryDirectory(prefix="headgate-explain-") as folder:
        found = _explained(loaded, Path(folder), Console(file=stderr, highlight=False))
    if as_json:
        document = {"pipeline": loaded.name, **asdict(found)}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
        return
    from headgate.engine.explain import shown

    console = stdout()
    console.print(Text(f"{loaded.name}: {len(found.queries):,} queries", style="bold"))
    for part in shown(found):
        console.print(part, soft_wrap=isinstance(part, Text))


def _explain_run(folder: Path, at: str | None, of_tuple: str | None, query: str | None, *, as_json: bool) -> None:
    from headgate.engine.explain.run import around, of_run
    from headgate.engine.explain.told import told
    from headgate.printed import finite
    from headgate.record import read

    with Console(stderr=True).status("reading the record") as status:
        recorded, time = around(folder, at) if at is not None else (read(folder), None)
        status.update("going through the run")
        found = of_run(recorded, time, of_tuple, query)
    if as_json:
        document = {"record": str(recorded.path), **{name: asdict(part) for name, part in found.items()}}
        typer.echo(json.dumps(finite(document), indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = stdout()
    for part in told(found):
        console.print(part, soft_wrap=isinstance(part, Text))


def _explained(pipeline: "Pipeline", state: Path, err: Console) -> "Explanation":
    """What an engine on this machine makes of a pipeline whose results go nowhere but to other queries."""
    from headgate.engine.explain import explained
    from headgate.engine.pipeline.policies import CLASSED
    from headgate.engine.regime import AUTO
    from headgate.engine.sink import discard
    from headgate.engine.sink.into_stream import IntoStream
    from headgate.policy.registry import POLICIES

    lanes, fuse = pipeline.lanes, pipeline.fuse
    resident = lanes != "jobs" and not (isinstance(lanes, Mapping) and not lanes["resident"])
    queries = {
        name: query if isinstance(query.sink, IntoStream) else replace(query, sink=discard())
        for name, query in pipeline.queries.items()
    }
    trial = replace(pipeline, state=state, lanes="jobs", sync=False, master=None, queries=queries)
    with logged(err, held=False), planned(trial, err) as engine:
        graphed = pipeline.policy in POLICIES and POLICIES[pipeline.policy].graphs
        fuses = (graphed or pipeline.policy in (AUTO, *CLASSED)) if fuse is None else fuse
        shares = pipeline.shed is not None and pipeline.shed.mode == "dilos+sharing"
        return explained(engine.queries.values(), engine.classes, fuse=fuses, resident=resident, sharing=shares)

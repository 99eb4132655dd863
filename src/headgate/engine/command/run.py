"""`headgate run`: a pipeline from its start to its end, as one sees it."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from headgate.engine.command.starting import Json, logged, planned
from headgate.errors import InputError
from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.engine.engine import Engine
    from headgate.engine.pipeline import Pipeline
    from headgate.engine.view import Row

_EVERY = 0.5
_LINE_EVERY = 5.0
_PORT = 4050
"""As `Engine.serve` has it."""


def run(
    pipeline: Annotated[Path | None, typer.Argument(help="The pipeline, a YAML file.")] = None,
    lasting: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Stop after so long, such as 30s or 5min.")
    ] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="This policy, not that of the file.")] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="This state folder, not that of the file.")
    ] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="This Spark, such as local[4].")] = None,
    lanes: Annotated[
        str | None, typer.Option(metavar="LANES", help="auto, jobs or a number, not what the file says.")
    ] = None,
    fuse: Annotated[
        bool | None, typer.Option("--fuse/--no-fuse", help="Whether queries over a stream run together.")
    ] = None,
    as_json: Json = False,
    no_view: Annotated[bool, typer.Option("--no-view", help="Lines of text, even in a terminal.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Nothing but the figures at the end.")] = False,
    ui: Annotated[
        bool, typer.Option("--ui/--no-ui", help="Whether to serve the dashboard and metrics, to this machine only.")
    ] = True,
    ui_port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65535, help="On this port, or the next one that is free.")
    ] = _PORT,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of pipeline files, for editors.")
    ] = False,
) -> None:
    """Run a pipeline of continuous queries on Spark, until its streams end, the time is over, or Ctrl-C."""
    if schema:
        from headgate.engine.pipeline import schema as described

        typer.echo(json.dumps(described(), indent=2, ensure_ascii=False))
        return
    if pipeline is None:
        raise InputError("run takes a pipeline file", "none", "Try headgate run examples/pipelines/market.yaml.")
    from headgate.engine.pipeline import load
    from headgate.engine.spans import seconds

    limit = float("inf") if lasting is None else seconds(lasting, "--for", above=0)
    loaded = _with(load(pipeline), policy, state, master)
    if lanes is not None:
        loaded = replace(loaded, lanes=_lanes(lanes))
    if fuse is not None:
        loaded = replace(loaded, fuse=fuse)
    # A file of its own: while Spark starts, standard error is Spark's.
    with os.fdopen(os.dup(2), "w") as stderr, redirect_stdout(sys.stderr) if as_json else nullcontext():
        err = Console(file=stderr, highlight=False, quiet=quiet)
        last = _run(loaded, limit, err, in_lines=as_json or no_view, port=ui_port if ui else None)
    from headgate.engine.closing import closing, document, failed

    if as_json:
        typer.echo(json.dumps(document(last), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        console = stdout()
        for part in closing(last):
            console.print(part, soft_wrap=isinstance(part, Text))
    if failed(last):
        raise typer.Exit(1)


def _with(loaded: "Pipeline", policy: str | None, state: Path | None, master: str | None) -> "Pipeline":
    """The pipeline with what the command line says instead."""
    from headgate.engine.pipeline.policies import CLASSED
    from headgate.engine.regime import AUTO
    from headgate.policy.registry import listed

    if policy is not None:
        if policy != AUTO and policy not in CLASSED:
            listed(policy, (AUTO, *CLASSED))
        # Options are those of a policy, but every policy takes trains.
        train = {name: value for name, value in loaded.options.items() if name == "train"}
        loaded = replace(loaded, policy=policy, options=train)
    return replace(loaded, state=state or loaded.state, master=master or loaded.master)


def _lanes(text: str) -> int | str:
    from headgate.engine.pipeline.lanes import WORDS

    if text in WORDS:
        return text
    if text.isdecimal() and int(text):
        return int(text)
    raise InputError("--lanes is auto, jobs or a number", f"'{text}'", "Write --lanes 2, for example.")


def _run(pipeline: "Pipeline", limit: float, err: Console, *, in_lines: bool, port: int | None) -> "Row":
    """Run a pipeline to its end, served on a port if there is one, and say how it went."""
    from headgate.engine.sink.console_tables import ConsoleTables
    from headgate.engine.sink.shared import Shared
    from headgate.engine.telemetry import pushes

    out = Console(highlight=False)
    sinks = [query.sink for query in pipeline.queries.values()]
    prints = any(isinstance(each.sink if isinstance(each, Shared) else each, ConsoleTables) for each in sinks)
    in_view = out.is_terminal and not (in_lines or prints or err.quiet)
    with logged(err, held=in_view):
        engine = planned(pipeline, err)
        with _Interrupts(engine) as interrupts:
            try:
                served = "" if port is None else _served(engine, port, err)
                if pushes(os.environ):
                    _pushed(engine, err)
                engine.start(
                    pipeline.policy,
                    fuse=pipeline.fuse,
                    shed=pipeline.shed,
                    deadlines=pipeline.deadlines,
                    **pipeline.options,
                )
                until = time.monotonic() + limit
                with _in_view(out, served) if in_view else _in_lines(err) as show:
                    while not interrupts.count and (left := until - time.monotonic()) > 0:
                        if engine.wait(min(_EVERY, left)):
                            break
                        show(asdict(engine.status()))
                if interrupts.count:
                    err.print("stopping: finishing what is under way; Ctrl-C again cancels it")
            finally:
                last = engine.stop()
    return asdict(last)


def _served(engine: "Engine", port: int, err: Console) -> str:
    """Serve the dashboard, and say where. Nobody's queries wait for that: without it, they run as well."""
    try:
        server = engine.serve(port=port)
    except InputError as error:
        err.print(f"there is no dashboard: {error}", soft_wrap=True)
        return ""
    said = f"dashboard: {server.address} · changes need the token {server.token}"
    err.print(said, soft_wrap=True)
    return said


def _pushed(engine: "Engine", err: Console) -> None:
    """Push metrics by OpenTelemetry, as its variables say. Queries run without that as well."""
    try:
        engine.push_metrics()
    except InputError as error:
        err.print(f"metrics are not pushed: {error}", soft_wrap=True)
    else:
        err.print("metrics are pushed by OpenTelemetry")


class _Interrupts:
    """Ctrl-C and requests to terminate: the first stops, the second cancels what is under way, the third gives up."""

    def __init__(self, engine: "Engine") -> None:
        self.count = 0
        self._context = engine.spark.sparkContext
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for each in (signal.SIGINT, signal.SIGTERM):
            self._before[each] = signal.signal(each, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signals are
        self.count += 1
        if self.count == 2:
            # The signal may have come while this thread talks to Spark, which takes one call at a time from it.
            threading.Thread(target=self._context.cancelAllJobs, daemon=True).start()
        if self.count > 2:
            raise KeyboardInterrupt


@contextmanager
def _in_view(out: Console, note: str) -> Iterator[Callable[["Row"], None]]:
    from headgate.engine.view import view

    with Live(console=out, screen=True, auto_refresh=False) as live:
        yield lambda snapshot: live.update(view(snapshot, *out.size, note), refresh=True)


@contextmanager
def _in_lines(err: Console) -> Iterator[Callable[["Row"], None]]:
    from headgate.engine.view import line

    due = 0.0

    def show(snapshot: "Row") -> None:
        nonlocal due
        if snapshot["elapsed"] >= due:
            err.print(line(snapshot), soft_wrap=True)
            due = snapshot["elapsed"] + _LINE_EVERY

    yield show

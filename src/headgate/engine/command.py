"""`headgate run`, `top` and `explain`: a pipeline on the command line, and looks at one that runs or would."""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import asdict, replace
from logging.handlers import MemoryHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.console import Console
from rich.live import Live
from rich.logging import RichHandler
from rich.text import Text

from headgate.errors import HeadgateError, InputError
from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.engine.engine import Engine
    from headgate.engine.explain import Explanation
    from headgate.engine.pipeline import Pipeline
    from headgate.engine.view import Row

_EVERY = 0.5
_LINE_EVERY = 5.0
_STALE = 5.0
_MOST_HELD = 1000
_SPARK_LOG = "spark.log"
_PORT = 4050
"""As `Engine.serve` has it."""
STATUS = "status.json"
"""The name in `headgate.engine.status`, which would load Spark for a look at a file."""

_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(epilog="Example: headgate run examples/pipelines/market.yaml --for 30s")(run)
    app.command(epilog="Example: headgate top examples/pipelines/market.state")(top)
    app.command(epilog="Example: headgate explain examples/pipelines/market.state --at -5s")(explain)


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
    as_json: _Json = False,
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


def top(
    folder: Annotated[Path, typer.Argument(metavar="STATE_DIR", help="The state folder of the engine.")],
    once: Annotated[bool, typer.Option("--once", help="Print what there is now, and exit.")] = False,
    as_json: _Json = False,
) -> None:
    """Watch an engine that runs, by what it writes into its state folder."""
    from headgate.engine.closing import document
    from headgate.engine.view import view

    found = _status(folder)
    if as_json:
        shown = {"running": found["running"], "time": found["time"], **document(found)}
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = stdout()
    if once or not console.is_terminal:
        console.print(view(found, console.width, sys.maxsize, _news(found)))
        return
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(view(found, *console.size, _news(found)), refresh=True)
                time.sleep(_EVERY)
                found = _status(folder)
    except KeyboardInterrupt:
        return


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
    as_json: _Json = False,
) -> None:
    """Show how the queries of a pipeline would run, without running it; or why something happened in a run."""
    if what.is_dir() or what.suffix == ".jsonl":
        _explain_run(what, at, of_tuple, query, as_json=as_json)
        return
    if at or of_tuple or query:
        got = "--at" if at else "--tuple" if of_tuple else "--query"
        raise InputError(f"{got} is about a run", f"'{what}', which is no folder", "Name the state folder of a run.")
    pipeline = what
    from headgate.engine.pipeline import load

    loaded = load(pipeline)
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
    from headgate.engine.explain.run import of_run
    from headgate.engine.explain.told import told
    from headgate.printed import finite
    from headgate.record import read

    recorded = read(folder)
    found = of_run(recorded, at, of_tuple, query)
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
    with _logged(err, held=False), _planned(trial, err) as engine:
        graphed = pipeline.policy in POLICIES and POLICIES[pipeline.policy].graphs
        fuses = (graphed or pipeline.policy in (AUTO, *CLASSED)) if fuse is None else fuse
        shares = pipeline.shed is not None and pipeline.shed.mode == "dilos+sharing"
        return explained(engine.queries.values(), engine.classes, fuse=fuses, resident=resident, sharing=shares)


def _with(loaded: "Pipeline", policy: str | None, state: Path | None, master: str | None) -> "Pipeline":
    """The pipeline with what the command line says instead."""
    from headgate.engine.pipeline.policies import CLASSED
    from headgate.engine.regime import AUTO
    from headgate.policy.registry import listed

    if policy is not None:
        if policy != AUTO and policy not in CLASSED:
            listed(policy)
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
    with _logged(err, held=in_view):
        engine = _planned(pipeline, err)
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


def _planned(pipeline: "Pipeline", err: Console) -> "Engine":
    """An engine with all that the pipeline has."""
    from headgate.engine.engine import Engine
    from headgate.engine.pipeline import build
    from headgate.engine.quiet import complaint, hush, spoken_to

    log = _spark_log(pipeline.state)
    total = sum(1 if query.each is None else len(query.each) for query in pipeline.queries.values())
    if not err.is_terminal:
        err.print(f"starting Spark, then planning {total} queries")
    with err.status("starting Spark") as status:
        before = log.stat().st_size
        try:
            with spoken_to(log):
                engine = Engine(
                    state=pipeline.state,
                    lanes=pipeline.lanes,
                    channel=pipeline.channel,
                    sync=pipeline.sync,
                    master=pipeline.master,
                    jars=pipeline.jars,
                )
        except HeadgateError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is that Spark does not like
            said = (complaint(log, before) or str(error).partition("\n")[0]).rstrip(".")
            where = f" on {pipeline.master}" if pipeline.master else ""
            raise InputError(f"Spark starts{where}", said, f"Its log is {log}.") from None
        hush()
        engine.spark.sparkContext.setLogLevel("ERROR")
        status.update("reading streams and tables")
        try:
            build(pipeline, _Counting(engine, lambda n: status.update(f"planning {n} of {total} queries")))
        except BaseException:
            engine.stop()
            raise
    return engine


def _spark_log(state: Path) -> Path:
    try:
        state.mkdir(parents=True, exist_ok=True)
        (state / _SPARK_LOG).touch()
    except OSError as error:
        raise InputError(
            "a state folder that can be written", f"{state} ({error.strerror})", "Name another folder."
        ) from None
    return state / _SPARK_LOG


class _Counting:
    """An engine as a pipeline sees it, telling which query is being planned."""

    def __init__(self, engine: "Engine", tell: Callable[[int], None]) -> None:
        self.query_class, self.stream, self.table = engine.query_class, engine.stream, engine.table
        self.refreshing = engine.refreshing
        self._engine, self._tell, self._n = engine, tell, 0

    def query(self, name: str, sql: str, /, **settings: Any) -> None:  # noqa: ANN401 - as the engine has them
        """Register a query."""
        self._n += 1
        self._tell(self._n)
        self._engine.query(name, sql, **settings)

    def query_many(self, texts: Mapping[str, str], /, **settings: Any) -> None:  # noqa: ANN401 - as the engine has them
        """Register many queries."""
        self._n += len(texts)
        self._tell(self._n)
        self._engine.query_many(texts, **settings)


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
def _logged(err: Console, *, held: bool) -> Iterator[None]:
    """Show what is logged at once, or once the view that it would spoil is over."""
    shown = RichHandler(console=err, show_time=False, show_path=False, rich_tracebacks=False)
    handler = MemoryHandler(_MOST_HELD, logging.CRITICAL + 1 if held else logging.NOTSET, shown)
    logger = logging.getLogger("headgate")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()


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


def _status(folder: Path) -> dict[str, Any]:
    file = folder / STATUS
    remedy = "Name the state folder of an engine that has been started."
    try:
        found = json.loads(file.read_text())
    except OSError as error:
        raise InputError(f"a state folder has a {STATUS}", f"{folder} ({error.strerror})", remedy) from None
    except ValueError:
        raise InputError(f"{STATUS} is written by an engine", "no JSON", remedy, str(file)) from None
    if not isinstance(found, dict) or not {"running", "time", "accounting"} <= found.keys():
        raise InputError(f"{STATUS} is written by an engine", "other JSON", remedy, str(file))
    return found


def _news(found: "Row") -> str:
    """What is to be said about the age of a status."""
    from headgate.engine.readable import span

    age = time.time() - found["time"]
    if not found["running"]:
        return f"the engine stopped {span(round(age))} ago"
    return f"no news for {span(round(age))}; the engine may have died" if age > _STALE else ""

"""`headgate coordinator`, `node` and what one asks them for: several engines that share the queries of a pipeline."""

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table
from rich.text import Text

from headgate.errors import HeadgateError, InputError
from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.cluster.client import Client
    from headgate.engine.pipeline import Pipeline

PORT = 4060
_MOVES = 10
"""So many of the last moves are shown."""
ADDRESS = f"http://127.0.0.1:{PORT}"
TOKEN = "HEADGATE_TOKEN"  # noqa: S105 - the name of the variable

_Pipeline = Annotated[Path, typer.Argument(help="The pipeline, a YAML file; the same on all nodes.")]
_Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="The cluster's folder, which all nodes reach; apart, each its own."),
]
_Token = Annotated[
    str | None, typer.Option("--token", envvar=TOKEN, metavar="TEXT", help="The token that all of them share.")
]
_At = Annotated[str, typer.Option("--at", metavar="URL", help="The address of the coordinator.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(epilog="Example: headgate coordinator pipeline.yaml --nodes 2")(coordinator)
    app.command(epilog="Example: headgate node pipeline.yaml --name a")(node)
    app.command(epilog="Example: headgate nodes")(nodes)
    app.command(epilog="Example: headgate migrate vwap --to b")(migrate)
    app.command(epilog="Example: headgate drain a")(drain)
    app.command(epilog="Example: headgate gather vwap a/out/vwap b/out/vwap --into vwap.parquet")(gather)


def coordinator(
    pipeline: _Pipeline,
    folder: _Folder = None,
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="Place queries once so many nodes have joined.")] = 1,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than this machine need it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = PORT,
    token: _Token = None,
    patience: Annotated[
        str, typer.Option(metavar="TIME", help="A node that gives no sign of life for so long is gone.")
    ] = "5s",
    balance: Annotated[
        bool,
        typer.Option("--balance/--no-balance", help="Whether queries move by themselves to where there is room."),
    ] = True,
    sleep: Annotated[
        bool, typer.Option("--sleep", help="Let nodes rest, with no queries, as long as little is to be done.")
    ] = False,
    apart: Annotated[
        bool, typer.Option("--apart", help="Nodes share no folder: each has its own, and reads the sources itself.")
    ] = False,
) -> None:
    """Say which node runs which query of a pipeline, until Ctrl-C. Queries move, and survive their nodes."""
    from headgate.cluster.apart import beginnings
    from headgate.cluster.balance import Balance
    from headgate.cluster.coordinator import Coordinator
    from headgate.cluster.membership import digest
    from headgate.cluster.questions import questions
    from headgate.cluster.server import CoordinatorServer
    from headgate.engine.pipeline import load
    from headgate.engine.spans import seconds

    shared = None if token is None else _checked(token)
    loaded = load(pipeline)
    asked = questions(loaded)
    begins = beginnings(loaded) if apart else None
    place = _place(loaded, folder)
    priorities = {name: options["priority"] for name, options in loaded.classes.items()}
    silent = seconds(patience, "--patience", above=0)
    balanced = Balance(priorities, sleeps=sleep) if balance else None
    same = digest(loaded)
    with _written_to(place):
        made = Coordinator(place, asked, nodes=nodes, patience=silent, balance=balanced, apart=begins, pipeline=same)
    err = _logged()
    if not apart:
        _warn(place, err)
    with CoordinatorServer(made, host, port, shared) as server:
        err.print(f"coordinator of {len(asked)} queries at {server.address}, folder {place}", soft_wrap=True)
        if token is None:
            err.print(f"nodes need its token: {TOKEN}={server.token}", soft_wrap=True)
        _until_told(threading.Event())
        err.print("stopping; the nodes go on")


def node(
    pipeline: _Pipeline,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The name of this node, its own.")],
    at: _At = ADDRESS,
    folder: _Folder = None,
    token: _Token = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="This Spark, such as local[2].")] = None,
    ui: Annotated[bool, typer.Option("--ui/--no-ui", help="Whether to serve a dashboard of this node.")] = True,
) -> None:
    """Run the queries of a pipeline that the coordinator wants here, until Ctrl-C."""
    from dataclasses import replace

    from headgate.cluster.client import Client
    from headgate.cluster.instances import Membership, Report
    from headgate.cluster.membership import checked_name, digest
    from headgate.cluster.node import Node
    from headgate.cluster.start import answered, engine_of
    from headgate.cluster.storage import storage
    from headgate.engine.pipeline import load

    shared = _given(token)
    loaded = load(pipeline)
    loaded = replace(loaded, master=master or loaded.master)
    called = checked_name(name)
    err = _logged()
    with _asking(at, shared) as client:
        told = answered(client, lambda said: err.print(f"{said}; trying again", soft_wrap=True))
    apart, cluster = bool(told["apart"]), str(told["cluster"])
    place = _place(loaded, folder, f".{called}" if apart else ".cluster")
    with _written_to(place):
        kept = storage(place, cluster, apart=apart)
    member = Membership(kept.cluster, digest(loaded))
    with _asking(at, shared) as client:
        client.admit(Report(called, "", member=member, home=kept.home))
    if not apart:
        _warn(place, err)
    err.print(f"node {called}: starting Spark")
    work = engine_of(loaded, kept, called, member)
    served = work.serve() if ui else ""
    made = Node(called, work, lambda: Client(at, shared), kept.state(called))
    made.start()
    err.print(f"node {called} of the coordinator at {at}{served}", soft_wrap=True)
    try:
        _until_told(made.ended)
        if made.lost:
            # Nothing can be finished, and to try would wait for answers that never come.
            err.print(f"[red]error: {made.lost}; others take over[/red]", soft_wrap=True)
            made.leave()
            os._exit(1)
        err.print("stopping: finishing what is under way; others take over")
    finally:
        made.stop()
        work.close()
        made.leave()


def nodes(at: _At = ADDRESS, token: _Token = None, as_json: _Json = False) -> None:
    """Show the nodes of a cluster, and where each query is."""
    with _asking(at, token) as client:
        found = client.status()
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = stdout()
    nodes = [
        (each["name"], each["status"], each["queries"], ", ".join(each["feeds"]), each["address"], each["why"])
        for each in found["nodes"]
    ]
    nodes += [(each["name"], "gone", 0, "", None, f"{each['why']}, {_ago(each['since'])}") for each in found["gone"]]
    console.print(_table(("node", "status", "queries", "feeds", "dashboard", "why"), nodes))
    headings = ("name", "class", "node", "status", "coming", "why")
    queries = [[each[heading] for heading in headings] for each in found["queries"]]
    console.print(_table(("query", "class", "node", "status", "moves to", "why"), queries))
    if found["moves"]:
        moves = [
            (_ago(e["at"]), e["query"], e["from"], e["to"], e["why"], e["outcome"] or "under way")
            for e in found["moves"][-_MOVES:]
        ]
        console.print(_table(("moved", "query", "from", "to", "because", "what became of it"), moves))


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in headings:
        made.add_column(heading)
    for row in rows:
        made.add_row(*(Text("" if value is None else str(value)) for value in row))
    return made


def _ago(at: float) -> str:
    return f"{max(0.0, time.time() - at):.0f} s ago"


def migrate(
    query: Annotated[str, typer.Argument(help="The query.")],
    to: Annotated[str, typer.Option("--to", metavar="NODE", help="The node that is to run it.")],
    at: _At = ADDRESS,
    token: _Token = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Whether to wait until it runs there.")] = True,
) -> None:
    """Move a running query to another node, without stopping it and without losing or repeating a result."""
    with _asking(at, token) as client:
        if not wait:
            client.move(query, to)
            return
        taken = client.migrate(query, to)
    stdout().print(f"{query} runs on {to} after {taken:.1f} s", soft_wrap=True)


def drain(
    node: Annotated[str, typer.Argument(help="The node.")],
    at: _At = ADDRESS,
    token: _Token = None,
) -> None:
    """Move all queries of a node to others, without a stop, and wait until it has none; then it can be stopped."""
    with _asking(at, token) as client:
        taken = client.drain(node)
    stdout().print(
        f"{node} has no queries after {taken:.1f} s, and gets none until it is started again", soft_wrap=True
    )


def gather(
    query: Annotated[str, typer.Argument(help="The query.")],
    places: Annotated[
        list[Path], typer.Argument(help="Where it goes to on each node: folders of Parquet, or files.")
    ],
    into: Annotated[Path, typer.Option("--into", metavar="FILE", help="The Parquet file to write.")],
    at: _At = ADDRESS,
    token: _Token = None,
) -> None:
    """Read the results of a query on nodes apart as one: those that count, each once."""
    import pyarrow.parquet as pq

    from headgate.cluster.gathered import gathered

    with _asking(at, token) as client:
        told = client.status()["instances"]
    if query not in told:
        known = ", ".join(told) or "none; nodes that share a folder write into the same place"
        raise InputError("a query of nodes that are apart", f"'{query}'", f"There are: {known}.")
    found = gathered(query, told[query], places)
    try:
        pq.write_table(found, into)
    except OSError as error:
        got = f"{into} ({error.strerror or error})"
        raise InputError("results are written into a file", got, "Name one in a folder that is there.") from None
    stdout().print(f"{found.num_rows} results of {query} in {into}", soft_wrap=True)


@contextmanager
def _asking(at: str, token: str | None) -> "Iterator[Client]":
    from headgate.cluster.client import Client, UnreachableError

    with closing(Client(at, _given(token))) as client:
        try:
            yield client
        except UnreachableError as error:
            remedy = "Start headgate coordinator, or say with --at where it is."
            raise HeadgateError(f"{error}. {remedy}") from error


def _given(token: str | None) -> str:
    if token is None:
        remedy = f"Set {TOKEN} to what the coordinator printed, or give --token."
        raise InputError("a coordinator is asked with its token", "none", remedy)
    return _checked(token)


def _checked(token: str) -> str:
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        rule = "a token is letters, digits and signs of ASCII, without spaces"
        raise InputError(rule, f"one of {len(token)} characters", "Make one with openssl rand -hex 16.")
    return token


def _place(pipeline: "Pipeline", folder: Path | None, suffix: str = ".cluster") -> Path:
    place = (folder or pipeline.state.with_suffix(suffix)).absolute()
    with _written_to(place):
        place.mkdir(parents=True, exist_ok=True)
    return place


def _warn(place: Path, err: Console) -> None:
    """Whoever takes over reads the other's SQLite file, which is safe on one machine alone."""
    from headgate.cluster.mounts import between_machines

    if kind := between_machines(place):
        said = f"{place} is on {kind}: nodes that share a folder have to be on one machine; elsewhere, use --apart"
        err.print(f"[yellow]warning: {said}[/yellow]", soft_wrap=True)


@contextmanager
def _written_to(place: Path) -> Iterator[None]:
    """Something is written to a cluster's folder, which may not be possible."""
    try:
        yield
    except OSError as error:
        rule = "a cluster has a folder that can be written to"
        raise InputError(rule, f"{place} ({error.strerror or error})", "Name another one.") from None


def _logged() -> Console:
    """Show what is logged from now on."""
    err = Console(file=os.fdopen(os.dup(2), "w"), highlight=False)
    logger = logging.getLogger("headgate")
    logger.addHandler(RichHandler(console=err, show_path=False, rich_tracebacks=False))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return err


def _until_told(told: threading.Event) -> None:
    """Wait for Ctrl-C, to be told to terminate, or until it is told otherwise."""

    def take(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signals are
        told.set()

    before = {each: signal.signal(each, take) for each in (signal.SIGINT, signal.SIGTERM)}
    told.wait()
    for each, handler in before.items():
        signal.signal(each, handler)

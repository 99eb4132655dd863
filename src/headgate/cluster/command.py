"""`headgate coordinator`, `node`, `nodes` and `migrate`: several engines that share the queries of a pipeline."""

import json
import logging
import os
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table

from headgate.errors import InputError
from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.cluster.client import Client
    from headgate.engine.pipeline import Pipeline

PORT = 4060
ADDRESS = f"http://127.0.0.1:{PORT}"
TOKEN = "HEADGATE_TOKEN"  # noqa: S105 - the name of the variable

_Pipeline = Annotated[Path, typer.Argument(help="The pipeline, a YAML file; the same on all nodes.")]
_Folder = Annotated[
    Path | None, typer.Option("--folder", metavar="DIR", help="The cluster's folder, which all nodes reach.")
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
) -> None:
    """Say which node runs which query of a pipeline, until Ctrl-C. Queries move, and survive their nodes."""
    from headgate.cluster.balance import Balance
    from headgate.cluster.coordinator import Coordinator
    from headgate.cluster.questions import questions
    from headgate.cluster.server import CoordinatorServer
    from headgate.engine.pipeline import load
    from headgate.engine.spans import seconds

    loaded = load(pipeline)
    place = _place(loaded, folder)
    asked = questions(loaded)
    priorities = {name: options["priority"] for name, options in loaded.classes.items()}
    silent = seconds(patience, "--patience", above=0)
    balanced = Balance(priorities, sleeps=sleep) if balance else None
    made = Coordinator(place, asked, nodes=nodes, patience=silent, balance=balanced)
    err = _logged()
    with CoordinatorServer(made, host, port, token) as server:
        err.print(f"coordinator of {len(asked)} queries at {server.address}, folder {place}", soft_wrap=True)
        if token is None:
            err.print(f"nodes need its token: {TOKEN}={server.token}", soft_wrap=True)
        _until_told()
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
    from headgate.cluster.node import Node
    from headgate.cluster.start import answered, checked_name, engine_of
    from headgate.engine.pipeline import load

    shared = _given(token)
    loaded = load(pipeline)
    loaded = replace(loaded, master=master or loaded.master)
    place, called = _place(loaded, folder), checked_name(name)
    err = _logged()
    answered(Client(at, shared), lambda said: err.print(f"{said}; trying again", soft_wrap=True))
    err.print(f"node {called}: starting Spark")
    work = engine_of(loaded, place, called)
    served = work.serve() if ui else ""
    made = Node(called, work, lambda: Client(at, shared), place / "nodes" / called)
    made.start()
    err.print(f"node {called} of the coordinator at {at}{served}", soft_wrap=True)
    try:
        _until_told()
        err.print("stopping: finishing what is under way; others take over")
    finally:
        made.stop()
        work.close()


def nodes(at: _At = ADDRESS, token: _Token = None, as_json: _Json = False) -> None:
    """Show the nodes of a cluster, and where each query is."""
    found = _client(at, token).status()
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = stdout()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("node", "status", "queries", "feeds", "dashboard"):
        table.add_column(heading)
    for each in found["nodes"]:
        row = each["name"], each["status"], str(each["queries"]), ", ".join(each["feeds"]), each["address"] or ""
        table.add_row(*row)
    console.print(table)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("query", "class", "node", "status", "moves to"):
        table.add_column(heading)
    for each in found["queries"]:
        table.add_row(each["name"], each["class"], each["node"] or "", each["status"], each["coming"] or "")
    console.print(table)


def migrate(
    query: Annotated[str, typer.Argument(help="The query.")],
    to: Annotated[str, typer.Option("--to", metavar="NODE", help="The node that is to run it.")],
    at: _At = ADDRESS,
    token: _Token = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Whether to wait until it runs there.")] = True,
) -> None:
    """Move a running query to another node, without stopping it and without losing or repeating a result."""
    client = _client(at, token)
    client.move(query, to)
    if not wait:
        return
    from headgate.cluster.start import moved

    taken = moved(client, query, to)
    stdout().print(f"{query} runs on {to} after {taken:.1f} s", soft_wrap=True)


def _client(at: str, token: str | None) -> "Client":
    from headgate.cluster.client import Client

    return Client(at, _given(token))


def _given(token: str | None) -> str:
    if token is None:
        remedy = f"Set {TOKEN} to what the coordinator printed, or give --token."
        raise InputError("a coordinator is asked with its token", "none", remedy)
    return token


def _place(pipeline: "Pipeline", folder: Path | None) -> Path:
    place = (folder or pipeline.state.with_suffix(".cluster")).absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("a cluster has a folder", f"{place} ({error.strerror})", "Name another one.") from None
    return place


def _logged() -> Console:
    """Show what is logged from now on."""
    err = Console(file=os.fdopen(os.dup(2), "w"), highlight=False)
    logger = logging.getLogger("headgate")
    logger.addHandler(RichHandler(console=err, show_path=False, rich_tracebacks=False))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return err


def _until_told() -> None:
    """Wait for Ctrl-C, or to be told to terminate."""
    told = threading.Event()

    def take(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signals are
        told.set()

    before = {each: signal.signal(each, take) for each in (signal.SIGINT, signal.SIGTERM)}
    told.wait()
    for each, handler in before.items():
        signal.signal(each, handler)

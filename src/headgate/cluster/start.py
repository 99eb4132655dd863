"""How a node is started: its engine on the state folder that it has in the cluster's."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from headgate.cluster.client import Client, UnreachableError
from headgate.cluster.questions import questions
from headgate.cluster.work import Work
from headgate.engine.engine import Engine
from headgate.engine.pipeline import Pipeline
from headgate.engine.quiet import hush, spoken_to
from headgate.errors import HeadgateError, InputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_POLL = 0.05
_LONGEST = 60.0


def checked_name(name: str) -> str:
    """The name of a node, which is that of a folder too."""
    if not _NAME.fullmatch(name):
        remedy = "Use letters, digits, points, dashes and underscores."
        raise InputError("a node has a plain name", f"'{name}'", remedy)
    return name


def engine_of(pipeline: Pipeline, folder: Path, name: str) -> Work:
    """A running engine with the classes and tables of a pipeline, and none of its queries yet."""
    state = folder / "nodes" / name
    state.mkdir(parents=True, exist_ok=True)
    with spoken_to(state / "spark.log"):
        engine = Engine(
            state=state,
            lanes=pipeline.lanes,
            channel=pipeline.channel,
            sync=pipeline.sync,
            master=pipeline.master,
            jars=pipeline.jars,
            alone=False,
        )
    hush()
    engine.spark.sparkContext.setLogLevel("ERROR")
    try:
        document = pipeline.document
        for cls, options in pipeline.classes.items():
            with document.at("classes", cls):
                engine.query_class(cls, **options)
        for table, spec in pipeline.tables.items():
            with document.at("tables", table):
                engine.table(table, spec.source, parts=spec.parts, refresh=spec.refresh)
        if pipeline.refresh:
            engine.refreshing(**pipeline.refresh)
        engine.start(
            pipeline.policy, fuse=pipeline.fuse, shed=pipeline.shed, deadlines=pipeline.deadlines, **pipeline.options
        )
    except BaseException:
        engine.stop()
        raise
    return Work(engine, pipeline, folder, {each.name: each.streams for each in questions(pipeline)})


def answered(client: Client, tell: Callable[[str], None], longest: float = _LONGEST) -> None:
    """Wait until the coordinator answers, which may have been started after this node."""
    end, told = time.monotonic() + longest, False
    while True:
        try:
            client.status()
        except UnreachableError as error:
            if time.monotonic() > end:
                raise
            if not told:
                tell(str(error))
            told = True
            time.sleep(_POLL)
        else:
            return


def moved(client: Client, query: str, to: str, longest: float = _LONGEST) -> float:
    """Wait until a query runs on a node; how many seconds that took."""
    began = time.monotonic()
    while (taken := time.monotonic() - began) < longest:
        found = next((each for each in client.status()["queries"] if each["name"] == query), None)
        if found and found["node"] == to and found["status"] == "ACTIVE":
            return taken
        time.sleep(_POLL)
    raise HeadgateError(f"{query} does not run on {to} after {longest:g} s; headgate nodes shows what is in the way")

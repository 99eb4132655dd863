"""How a node is started: its engine on the state folder that it has in the cluster's."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from headgate.cluster.client import Client, UnreachableError
from headgate.cluster.instances import Membership
from headgate.cluster.questions import questions
from headgate.cluster.storage import Storage
from headgate.cluster.work import Work
from headgate.engine.engine import Engine
from headgate.engine.pipeline import Pipeline
from headgate.engine.quiet import hush, spoken_to

_POLL = 0.05
_LONGEST = 60.0


def engine_of(pipeline: Pipeline, kept: Storage, name: str, member: Membership) -> Work:
    """A running engine with the classes and tables of a pipeline, and none of its queries yet."""
    state = kept.state(name)
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
                engine.table(table, spec.source, parts=spec.parts, refresh=spec.refresh, max_age=spec.max_age)
        if pipeline.refresh:
            with document.at("refresh"):
                engine.refreshing(**pipeline.refresh)
        engine.start(
            pipeline.policy, fuse=pipeline.fuse, shed=pipeline.shed, deadlines=pipeline.deadlines, **pipeline.options
        )
    except BaseException:
        engine.stop()
        raise
    return Work(engine, pipeline, kept, {each.name: each.streams for each in questions(pipeline)}, member)


def answered(client: Client, tell: Callable[[str], None], longest: float = _LONGEST) -> Mapping[str, Any]:
    """Wait until the coordinator answers, which may have been started after this node; how everything is."""
    end, told = time.monotonic() + longest, False
    while True:
        try:
            return client.status()
        except UnreachableError as error:
            if time.monotonic() > end:
                raise
            if not told:
                tell(str(error))
            told = True
            time.sleep(_POLL)

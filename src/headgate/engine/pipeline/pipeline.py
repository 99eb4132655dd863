"""Pipelines: a file that describes streams, tables and queries, and how an engine takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Protocol

from headgate.document import Document, Loc, read
from headgate.engine import sink
from headgate.engine.capacity import Lanes
from headgate.engine.pipeline.constants import filled
from headgate.engine.pipeline.file import PipelineFile, QuerySpec, Start
from headgate.engine.pipeline.graphs import Points
from headgate.engine.pipeline.lanes import lanes
from headgate.engine.pipeline.policies import CLASSED
from headgate.engine.pipeline.tables import Table, TableSpec
from headgate.engine.regime import AUTO
from headgate.engine.resident.channel import Kind as Channel
from headgate.engine.served import Deadlines
from headgate.engine.shedding import Shed
from headgate.engine.sink.nowhere import Discard
from headgate.engine.sink.protocol import Sink
from headgate.engine.sink.shared import Shared, shared
from headgate.engine.source.protocol import Source
from headgate.engine.sql.names import mentioned
from headgate.engine.table.parts import Parts
from headgate.engine.table.sources import TableSource
from headgate.engine.utility import Protect
from headgate.engine.windows import Clock
from headgate.errors import InputError, choose
from headgate.freshness.refreshing import Way
from headgate.model.classes import DEFAULT, QueryClass
from headgate.policy.classes import registry as classes
from headgate.policy.registry import create

_OWN_NAME = "every stream, table and query has a name of its own, without regard to case"


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream and its source; times are seconds."""

    source: Source
    event_time: str | None
    delay: float
    idle: float | None


@dataclass(frozen=True, slots=True)
class Query:
    """A query and its sink; times are seconds. With `each` it stands for many, by name."""

    sql: str
    each: Mapping[str, str] | None
    cls: str
    qos: Points | None
    loss: Points | None
    deadline: float | None
    weight: float
    scale: bool
    sink: Sink | Shared
    window: str | float | None
    slide: str | float | None
    time: Clock | None
    limit: float
    start: Start


@dataclass(frozen=True)
class Pipeline:
    """A pipeline that has been checked, as far as a file can be without Spark. Paths are those of this machine."""

    name: str
    state: Path
    policy: str
    options: Mapping[str, Any]
    fuse: bool | None
    lanes: Lanes
    channel: Channel | None
    sync: bool
    master: str | None
    jars: Sequence[Path]
    shed: Shed | None
    deadlines: Deadlines | None
    classes: Mapping[str, Mapping[str, Any]]
    streams: Mapping[str, Stream]
    tables: Mapping[str, Table]
    refresh: Mapping[str, Any] | None
    queries: Mapping[str, Query]
    document: Document


class Registers(Protocol):
    """What an engine has to do with a pipeline."""

    def query_class(
        self,
        name: str,
        /,
        *,
        priority: float,
        delay_target: float | None,
        qos: Points | None,
        keep_shed: bool,
        protect: Protect,
    ) -> object:
        """Name a class."""

    def stream(
        self, name: str, source: Source, /, *, event_time: str | None, delay: float, idle: float | None
    ) -> object:
        """Register a stream."""

    def table(
        self, name: str, source: str | TableSource, /, *, parts: Parts | None, refresh: bool, max_age: float | None
    ) -> object:
        """Register a reference table."""

    def refreshing(
        self,
        refreshes: float | None,
        *,
        bytes: float | None,  # noqa: A002 - as the engine has it
        per: float,
        policy: Way,
    ) -> object:
        """Say what may be spent on refreshing tables."""

    def query(
        self,
        name: str,
        sql: str,
        /,
        *,
        window: str | float | None,
        slide: str | float | None,
        time: Clock | None,
        sink: Sink | Shared,
        cls: str,
        qos: Points | None,
        loss: Points | None,
        deadline: float | None,
        weight: float,
        scale: bool,
        limit: float,
        start: Start,
    ) -> object:
        """Register a query."""

    def query_many(
        self,
        texts: Mapping[str, str],
        /,
        *,
        window: str | float | None,
        slide: str | float | None,
        time: Clock | None,
        sink: Sink | Shared,
        cls: str,
        qos: Points | None,
        loss: Points | None,
        deadline: float | None,
        weight: float,
        scale: bool,
        limit: float,
        start: Start,
    ) -> object:
        """Register many queries at once, by name."""


def load(path: str | Path) -> Pipeline:
    """Read a pipeline file and make its sources and sinks; relative paths in it start at its folder."""
    document = read(Path(path), noun="pipeline")
    file = document.check(PipelineFile)
    folder = document.path.parent
    _check_places(file, document, folder)
    _check_classes(file, document)
    each = {name: _each(name, spec, document) for name, spec in file.queries.items()}
    _check_names(file, each, document)
    with document.at("policy"):
        options = file.policy.options
        if file.policy.name in CLASSED:
            classes.create(file.policy.name, [QueryClass(DEFAULT)], options)
        elif file.policy.name != AUTO:
            create(file.policy.name, options)
    streams = {}
    for name, spec in file.streams.items():
        made = spec.source.chosen
        with document.at("streams", name, "source", made.function):
            streams[name] = Stream(made.make(folder), spec.event_time, spec.delay, spec.idle)
    return Pipeline(
        name=file.name or document.path.stem,
        state=folder / (file.state or f"{document.path.stem}.state"),
        policy=file.policy.name,
        options=options,
        fuse=file.fuse,
        lanes=lanes(file.lanes),
        channel=file.channel,
        sync=file.sync,
        master=file.master,
        jars=[folder / each for each in file.jars],
        shed=file.shed.made() if file.shed else None,
        deadlines=file.deadlines.made() if file.deadlines else None,
        classes={name: spec.model_dump() for name, spec in file.classes.items()},
        streams=streams,
        tables={name: _table(name, spec, document, folder) for name, spec in file.tables.items()},
        refresh=file.refresh.made() if file.refresh else None,
        queries={n: _query(n, file.queries[n], each[n], folder) for n in _in_order(file, each, document)},
        document=document,
    )


def build(pipeline: Pipeline, engine: Registers) -> None:
    """Register all that the pipeline has with an engine; a mistake is reported where it stands in the file."""
    document = pipeline.document
    for name, options in pipeline.classes.items():
        with document.at("classes", name):
            engine.query_class(name, **options)
    for name, stream in pipeline.streams.items():
        with document.at("streams", name):
            engine.stream(name, stream.source, event_time=stream.event_time, delay=stream.delay, idle=stream.idle)
    for name, table in pipeline.tables.items():
        with document.at("tables", name):
            engine.table(name, table.source, parts=table.parts, refresh=table.refresh, max_age=table.max_age)
    if pipeline.refresh:
        with document.at("refresh"):
            engine.refreshing(**pipeline.refresh)
    for name, query in pipeline.queries.items():
        with document.at("queries", name):
            try:
                _register(name, query, engine)
            except InputError as error:
                if error.place is None:
                    raise
                place = f"{document.place(('queries', name, 'sql'))} ({error.place})"
                raise InputError(error.rule, error.got, error.remedy, place) from None


def _register(name: str, query: Query, engine: Registers) -> None:
    options: dict[str, Any] = {
        "window": query.window,
        "slide": query.slide,
        "time": query.time,
        "sink": query.sink,
        "cls": query.cls,
        "qos": query.qos,
        "loss": query.loss,
        "deadline": query.deadline,
        "weight": query.weight,
        "scale": query.scale,
        "limit": query.limit,
        "start": query.start,
    }
    if query.each is None:
        engine.query(name, query.sql, **options)
    else:
        engine.query_many(query.each, **options)


def _table(name: str, spec: TableSpec, document: Document, folder: Path) -> Table:
    with document.at("tables", name):
        return spec.made(folder)


def _query(name: str, spec: QuerySpec, each: Mapping[str, str] | None, folder: Path) -> Query:
    made = spec.sink.make(folder) if spec.sink else sink.discard()
    out = made if each is None or isinstance(made, Discard) else shared(name, made)
    return Query(
        *(spec.sql, each, spec.cls, spec.qos, spec.loss, spec.deadline, spec.weight, spec.scale, out),
        *(spec.window, spec.slide, spec.time, spec.limit, spec.start),
    )


def _each(name: str, spec: QuerySpec, document: Document) -> Mapping[str, str] | None:
    if spec.for_each is None:
        return None
    with document.at("queries", name):
        return filled(name, spec.sql, document.path.parent / spec.for_each)


def _check_names(file: PipelineFile, each: Mapping[str, Mapping[str, str] | None], document: Document) -> None:
    """Spark does not tell names apart by their case."""
    seen: dict[str, str] = {}
    for part, names in (("streams", file.streams), ("tables", file.tables), ("queries", file.queries)):
        for entry in names:
            for name in (entry, *((each[entry] or ()) if part == "queries" else ())):
                if name.lower() in seen:
                    got = f"'{name}' beside '{seen[name.lower()]}'"
                    _refuse(document, (part, entry), _OWN_NAME, got, "Rename one of them.", key=True)
                seen[name.lower()] = name
    for entry, query in file.queries.items():
        if query.sink and query.sink.stream:
            name, at = query.sink.stream.name, ("queries", entry, "sink")
            if name.lower() in seen:
                _refuse(document, at, _OWN_NAME, f"'{name}' beside '{seen[name.lower()]}'", "Rename one of them.")
            if each[entry] is not None:
                remedy = "Give each query a stream of its own."
                _refuse(document, at, "the tuples of a stream come from one query", "a query for each row", remedy)
            seen[name.lower()] = name


def _check_classes(file: PipelineFile, document: Document) -> None:
    """Where classes are named, queries are of one of them; and what they protect are tuples of streams."""
    known = [*file.classes, DEFAULT]
    for name, query in file.queries.items():
        if file.classes and query.cls not in known:
            rule = "the class of a query is one of classes"
            _refuse(document, ("queries", name, "class"), rule, f"'{query.cls}'", choose(query.cls, known))
    for name, spec in file.classes.items():
        for stream in spec.protect:
            if stream not in (known := [*file.streams, *_derived(file)]):
                rule = "what a class protects are tuples of one of streams"
                _refuse(document, ("classes", name, "protect"), rule, f"'{stream}'", choose(stream, known))


def _derived(file: PipelineFile) -> dict[str, str]:
    """The streams that are results of queries, and of which."""
    made = ((name, query.sink.stream) for name, query in file.queries.items() if query.sink)
    return {stream.name: name for name, stream in made if stream}


def _in_order(file: PipelineFile, each: Mapping[str, Mapping[str, str] | None], document: Document) -> list[str]:
    """The queries in the order of the file, but those first whose results others read."""
    derived = _derived(file)
    of = {stream.lower(): name for stream, name in derived.items()}
    found: list[str] = []

    def visit(name: str, behind: tuple[str, ...]) -> None:
        if name in behind:
            way = " -> ".join((*behind[behind.index(name) :], name))
            remedy = "Read another stream in one of them."
            _refuse(document, ("queries", name, "sink"), "no query reads its own results", way, remedy)
        if name not in found:
            text = next(iter((each[name] or {"": file.queries[name].sql}).values()), "")
            for stream in mentioned(text):
                if stream in of:
                    visit(of[stream], (*behind, name))
            found.append(name)

    for name in file.queries if derived else ():
        visit(name, ())
    return found or list(file.queries)


def _check_places(file: PipelineFile, document: Document, folder: Path) -> None:
    """Tables exist, and no two queries write to one place."""
    for name, table in file.tables.items():
        if table.file is not None and not (folder / table.file).exists():
            rule = "a table is a file or a folder that exists"
            remedy = "Check the path; a relative one starts at the folder of this file."
            _refuse(document, ("tables", name, "file"), rule, f"'{folder / table.file}'", remedy)
    taken: dict[Path, str] = {}
    for name, query in file.queries.items():
        if query.sink and query.sink.path:
            place = (folder / query.sink.path).resolve()
            other = next((taken[p] for p in taken if place == p or p in place.parents or place in p.parents), None)
            if other:
                rule = "every query writes to a place of its own"
                got = f"'{query.sink.path}', where query '{other}' writes"
                _refuse(
                    document, ("queries", name, "sink"), rule, got, f"Write to another place, such as out/{name}."
                )
            taken[place] = name


def _refuse(document: Document, loc: Loc, rule: str, got: str, remedy: str, *, key: bool = False) -> NoReturn:
    raise InputError(rule, got, remedy, document.place(loc, key=key))

"""What may stand in a pipeline file: its keys, their types and their defaults."""

from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator
from pydantic.config import JsonDict

from headgate.engine.pipeline.classes import ClassSpec, ShedSpec
from headgate.engine.pipeline.deadlines import DeadlinesSpec
from headgate.engine.pipeline.graphs import LatencyPoints, LossPoints
from headgate.engine.pipeline.lanes import LanesField
from headgate.engine.pipeline.policies import PolicySpec
from headgate.engine.pipeline.sinks import SinkSpec
from headgate.engine.pipeline.sources import SourceSpec
from headgate.engine.pipeline.spec import FilledSpec
from headgate.engine.pipeline.tables import RefreshSpec, TableSpec
from headgate.engine.pipeline.values import FilePath, Identifier, Length, LongerTime, Sql, Switch, Word
from headgate.engine.pipeline.values import Time as Duration
from headgate.engine.regime import AUTO
from headgate.engine.resident.channel import Kind as Channel
from headgate.engine.windows import Clock
from headgate.fields import choice, number, whole

Start = Literal["now", "earliest"]

_NO_OTHERS: JsonDict = {"additionalProperties": False}
"""For editors: entries whose names are no names are mistakes."""


class StreamSpec(FilledSpec):
    """A stream: read once, for all queries over it."""

    noun = "a stream"
    example = "{source: {ticks: {rate: 1000}}, event_time: ts, delay: 2s}"
    source: SourceSpec = Field(description="Where the tuples come from.", examples=["{ticks: {rate: 1000}}"])
    event_time: Word | None = Field(
        None, description="The TIMESTAMP column that windows go by, unless a query says time: arrival."
    )
    delay: Duration = Field(0.0, description="How far event times may be out of order; what comes later is late.")
    idle: LongerTime | None = Field(
        None, description="After so long without a tuple, event time goes on with the clock, so that windows close."
    )

    @model_validator(mode="after")
    def _timed(self) -> "StreamSpec":
        for key in ("delay", "idle"):
            if key in self.model_fields_set and self.event_time is None:
                rule = f"{key} is about event times"
                raise whole(
                    rule, "no event_time", f"Add one, as in event_time: ts, or remove {key}.", key, at_key=True
                )
        return self


class QuerySpec(FilledSpec):
    """A continuous query."""

    noun = "a query"
    example = "{sql: SELECT * FROM ticks WHERE price > 100, sink: {parquet: out/big}}"
    sql: Sql = Field(
        description="Spark SQL over streams and tables. A stream's name means its new tuples, or those of a window.",
        examples=["SELECT * FROM ticks WHERE price > 100"],
    )
    for_each: FilePath | None = Field(
        None, description="A CSV file: a query for each of its rows, with the row's values for {column} in the sql."
    )
    cls: Word = Field("default", alias="class", description="The class of the query: one of classes, if there are.")
    qos: LatencyPoints | None = Field(
        None,
        description="What a result is worth by how long it takes: pairs of a time and a utility, from left to right.",
        examples=["[[0, 1], [500ms, 1], [2s, 0]]"],
    )
    loss: LossPoints | None = Field(
        None,
        description="What results are worth by the share of the tuples that was kept: pairs; it is shown, no more.",
        examples=["[[0, 0], [0.5, 0.9], [1, 1]]"],
    )
    deadline: LongerTime | None = Field(
        None, description="The results of a window are due so long after its end; at most the slide."
    )
    weight: Annotated[float, Field(gt=0), BeforeValidator(number(above=0, such_as=5))] = Field(
        1.0, description="How much is lost where windows have to be thinned for deadlines: less with a great weight."
    )
    scale: Switch = Field(False, description="Counts and sums of a window are scaled up to what was shed.")
    sink: SinkSpec | None = Field(None, description="Where the results go; without one they are counted and dropped.")
    window: Length | None = Field(
        None,
        description="The query is evaluated over windows of this length: a time, or so many rows.",
        examples=["10s", "5 rows"],
    )
    slide: Length | None = Field(None, description="A window begins this often; if not given, at the last's end.")
    time: Annotated[Clock, BeforeValidator(choice("time", get_args(Clock)))] | None = Field(
        None, description="What windows go by: event time, which is the default, or arrival."
    )
    limit: LongerTime = Field(60.0, description="A run that takes longer, in seconds or with a unit, is stopped.")
    start: Annotated[Start, BeforeValidator(choice("start", get_args(Start)))] = Field(
        "now", description="Where a new query begins: at what comes now, or at the earliest tuples that are kept."
    )

    @model_validator(mode="after")
    def _windowed(self) -> "QuerySpec":
        for key in ("slide", "time"):
            if key in self.model_fields_set and self.window is None:
                rule, remedy = f"{key} is about windows", f"Add one, as in window: 10s, or remove {key}."
                raise whole(rule, "no window", remedy, key, at_key=True)
        if self.qos is not None and self.deadline is not None:
            remedy = "Remove one of them; a query with a deadline goes before all others anyway."
            raise whole("a query has a deadline or a QoS graph", "both", remedy, "qos", at_key=True)
        for key, of, such_as in (("deadline", "window", "window: 10s"), ("weight", "deadline", "deadline: 2s")):
            if key in self.model_fields_set and getattr(self, of) is None:
                remedy = f"Add one, as in {such_as}, or remove {key}."
                raise whole(f"{key} is for queries with a {of}", f"no {of}", remedy, key, at_key=True)
        slide = self.slide or self.window
        if isinstance(self.window, str) or isinstance(slide, str):
            self._over_rows()
        elif self.deadline is not None and slide is not None and self.deadline > slide:
            rule = f"a deadline is at most the slide of {slide:g} s: the next window has to begin by then"
            raise whole(rule, f"{self.deadline:g} s", "Give a shorter deadline, or a longer slide.", "deadline")
        return self

    def _over_rows(self) -> None:
        """Windows over rows go by no time."""
        if isinstance(self.slide or self.window, str) != isinstance(self.window, str):
            remedy = "Write window: 5 rows, slide: 1 row."
            raise whole("a window's slide is of what its size is", "rows and a time", remedy, "slide")
        for key in ("time", "deadline"):
            if getattr(self, key) is not None:
                remedy = f"Remove {key}, or give a window of time, as in window: 10s."
                raise whole(f"{key} is for windows of time", "one over rows", remedy, key, at_key=True)


class PipelineFile(FilledSpec):
    """Streams, reference tables, and continuous queries over them."""

    noun = "a pipeline"
    example = "the files in examples/pipelines/"
    name: Word | None = Field(None, description="What the pipeline is called; the name of the file if not given.")
    state: FilePath | None = Field(
        None, description="The folder that keeps streams and progress; <name of the file>.state if not given."
    )
    policy: PolicySpec = Field(
        default_factory=lambda: PolicySpec(name=AUTO), description="Which query runs next; auto if not given."
    )
    fuse: Switch | None = Field(
        None, description="Whether queries over the same stream run together; if not given, unless policy names one."
    )
    lanes: LanesField = Field("auto", description="How many units run at a time: auto, jobs, or numbers.")
    channel: Annotated[Channel, BeforeValidator(choice("channel", get_args(Channel)))] | None = Field(
        None, description="How resident lanes are reached; if not given, unix on one machine and flight on a cluster."
    )
    sync: Switch = Field(False, description="Every commit is on the disk before it counts; outlives a power cut.")
    master: Word | None = Field(
        None, description="The Spark that runs it, such as local[4] or spark://host:7077; this machine if not given."
    )
    jars: list[FilePath] = Field(
        default_factory=list, description="Jars that Spark is started with, such as the driver of a database."
    )
    shed: ShedSpec | None = Field(
        None, description="How load is managed; dilos if not given and a class has a delay target."
    )
    deadlines: DeadlinesSpec | None = Field(
        None, description="How queries with a deadline are served; lrm+ if not given."
    )
    classes: dict[Word, ClassSpec] = Field(
        default_factory=dict,
        description="Classes of queries, by name.",
        examples=["{alerts: {priority: 6, delay_target: 500ms}}"],
    )
    streams: Annotated[dict[Identifier, StreamSpec], Field(min_length=1)] = Field(
        description="The streams, by name.",
        examples=["{ticks: {source: {ticks: {rate: 1000}}}}"],
        json_schema_extra=_NO_OTHERS,
    )
    tables: dict[Identifier, TableSpec] = Field(
        default_factory=dict, description="Reference tables, by name.", json_schema_extra=_NO_OTHERS
    )
    refresh: RefreshSpec | None = Field(
        None, description="What may be spent on refreshing tables; if not given, they are read once."
    )
    queries: Annotated[dict[Identifier, QuerySpec], Field(min_length=1)] = Field(
        description="The queries, by name.",
        examples=["{big: {sql: SELECT * FROM ticks WHERE price > 100}}"],
        json_schema_extra=_NO_OTHERS,
    )

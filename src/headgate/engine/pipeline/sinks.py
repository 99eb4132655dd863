"""The sinks that a pipeline file can name."""

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from headgate.engine import sink
from headgate.engine.pipeline.spec import FilledSpec, OneOf, ShortSpec
from headgate.engine.pipeline.values import Count, FilePath, Identifier, LongerTime, Word
from headgate.engine.pipeline.values import Time as Duration
from headgate.engine.sink.protocol import Sink
from headgate.fields import field


class ParquetSpec(ShortSpec):
    """Results as a folder of Parquet files."""

    noun = "a parquet sink"
    example = "{folder: out/big, every: 10s}"
    main = "folder"
    folder: FilePath = Field(description="The folder, which is empty at first.")
    every: Duration = Field(1.0, description="A file is made so often, if there are results; 0: at every commit.")


class ConsoleSpec(FilledSpec):
    """Results printed as small tables."""

    noun = "a console sink"
    example = "{rows: 20}"
    rows: Count = Field(20, description="How many rows of a run are shown.")


class StreamSinkSpec(ShortSpec):
    """Results as the tuples of a stream."""

    noun = "a stream sink"
    example = "{name: joined, event_time: window_end}"
    main = "name"
    name: Identifier = Field(description="The name of the stream, which other queries read.")
    event_time: Word | None = Field(None, description="The TIMESTAMP column of the results that windows go by.")
    delay: Duration = Field(0.0, description="How far event times may be out of order; what comes later is late.")
    idle: LongerTime | None = Field(
        None, description="After so long without a result, event time goes on with the clock, so that windows close."
    )


def _nothing(value: object) -> bool:
    if value:
        raise field("has no settings", value, "Write sink: discard.")
    return True


Nothing = Annotated[bool, BeforeValidator(_nothing), WithJsonSchema({"type": ["null", "object"], "maxProperties": 0})]


class SinkSpec(OneOf):
    """Where a query's results go."""

    noun = "a sink"
    example = "{parquet: out/big}"
    alone = ("console", "discard")
    parquet: ParquetSpec | None = Field(None, description="A folder of Parquet files; exactly once.")
    jsonl: FilePath | None = Field(None, description="A file of JSON lines; exactly once.")
    stream: StreamSinkSpec | None = Field(None, description="A stream that other queries read; exactly once.")
    console: ConsoleSpec | None = Field(None, description="Printed as small tables; at least once.")
    discard: Nothing | None = Field(None, description="Counted and dropped.")

    @property
    def path(self) -> str | None:
        """The file or folder that is written."""
        return self.parquet.folder if self.parquet else self.jsonl

    def make(self, folder: Path) -> Sink:
        """The sink. Relative paths start at the folder."""
        if self.parquet:
            return sink.parquet(folder / self.parquet.folder, self.parquet.every)
        if self.jsonl:
            return sink.jsonl(folder / self.jsonl)
        if self.stream:
            given = self.stream
            return sink.stream(given.name, event_time=given.event_time, delay=given.delay, idle=given.idle)
        return sink.console(self.console.rows) if self.console else sink.discard()

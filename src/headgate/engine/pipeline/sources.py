"""The sources that a pipeline file can name, with the arguments of the functions in `headgate.engine.source`."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field

from headgate.engine import source
from headgate.engine.pipeline.spec import FilledSpec, OneOf, ShortSpec
from headgate.engine.pipeline.values import (
    Count,
    FilePath,
    LongerTime,
    Options,
    Port,
    Rate,
    Seed,
    Time,
    Word,
)
from headgate.engine.source.auctions import Kind
from headgate.engine.source.files import Form
from headgate.engine.source.kafka import From, OnLoss
from headgate.engine.source.protocol import Source
from headgate.fields import choice, field, number


def _speed(value: object) -> float | str:
    if isinstance(value, str):
        if value == "max":
            return value
        raise field("is a number above 0, or max", value, "Write it like 10, or max.")
    return number(above=0, such_as=10)(value)


Speed = Annotated[Annotated[float, Field(gt=0)] | Literal["max"], BeforeValidator(_speed)]
KindField = Annotated[Kind, BeforeValidator(choice("kind of Nexmark event", get_args(Kind)))]
StartField = Annotated[From, BeforeValidator(choice("start of a topic", get_args(From)))]
OnLossField = Annotated[OnLoss, BeforeValidator(choice("way with lost messages", get_args(OnLoss)))]
FormatField = Annotated[Form, BeforeValidator(choice("format", get_args(Form)))]
Rates = Annotated[list[tuple[Time, Rate]], Field(min_length=1)]

_SCHEMA = "Columns and their types as in Spark's DDL, such as: sym STRING, price DOUBLE, ts TIMESTAMP."
_RATES = "Steps of a load that changes: pairs of a length of time and a rate, as in [[10s, 1000], [10s, 5000]]."
_DISORDER = "By how much event times may lie behind that of an earlier tuple."


class Made(FilledSpec):
    """A source with its arguments."""

    function: ClassVar[str]

    def make(self, folder: Path) -> Source:
        """The source. Relative paths start at the folder."""
        given = self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
        if "path" in given:
            given["path"] = str(folder / given["path"])
        made: Source = getattr(source, self.function)(**given)
        return made


class ReplaySpec(ShortSpec, Made):
    """Files, read at a chosen speed."""

    noun = "a replay source"
    example = "{path: ticks.parquet, speed: 10}"
    main = "path"
    function = "replay"
    path: FilePath = Field(description="A Parquet, CSV or JSON lines file, or a folder or pattern of such files.")
    speed: Speed | None = Field(
        None, description="With a time column how many times as fast, without one tuples per second; or max."
    )
    time: Word | None = Field(None, description="The column that says when a tuple is due.")
    columns: Word | None = Field(None, alias="schema", description=_SCHEMA)
    every: LongerTime | None = Field(None, description="How often a train is cut; 50ms if not given.")
    repeat: Count | None = Field(None, description="How many times the files are read; once if not given.")


class TicksSpec(Made):
    """Generated market ticks: sym, price, vol, side, venue and the event time ts."""

    noun = "a ticks source"
    example = "{rate: 1000, symbols: 50}"
    function = "ticks"
    seed: Seed | None = Field(None, description="The same seed gives the same ticks.")
    rate: Rate | None = Field(None, description="Tuples per second.")
    symbols: Count | None = Field(None, description="How many different values sym has.")
    count: Count | None = Field(None, description="The stream ends after so many tuples.")
    disorder: Time | None = Field(None, description=_DISORDER)
    rates: Rates | None = Field(None, description=_RATES)


class NexmarkSpec(ShortSpec, Made):
    """Generated events of an auction house, as the Nexmark benchmark has them."""

    noun = "a nexmark source"
    example = "{kind: bids, rate: 1000}"
    main = "kind"
    function = "nexmark"
    kind: KindField = Field(description="Which of the events; all kinds come from one numbering.")
    seed: Seed | None = Field(None, description="The same seed gives the same events.")
    rate: Rate | None = Field(None, description="Events of all kinds per second: 46 in 50 are bids, 3 auctions.")
    count: Count | None = Field(None, description="The stream ends after so many events of all kinds.")
    disorder: Time | None = Field(None, description=_DISORDER)
    rates: Rates | None = Field(None, description=_RATES)


class FolderSpec(ShortSpec, Made):
    """A folder that is watched: each new file is read once."""

    noun = "a folder source"
    example = "{path: incoming, format: csv}"
    main = "path"
    function = "folder"
    path: FilePath = Field(description="The folder. Names that begin with . or _ or end in .tmp are left out.")
    format: FormatField | None = Field(None, description="What the files are; by their suffix if not given.")
    columns: Word | None = Field(None, alias="schema", description=_SCHEMA)
    every: LongerTime | None = Field(None, description="How often to look; 1s if not given.")


class SocketSpec(Made):
    """JSON lines over TCP, from any number of clients."""

    noun = "a socket source"
    example = "{port: 9999, schema: 'sym STRING, price DOUBLE'}"
    function = "socket"
    port: Port = Field(description="The port to listen on.", examples=[9999])
    host: Word | None = Field(
        None, description="The address to listen on; 127.0.0.1, this machine alone, by default."
    )
    columns: Word = Field(alias="schema", description=_SCHEMA, examples=["sym STRING, price DOUBLE"])
    every: LongerTime | None = Field(None, description="How often a train is cut; 50ms if not given.")


class KafkaSpec(Made):
    """A topic of Kafka, with JSON objects as values."""

    noun = "a kafka source"
    example = "{topic: ticks, servers: 'broker:9092', schema: 'sym STRING, price DOUBLE'}"
    function = "kafka"
    topic: Word = Field(description="The topic, all of whose partitions are read.", examples=["ticks"])
    servers: Word | None = Field(None, description="Where to ask for it: host:port, or several; localhost:9092.")
    columns: Word = Field(alias="schema", description=_SCHEMA, examples=["sym STRING, price DOUBLE"])
    start: StartField | None = Field(
        None, description="Where a new stream begins: at the latest messages, or the earliest that are there."
    )
    key: Word | None = Field(None, description="A column for the key of the message, as text.")
    timestamp: Word | None = Field(None, description="A column for Kafka's time of the message.")
    on_loss: OnLossField | None = Field(
        None, description="When messages are gone before they were read: stop the stream, or skip and count them."
    )
    group: Word | None = Field(None, description="A consumer group that is told how far the stream has come.")
    password_from: Word | None = Field(
        None, description="The environment variable that has the password of the user in sasl.username."
    )
    every: LongerTime | None = Field(None, description="How often a train is cut; 50ms if not given.")
    options: Options | None = Field(None, description="Other settings of librdkafka, such as security.protocol.")


class SourceSpec(OneOf):
    """Where a stream's tuples come from."""

    noun = "a source"
    example = "{ticks: {rate: 1000}}"
    alone = ("ticks",)
    replay: ReplaySpec | None = Field(None, description="Files, read at a chosen speed.")
    ticks: TicksSpec | None = Field(None, description="Generated market ticks.")
    nexmark: NexmarkSpec | None = Field(None, description="Generated events of an auction house.")
    folder: FolderSpec | None = Field(None, description="A folder whose new files are read.")
    socket: SocketSpec | None = Field(None, description="JSON lines over TCP.")
    kafka: KafkaSpec | None = Field(None, description="A topic of Kafka.")

    @property
    def chosen(self) -> Made:
        """The one that is given."""
        kinds = (self.replay, self.ticks, self.nexmark, self.folder, self.socket, self.kafka)
        return next(kind for kind in kinds if kind is not None)

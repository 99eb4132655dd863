"""A Kafka topic: where its partitions have been read to is in the log, in one transaction with the tuples.

So each message is in the log exactly once, whatever ends when, and what Kafka knows of us does not matter. Tuples of
one partition are in its order; between partitions they are as they came, or by Kafka's time where they come late.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal, get_args

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.engine.secret import password
from headgate.engine.source.json_lines import JsonLines
from headgate.engine.source.protocol import Intake
from headgate.engine.source.schemas import TIMESTAMP, Columns, declared, normalised
from headgate.engine.spans import seconds
from headgate.errors import InputError, choose

From = Literal["latest", "earliest"]
OnLoss = Literal["stop", "skip"]

_OURS = ("bootstrap.servers", "group.id", "enable.auto.commit", "auto.offset.reset", "enable.partition.eof")
"""Settings that are this source's own."""
_PRESET = {"client.id": "headgate", "fetch.wait.max.ms": "50"}
"""What a setting is if it is not given. A server says within this time that a partition has ended."""


@dataclass(frozen=True, slots=True, eq=False)
class Kafka:
    """A topic as a stream. See `kafka`."""

    topic: str
    servers: str
    columns: Columns
    begins: From
    key: str | None
    timestamp: str | None
    on_loss: OnLoss
    group: str | None
    every: float
    password_from: str | None
    options: Mapping[str, str] = field(repr=False)

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - one has to be running for a schema as text
        values = declared(self.columns)
        JsonLines(values)
        _topics().check(self.settings)
        more = [(self.key, pa.string()), (self.timestamp, TIMESTAMP)]
        return normalised(pa.schema([*values, *(pa.field(name, kind) for name, kind in more if name)]))

    def run(self, intake: Intake) -> None:
        _topics().read(self, intake)

    @property
    def settings(self) -> Mapping[str, str | bool]:
        """What Kafka's library is told."""
        fixed = (self.servers, self.group or "headgate", False, "error", True)
        variable = self.password_from
        secret = {"sasl.password": password(variable, "a Kafka user")} if variable else {}
        return {**_PRESET, **self.options, **secret, **dict(zip(_OURS, fixed, strict=True))}


def kafka(
    topic: str,
    servers: str = "localhost:9092",
    *,
    schema: Columns,
    start: From = "latest",
    key: str | None = None,
    timestamp: str | None = None,
    on_loss: OnLoss = "stop",
    group: str | None = None,
    every: str | float = "50ms",
    password_from: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Kafka:
    """The messages of a topic, each with a JSON object as its value; needs `headgate[kafka]`.

    Of an object, keys that the schema does not name are left out, and a column that is not there is NULL. `key` and
    `timestamp` name columns that get the key of the message, as text, and Kafka's time of it. A message without any
    of the columns, or with a value of another type, is refused and counted.

    A stream that is new begins at the `start`, the latest messages or the earliest ones that are there; later it goes
    on behind what is in its log. If messages are gone by then, as the topic has not kept them for long enough, the
    stream stops and says so; with `on_loss="skip"` it goes on behind them, and they are counted as refused.

    How far it has read is also committed to Kafka under a `group`, if one is given, for tools that show who lags
    behind. `options` are settings of librdkafka, such as {"security.protocol": "SASL_SSL", "sasl.username": "me"};
    the password is what the environment has as `password_from`. A train is cut `every` so often, or at 50,000
    messages.
    """
    if not topic.strip() or not servers.strip():
        rule, remedy = "a Kafka source has a topic and servers", "Write kafka('ticks', 'broker:9092', schema='...')."
        raise InputError(rule, f"'{topic}' and '{servers}'", remedy)
    if start not in get_args(From):
        raise InputError("a Kafka source starts at what it knows", f"'{start}'", choose(str(start), get_args(From)))
    if on_loss not in get_args(OnLoss):
        rule = "a Kafka source knows what to do about lost messages"
        raise InputError(rule, f"'{on_loss}'", choose(str(on_loss), get_args(OnLoss)))
    if own := [name for name in _OURS if name in (options or {})]:
        rule, remedy = "a Kafka source sees to some settings itself", f"Leave it out; there are: {', '.join(_OURS)}."
        raise InputError(rule, f"'{own[0]}' among its options", remedy)
    length = seconds(every, "every", above=0)
    of_kafka = dict(options or {})
    return Kafka(topic, servers, schema, start, key, timestamp, on_loss, group, length, password_from, of_kafka)


def _topics() -> ModuleType:
    try:
        from headgate.engine.source import topics  # noqa: PLC0415 - not everybody has Kafka's library
    except ImportError as error:
        rule, remedy = "a Kafka source reads by the package confluent-kafka", "Run pip install 'headgate[kafka]'."
        raise InputError(rule, str(error), remedy) from None
    return topics

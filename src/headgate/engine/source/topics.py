"""Reading the topics of Kafka. The one module that needs its library."""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headgate.engine.source.decode import decode
from headgate.engine.source.json_lines import JsonLines
from headgate.engine.source.kafka import Kafka
from headgate.engine.source.merging import Merging
from headgate.engine.source.protocol import Intake, Rejected
from headgate.engine.source.pump import MOST_ROWS
from headgate.engine.source.schemas import TIMESTAMP
from headgate.errors import InputError, choose

_PATIENCE = 15.0
"""Seconds until servers that do not answer count as not there, when a stream begins."""
_LOOKS = 30.0
"""Seconds from one look for new partitions to the next."""
_POLL = 0.2
"""Seconds until it shows that the source has to stop."""
_SILENT = 1.0
"""Seconds for which others wait for a partition of which more is known to be there."""
_AGAIN = 60.0
"""Seconds until the same trouble is told again."""
_AT_ONCE = 10_000
"""Messages that are taken from Kafka's library at a time."""
_RESET = KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001 - so it is called
_END = KafkaError._PARTITION_EOF  # noqa: SLF001
_FINAL = KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC  # noqa: SLF001
"""What comes in place of messages: those that should come next are gone; there are no more yet; all are gone."""

_log = logging.getLogger(__name__)


def check(settings: Mapping[str, str | bool]) -> None:
    """Raise InputError if Kafka's library does not know a setting, or what it is set to."""
    _consumer(settings, _Trouble()).close()


def read(source: Kafka, intake: Intake) -> None:
    """Append what a topic has until the intake says to stop."""
    trouble = _Trouble()
    with closing(_consumer(source.settings, trouble)) as consumer:
        _Reader(source, consumer, intake, trouble).run()


@dataclass(slots=True)
class _Trouble:
    """What goes wrong that Kafka's library tries to mend itself, such as a server that does not answer."""

    last: str = ""
    told: float = -_AGAIN

    def __call__(self, error: KafkaError) -> None:
        now, text = time.monotonic(), _said(error)
        if text != self.last or now - self.told >= _AGAIN:
            _log.warning("Kafka: %s", text)
            self.told = now
        self.last = text


def _consumer(settings: Mapping[str, str | bool], trouble: _Trouble) -> Consumer:
    try:
        # The library would print by itself, line after line, what it also tells.
        return Consumer({"log_level": 0, **settings, "error_cb": trouble})
    except KafkaException as error:
        rule, remedy = "the options of a Kafka source are those of librdkafka", "Mend it, or leave it out."
        raise InputError(rule, _said(error.args[0]), remedy) from None


class _Received(NamedTuple):
    """A message, or messages that are gone: where the next one is, and when it came."""

    partition: int
    behind: int
    arrived: float
    message: Message | None = None
    gone: Rejected | None = None


class _Reader:
    """Reads all partitions of a topic until it is told to stop, and appends what comes.

    Partitions that are read from far behind are merged by the times of their messages, so that event time does not
    run ahead with the first of them. One that says nothing for a while holds up nobody.
    """

    def __init__(self, source: Kafka, consumer: Consumer, intake: Intake, trouble: _Trouble) -> None:
        self._source, self._consumer, self._intake, self._trouble = source, consumer, intake, trouble
        own = {source.key, source.timestamp}
        columns = [column for column in intake.schema if column.name not in own]
        self._text = JsonLines(pa.schema(columns), lenient=True)
        self._merging = Merging[_Received]()
        self._next: dict[int, int] = {}
        """By partition, the offset behind what is in the log."""
        self._read: dict[int, int] = {}
        """By partition, the offset behind what has been received."""
        self._ends: dict[int, int] = {}
        """By partition, where it ended when it was looked at last."""
        self._heard: dict[int, float] = {}
        """By partition, when something came of it last."""
        self._ended: set[int] = set()
        """Partitions of which there is no more: behind the last message may be what is none, as of a transaction."""
        self._paused: set[int] = set()

    def run(self) -> None:
        self._begin()
        looked, stop = time.monotonic(), False
        while not stop:
            cut = time.monotonic() + self._source.every
            while True:
                self._receive(min(max(cut - time.monotonic(), 0), _POLL))
                stop = self._intake.wait(0)
                if stop or time.monotonic() >= cut or len(self._merging) >= MOST_ROWS:
                    break
            self._append(self._merging.take(MOST_ROWS, self._behind()))
            self._hold_back()
            if time.monotonic() - looked >= _LOOKS:
                looked = time.monotonic()
                self._look()

    def _begin(self) -> None:
        """Go on where the log says, or begin where a new stream does, which is in the log from then on."""
        partitions, state = self._partitions(), self._intake.state
        if state is None:
            at_end = self._source.begins == "latest"
            reach = {each: self._reach(each) for each in partitions}
            self._add({each: behind if at_end else first for each, (first, behind) in reach.items()})
            self._intake.append(self._intake.schema.empty_table(), self._state())
        else:
            if state["topic"] != self._source.topic:
                rule, remedy = "a stream goes on with its topic", "Use that, another name, or a fresh state folder."
                raise InputError(rule, f"'{self._source.topic}' in place of '{state['topic']}'", remedy)
            known = {int(each): offset for each, offset in state["offsets"].items()}
            if gone := sorted(known.keys() - set(partitions)):
                raise _made_anew(f"{self._place(gone[0])}, which is not there any more")
            reach = {each: self._reach(each) for each in partitions}
            self._add({each: known.get(each, first) for each, (first, _) in reach.items()})
        self._ends = {each: behind for each, (_, behind) in reach.items()}

    def _partitions(self) -> Sequence[int]:
        try:
            found = self._consumer.list_topics(self._source.topic, timeout=_PATIENCE).topics[self._source.topic]
            if found.error is None:
                return sorted(found.partitions)
            topics = [name for name in self._consumer.list_topics(timeout=_PATIENCE).topics if name[:2] != "__"]
        except KafkaException as error:
            self._consumer.poll(0)  # hears what has gone wrong
            reason = self._trouble.last or _said(error.args[0])
            rule, remedy = "the servers of a Kafka stream answer", "See that they run, then resume the stream."
            raise InputError(rule, f"'{self._source.servers}': {reason}", remedy) from None
        remedy = choose(self._source.topic, topics) if topics else "There is none yet; make it first."
        raise InputError("the topic of a Kafka stream is there", f"'{self._source.topic}'", remedy)

    def _reach(self, partition: int) -> tuple[int, int]:
        """The first offset of a partition that is there, and the one behind the last."""
        try:
            at = TopicPartition(self._source.topic, partition)
            found = self._consumer.get_watermark_offsets(at, timeout=_PATIENCE)
        except KafkaException as error:
            rule, remedy = "a Kafka server says how far a partition goes", "See how it is, then resume the stream."
            got = f"nothing of {self._place(partition)}: {_said(error.args[0])}"
            raise InputError(rule, got, remedy) from None
        return found[0], found[1]

    def _add(self, offsets: Mapping[int, int]) -> None:
        """Read partitions from these offsets on, besides those that are read."""
        self._next |= offsets
        self._read |= offsets
        self._heard |= dict.fromkeys(offsets, time.monotonic())
        self._assign()

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(self._source.topic, each, at) for each, at in self._read.items()])
        self._paused.clear()

    def _look(self) -> None:
        """Read partitions as well that have been added."""
        try:
            reach = {each: self._reach(each) for each in self._partitions() if each not in self._next}
        except InputError as error:
            _log.warning("Kafka topic %s: %s", self._source.topic, error)
            return
        if reach:
            _log.info("Kafka topic %s has more partitions: %s", self._source.topic, ", ".join(map(str, reach)))
            self._add({each: first for each, (first, _) in reach.items()})

    def _receive(self, patience: float) -> None:
        """Take what comes, with the time at which it did: wait for a message, and take what is there with it."""
        found = self._consumer.consume(1, patience)
        if found:
            found += self._consumer.consume(_AT_ONCE, 0)
        now, heard, skipped = self._intake.now(), time.monotonic(), False
        for message in found:
            partition, offset, error = message.partition(), message.offset(), message.error()
            if partition is None or offset is None or (error is not None and error.code() not in (_RESET, _END)):
                _note(self._source.topic, error)
            elif error is None:
                self._read[partition], self._heard[partition] = offset + 1, heard
                self._ended.discard(partition)
                self._merging.add(partition, message.timestamp()[1], _Received(partition, offset + 1, now, message))
            elif error.code() == _END:
                self._ended.add(partition)
            else:
                self._skip(partition, now)
                skipped = True
        if skipped:
            self._assign()

    def _behind(self) -> set[int]:
        """The partitions of which more is known to be there, unless they have been silent for some time."""
        now = time.monotonic()
        for partition in self._read:
            _, end = self._consumer.get_watermark_offsets(TopicPartition(self._source.topic, partition), cached=True)
            self._ends[partition] = max(self._ends.get(partition, 0), end)
        return {
            partition
            for partition, at in self._read.items()
            if at < self._ends[partition] and partition not in self._ended and now - self._heard[partition] < _SILENT
        }

    def _hold_back(self) -> None:
        """Fetch no more for now of partitions that are far ahead of others."""
        lengths = self._merging.lengths
        room = max(_AT_ONCE, 2 * MOST_ROWS // max(1, len(self._read)))
        full = {partition for partition, length in lengths.items() if length >= room}
        spare = {partition for partition in self._paused if lengths[partition] < room / 2}
        if more := full - self._paused:
            self._consumer.pause([TopicPartition(self._source.topic, each) for each in more])
        if spare:
            self._consumer.resume([TopicPartition(self._source.topic, each) for each in spare])
            self._heard |= dict.fromkeys(spare, time.monotonic())
        self._paused = self._paused - spare | more

    def _skip(self, partition: int, now: float) -> None:
        """Messages that should come next are gone: note them and go on at the first that is there, or stop."""
        at, (first, behind) = self._read[partition], self._reach(partition)
        place = self._place(partition)
        if at > behind:
            raise _made_anew(f"{place}, which ends at {behind} and was read to {at}")
        gap = f"{first - at} messages are gone from the topic before they were read"
        if self._source.on_loss == "stop":
            remedy = "Have the topic keep them for longer, and register the stream with on_loss='skip' to go on."
            raise InputError("a stream reads every message of its topic", f"{place} from {at} on: {gap}", remedy)
        _log.warning("%s: %s (%d to %d)", place, gap, at, first - 1)
        self._read[partition] = first
        gone = Rejected("", gap, f"{place}@{at}")
        self._merging.add(partition, 0, _Received(partition, first, now, gone=gone))

    def _append(self, received: Sequence[_Received]) -> None:
        if not received:
            return
        for each in received:
            self._next[each.partition] = each.behind
        read = [(each.message, each.arrived) for each in received if each.message is not None]
        messages = [message for message, _ in read]
        values = [message.value() for message in messages]
        found = decode(self._text, [value or b"" for value in values], lambda i: self._at(messages[i]))
        empty = [
            Rejected("", "no value", self._at(message))
            for message, value in zip(messages, values, strict=True)
            if not (value or b"").strip()
        ]
        rows = self._with_envelope(found.rows, [messages[i] for i in found.lines])
        arrived = np.maximum.accumulate(np.array([at for _, at in read], np.float64))[found.lines]
        gone = (each.gone for each in received if each.gone is not None)
        rejected = [*gone, *empty, *(row for _, row in found.rejected)]
        self._intake.append(rows, self._state(), arrived=arrived, rejected=rejected)
        self._commit()

    def _with_envelope(self, rows: pa.Table, messages: Sequence[Message]) -> pa.Table:
        """The tuples with what Kafka says of their messages, in columns of its own."""
        columns = {name: rows[name] for name in rows.column_names}
        if self._source.key:
            keys = [message.key() for message in messages]
            texts = [key.decode(errors="replace") if isinstance(key, bytes) else key for key in keys]
            columns[self._source.key] = pa.array(texts, pa.string())
        if self._source.timestamp:
            stamps = (message.timestamp() for message in messages)
            micros = [at * 1000 if kind else None for kind, at in stamps]
            columns[self._source.timestamp] = pa.array(micros, pa.int64()).cast(TIMESTAMP)
        return pa.table([columns[name] for name in self._intake.schema.names], schema=self._intake.schema)

    def _commit(self) -> None:
        """Tell Kafka how far the log has come, for its own tools; nothing here goes by it."""
        if self._source.group:
            reached = [TopicPartition(self._source.topic, each, at) for each, at in self._next.items()]
            self._consumer.commit(offsets=reached, asynchronous=True)

    def _state(self) -> dict[str, Any]:
        return {"topic": self._source.topic, "offsets": {str(each): at for each, at in self._next.items()}}

    def _place(self, partition: int | None) -> str:
        return f"{self._source.topic}[{partition}]"

    def _at(self, message: Message) -> str:
        return f"{self._place(message.partition())}@{message.offset()}"


def _note(topic: str, error: KafkaError | None) -> None:
    """Look at what came in place of a message: Kafka's library goes on by itself, or it is for good."""
    if error is None:
        return
    if error.code() >= 0 or error.code() in _FINAL or error.fatal():
        raise InputError(f"Kafka topic '{topic}' can be read", _said(error), "See to it, then resume the stream.")
    _log.warning("Kafka topic %s: %s", topic, _said(error))


def _made_anew(got: str) -> InputError:
    remedy = "If it was made anew, begin with another name for the stream, or a fresh folder."
    return InputError("a topic keeps its partitions and the numbers of its messages", got, remedy)


def _said(error: KafkaError) -> str:
    return str(error.str()).strip()

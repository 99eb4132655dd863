"""Topics over real connections, of the cluster that Kafka's library brings along for tests."""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from engine.live import until
from engine.source.intake import PATIENCE, Live, running, until_taken
from headgate.engine import sink, source
from headgate.engine.engine import Engine
from headgate.engine.source import topics
from headgate.errors import InputError

SCHEMA = pa.schema([("sym", pa.string()), ("n", pa.int64())])
PARTITIONS = 4
"""So many has a topic of that cluster."""


class Cluster:
    """A server, and what is written to it."""

    def __init__(self):
        self.producer = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self.producer.list_topics(timeout=PATIENCE).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"

    def write(self, *values, topic="ticks", partition=0, **how):
        for value in values:
            text = value if value is None or isinstance(value, bytes) else json.dumps(value)
            self.producer.produce(topic, text, partition=partition, **how)
        assert self.producer.flush(PATIENCE) == 0


@pytest.fixture(scope="module")
def _cluster():
    return Cluster()


@pytest.fixture
def cluster(_cluster, request):
    """With a topic of the test's own, which is there before anything reads it."""
    _cluster.topic = request.node.name.replace("[", "-").strip("]")
    assert _cluster.producer.list_topics(_cluster.topic, timeout=PATIENCE).topics[_cluster.topic].error is None
    return _cluster


def made(cluster, **how):
    how = {"schema": SCHEMA, "start": "earliest", "every": "20ms"} | how
    return source.kafka(cluster.topic, cluster.servers, **how)


def ticks(*numbers):
    return [{"sym": "a", "n": n} for n in numbers]


def numbers(intake):
    return intake.rows["n"].to_pylist()


def test_every_partition_is_read_in_its_order(cluster):
    for partition in range(PARTITIONS):
        cluster.write(*ticks(*range(partition, 400, PARTITIONS)), topic=cluster.topic, partition=partition)
    with running(made(cluster)) as intake:
        until_taken(intake, 400)
    found = numbers(intake)
    assert sorted(found) == list(range(400))
    for partition in range(PARTITIONS):
        assert [n for n in found if n % PARTITIONS == partition] == list(range(partition, 400, PARTITIONS))
    assert intake.state == {"topic": cluster.topic, "offsets": {str(each): 100 for each in range(PARTITIONS)}}


def test_a_stream_that_starts_at_the_latest_begins_behind_what_is_there_also_if_it_is_stopped_at_once(cluster):
    cluster.write(*ticks(1, 2), topic=cluster.topic)
    latest = made(cluster, start="latest")
    with running(latest) as intake:
        until(lambda: intake.failure or intake.state is not None)
    cluster.write(*ticks(3, 4), topic=cluster.topic)
    with running(latest, state=intake.state) as later:
        until_taken(later, 2)
    assert not intake.taken
    assert numbers(later) == [3, 4]


def test_after_any_append_the_stream_goes_on_behind_it(cluster):
    cluster.write(*ticks(*range(50)), topic=cluster.topic, partition=1)
    cluster.write(*ticks(*range(50, 90)), topic=cluster.topic, partition=2)
    with running(made(cluster)) as whole:
        until_taken(whole, 90)
        cluster.write(*ticks(90), topic=cluster.topic, partition=3)
        until_taken(whole, 91)
        cluster.write(*ticks(91, 92), topic=cluster.topic, partition=2)
        until_taken(whole, 93)
    taken = 0
    for train, state in zip(whole.trains, whole.states, strict=True):
        taken += train.num_rows
        with running(made(cluster), state=state) as rest:
            until_taken(rest, 93 - taken)
        assert sorted(numbers(whole)[:taken] + numbers(rest)) == list(range(93))


def test_messages_are_taken_as_they_are_meant_and_others_refused_with_the_place(cluster):
    values = [
        {"n": 1},
        {"sym": "b", "n": 2, "more": [1]},
        b'{\n "sym": "c",\n "n": 3\n}',
        None,
        b"",
        b"tick",
        {"n": "4"},
        {"other": 1},
        b"\xff",
    ]
    cluster.write(*values, topic=cluster.topic)
    with running(made(cluster)) as intake:
        until_taken(intake, len(values))
    assert intake.rows.to_pylist() == [{"sym": None, "n": 1}, {"sym": "b", "n": 2}, {"sym": "c", "n": 3}]
    assert sorted((row.place, row.reason) for row in intake.rejected) == [
        (f"{cluster.topic}[0]@3", "no value"),
        (f"{cluster.topic}[0]@4", "no value"),
        (f"{cluster.topic}[0]@5", "not JSON: Expecting value at character 1"),
        (f"{cluster.topic}[0]@6", "column 'n' is BIGINT, got \"4\""),
        (f"{cluster.topic}[0]@7", "no column of the stream is there"),
        (f"{cluster.topic}[0]@8", "not UTF-8"),
    ]


def test_the_key_and_the_time_of_a_message_can_be_columns(cluster):
    cluster.write(*ticks(1), topic=cluster.topic, key="k", timestamp=1_767_225_600_123)
    cluster.write(*ticks(2), topic=cluster.topic, timestamp=1_767_225_601_000)
    with running(made(cluster, key="who", timestamp="at")) as intake:
        until_taken(intake, 2)
    found = intake.rows.to_pylist()
    assert [row["who"] for row in found] == ["k", None]
    assert [row["at"].isoformat() for row in found] == [
        "2026-01-01T00:00:00.123000+00:00",
        "2026-01-01T00:00:01+00:00",
    ]
    with pytest.raises(InputError, match="names of their own; got 'n' twice"):
        made(cluster, key="N").schema(None)


def test_messages_arrive_when_they_are_received(cluster):
    with running(made(cluster)) as intake:
        cluster.write(*ticks(1), topic=cluster.topic)
        until_taken(intake, 1)
        between = time.time()
        cluster.write(*ticks(2), topic=cluster.topic)
        until_taken(intake, 2)
    (first,), (second,) = (times for times in intake.arrived if len(times))
    assert first < between < second < time.time()


def test_partitions_that_are_added_are_read_from_their_beginning(cluster, monkeypatch):
    monkeypatch.setattr(topics, "_LOOKS", 0.1)
    cluster.write(*ticks(1), topic=cluster.topic, partition=0)
    cluster.write(*ticks(2), topic=cluster.topic, partition=3)
    with running(made(cluster)) as intake:
        until_taken(intake, 2)
    fewer = {"topic": cluster.topic, "offsets": {"0": 1, "1": 0}}
    with running(made(cluster, start="latest"), state=fewer) as later:
        until_taken(later, 1)
    assert numbers(later) == [2]


def test_partitions_that_are_read_from_far_behind_come_in_the_order_of_their_times(cluster, monkeypatch):
    # None of them is silent, however slow the server.
    monkeypatch.setattr(topics, "_SILENT", 3600.0)
    for partition in range(PARTITIONS):
        for n in range(partition, 2000, PARTITIONS):
            cluster.producer.produce(cluster.topic, json.dumps({"n": n}), partition=partition, timestamp=1000 + n)
    assert cluster.producer.flush(PATIENCE) == 0
    with running(made(cluster)) as intake:
        until_taken(intake, 2000)
    assert numbers(intake) == list(range(2000))


def test_a_partition_whose_last_entries_are_no_messages_holds_up_nobody(cluster):
    writer = Producer({"bootstrap.servers": cluster.servers, "transactional.id": "t", "log_level": 0})
    writer.init_transactions(PATIENCE)
    with running(made(cluster)) as intake:
        for n in range(4):
            writer.begin_transaction()
            writer.produce(cluster.topic, json.dumps({"n": n}), partition=n % 2)
            writer.commit_transaction(PATIENCE)
            until_taken(intake, n + 1)
    assert numbers(intake) == [0, 1, 2, 3]


def test_on_an_engine_each_message_gives_its_result_once_also_if_it_is_stopped_in_between(cluster, spark, tmp_path):
    for count in (100, 250):
        for n in range(0 if count == 100 else 100, count):
            cluster.producer.produce(cluster.topic, json.dumps({"n": n}), partition=n % PARTITIONS)
        assert cluster.producer.flush(PATIENCE) == 0
        with Engine(spark, tmp_path / "state") as engine:
            engine.stream("ticks", made(cluster))
            engine.query("even", "SELECT n FROM ticks WHERE n % 2 = 0", sink=sink.parquet(tmp_path / "out"))
            engine.start()
            until(lambda: engine.queries["even"].progress.cursors["ticks"] == count)  # noqa: B023 - used at once
    found = pq.read_table(tmp_path / "out").column("n").to_pylist()
    assert sorted(found) == list(range(0, 250, 2))


@pytest.fixture
def gone(cluster):
    """The state of a stream whose next messages the server, which keeps 5 MB, has let go; and all that is left."""
    long = "x" * 500_000
    cluster.write(*({"sym": long, "n": n} for n in range(20)), topic=cluster.topic)
    with running(made(cluster)) as intake:
        # They come some at a time, the last one last.
        until(lambda: intake.failure or numbers(intake)[-1:] == [19])
    left = numbers(intake)
    assert 0 < len(left) < 18
    return {"topic": cluster.topic, "offsets": {str(each): 2 * (each == 0) for each in range(PARTITIONS)}}, left


def test_a_stream_whose_messages_are_gone_stops_and_says_so(cluster, gone):
    state, left = gone
    intake = Live(SCHEMA, state=state)
    with pytest.raises(InputError) as told:
        made(cluster).run(intake)
    assert f"{cluster.topic}[0] from 2 on: {left[0] - 2} messages are gone" in str(told.value)
    assert "on_loss='skip'" in told.value.remedy
    assert intake.state == state


def test_a_stream_that_skips_messages_that_are_gone_counts_them(cluster, gone):
    state, left = gone
    with running(made(cluster, on_loss="skip"), state=state) as intake:
        until_taken(intake, len(left) + 1)
    assert numbers(intake) == left
    ((place, reason),) = {(row.place, row.reason) for row in intake.rejected}
    assert (place, reason) == (
        f"{cluster.topic}[0]@2",
        f"{left[0] - 2} messages are gone from the topic before they were read",
    )


def test_a_topic_that_was_made_anew_is_not_read_as_if_it_were_the_same(cluster):
    cluster.write(*ticks(1), topic=cluster.topic)
    offsets = dict.fromkeys(map(str, range(PARTITIONS)), 0)
    with pytest.raises(InputError, match="ends at 1 and was read to 7"):
        made(cluster).run(Live(SCHEMA, state={"topic": cluster.topic, "offsets": offsets | {"0": 7}}))
    with pytest.raises(InputError, match=r"\[9\], which is not there any more"):
        made(cluster).run(Live(SCHEMA, state={"topic": cluster.topic, "offsets": offsets | {"9": 0}}))
    with pytest.raises(InputError, match="in place of 'other'"):
        made(cluster).run(Live(SCHEMA, state={"topic": "other", "offsets": offsets}))


def test_how_far_a_stream_has_come_is_told_to_a_group(cluster):
    cluster.write(*ticks(1, 2, 3), topic=cluster.topic, partition=1)
    with running(made(cluster, group="headgate-test")) as intake:
        until_taken(intake, 3)
    at = topics.TopicPartition(cluster.topic, 1)
    with topics.closing(
        topics.Consumer({"bootstrap.servers": cluster.servers, "group.id": "headgate-test"})
    ) as other:
        (found,) = other.committed([at], timeout=PATIENCE)
    assert found.offset == 3


def test_a_topic_that_is_not_there_is_named_beside_those_that_are(cluster):
    cluster.write(*ticks(1), topic="prices")
    with pytest.raises(InputError, match=r"got 'prizes'\. Did you mean 'prices'"):
        source.kafka("prizes", cluster.servers, schema=SCHEMA).run(Live(SCHEMA))


def test_servers_that_do_not_answer_are_told_with_what_was_heard(monkeypatch):
    monkeypatch.setattr(topics, "_PATIENCE", 5.0)
    with pytest.raises(InputError, match=r"'127.0.0.1:1': .*Connection refused.*resume the stream"):
        source.kafka("ticks", "127.0.0.1:1", schema=SCHEMA).run(Live(SCHEMA))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"start": "now"}, "got 'now'. Choose one of latest, earliest"),
        ({"on_loss": "fail"}, "got 'fail'. Choose one of stop, skip"),
        ({"every": 0}, "every"),
        ({"options": {"group.id": "x"}}, "got 'group.id' among its options"),
        ({"options": {"no.such": "x"}}, 'No such configuration property: "no.such"'),
        ({"options": {"fetch.min.bytes": "many"}}, "fetch.min.bytes"),
        ({"password_from": "NO_SUCH_VARIABLE"}, "no variable NO_SUCH_VARIABLE. Set NO_SUCH_VARIABLE."),
        ({"topic": " "}, "has a topic and servers"),
    ],
)
def test_arguments_that_cannot_be_are_refused_before_anything_runs(how, said):
    with pytest.raises(InputError) as told:
        source.kafka(**({"topic": "ticks", "schema": SCHEMA} | how)).schema(None)
    assert said in str(told.value)


def test_a_password_is_in_the_environment_and_not_in_what_is_shown(monkeypatch):
    monkeypatch.setenv("BROKER_PASSWORD", "xyzzy")
    secret = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "me"}
    made = source.kafka("ticks", schema=SCHEMA, password_from="BROKER_PASSWORD", options=secret)
    assert made.schema(None) == SCHEMA
    assert made.settings["sasl.password"] == "xyzzy"
    assert "xyzzy" not in repr(made)

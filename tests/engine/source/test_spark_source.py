"""A streaming DataFrame as a source, on real Spark: every batch once, across restarts and failures."""

import shutil
import threading

import pyarrow as pa
import pytest

from engine.source.intake import CrashError, Memory
from headgate.engine import source
from headgate.errors import HeadgateError, InputError

ONCE = {"availableNow": True}


@pytest.fixture
def numbers(spark, tmp_path):
    """A stream of the JSON files in a folder, one file per batch."""
    (tmp_path / "in").mkdir()
    reader = spark.readStream.schema("n BIGINT, at TIMESTAMP").option("maxFilesPerTrigger", 1)
    return reader.json(str(tmp_path / "in"))


def put(tmp_path, *ns):
    for n in ns:
        (tmp_path / "in" / f"{n}.json").write_text(f'{{"n":{n},"at":"2026-01-01T00:00:00Z"}}\n')


def intake_of(made, tmp_path, spark, **how):
    return Memory(made.schema(spark), folder=str(tmp_path / "state"), **how)


def test_every_batch_is_a_train_and_a_restart_goes_on_behind_it(spark, numbers, tmp_path):
    made = source.spark(numbers, trigger=ONCE)
    put(tmp_path, 1, 2)
    first = intake_of(made, tmp_path, spark)
    assert first.schema == pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", tz="UTC"))])
    made.run(first)
    assert sorted(first.rows["n"].to_pylist()) == [1, 2]
    assert [train.num_rows for train in first.trains] == [1, 1]
    assert first.state == {"batch": 1}
    put(tmp_path, 3)
    second = intake_of(made, tmp_path, spark, state=first.state)
    made.run(second)
    assert second.rows["n"].to_pylist() == [3]
    assert second.state == {"batch": 2}


def test_a_batch_that_was_appended_but_not_noted_by_spark_is_not_appended_again(spark, numbers, tmp_path):
    made = source.spark(numbers, trigger=ONCE)
    put(tmp_path, 1)
    first = intake_of(made, tmp_path, spark, crash=1)
    with pytest.raises(HeadgateError) as told:
        made.run(first)
    assert isinstance(told.value.__cause__, CrashError)
    assert first.rows["n"].to_pylist() == [1]
    put(tmp_path, 2)
    second = intake_of(made, tmp_path, spark, state=first.state)
    made.run(second)
    assert second.rows["n"].to_pylist() == [2]


def test_a_stop_ends_the_query_and_what_was_not_appended_comes_after_the_restart(spark, numbers, tmp_path):
    made = source.spark(numbers, trigger={"processingTime": "10 milliseconds"})
    put(tmp_path, *range(6))

    class Stopping(Memory):
        def wait(self, seconds):
            return threading.Event().wait(seconds) or len(self.trains) >= 2

    first = Stopping(made.schema(spark), folder=str(tmp_path / "state"))
    made.run(first)
    assert not spark.streams.active
    assert len(first.trains) >= 2
    second = intake_of(made, tmp_path, spark, state=first.state)
    source.spark(numbers, trigger=ONCE).run(second)
    assert sorted(first.rows["n"].to_pylist() + second.rows["n"].to_pylist()) == list(range(6))


def test_an_error_of_the_query_is_told_without_its_java_trace(spark, numbers, tmp_path):
    made = source.spark(numbers.selectExpr("assert_true(n < 0, 'too high') AS x", "n"), trigger=ONCE)
    put(tmp_path, 1)
    with pytest.raises(HeadgateError, match="streaming query failed") as told:
        made.run(intake_of(made, tmp_path, spark))
    assert "\n" not in str(told.value)


def test_an_error_of_the_intake_is_told_as_it_is(spark, numbers, tmp_path):
    class Full(Memory):
        def append(self, rows, state, **how):
            raise HeadgateError("the disk is full")

    made = source.spark(numbers, trigger=ONCE)
    put(tmp_path, 1)
    with pytest.raises(HeadgateError, match=r"^the disk is full$"):
        made.run(Full(made.schema(spark), folder=str(tmp_path / "state")))


def test_without_its_checkpoint_a_begun_stream_does_not_run(spark, numbers, tmp_path):
    made = source.spark(numbers, trigger=ONCE)
    put(tmp_path, 1)
    first = intake_of(made, tmp_path, spark)
    made.run(first)
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(InputError, match="checkpoint"):
        made.run(intake_of(made, tmp_path, spark, state=first.state))


def test_a_function_makes_the_frame_with_the_session_it_gets(spark, tmp_path):
    made = source.spark(lambda own: own.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load())
    intake = intake_of(made, tmp_path, spark)
    assert intake.schema.names == ["timestamp", "value"]

    class Stopping(Memory):
        def wait(self, seconds):
            return threading.Event().wait(seconds) or len(self.trains) >= 1

    live = Stopping(intake.schema, folder=intake.folder)
    made.run(live)
    assert sorted(live.trains[0]["value"].to_pylist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("what", ["a table", None])
def test_what_is_no_streaming_frame_is_refused(spark, what):
    with pytest.raises(InputError, match="streaming DataFrame"):
        source.spark(what or spark.range(3))
    with pytest.raises(InputError, match="streaming DataFrame"):
        source.spark(lambda own: what or own.range(3)).schema(spark)

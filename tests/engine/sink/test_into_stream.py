"""Results that are a stream: whatever is cut off between two steps, each is a tuple of it once."""

import numpy as np
import pyarrow as pa
import pytest

from engine.log.logs import SCHEMA, opened, table
from headgate.engine.intake import LiveStream
from headgate.engine.sink import stream
from headgate.engine.sink.into_stream import Results, columns
from headgate.engine.sink.protocol import Opening
from headgate.errors import HeadgateError, InputError


class Place:
    """A folder, and each time that it is begun anew a log and a sink, as in a new process."""

    def __init__(self, folder):
        self.folder, self.log = folder, None

    def begin(self, last=None):
        if self.log:
            self.log.manifest.close()
        self.log = opened(self.folder, name="joined")
        sink = stream("joined", event_time="t")
        live = LiveStream(self.log, Results("q", SCHEMA, lambda: False), self.folder / "source", None)
        sink.attach(live, self.folder / "derived")
        sink.open(Opening("q", SCHEMA, None, last))
        return sink

    def values(self):
        return [v for train in self.log.trains for v in self.log.rows(train).column("v").to_pylist()]

    def waiting(self):
        return [file.name for file in (self.folder / "derived").iterdir()]


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    made.log.manifest.close()


def rows(first, count):
    return table(list(range(first, first + count)), first=first)


def test_a_run_is_a_train_once_it_is_published(place):
    sink = place.begin()
    receipt = sink.stage(1, rows(0, 3), np.array([5.0, 6.0, 6.5]))
    assert place.values() == []
    sink.publish(receipt)
    sink.publish(receipt)
    sink.publish(sink.stage(4, rows(3, 2), np.array([6.0, 9.0])))
    assert place.values() == [0, 1, 2, 3, 4]
    assert place.waiting() == []


def test_tuples_arrive_when_they_were_due_as_results_and_in_order(place):
    sink = place.begin()
    sink.publish(sink.stage(1, rows(0, 3), np.array([5.0, 7.0, 6.5])))
    (train,) = place.log.trains
    assert place.log.times(train, "arrival").tolist() == [5_000_000, 7_000_000, 7_000_000]


def test_what_was_staged_and_not_committed_never_was(place):
    sink = place.begin()
    last = sink.stage(1, rows(0, 3), np.zeros(3))
    sink.publish(last)
    sink.stage(2, rows(3, 2), np.zeros(2))
    sink = place.begin(last)
    assert place.waiting() == []
    sink.publish(sink.stage(2, rows(3, 4), np.zeros(4)))
    assert place.values() == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("appended", [False, True])
def test_what_was_committed_is_there_after_a_crash_whether_it_was_appended_or_not(place, appended):
    sink = place.begin()
    last = sink.stage(1, rows(0, 3), np.zeros(3))
    if appended:
        # The process dies between the append and the end of the file.
        place.log.append(rows(0, 3), {"run": 1})
    place.begin(last)
    assert place.values() == [0, 1, 2]
    assert place.waiting() == []


def test_a_committed_run_that_is_gone_is_told_of(place):
    sink = place.begin()
    last = sink.stage(1, rows(0, 3), np.zeros(3))
    (place.folder / "derived" / place.waiting()[0]).unlink()
    with pytest.raises(HeadgateError, match=r"query 'q' cannot read .*, which stream 'joined' has yet to get"):
        place.begin(last)


def test_a_query_that_begins_anew_does_not_go_on_with_the_stream_of_another(place):
    sink = place.begin()
    sink.publish(sink.stage(1, rows(0, 3), np.zeros(3)))
    for last in (None, {"file": "out.jsonl", "length": 7}):
        with pytest.raises(InputError, match="a stream that query 'q' begins is new; got 'joined', which has tuples"):
            place.begin(last)


def test_the_columns_are_those_of_the_results_without_the_share_that_was_kept():
    assert columns("q", pa.schema([*SCHEMA, ("_kept", pa.float64())])) == SCHEMA
    with pytest.raises(InputError, match="names of their own; got '_time'"):
        columns("q", pa.schema([("_time", pa.int64())]))
    with pytest.raises(InputError, match="'v' twice"):
        columns("q", pa.schema([*SCHEMA, ("v", pa.int64())]))


def test_another_engine_does_not_take_it_over(place):
    sink = place.begin()
    for take in (sink.fence, sink.take_over):
        with pytest.raises(InputError, match="goes on with the engine that it began with; got query 'q' elsewhere"):
            take(Opening("q", SCHEMA, None, None))


def test_without_an_engine_there_is_no_stream():
    with pytest.raises(InputError, match="results become a stream of an engine"):
        stream("joined").publish({"run": 1})

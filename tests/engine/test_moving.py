"""Where an instance of a query ends: behind what it has given out, and not before the next one can be there."""

import json
from collections import Counter
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.logs import feed, opened, table
from headgate import Engine, sink, source
from headgate.bench.rack import results
from headgate.engine.evaluation.closed import ClosedWindows
from headgate.engine.log.progress import Progress
from headgate.engine.moving import HANDOVER, handed_over, last_window
from headgate.engine.windows import ENDED, NEVER, Window

SECOND = 1_000_000


class Going:
    """A stream by its watermark and its pace."""

    def __init__(self, mark, pace):
        self._mark, self._pace = mark, pace

    def watermark(self, time):
        return self._mark

    def pace(self, time):
        return self._pace


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(0, 10_000),
    st.integers(0, 100),
    st.floats(0, 50),
    st.booleans(),
)
def test_the_old_instance_ends_behind_what_it_gave_out_and_the_new_one_has_time_to_come(
    size, slide, mark, lag, pace, rows
):
    window = Window(size, slide, "rows" if rows else "event")
    closed = mark - lag
    last = last_window(window, closed, handed_over(window, closed, [Going(mark, pace)]))
    assert (last - size) % slide == 0
    assert last > closed - slide
    first_of_next, now = last + slide, min(mark, closed + slide)
    assert first_of_next >= now + round(pace * HANDOVER)
    assert last < max(closed, now + round(pace * HANDOVER)) + slide


def test_a_stream_that_has_ended_or_not_begun_is_waited_for_by_nobody():
    window = Window(4, 2)
    assert handed_over(window, 8, [Going(ENDED, 1.0)]) == NEVER
    assert handed_over(window, 8, [Going(8, 1.0), Going(NEVER, 0.0)]) == NEVER
    assert handed_over(window, NEVER, [Going(8, 1.0)]) == NEVER


@pytest.mark.parametrize(("kind", "pace"), [("event", 2 * SECOND), ("arrival", SECOND), ("rows", 10)])
def test_the_pace_of_a_stream_is_that_of_the_last_seconds(tmp_path, kind, pace):
    log = opened(tmp_path)
    assert log.pace(kind) == 0.0
    came = [i * SECOND // 10 for i in range(200)]
    times = [(i * SECOND // 10) * (2 if i >= 100 else 1) for i in range(200)]
    feed(log, [[time] for time in times], came)
    assert log.pace(kind) == pytest.approx(pace)
    log.end()
    assert log.pace(kind) == 0.0


def test_windows_over_rows_stop_where_they_should(tmp_path):
    log = opened(tmp_path)
    log.append(table(list(range(10))), {}, arrived=np.arange(10.0))
    windows = ClosedWindows({"s": log}, Window(3, 1, "rows"))
    windows.until = 5
    assert windows.next(Progress(cursors={"s": 0}, closed=4)).end == 5
    assert windows.next(Progress(cursors={"s": 0}, closed=5)) is None


def parquet_rows(folder):
    return results(folder / "out")


def json_rows(folder):
    lines = chain.from_iterable(file.read_text().splitlines() for file in folder.glob("out.*.jsonl"))
    return Counter((json.loads(line)["v"],) for line in lines)


@pytest.mark.parametrize(
    ("kind", "out", "read"), [(sink.parquet, "out", parquet_rows), (sink.jsonl, "out.jsonl", json_rows)]
)
def test_the_rest_of_an_instance_goes_where_the_query_writes_under_whatever_name_it_runs(
    spark, tmp_path, kind, out, read
):
    for name, label in (("q", "000001"), ("q__tail2", "000002")):
        with Engine(spark, tmp_path / label, lanes={"jobs": 1, "resident": 0}) as engine:
            engine.stream("s", source.rows(pa.table({"v": [1, 2, 3]})))
            engine.query(name, "SELECT v FROM s", sink=kind(tmp_path / out), instance=label, of="q")
            engine.run()
    assert read(tmp_path) == Counter({(1,): 2, (2,): 2, (3,): 2})

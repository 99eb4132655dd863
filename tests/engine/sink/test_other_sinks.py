"""Sinks that keep nothing on disk."""

import datetime as dt
import io

import pyarrow as pa
import pytest

from engine.sink.openings import SCHEMA, opened, run, table
from headgate.engine import sink
from headgate.errors import HeadgateError

# Memory.


def test_memory_shows_published_runs_as_one_table():
    kept = opened(sink.memory())
    assert kept.table() == table()
    run(kept, 1, table(1, 2))
    run(kept, 2, table())
    kept.stage(3, table(9))
    assert kept.table() == table(1, 2)
    receipt = kept.stage(3, table(3))
    kept.publish(receipt)
    kept.publish(receipt)
    assert kept.table().equals(table(1, 2, 3))
    assert [each.run for each in kept.runs] == [1, 3]
    assert [each.rows for each in kept.runs] == [table(1, 2), table(3)]


def test_memory_keeps_a_bounded_number_of_rows_and_always_the_last_run():
    kept = opened(sink.memory(most=3))
    run(kept, 1, table(1, 2))
    run(kept, 2, table(3))
    assert kept.table()["value"].to_pylist() == [1, 2, 3]
    run(kept, 3, table(4))
    assert kept.table()["value"].to_pylist() == [3, 4]
    run(kept, 4, table(5, 6, 7, 8))
    assert kept.table()["value"].to_pylist() == [5, 6, 7, 8]


def test_memory_goes_on_with_a_query_and_forgets_one_that_starts_anew():
    kept = opened(sink.memory())
    run(kept, 1, table(1))
    last = kept.stage(2, table(2))
    opened(kept, last)
    assert kept.table()["value"].to_pylist() == [1, 2]
    kept.stage(3, table(3))
    opened(kept, last)
    assert kept.table()["value"].to_pylist() == [1, 2]
    opened(kept)
    assert kept.table() == table()


# Console.


def test_the_console_shows_the_first_rows_of_a_run():
    printed = io.StringIO()
    shown = opened(sink.console(rows=2, file=printed))
    run(shown, 7, table(1, 2, 3))
    text = printed.getvalue()
    assert "big, run 7: 3 rows, the first 2" in text
    assert "sym" in text
    assert "s2" in text
    assert "s3" not in text


def test_the_console_says_nothing_of_runs_without_rows():
    printed = io.StringIO()
    run(opened(sink.console(file=printed)), 1, table())
    assert printed.getvalue() == ""


def test_what_is_printed_to_a_file_is_as_wide_as_its_columns_need():
    printed = io.StringIO()
    names = ("window_start", "window_end", "sym", "value", "_kept")
    types = (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"), pa.string(), pa.float64(), pa.float64())
    schema = pa.schema(list(zip(names, types, strict=True)))
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rows = pa.table([[start], [start + dt.timedelta(seconds=5)], ["AAA"], [104483529.5], [1.0]], schema=schema)
    run(opened(sink.console(file=printed), schema=schema), 1, rows)
    for part in (*names, "2026-01-01 00:00:05Z", "AAA", "1.04484e+08"):
        assert part in printed.getvalue()


def test_the_console_prints_to_standard_output_unless_told_otherwise(capsys):
    run(opened(sink.console()), 1, table(1))
    assert "big, run 1: 1 row" in capsys.readouterr().out


def test_values_cannot_steer_the_terminal_and_are_no_markup():
    printed = io.StringIO()
    schema = pa.schema([("[b]x[/b]", pa.string()), ("n", pa.float64()), ("t", pa.timestamp("us", "UTC"))])
    rows = pa.table(
        [["\x1b[2J[red]", "a\nb", None], [1 / 3, None, 2.0], [dt.datetime(2026, 1, 1, tzinfo=dt.UTC)] * 3],
        schema=schema,
    )
    run(opened(sink.console(file=printed), schema=schema), 1, rows)
    text = printed.getvalue()
    for part in ("[b]x[/b]", "·[2J[red]", "a·b", "NULL", "0.333333", "2026-01-01"):
        assert part in text
    assert "\x1b" not in text


# Functions.


def test_a_callback_gets_the_rows_and_the_number_of_each_run_that_has_some():
    calls = []
    called = opened(sink.callback(lambda rows, number: calls.append((rows, number))))
    run(called, 1, table(1))
    run(called, 2, table())
    run(called, 3, table(3))
    assert calls == [(table(1), 1), (table(3), 3)]


def test_a_callback_that_fails_is_named_with_its_query():
    def divide(rows, number):
        return number // 0

    with pytest.raises(
        HeadgateError, match=r"query 'big': callback\(.*divide\) failed at run 4: ZeroDivisionError: "
    ) as caught:
        run(opened(sink.callback(divide)), 4, table(1))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_failure_without_words_and_one_of_many_lines_are_told_in_one():
    def fail(rows, number):
        raise ValueError(*["first\nsecond"][: number - 1])

    failing = opened(sink.callback(fail))
    for number, end in ((1, "run 1: ValueError"), (2, "run 2: ValueError: first")):
        with pytest.raises(HeadgateError) as caught:
            run(failing, number, table(1))
        assert str(caught.value).endswith(end)


def test_foreach_batch_gets_a_dataframe_of_the_same_columns(spark):
    seen = []
    called = opened(
        sink.foreach_batch(lambda frame, number: seen.append((frame.toArrow(), frame.count(), number))), spark=spark
    )
    run(called, 5, table(1, 2))
    run(called, 6, table())
    assert [(rows.cast(SCHEMA), count, number) for rows, count, number in seen] == [(table(1, 2), 2, 5)]


# Nowhere.


def test_discarded_results_are_counted():
    nowhere = opened(sink.discard())
    for number, rows in enumerate([table(1, 2), table(), table(3)]):
        run(nowhere, number, rows)
    assert (nowhere.rows, nowhere.runs) == (3, 2)


# All.


@pytest.mark.parametrize(
    ("made", "written", "guarantee"),
    [
        (sink.parquet("out/big"), "parquet('out/big')", "exactly once"),
        (sink.jsonl("out/big.jsonl"), "jsonl('out/big.jsonl')", "exactly once"),
        (sink.memory(), "memory()", "at least once"),
        (sink.memory(5), "memory(5)", "at least once"),
        (sink.console(), "console(rows=20)", "at least once"),
        (sink.callback(print), "callback(print)", "at least once"),
        (sink.foreach_batch(print), "foreach_batch(print)", "at least once"),
        (sink.discard(), "discard()", "at least once"),
    ],
    ids=str,
)
def test_a_sink_shows_itself_as_it_is_written_and_says_what_it_guarantees(made, written, guarantee):
    assert repr(made) == written
    assert made.guarantee == guarantee

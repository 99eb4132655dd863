"""The comparison itself: it sees what it has to see, and nothing else."""

import pyarrow as pa
import pytest

from engine.results.corpus import CORPUS, entries
from engine.results.same import difference

ROWS = [("a", 1.5, [1, None]), ("b", 2.0, None), ("b", 2.0, None), ("c", float("nan"), [])]


def table(rows):
    columns = list(zip(*rows, strict=True))
    kinds = [pa.string(), pa.float64(), pa.list_(pa.int64())]
    return pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], names=["k", "x", "list"])


@pytest.mark.parametrize(
    "rows",
    [ROWS, ROWS[::-1], [("a", 1.5 * (1 + 1e-12), [1, None]), *ROWS[1:]]],
    ids=["the same", "another order", "a rounding"],
)
def test_tables_with_the_same_rows_do_not_differ(rows):
    assert difference(table(rows), table(ROWS)) == ""


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (ROWS[:-1], "missing: ('c', nan, ())"),
        ([*ROWS, ROWS[1]], "too many: ('b', 2.0, None)"),
        ([ROWS[0], *ROWS[2:], ("a", 1.5, [1, None])], "missing: ('b', 2.0, None)"),
        ([("a", 1.50001, [1, None]), *ROWS[1:]], "too many: ('a', 1.50001, (1, None))"),
        ([("a", 1.5, [1, 2]), *ROWS[1:]], "too many: ('a', 1.5, (1, 2))"),
        ([("a", None, [1, None]), *ROWS[1:]], "too many: ('a', None, (1, None))"),
    ],
    ids=["a row less", "a row more", "another count", "another number", "another list", "a null"],
)
def test_a_difference_is_shown(rows, said):
    assert said in difference(table(rows), table(ROWS))


def test_other_columns_differ():
    other = table(ROWS).rename_columns(["k", "y", "list"])
    assert "'y', 'double'" in difference(other, table(ROWS))


@pytest.mark.parametrize(("n", "same"), [(102, True), (107, False)])
def test_whole_numbers_may_differ_within_a_bound(n, same):
    got, exact = (pa.table({"k": ["a"], "n": [each]}) for each in (n, 100))
    assert (difference(got, exact, within=0.05) == "") is same


def test_an_entry_has_a_name_options_and_one_or_two_queries():
    one, two = entries("-- a window=10s slide=2s\nSELECT 1;\nSELECT 2;\n\n-- b empty=yes\nSELECT 3;\n")
    assert (one.name, one.sql, one.batch) == ("a", "SELECT 1", "SELECT 2")
    assert one.options == {"window": "10s", "slide": "2s"}
    assert (two.name, two.sql, two.batch, two.empty) == ("b", "SELECT 3", None, True)


def test_the_corpus_is_large_enough():
    assert len(CORPUS) >= 40

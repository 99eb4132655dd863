"""Entries with for_each: a query for each row of a CSV file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.pipeline.pipelines import ALERTS, Notes, message, written
from headgate.engine.pipeline import build
from headgate.engine.pipeline.constants import filled
from headgate.engine.sql.dialect import read, write
from headgate.errors import InputError

ROWS = "sym,above\nAAA,100\nBBB,99.5\n"


def constants(text):
    Path("alerts.csv").write_text(text)


def queries(text=ALERTS):
    (entry,) = written(text).queries.values()
    return entry.each


def test_every_row_is_a_query_with_its_constants(folder):
    constants(ROWS)
    assert queries() == {
        "alerts_000001": "SELECT * FROM ticks WHERE sym = 'AAA' AND price > 100",
        "alerts_000002": "SELECT * FROM ticks WHERE sym = 'BBB' AND price > 99.5",
    }


def test_a_column_of_names_names_the_queries(folder):
    constants("sym,name,above\nAAA,high,100\nBBB,low,99.5\n")
    assert list(queries()) == ["high", "low"]


@pytest.mark.parametrize(
    ("values", "literals"),
    [
        (["1", "-2", "3.5", "1e6"], ["1", "(-2)", "3.5", "1e6"]),
        (["1", "x"], ["'1'", "'x'"]),
        (["01"], ["'01'"]),
        (["0", "0.5"], ["0", "0.5"]),
        ([" 7", "8 "], ["7", "8"]),
        (["1e", "1"], ["'1e'", "'1'"]),
        (["inf", "1"], ["'inf'", "'1'"]),
        (["2026-01-01"], ["'2026-01-01'"]),
        (["it's", "a\\b"], [r"'it\'s'", r"'a\\b'"]),
        (["' OR 1 = 1 --"], [r"'\' OR 1 = 1 --'"]),
        (['"a,b"'], ["'a,b'"]),
        (['"say ""no"""'], ["'say \"no\"'"]),
        (["{x}"], ["'{x}'"]),
    ],
)
def test_a_column_of_numbers_becomes_numbers_and_any_other_quoted_text(folder, values, literals):
    constants("x\n" + "\n".join(values) + "\n")
    found = filled("q", "SELECT {x} FROM ticks", Path("alerts.csv"))
    assert list(found.values()) == [f"SELECT {literal} FROM ticks" for literal in literals]


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1).filter(str.strip))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_text_is_one_constant_of_the_query_whatever_it_holds(tmp_path, text):
    file = tmp_path / "c.csv"
    doubled = text.replace('"', '""')
    file.write_text(f'x\n"{doubled}"\n"other"\n', newline="")
    first = filled("q", "SELECT 1 FROM t WHERE a = {x} AND b = 2", file)["q_000001"]
    tree = read(first)
    (where,) = [condition for condition in tree.args["where"].this.flatten() if condition.this.name == "a"]
    assert where.expression.is_string
    assert where.expression.this == text
    assert write(tree).endswith(" AND b = 2")


def test_only_columns_in_braces_outside_of_quotes_are_replaced(folder):
    constants(ROWS)
    sql = "SELECT '{2,3}' AS a, `{odd}` FROM ticks -- {sym}\nWHERE sym = { sym }"
    assert filled("q", sql, Path("alerts.csv"))["q_000001"] == sql.replace("{ sym }", "'AAA'")


def test_a_cell_that_the_sql_does_not_use_may_be_empty(folder):
    constants("sym,above,note\nAAA,100,\n\nBBB,5,seen\n")
    assert len(queries()) == 2


def test_the_engine_gets_all_at_once_with_the_options_of_the_entry(folder):
    constants(ROWS)
    engine = Notes()
    loaded = written(ALERTS + "    class: alarms\n    limit: 5s\n")
    build(loaded, engine)
    found = [call for call in engine.calls if call[0] == "query_many"]
    assert [name for _, name, _, _ in found] == ["alerts_000001", "alerts_000002"]
    assert {(options["cls"], options["limit"], repr(options["sink"])) for *_, options in found} == {
        ("alarms", 5, "discard()")
    }


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{parquet: out/all}", "shared('alerts', parquet('out/all'))"),
        ("{jsonl: out/all.jsonl}", "shared('alerts', jsonl('out/all.jsonl'))"),
        ("console", "shared('alerts', console(rows=20))"),
        ("discard", "discard()"),
    ],
)
def test_all_queries_of_an_entry_write_to_one_place(folder, text, made):
    constants(ROWS)
    assert repr(written(ALERTS + f"    sink: {text}\n").queries["alerts"].sink) == made


# The CSV file (None: there is none), the SQL, where the mistake is and what is said.
MISTAKES = [
    (None, "{sym}", "p.yaml:5:15: ", ["for_each is a CSV file that can be read", "alerts.csv", "No such file"]),
    ("", "{sym}", "alerts.csv: ", ["a header and a row for each query", "an empty file"]),
    ("sym,above\n", "{sym}", "alerts.csv: ", ["a header and a row for each query", "a header only"]),
    ("sym,sym\nA,B\n", "{sym}", "alerts.csv:1: ", ["a name of its own", "'sym' twice"]),
    ("sym,\nA,B\n", "{sym}", "alerts.csv:1: ", ["a name of its own", "one without"]),
    ("sym,x\nA,B\nC\n", "{sym}", "alerts.csv:3: ", ["every row has 2 values, as the header", "got 1"]),
    ('sym\n"A\n', "{sym}", "alerts.csv: ", ["a CSV file in UTF-8", "unexpected end of data"]),
    ("sym\nA\n  \n", "{sym}", "alerts.csv:3: ", ["column 'sym' has a value in every row"]),
    ("name,sym\na b,A\n", "{sym}", "alerts.csv:2: ", ["the name of a query is a letter", "'a b'"]),
    ("name,sym\na,A\nA,B\n", "{sym}", "alerts.csv:3: ", ["a name of its own", "'A', which stands in line 2 already"]),
    ("name,sym\nTicks,A\n", "{sym}", "p.yaml:3:3: ", ["a name of its own", "'Ticks' beside 'ticks'"]),
    ("sym\nA\n", "{sim}", "p.yaml:4:10: ", ["braces in sql hold a column of for_each", "'sim'", "There is sym only"]),
    ("sym,x\nA,B\n", "{sy}", "p.yaml:4:10: ", ["braces in sql", "Did you mean 'sym'?", "sym, x"]),
    ("sym\nA\n", "'{sym}'", "p.yaml:4:10: ", ["stands in sql without quotes", "'{sym}'", "Write {sym}"]),
    ("sym\nA\n", "'{sym}%'", "p.yaml:4:10: ", ["without quotes", "concat({sym}, '...')"]),
    ("sym\nA\n", "1", "p.yaml:4:10: ", ["the sql of a query with for_each uses its columns", "Write {sym} in it"]),
]


@pytest.mark.parametrize(("rows", "sql", "place", "said"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_reported_where_it_stands(folder, rows, sql, place, said):
    if rows is not None:
        constants(rows)
    text = message(ALERTS.replace("{sym} AND price > {above}", sql))
    assert text.startswith(place)
    for fragment in said:
        assert fragment in text
    assert "\n" not in text


def test_a_file_in_another_encoding_is_reported(folder):
    Path("alerts.csv").write_bytes(b"sym\n\xff\xfe\n")
    assert "for_each is a CSV file in UTF-8; got bytes of another kind" in message(ALERTS)


def test_what_the_engine_refuses_of_one_query_is_reported_at_the_entry(folder):
    constants(ROWS)
    error = InputError("known columns", "'x'", "Rename.", "query 'alerts_000002', line 1, column 8")
    with pytest.raises(InputError) as caught:
        build(written(ALERTS), Notes(alerts_000002=error))
    assert str(caught.value).startswith("p.yaml:4:10 (query 'alerts_000002', line 1, column 8): known columns")

"""A text that is read and written again means the same to Spark, and nothing gets out of its quotes."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.sql.dialect import read, write

EXPRESSIONS = [
    *(
        "'it''s'",
        r"'it\'s'",
        '"a""b\'c"',
        "''''",
        r"'a\\b'",
        r"'\\'",
        r"r'\d+\n'",
        r"'%\_\%'",
        r"'tab\t\u0041\101'",
        "'a' 'b'",
    ),
    *(
        "X'1F'",
        "1L",
        "2S",
        "1.5D",
        "1.5BD",
        "1e3",
        ".5",
        "-1",
        "- -1",
        "DATE '2020-01-31'",
        "TIMESTAMP '2020-01-01 01:02:03'",
    ),
    *(
        "INTERVAL 3 DAYS",
        "INTERVAL '1 2:03:04' DAY TO SECOND",
        "7 DIV 2",
        "7 % 4",
        "1 <=> NULL",
        "!true",
        "'a' || 'b'",
    ),
    *("7 & 3 | 8 ^ 1", "~7", "1 << 3", "'abc' RLIKE '^a.c$'", r"'a1' RLIKE '\\d'", "'a' LIKE ANY ('b', 'a')"),
    *(
        "'A_B' LIKE 'A!_B' ESCAPE '!'",
        "1 IN (1, 2)",
        "2 NOT BETWEEN 1 AND 3",
        "NULL IS NOT NULL",
        "true IS NOT FALSE",
    ),
    *(
        "CAST('1' AS INT)",
        "'2'::double",
        "try_cast('x' AS INT)",
        "CAST(1 AS DECIMAL(10, 2))",
        "CAST('a' AS VARCHAR(1))",
    ),
    *(
        "CASE 1 WHEN 1 THEN 'a' ELSE 'b' END",
        "if(true, 1, 2)",
        "nvl2(NULL, 1, 2)",
        "ifnull(NULL, 3)",
        "coalesce(NULL, 1)",
    ),
    *(
        "substring('hello', 2, 3)",
        "substring('hello' FROM 2 FOR 3)",
        "trim(BOTH 'x' FROM 'xax')",
        "trim(LEADING FROM ' a')",
    ),
    *("position('b' IN 'abc')", "overlay('abc' PLACING 'X' FROM 2)", "extract(YEAR FROM DATE '2020-01-31')"),
    *(
        "date_add(DATE '2020-01-31', 1)",
        "dateadd(DAY, 1, DATE '2020-01-31')",
        "datediff(DATE '2020-02-01', DATE '2020-01-01')",
    ),
    *(
        "array(1, 2)[0]",
        "array(array(1), array(2))[1][0]",
        "map('a', 1)['a']",
        "named_struct('x', 1).x",
        "struct(1 AS a, 2).a",
        "element_at(array(5), 1)",
    ),
    *("transform(array(1, 2), x -> x + 1)", "aggregate(array(1, 2), 0, (a, x) -> a + x, a -> a * 2)"),
    *("exists(array(1), x -> x > 0)", "filter(array(1, 2), (x, i) -> x > i)", "get_json_object('{\"a\": 1}', '$.a')"),
    *("mask('Ab1', upperChar => 'Q')", "date_format(DATE '2020-01-31', 'yyyy-MM')"),
    *(
        "to_timestamp('2020', 'yyyy')",
        "len('a')",
        "left('abc', 2)",
        "round(2.345, 2)",
        "log(2, 8)",
        "date('2020-01-31')",
    ),
    *(
        "regexp_replace('a.b', r'\\.', '-')",
        "concat_ws(',', 'a', 'b')",
        "5 - (3 - 1)",
        "8 / (4 / 2)",
        "NOT (true AND false)",
    ),
]


def test_expressions_mean_the_same_after_they_were_read_and_written(spark):
    texts = ", ".join(f"{text} AS c{i}" for i, text in enumerate(EXPRESSIONS))
    (row,) = spark.sql(f"SELECT {texts}").collect()
    (again,) = spark.sql(write(read(f"SELECT {texts}"))).collect()
    for text, value, other in zip(EXPRESSIONS, row, again, strict=True):
        assert value == other, text


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20))
def test_a_literal_stays_within_its_quotes(text):
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    tree = read(f"SELECT {quoted} AS a, 1 AS b")
    assert [item.alias for item in tree.selects] == ["a", "b"]
    assert tree.selects[0].this.name == text
    assert read(write(tree)).selects[0].this.name == text

"""Texts that differ in constants only give the same as when each is planned in full."""

import re

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.kernel.against_spark import Sides
from headgate.engine.kernel.shapes import shape_of
from headgate.engine.sql.templates import Templates

TEMPLATES = [
    "SELECT sym, price FROM t WHERE sym = {s} AND price > {n}",
    "SELECT sym, {s} AS alert FROM t WHERE price BETWEEN {n} AND {n} OR vol < -{n}",
    "SELECT sym FROM t WHERE cost > {n} AND vol IN ({i}, {i})",
    "SELECT sym FROM t WHERE sym LIKE {p} AND price * 2 >= {n} -- alert {i}",
    "SELECT price > {n} FROM t WHERE substr(sym, 1, {i}) = {s}",
    "SELECT sym FROM t WHERE cost + {i} > {n} AND price / {i} < {n}",
    "SELECT sym FROM t WHERE ts > {w} AND x'ff' IS NOT NULL AND price <> {n}",
]


@pytest.fixture(scope="module")
def plan(spark, tmp_path_factory):
    rows = pa.schema(
        {
            "sym": pa.string(),
            "price": pa.float64(),
            "vol": pa.int64(),
            "cost": pa.decimal128(10, 2),
            "ts": pa.timestamp("us", "UTC"),
        }
    ).empty_table()
    sides = Sides(spark, tmp_path_factory.mktemp("templates"), rows)
    sides.prepare("SELECT * FROM t")
    planned = {}

    def in_full(text):
        if text not in planned:
            planned[text] = shape_of(sides.segment(text))
        return planned[text]

    return in_full


def text_of(value):
    return f"'{value}'"


NUMBERS = st.one_of(
    st.integers(0, 20).map(str),
    st.sampled_from(
        ["2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "1e3", "2.5E-1", "0.50"]
    ),
    st.decimals(0, 1000, places=2).map(str),
)
WORDS = st.text("abzAZ_% 09é'", max_size=4).map(lambda s: text_of(s.replace("'", "''")))
CONSTANTS = {
    "{s}": st.one_of(WORDS, st.sampled_from(["'now'", '"it"', "'it\\'s'"])),
    "{n}": NUMBERS,
    "{i}": st.integers(1, 3).map(str),
    "{p}": st.sampled_from(["'A%'", "'%B'", "'a_c%'", "'plain'", "'%x%'", "'%'", "'BB%'"]),
    "{w}": st.sampled_from(["'2024-01-01'", "'2024-01-02 10:00:00'"]),
}


@st.composite
def filled(draw, template):
    return re.sub(r"\{\w\}", lambda found: draw(CONSTANTS[found[0]]), template)


@pytest.mark.parametrize("template", TEMPLATES)
def test_an_instance_is_what_planning_in_full_gives(plan, template):
    templates = Templates(plan)
    found = []

    @given(filled(template))
    @settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def same(text):
        instance = templates.instance(text)
        found.append(instance)
        assert instance in (None, plan(text)), text

    same()
    assert any(found)


def test_alike_queries_are_planned_a_few_times_only(plan):
    asked = []

    def counted(text):
        asked.append(text)
        return plan(text)

    templates = Templates(counted)
    texts = [f"SELECT sym, 'alert {i}' AS a FROM t WHERE sym = 'S{i}' AND price > {i}.5" for i in range(50)]
    found = [templates.instance(text) for text in texts]
    assert found[0] is None
    assert found[1:] == [plan(text) for text in texts[1:]]
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("SELECT 1", "SELECT 22", True),
        ("SELECT 1", "SELECT 2147483648", False),
        ("SELECT 1", "SELECT 1.0", False),
        ("SELECT 1.5", "SELECT .25", True),
        ("SELECT 1.5", "SELECT 15e-1", False),
        ("SELECT 1", "SELECT 1L", False),
        ("SELECT c1", "SELECT c2", False),
        ("SELECT `1`", "SELECT `2`", False),
        ("SELECT 'a'", "SELECT 'b c -- d'", True),
        ("SELECT 'a'", 'SELECT "a"', True),
        ("SELECT 'a'", "SELECT 'a''b'", False),
        ("SELECT 'a'", r"SELECT 'a\'b'", False),
        ("SELECT x'0a'", "SELECT x'0b'", False),
        ("SELECT 'a%'", "SELECT 'bcd%'", True),
        ("SELECT 'a%'", "SELECT 'a_c%'", False),
        ("SELECT 'a%'", "SELECT '%a'", False),
        ("SELECT 1 -- one", "SELECT 2 -- two 'things", True),
        ("SELECT 1 /* one */", "SELECT 2 /* 'two' */", True),
        ("SELECT /*+ BROADCAST(a) */ 1", "SELECT /*+ BROADCAST(b) */ 1", False),
        ("SELECT /* /* 1 */ */ 2", "SELECT /* /* 3 */ */ 4", False),
        ("SELECT a LIKE 'x' ESCAPE '/'", "SELECT a LIKE 'y' ESCAPE '/'", False),
        ("SELECT \u0663", "SELECT \u0664", False),
    ],
)
def test_texts_are_alike_if_only_constants_of_the_same_kind_differ(a, b, alike):
    templates = Templates(lambda _: pytest.fail("nothing is to be planned"))
    assert (templates.of(a)[0] == templates.of(b)[0]) is alike


def test_words_that_mean_the_clock_are_always_planned_in_full(plan):
    templates = Templates(plan)
    text = "SELECT sym FROM t WHERE sym = '{}'"
    assert [templates.instance(text.format(word)) is None for word in ("a", "b", "now", "Today x", "nowhere")] == [
        True,
        False,
        True,
        True,
        False,
    ]

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

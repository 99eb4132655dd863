"""An engine in a notebook: what its page says, and results as tables of other libraries."""

import sys
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from engine.live import Fed
from engine.snapshots import deadline, query, query_class, snapshot, stream, table
from headgate import Engine, InputError
from headgate.engine import notebook
from headgate.engine.notebook import given_as, html, show

ROWS = pa.table({"sym": ["a", None], "n": [1, 2]})


def test_a_page_has_a_table_for_whatever_there_is():
    found = html(
        snapshot(
            [stream("ticks")],
            [query("big")],
            [table("symbols", "symbols.csv: no such file")],
            classes=[query_class("alerts", delay_target=0.5)],
            deadlines=[deadline("vwap")],
        )
    )
    assert [part.partition("<")[0] for part in found.split("<caption>")[1:]] == [
        *("classes", "queries with a deadline", "queries", "streams", "tables"),
    ]
    assert all(name in found for name in ("alerts", "vwap", "big", "ticks", "symbols", "no such file"))


def test_what_is_empty_is_not_shown():
    assert "<table>" not in html(snapshot())


def test_what_fails_comes_first_and_says_why():
    found = html(snapshot(queries=[query("good"), query("bad", status="failed", reason="no such column")]))
    assert found.index("bad") < found.index("good")
    assert '<tr class="failed" title="no such column">' in found


def test_names_and_reasons_are_no_markup():
    found = html(snapshot(queries=[query("q", cls="<b>", status="failed", reason='"><script>')]))
    assert "<script>" not in found
    assert "<b>" not in found


def test_of_very_many_queries_the_first_are_shown():
    found = html(snapshot(queries=[query(f"q{i}") for i in range(200)]))
    assert "queries, 50 of 200" in found
    assert found.count("<tr ") == 50


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        ("arrow", lambda rows: rows.column_names),
        ("pandas", lambda rows: list(rows.columns)),
        ("polars", lambda rows: rows.columns),
        ("spark", lambda rows: rows.columns),
    ],
)
def test_results_come_as_the_library_one_asks_for(spark, form, columns):
    found = given_as(ROWS, form, spark)
    assert columns(found) == ["sym", "n"]
    assert (found.count() if form == "spark" else len(found)) == 2


def test_an_unknown_form_is_told():
    with pytest.raises(InputError, match="a known form"):
        given_as(ROWS, "excel", None)


def test_an_engine_is_its_page_and_shows_itself(spark, tmp_path, capsys):
    source = Fed()
    with Engine(spark, tmp_path, lanes={"jobs": 1, "resident": 0}) as engine:
        engine.stream("s", source, event_time="t")
        engine.query("evens", "SELECT v FROM s WHERE v % 2 = 0")
        engine.start()
        source.feed(10)
        source.end()
        assert engine.wait(300)
        assert "evens" in engine._repr_html_()
        assert sorted(engine.results("evens", "polars")["v"].to_list()) == [0, 2, 4, 6, 8]
        engine.show()
    assert "evens" in capsys.readouterr().out


def test_in_a_notebook_the_page_is_shown_anew(monkeypatch):
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page._repr_html_())

    def display(page, *, display_id):
        assert display_id
        shown.append(page._repr_html_())
        return Handle()

    shell, inside = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    inside.display = display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", inside)
    times, now = iter(range(100)), [0.0]

    def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(notebook, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    show(lambda: snapshot([stream(f"s{next(times)}")]), 0.6)
    assert len(shown) == 3
    assert "s0" in shown[0]
    assert "s1" in shown[1]

"""The pages in a browser, over an engine that runs a thousand queries."""

from types import SimpleNamespace

import pytest

from engine.live import Fed
from headgate.engine.engine import Engine
from headgate.engine.sink import discard, memory, shared
from headgate.web import screenshots

pytestmark = pytest.mark.skipif(
    screenshots.found() is None, reason="no Chromium: apt-get install chromium, or the equivalent"
)

PAGES = (
    "",
    "queries",
    "streams",
    "lanes",
    "load",
    "network",
    "tables",
    "deadlines",
    "whatif",
    "why",
    "query/busiest",
)
ALERTS = 999
TOKEN = "the token"
PATIENCE = 60_000


def started(spark, state, queries, port=0):
    """An engine with queries of two classes over a stream that is fed by hand, and its server."""
    made = Engine(spark, state, lanes={"jobs": 1, "resident": 1})
    source = Fed()
    made.stream("s", source)
    made.query_class("alerts", priority=6, delay_target="5s")
    made.query_class("boards", priority=1, delay_target="20s")
    texts = {f"alert_{i:04}": f"SELECT v FROM s WHERE v % 10 = {i % 10} AND v > {i}" for i in range(queries)}
    made.query_many(texts, cls="alerts", sink=shared("alerts", discard()))
    made.query("busiest", "SELECT v, v * 2 AS twice FROM s", cls="boards", sink=memory(1000))
    server = made.serve(port=port, token=TOKEN)
    made.start("cqc")
    return SimpleNamespace(engine=made, source=source, server=server)


@pytest.fixture(scope="module")
def running(spark, tmp_path_factory):
    found = started(spark, tmp_path_factory.mktemp("thousand"), ALERTS)
    yield found
    found.engine.stop()


@pytest.fixture(scope="module")
def chromium():
    with screenshots.browser() as found:
        yield found


@pytest.fixture
def page(chromium, running):
    """A page that must not complain."""
    opened = chromium.new_page(viewport={"width": 1366, "height": 820})
    opened.set_default_timeout(PATIENCE)
    complaints = []
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.complaints = complaints
    yield opened
    opened.close()


def shown(page, running, name):
    page.goto(f"{running.server.address}#/{name}")
    page.wait_for_selector("#news[data-state='on time']")
    page.wait_for_selector("main > *:nth-child(2)")


def total(page, label):
    return page.locator(f"#totals div:has(> .label:text-is('{label}')) strong").inner_text()


def test_every_page_is_drawn_without_a_complaint(page, running):
    for name in PAGES:
        running.source.feed(50)
        shown(page, running, name)
        frame = page.locator("#news").inner_text()
        page.wait_for_selector(f"#news:not(:text-is('{frame}'))")
        assert page.complaints == [], name
        assert page.locator("h1").inner_text()


def test_figures_move_without_a_reload(page, running):
    shown(page, running, "query/busiest")
    before = page.locator("dt:text-is('results') + dd").inner_text()
    running.source.feed(700)
    page.wait_for_selector(f"dt:text-is('results') + dd:not(:text-is('{before}'))")
    page.wait_for_selector("th:text-is('twice')")
    assert page.locator("pre.sql").first.inner_text() == "SELECT v, v * 2 AS twice FROM s"
    page.wait_for_selector("td:has-text('rather than'), td.words:has-text('=')")
    assert page.complaints == []


def test_a_thousand_queries_are_sorted_and_filtered_with_few_rows_in_the_document(page, running):
    running.source.feed(50)
    shown(page, running, "queries")
    page.wait_for_selector(f"output:text-is('{ALERTS + 1} of {ALERTS + 1}')")
    rows = page.locator("tbody tr:not(.space):not([hidden])")
    assert rows.count() < 100
    page.click("th[data-key='name'] button")
    assert page.get_attribute("th[data-key='name']", "aria-sort") == "descending"
    assert rows.first.locator("a").inner_text() == "busiest"
    page.click("th[data-key='results'] button")
    assert page.get_attribute("th[data-key='results']", "aria-sort") == "descending"
    assert rows.first.locator("a").inner_text() == "busiest"
    page.fill("input[type=search]", "alert_012")
    page.wait_for_selector(f"output:text-is('10 of {ALERTS + 1}')")
    page.select_option("select[aria-label=Class]", "boards")
    page.wait_for_selector(f"output:text-is('0 of {ALERTS + 1}')")
    assert page.locator(".empty").is_visible()
    assert page.complaints == []


def test_the_last_of_a_thousand_queries_can_be_scrolled_to_and_opened(page, running):
    shown(page, running, "queries")
    page.wait_for_selector(f"output:text-is('{ALERTS + 1} of {ALERTS + 1}')")
    page.eval_on_selector(".scroll", "e => e.scrollTo(0, e.scrollHeight)")
    page.click("a:text-is('alert_0998')")
    page.wait_for_selector("h1:has-text('alert_0998')")
    page.wait_for_selector("pre.sql:has-text('v > 998')")
    assert "kernel" in page.locator("#fused").inner_text()


def test_the_network_collapses_a_thousand_queries(page, running):
    shown(page, running, "network")
    page.wait_for_selector("svg.network text:text-is('999 queries together')")
    assert page.locator("svg.network g.node").count() < 20


def test_the_lanes_show_what_ran_and_why(page, running):
    shown(page, running, "lanes")
    running.source.feed(30)
    page.wait_for_selector("td.words:has-text('busiest')")
    assert page.locator("canvas").count() >= 1


def test_a_change_is_refused_without_the_token_and_made_with_it(page, running):
    shown(page, running, "query/busiest")
    page.click("button:text-is('pause')")
    page.fill("#token-value", "a guess")
    page.click("#token button[value=ok]")
    page.wait_for_selector("#toast:has-text('token')")
    assert running.engine.queries["busiest"].status == "running"
    page.fill("#token-value", TOKEN)
    page.click("#token button[value=ok]")
    page.wait_for_selector("h1 .badge[data-state=paused]")
    assert running.engine.queries["busiest"].status == "paused"
    page.click("button:text-is('resume')")
    page.wait_for_selector("h1 .badge:not([data-state=paused])")
    # The browser notes the refusal by itself.
    assert all("403" in said for said in page.complaints)


def test_a_class_gets_another_priority(page, running):
    shown(page, running, "")
    page.evaluate(f"sessionStorage.setItem('token', '{TOKEN}')")
    page.fill("article[data-class=alerts] input", "4")
    page.click("article[data-class=alerts] button")
    page.wait_for_selector("article[data-class=alerts] input[placeholder='4']")
    assert {each.name: each.priority for each in running.engine.classes}["alerts"] == 4.0
    assert page.complaints == []


def test_the_theme_and_large_type_are_chosen_and_kept(page, running):
    shown(page, running, "")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.click("#theme")
    page.click("#large")
    page.reload()
    page.wait_for_selector("#news[data-state='on time']")
    assert page.evaluate("document.documentElement.dataset.theme") != before
    assert page.evaluate("document.documentElement.classList.contains('large')")


def test_every_page_is_reached_with_the_keyboard(page, running):
    shown(page, running, "")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.getAttribute('href')"))
    assert {f"#/{name}" for name in PAGES[:-1]} <= set(reached)


def test_a_page_outlives_the_engine_and_goes_on_with_the_next(page, running, spark, tmp_path):
    shown(page, running, "")
    assert total(page, "queries") == "1.0k"
    running.engine.stop()
    page.wait_for_selector("#news:has-text('no news since')")
    second = started(spark, tmp_path, 4, port=running.server.port)
    try:
        assert second.server.port == running.server.port
        page.wait_for_selector("#news[data-state='on time']")
        page.wait_for_selector("#totals strong:text-is('5')")
    finally:
        second.engine.stop()

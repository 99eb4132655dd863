"""The pages in a browser, over an engine that runs a thousand queries."""

import math
import re
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from engine.live import Fed
from headgate.engine.engine import Engine
from headgate.engine.sink import discard, memory, shared
from headgate.web import screenshots
from headgate.web.server import Server
from web.invented import Invented, ran

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


@pytest.fixture
def invented():
    """A server of an engine that is made up, which has something of everything."""
    made = Invented(60)
    with Server(made, "127.0.0.1", 0, TOKEN).start() as server:
        made.tick(10)
        yield SimpleNamespace(engine=made, server=server)


@pytest.fixture(scope="module")
def chromium():
    with screenshots.browser() as found:
        yield found


@pytest.fixture
def page(chromium):
    """A page that must not complain."""
    opened = chromium.new_page(viewport={"width": 1366, "height": 820})
    opened.set_default_timeout(PATIENCE)
    complaints = []
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.complaints = complaints
    yield opened
    opened.close()


def drawn(page):
    """Wait until news has come, which may be of a while ago: of an engine that is made up, more comes by a tick."""
    page.wait_for_selector("#news:has-text(':')")


def shown(page, running, name):
    page.goto(f"{running.server.address}#/{name}")
    page.wait_for_selector("#news[data-state='on time']")
    page.wait_for_selector("main > *:nth-child(2)")


def total(page, label, tag="strong"):
    return page.locator(f"#totals div:has(> .label:text-is('{label}')) {tag}").inner_text()


def test_every_page_is_drawn_without_a_complaint(page, running):
    for name in PAGES:
        running.source.feed(50)
        shown(page, running, name)
        frame = page.locator("#news").inner_text()
        page.wait_for_selector(f"#news:not(:text-is('{frame}'))")
        assert page.complaints == [], name
        assert page.locator("h1").inner_text()


SHOWN = {
    "": (
        "target",
        "p50",
        "p99",
        "slack",
        "share",
        "headroom",
        "kept so far",
        "drops, last 10 s",
        "with a deadline",
        "windows done",
    ),
    "queries": ("query", "class", "state", "target", "p50", "p99", "slack", "kept", "dropped"),
    "streams": ("tuples/s", "pending tuples", "pending trains", "watermark", "behind the clock"),
    "lanes": ("Latest runs", "why it was chosen", "rather than", "took"),
    "load": (
        "share of the time",
        "dropped, part of the tuples",
        "why",
        "load against headroom, up to 400 %",
        "headroom, lanes",
    ),
    "network": ("streams and tables", "units", "queries", "sinks", "kernel"),
    "tables": ("age", "fresh", "joins see", "refreshes", "problem"),
    "deadlines": (
        "due",
        "missed",
        "useful",
        "planned",
        "kept",
        "why it was last late",
        "Refused, or taken in with less",
    ),
    "whatif": ("policy", "load management", "rate", "lanes of each kind"),
    "why": ("moment", "tuple", "query"),
    "query/board_0001": (
        *("SQL", "Together or alone", "Plan", "unit", "a, per run", "b, per 1000 tuples", "S, results per tuple"),
        *("Latest runs of its unit, and why", "Deadline", "Latest results"),
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_has_what_an_operator_looks_for(page, invented, name):
    page.goto(f"{invented.server.address}#/{name}")
    for text in SHOWN[name]:
        page.wait_for_selector(f"main :text-is('{text}')", state="attached")
    assert page.complaints == []


def test_a_class_has_the_same_colour_on_every_page_whichever_is_opened_first(chromium, invented):
    found = set()
    for name in ("", "lanes", "load", "network"):
        opened = chromium.new_page()
        opened.set_default_timeout(PATIENCE)
        for then in (name, "streams", name):
            opened.goto(f"{invented.server.address}#/{then}")
            drawn(opened)
        swatch = ":is(li, h2):has(> .swatch):has-text('reports') .swatch >> nth=0"
        found.add(opened.locator(swatch).evaluate("e => getComputedStyle(e).backgroundColor"))
        opened.close()
    assert len(found) == 1


def test_the_overview_says_what_is_dropped_now_and_what_was(page, invented):
    page.goto(invented.server.address)
    page.wait_for_selector("#said:has-text('dropped in the last 10 s: alerts')")
    invented.engine.tick(35)
    page.wait_for_selector("#said:has-text('nothing is dropped now')")
    dropped = total(page, "dropped so far")
    assert f"{dropped} tuples were before" in page.locator("#said").inner_text()


def test_the_overview_says_first_what_has_failed_and_leads_there(page, invented):
    engine = invented.engine
    engine.names += [f"report_{i:04}" for i in range(60, 100)]
    engine.status |= dict.fromkeys(engine.names, "running")
    engine.tick(40)
    page.goto(invented.server.address)
    said = page.locator("#said")
    page.wait_for_selector("#said:has-text('failed')")
    text = said.inner_text()
    assert text.startswith("failed queries: 1 · failed tables: limits · slipping deadlines: board_0001 · on time: ")
    assert [total(page, label, "a") for label in ("failed queries", "failed tables")] == ["1", "1"]
    page.click("#said a:has-text('failed queries')")
    page.wait_for_selector("output:text-is('1 of 100')")
    assert page.locator("select[aria-label=State]").input_value() == "failed"


def test_what_needs_somebody_comes_and_goes_without_moving_anything_else(page, invented):
    quiet = replace(invented.engine.recent(), tables=())
    seen = [replace(quiet, deadlines=())]
    invented.engine.recent = lambda: seen[-1]
    with Server(invented.engine, "127.0.0.1", 0, TOKEN).start() as server:
        page.goto(server.address)
        page.wait_for_selector("article[data-class=alerts]")
        places = [
            "#totals div:has(> .label:text-is('policy'))",
            "#totals div:has(> .label:text-is('rejected'))",
            ".cards",
        ]
        before = [page.locator(each).bounding_box() for each in places]
        late = [replace(each, iterations=100, missed=50) for each in quiet.deadlines]
        failed = invented.engine.recent().queries[:1]
        stopped = tuple(replace(each, status="failed", reason="the disk is full") for each in failed)
        seen.append(replace(quiet, time=time.time(), deadlines=tuple(late), queries=(*stopped, *quiet.queries[1:])))
        page.wait_for_selector("#said:has-text('late deadlines')")
        assert total(page, "failed queries", "a") == "1"
        assert [page.locator(each).bounding_box()["x"] for each in places] == [each["x"] for each in before]
        assert page.locator(places[-1]).bounding_box()["y"] == before[-1]["y"]


def test_long_reasons_do_not_make_a_table_wider_than_the_page(page, invented):
    seen = invented.engine.recent()
    why = "late by 0.18 s: its own work took 1.52 s, " + "and others ran for 1.20 s in between " * 4
    deadlines = tuple(replace(each, reason=why) for each in seen.deadlines)
    tables = tuple(replace(each, problem=f"{why} of limits.csv") for each in seen.tables)
    invented.engine.recent = lambda: replace(seen, time=time.time(), deadlines=deadlines, tables=tables)
    for name in ("deadlines", "tables"):
        shown(page, invented, name)
        page.wait_for_selector("td.wraps:has-text('late by')")
        scroll = page.locator(".scroll >> nth=0")
        assert scroll.evaluate("e => e.scrollWidth <= e.clientWidth"), name
    assert page.locator("td .badge").all_inner_texts() == ["✕ failed", "✕ failed"]


def test_a_class_without_results_has_no_line_and_one_without_a_target_no_dashes(page, invented):
    seen = invented.engine._snapshot()
    silent = replace(seen, classes=tuple(replace(each, results=0, response_mean=None) for each in seen.classes))
    invented.engine._snapshot = lambda: replace(silent, time=time.time())
    invented.engine.tick()
    with Server(invented.engine, "127.0.0.1", 0, TOKEN).start() as server:
        page.goto(server.address)
        card = "article[data-class=reports]"
        page.wait_for_selector(f"{card} :text-is('mean response; there is no target')")
        assert page.locator(f"{card} path.values").get_attribute("d") == ""
        assert "dashes" in page.locator("article[data-class=alerts] .note").inner_text()


@pytest.mark.parametrize(("width", "height", "large"), [(1366, 820, False), (1920, 1080, True), (3840, 2160, False)])
def test_every_page_fits_the_screen_and_begins_at_its_top(page, invented, width, height, large):
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(f"localStorage.setItem('large', '{str(large).lower()}')")
    for name in SHOWN:
        page.goto(f"{invented.server.address}#/{name}")
        drawn(page)
        page.wait_for_selector("main > *:nth-child(2)")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert page.evaluate("scrollY") == 0, name
        assert page.locator("#totals").evaluate("e => e.getBoundingClientRect().bottom <= innerHeight"), name
        wide = page.locator("main").evaluate("e => e.getBoundingClientRect().width")
        assert wide > 0.95 * width, name
    assert page.complaints == []


def test_a_question_and_its_answer_are_there_for_who_comes_back(page, invented):
    fate = {"mean": 0.6, "p99": 0.4, "loss": 0.1}
    case = {"classes": {"alerts": fate}}
    measured = {"classes": {"alerts": {**fate, "mean": 0.5}}}
    found = {"targets": {"alerts": 0.5}, "measured": measured, "predicted": case, "whatif": case, "assumed": ["that"]}
    page.route("**/api/whatif", lambda route: route.fulfill(json=found))
    page.goto(f"{invented.server.address}#/whatif")
    page.evaluate(f"sessionStorage.setItem('token', '{TOKEN}')")
    page.wait_for_selector("#choices-policy option[value=bsd]", state="attached")
    page.fill("input[name=rate]", "2x")
    page.click("form button[type=submit]")
    page.wait_for_selector("td:text-is('+20 %, +0.0 points')")
    page.click("nav a:text-is('Streams')")
    page.wait_for_selector("tr:has-text('ticks')")
    page.click("nav a:text-is('What if')")
    page.wait_for_selector("td:text-is('+20 %, +0.0 points')")
    assert page.input_value("input[name=rate]") == "2x"
    assert page.locator("td.bad").all_inner_texts() == ["▲ 600 ms", "▲ 600 ms"]
    assert page.locator("th:text-is('average QoS')").count() == 0
    fate["qos"] = 0.8
    page.click("form button[type=submit]")
    page.wait_for_selector("th:text-is('average QoS')")
    # As measured it is not known.
    assert page.locator("td:text-is('80 %')").count() == 2
    assert page.complaints == []


def test_windows_that_are_done_are_counted_on_the_page_of_a_query(page, invented):
    page.goto(f"{invented.server.address}#/query/board_0001")
    page.wait_for_selector("dt:text-is('windows done') + dd:text-is('10')")


def test_the_page_of_a_query_that_is_not_there_says_so_and_has_nothing_else(page, invented):
    page.goto(f"{invented.server.address}#/query/nope")
    page.wait_for_selector("main .problem:has-text('a registered query')")
    assert not page.locator("main :is(button, pre, dl, .badge)").locator("visible=true").count()


def test_a_run_on_the_page_of_a_query_leads_to_why_it_was_chosen(page, invented):
    engine = invented.engine
    engine.tell(ran("board_0001", time.time()))
    engine.tick()
    page.goto(f"{invented.server.address}#/query/board_0001")
    assert page.locator("td a[href^='#/why/']").first.inner_text()


def test_the_page_says_how_load_is_managed_and_by_which_numbers(page, invented):
    page.goto(f"{invented.server.address}#/load")
    page.wait_for_selector("td.wraps:has-text('d = 1 − C/L: C = 1')")
    assert total(page, "load management") == "dilos:backlog"


def test_what_is_paused_has_a_button_to_go_on(page, invented):
    page.goto(f"{invented.server.address}#/query/board_0004")
    page.evaluate(f"sessionStorage.setItem('token', '{TOKEN}')")
    page.click("button:text-is('pause')")
    invented.engine.tick()
    page.wait_for_selector("button:text-is('resume')")
    assert not page.locator("button:text-is('pause')").count()


def test_lanes_of_which_the_first_runs_are_not_known_do_not_look_idle(page, invented):
    now = time.time()
    for i in range(1_600):
        invented.engine.tell(ran("board_0001", now - 20 + i / 100))
    invented.engine.tick()
    page.goto(f"{invented.server.address}#/lanes")
    page.wait_for_selector("td.words:has-text('board_0001')")
    shown = page.evaluate("[...Bokeh.index][0].model.x_range.end - [...Bokeh.index][0].model.x_range.start")
    assert shown < 30_000


def test_tuples_of_another_day_are_replayed_and_not_late(page, invented):
    page.goto(f"{invented.server.address}#/streams")
    row = "tr:has-text('orders')"
    page.wait_for_selector(f"{row} :text-is('replayed')")
    assert page.locator("tr:has-text('ticks') :text-is('replayed')").count() == 0


def test_the_lanes_can_be_frozen_and_a_reason_is_shown_whole_on_a_click(page, invented):
    page.goto(f"{invented.server.address}#/lanes")
    reason = page.locator("td.wraps >> nth=0")
    reason.wait_for()
    assert reason.inner_text() == "W = 0.123, a = 0.04, b = 0.000002 · Σ W · w / (a + b·n)"
    assert reason.evaluate("e => getComputedStyle(e).whiteSpace") == "nowrap"
    reason.click()
    assert reason.evaluate("e => getComputedStyle(e).whiteSpace") == "normal"
    page.select_option("select[aria-label=Span]", "2")
    page.click("button:text-is('freeze')")
    began = page.locator("tbody td:first-child >> nth=1").inner_text()
    clock = page.locator("#news").inner_text()
    invented.engine.tick()
    page.wait_for_timeout(1_000)
    invented.engine.tick()
    page.wait_for_selector(f"#news:not(:text-is('{clock}'))")
    assert page.locator("tbody td:first-child >> nth=1").inner_text() == began
    page.click("button:text-is('go on')")
    page.wait_for_selector(f"tbody tr:nth-child(2) td:first-child:not(:text-is('{began}'))")
    assert page.complaints == []


def test_the_lanes_show_runs_of_which_a_term_is_not_finite(page, invented):
    invented.engine.tell(ran("board_0001", time.time(), terms={"slack": math.inf, "slope": 0.0}))
    invented.engine.tick()
    page.goto(f"{invented.server.address}#/lanes")
    page.wait_for_selector("td.words:has-text('slack = –')")
    assert page.complaints == []


def test_whoever_opens_the_lanes_of_a_full_journal_does_not_stop_other_pages(page, chromium):
    made = Invented(60)
    with Server(made, "127.0.0.1", 0, TOKEN).start() as server:
        for i in range(5_000):
            made.tell(ran(f"unit-{i}", time.time()))
        made.tick()
        page.goto(server.address)
        drawn(page)
        other = chromium.new_page()
        other.set_default_timeout(PATIENCE)
        other.goto(f"{server.address}#/lanes")
        other.wait_for_selector("td.words:has-text('unit-')")
        other.close()
        for _ in range(2):
            # Whether it says that there is no news since then, as it does after 4 s, or not.
            (before,) = re.findall(r"[\d:]{7,8}", page.locator("#news").inner_text())
            page.wait_for_timeout(1_000)
            made.tick()
            page.wait_for_selector(f"#news:not(:has-text('{before}'))", timeout=20_000)


def test_a_message_that_cannot_be_read_is_no_news_and_everything_comes_anew(page, invented):
    page.add_init_script("""
      const parse = JSON.parse;
      JSON.parse = (text) => {
        JSON.parse = parse;
        return parse(`${text}Infinity`);
      };
    """)
    page.goto(f"{invented.server.address}#/streams")
    page.wait_for_selector("tr:has-text('ticks')")
    assert len(page.complaints) == 1
    assert "JSON" in page.complaints[0]


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
    # Once it has any.
    page.wait_for_selector("tbody tr:not(.space):not([hidden]) >> nth=0 >> a:text-is('busiest')")
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

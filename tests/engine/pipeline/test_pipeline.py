"""Pipeline files: what they describe, and how an engine takes them."""

import inspect
from pathlib import Path

import pytest

from engine.pipeline.pipelines import SMALL, Notes, written
from headgate.engine import source, table
from headgate.engine.capacity import Capacity
from headgate.engine.engine import Engine
from headgate.engine.pipeline import build, load
from headgate.engine.pipeline.pipeline import Registers
from headgate.engine.pipeline.sources import SourceSpec
from headgate.engine.pipeline.tables import Table
from headgate.errors import InputError
from headgate.policy.trains import Train


def test_a_pipeline_has_streams_tables_and_queries(folder):
    loaded = written(SMALL)
    stream, big, vwap = loaded.streams["ticks"], loaded.queries["big"], loaded.queries["vwap"]
    assert stream.source == source.ticks(rate=100)
    assert (stream.event_time, stream.delay, stream.idle) == ("ts", 2, 5)
    assert loaded.tables == {"symbols": Table("symbols.csv")}
    assert (loaded.refresh, loaded.jars) == (None, [])
    assert (big.sql, big.cls, repr(big.sink)) == ("SELECT * FROM ticks", "alerts", "parquet('out/big')")
    assert (big.window, big.slide, big.time, big.limit, big.start) == (None, None, None, 60, "now")
    assert (vwap.window, vwap.slide, vwap.time, vwap.limit) == (10, 2, "event", 30)
    assert (vwap.cls, repr(vwap.sink)) == ("default", "discard()")


def test_a_window_may_be_of_rows(folder):
    text = SMALL.replace("10s", "5 rows").replace("slide: 2s", "slide: 1 row").replace("    time: event\n", "")
    vwap = written(text).queries["vwap"]
    assert (vwap.window, vwap.slide, vwap.time) == ("5 rows", "1 rows", None)


def test_what_a_pipeline_does_not_say_has_a_default(folder):
    loaded = written("streams: {ticks: {source: ticks}}\nqueries: {all: {sql: SELECT * FROM ticks}}", "fast.yaml")
    assert (loaded.name, loaded.state, loaded.lanes, loaded.master) == ("fast", Path("fast.state"), "auto", None)
    assert (loaded.fuse, loaded.channel, loaded.sync) == (None, None, False)
    assert (loaded.policy, loaded.options) == ("auto", {})
    stream = loaded.streams["ticks"]
    assert (stream.event_time, stream.delay, stream.idle) == (None, 0, None)


def test_relative_paths_start_at_the_folder_of_the_file_and_others_stay(folder, monkeypatch):
    Path("p.yaml").write_text("state: /var/state\n" + SMALL.replace("{ticks: {rate: 100}}", "{folder: incoming}"))
    monkeypatch.chdir("/")
    loaded = load(folder / "p.yaml")
    assert loaded.state == Path("/var/state")
    assert loaded.tables == {"symbols": Table(str(folder / "symbols.csv"))}
    assert repr(loaded.queries["big"].sink) == f"parquet('{folder}/out/big')"
    assert repr(loaded.streams["ticks"].source) == repr(source.folder(str(folder / "incoming")))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("ticks", source.ticks),
        ("{ticks: }", source.ticks),
        ("{ticks: {}}", source.ticks),
        (
            "{ticks: {seed: 3, rate: 1e3, symbols: 7, count: 2e4, disorder: 50ms}}",
            lambda: source.ticks(seed=3, rate=1000, symbols=7, count=20000, disorder=0.05),
        ),
        ("{ticks: {rates: [[10s, 100], [5, 200]]}}", lambda: source.ticks(rates=[(10, 100), (5, 200)])),
        ("{nexmark: bids}", lambda: source.nexmark("bids")),
        (
            "{nexmark: {kind: persons, seed: 1, rate: 500, count: 10, disorder: 1s}}",
            lambda: source.nexmark("persons", seed=1, rate=500, count=10, disorder=1),
        ),
        ("{replay: ticks.csv}", lambda: source.replay("ticks.csv")),
        (
            "{replay: {path: ticks.csv, speed: 10, time: ts, every: 100ms, repeat: 2}}",
            lambda: source.replay("ticks.csv", speed=10.0, time="ts", every=0.1, repeat=2),
        ),
        (
            "{replay: {path: ticks.csv, speed: max, schema: 'sym STRING, price DOUBLE, ts TIMESTAMP'}}",
            lambda: source.replay("ticks.csv", speed="max", schema="sym STRING, price DOUBLE, ts TIMESTAMP"),
        ),
        ("{folder: incoming}", lambda: source.folder("incoming")),
        (
            "{folder: {path: incoming, format: csv, schema: a INT, every: 2s}}",
            lambda: source.folder("incoming", format="csv", schema="a INT", every=2),
        ),
        (
            "{socket: {port: 9999, schema: a INT, every: 10ms}}",
            lambda: source.socket(9999, schema="a INT", every=0.01),
        ),
        (
            "{socket: {port: 0, host: localhost, schema: a INT}}",
            lambda: source.socket(0, host="localhost", schema="a INT"),
        ),
        ("{kafka: {topic: t, schema: a INT}}", lambda: source.kafka("t", schema="a INT")),
        (
            """{kafka: {topic: t, servers: 'b:9', schema: a INT, start: earliest, key: k, timestamp: at,
                on_loss: skip, group: g, every: 10ms, password_from: SECRET, options: {fetch.min.bytes: 10}}}""",
            lambda: source.kafka(
                *("t", "b:9"),
                schema="a INT",
                start="earliest",
                key="k",
                timestamp="at",
                on_loss="skip",
                group="g",
                every=0.01,
                password_from="SECRET",
                options={"fetch.min.bytes": "10"},
            ),
        ),
    ],
)
def test_every_source_can_be_written(folder, text, made):
    loaded = written(SMALL.replace("{ticks: {rate: 100}}", text))
    assert repr(loaded.streams["ticks"].source) == repr(made())


@pytest.mark.parametrize("kind", SourceSpec.model_fields)
def test_the_keys_of_a_source_are_arguments_of_its_function(kind):
    (spec,) = [part for part in SourceSpec.model_fields[kind].annotation.__args__ if part is not type(None)]
    assert spec.function == kind
    assert set(spec.known({})) <= set(inspect.signature(getattr(source, kind)).parameters)


@pytest.mark.parametrize(
    ("text", "lanes"),
    [
        ("auto", "auto"),
        ("jobs", "jobs"),
        ("3", 3),
        ("{jobs: 2, resident: 4}", {"jobs": 2, "resident": 4}),
        ("{resident: 2}", {"jobs": 1, "resident": 2}),
        ("{jobs: 2}", {"jobs": 2, "resident": 0}),
    ],
)
def test_lanes_are_a_word_a_number_or_a_number_of_each_kind(folder, text, lanes):
    loaded = written(f"lanes: {text}\n{SMALL}")
    assert loaded.lanes == lanes
    assert Capacity.of(loaded.lanes, slots=8)


def test_fusing_the_channel_and_sync_can_be_said(folder):
    loaded = written("fuse: false\nchannel: flight\nsync: true\nmaster: local[4]\n" + SMALL)
    assert (loaded.fuse, loaded.channel, loaded.sync, loaded.master) == (False, "flight", True, "local[4]")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{parquet: out/x}", "parquet('out/x')"),
        ("{parquet: {folder: out/x}}", "parquet('out/x')"),
        ("{parquet: {folder: out/x, every: 1min}}", "parquet('out/x', every=60)"),
        ("{parquet: {folder: out/x, every: 0}}", "parquet('out/x', every=0)"),
        ("{jsonl: out/x.jsonl}", "jsonl('out/x.jsonl')"),
        ("console", "console(rows=20)"),
        ("{console: }", "console(rows=20)"),
        ("{console: {rows: 5}}", "console(rows=5)"),
        ("discard", "discard()"),
        ("{discard: }", "discard()"),
    ],
)
def test_every_sink_of_a_file_can_be_written(folder, text, made):
    assert repr(written(SMALL.replace("{parquet: out/big}", text)).queries["big"].sink) == made


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("auto", "auto", {}),
        ("{name: auto}", "auto", {}),
        ("bsd", "bsd", {}),
        ("{name: bsd, train: {slice: 200ms}}", "bsd", {"train": Train.of(slice=0.2)}),
        ("{name: hnr, train: {most: all, slice: 1s}}", "hnr", {"train": Train.of(float("inf"), 1.0)}),
        ("{name: rr, runs: 3, over: units}", "rr", {"runs": 3, "over": "units"}),
        ("{name: rr, quantum: 50ms}", "rr", {"quantum": 0.05}),
        ("{name: bsd-clustered, clusters: 5, search: scan}", "bsd-clustered", {"clusters": 5, "search": "scan"}),
    ],
)
def test_a_policy_can_have_options(folder, text, name, options):
    loaded = written(SMALL.replace("policy: bsd", f"policy: {text}"))
    assert (loaded.policy, loaded.options) == (name, options)


def test_an_engine_gets_streams_first_then_tables_then_queries(folder):
    engine = Notes()
    loaded = written(SMALL)
    build(loaded, engine)
    assert [(what, name) for what, name, _, _ in engine.calls] == [
        ("stream", "ticks"),
        ("table", "symbols"),
        ("query", "big"),
        ("query", "vwap"),
    ]
    stream, symbols, big, vwap = engine.calls
    assert stream[2:] == (loaded.streams["ticks"].source, {"event_time": "ts", "delay": 2, "idle": 5})
    assert symbols[2:] == ("symbols.csv", {"parts": None, "refresh": True, "max_age": None})
    assert big[2] == "SELECT * FROM ticks"
    assert big[3] == {
        "window": None,
        "slide": None,
        "time": None,
        "sink": loaded.queries["big"].sink,
        "cls": "alerts",
        "qos": None,
        "loss": None,
        "deadline": None,
        "weight": 1.0,
        "scale": False,
        "limit": 60,
        "start": "now",
    }
    assert (vwap[3]["window"], vwap[3]["slide"], vwap[3]["time"], vwap[3]["limit"]) == (10, 2, "event", 30)


CHAIN = """\
streams: {ticks: {source: ticks, event_time: ts}}
queries:
  third: {sql: SELECT v FROM b, sink: console}
  second: {sql: SELECT v FROM A, sink: {stream: b}}
  other: {sql: SELECT sym FROM ticks}
  first: {sql: SELECT vol AS v FROM ticks, sink: {stream: {name: a, event_time: ts, delay: 1s, idle: 5s}}}
"""


def test_queries_whose_results_others_read_come_first(folder):
    engine = Notes()
    loaded = written(CHAIN)
    build(loaded, engine)
    assert [name for what, name, *_ in engine.calls if what == "query"] == ["first", "second", "third", "other"]
    into = loaded.queries["first"].sink
    assert (repr(into), into.event_time, into.delay, into.idle) == ("stream('a')", "ts", 1, 5)


def test_results_that_go_round_in_a_circle_are_refused(folder):
    with pytest.raises(InputError, match="no query reads its own results; got third -> second -> third"):
        written(CHAIN.replace("FROM A", "FROM c").replace("sink: console", "sink: {stream: c}"))


TABLES = """
jars: [driver.jar]
tables:
  symbols: {file: symbols.csv, refresh: false}
  prices:
    jdbc: {url: "jdbc:postgresql://db/shop", table: prices, user: me, password_from: SECRET, options: {ssl: 1}}
    parts: {column: region, values: [eu, us]}
    max_age: 5min
  limits:
    jdbc: {url: "jdbc:postgresql://db/shop", table: limits, version: SELECT max(changed) FROM limits}
    parts: {column: id, ranges: [10, 20]}
refresh: {budget: 12, per: 30s, policy: uniform}
"""


def test_tables_may_live_in_a_database_and_be_refreshed_by_part_within_a_budget(folder, monkeypatch):
    monkeypatch.setenv("SECRET", "xyzzy")
    engine = Notes()
    loaded = written(SMALL.replace("tables:\n  symbols: {file: symbols.csv}\n", TABLES))
    build(loaded, engine)
    given = {name: (made, options) for what, name, made, options in engine.calls if what == "table"}
    shop, secret = "jdbc:postgresql://db/shop", {"ssl": "1", "user": "me", "password": "xyzzy"}
    assert given == {
        "symbols": ("symbols.csv", {"parts": None, "refresh": False, "max_age": None}),
        "prices": (
            table.jdbc(shop, "prices", secret),
            {"parts": table.values("region", "eu", "us"), "refresh": True, "max_age": 300},
        ),
        "limits": (
            table.jdbc(shop, "limits", version="SELECT max(changed) FROM limits"),
            {"parts": table.ranges("id", 10, 20), "refresh": True, "max_age": None},
        ),
    }
    assert ("refreshing", "", None, {"refreshes": 12, "bytes": None, "per": 30, "policy": "uniform"}) in engine.calls
    assert loaded.jars == [Path("driver.jar")]
    assert "xyzzy" not in repr(loaded)


@pytest.mark.parametrize("method", ["stream", "table", "refreshing", "query", "query_many"])
def test_the_engine_takes_what_a_pipeline_gives(method):
    given = {
        name: parameter
        for name, parameter in inspect.signature(getattr(Registers, method)).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert set(given) <= set(inspect.signature(getattr(Engine, method)).parameters)


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        (
            "big",
            InputError("known tables only", "'tock'", "Rename.", "line 1, column 15"),
            "7:14 (line 1, column 15): known tables",
        ),
        (
            "vwap",
            InputError("known columns", "'x'", "Rename.", "line 1, column 8"),
            "9:10 (line 1, column 8): known columns",
        ),
        ("vwap", InputError("a window is long", "10", "Write more."), "10:13: a window is long"),
        ("big", InputError("no reason", "x", "None."), "7:8: no reason"),
        ("ticks", InputError("an event_time that exists", "'ts'", "Choose."), "3:53: an event_time that exists"),
        ("symbols", InputError("a file that can be read", "'x'", "Check."), "5:19: a file that can be read"),
    ],
)
def test_what_the_engine_refuses_is_reported_where_it_stands_in_the_file(folder, name, error, said):
    with pytest.raises(InputError) as caught:
        build(written(SMALL), Notes(**{name: error}))
    assert str(caught.value).startswith(f"p.yaml:{said}")

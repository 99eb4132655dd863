"""Every mistake in a pipeline is one line: its place, the rule, the value and the remedy."""

from pathlib import Path

import pytest

from engine.pipeline.pipelines import SMALL, message
from headgate.engine.pipeline import load
from headgate.errors import InputError

SOURCE = "{ticks: {rate: 100}}"
SINK = "{parquet: out/big}"

# What is replaced in SMALL (all, for None) and by what, line and column of the mistake, and what is said.
MISTAKES = [
    # the file
    (None, "", "1:1", ["a pipeline is a mapping", "got an empty file"]),
    (None, "- a\n", "1:1", ["a pipeline is a mapping", "['a']"]),
    ("policy: bsd", "policy: [bsd", "2:8", ["the file is valid YAML"]),
    ("policy: bsd", "policy: bsd\npolicy: hnr", "2:1", ["a key stands once", "'policy'"]),
    # keys
    ("policy:", "polcy:", "1:1", ["a pipeline has known keys only", "'polcy'", "Did you mean 'policy'?"]),
    ("delay:", "dealy:", "3:57", ["a stream has known keys only", "'dealy'", "Did you mean 'delay'?"]),
    (
        "class:",
        "group:",
        "7:35",
        ["a query has known keys only", "'group'", "sql, for_each, class, qos, loss, deadline, weight, scale"],
    ),
    ("file:", "path:", "5:13", ["a table has known keys only", "'path'", "Choose one of file, jdbc, parts, refresh"]),
    ("file: symbols.csv", "refresh: true", "5:12", ["a table is a file or one of a database", "got none"]),
    (
        "file: symbols.csv",
        "file: symbols.csv, parts: {column: id}",
        "5:39",
        ["parts are given by values or by ranges", "got none"],
    ),
    (
        "file: symbols.csv",
        "file: symbols.csv, parts: {column: id, ranges: [2, 1]}",
        "5:39",
        ["bounds of parts rise", "got 2, 1"],
    ),
    (
        "file: symbols.csv",
        "jdbc: {url: 'http://db', table: t}",
        "5:19",
        ["a database is named by a JDBC address", "got 'http://db'"],
    ),
    (
        "file: symbols.csv",
        "file: symbols.csv, max_age: 0s",
        "5:41",
        ["'max_age' is a finite time above 0", "got '0s'"],
    ),
    (
        "file: symbols.csv",
        "file: symbols.csv, refresh: false, max_age: 5min",
        "5:57",
        ["a table with a max_age is refreshed", "got refresh: false"],
    ),
    ("policy:", "refresh: {per: 60s}\npolicy:", "1:10", ["a refresh budget is in refreshes or in bytes", "got none"]),
    ("policy:", "refresh: {budget: 0}\npolicy:", "1:19", ["'budget' is a finite number above 0", "got 0"]),
    (
        "policy:",
        "refresh: {budget: 1, policy: often}\npolicy:",
        "1:30",
        ["'policy' is a known way to refresh", "often"],
    ),
    ("rate:", "rat:", "3:28", ["a ticks source has known keys only", "Did you mean 'rate'?"]),
    (
        "  ticks: {source: {ticks: {rate: 100}}, event_time: ts, delay: 2s, idle: 5s}",
        "  ticks:",
        "3:9",
        ["a stream is"],
    ),
    (
        "source: {ticks: {rate: 100}}, ",
        "",
        "3:10",
        ["a stream has the key 'source'", "source: {ticks: {rate: 1000}}"],
    ),
    ("sql: SELECT * FROM ticks, ", "", "7:8", ["a query has the key 'sql'", "Add it, as in sql: SELECT"]),
    ("streams:", "stream:", "2:1", ["a pipeline has known keys only", "Did you mean 'streams'?"]),
    ("window: 10s", "window:", "10:12", ["'window' has a value", "got nothing", "remove the key"]),
    ("idle: 5s", "idle: ", "3:73", ["'idle' has a value", "got nothing"]),
    # names
    ("ticks: {source", "my ticks: {source", "3:3", ["this key is a plain name", "'my ticks'", "big_trades"]),
    ("  ticks: {source", "  _ticks: {source", "3:3", ["this key is a plain name", "'_ticks'"]),
    ("symbols:", "Ticks:", "5:3", ["a name of its own", "'Ticks' beside 'ticks'"]),
    ("big:", "SYMBOLS:", "7:3", ["a name of its own", "'SYMBOLS' beside 'symbols'"]),
    ("big:", "big-trades:", "7:3", ["this key is a plain name", "'big-trades'"]),
    # sources
    (SOURCE, "tocks", "3:19", ["a source is of a known kind", "'tocks'", "Did you mean 'ticks'?"]),
    (SOURCE, "nexmark", "3:19", ["a source without settings is ticks", "'nexmark'"]),
    (
        SOURCE,
        "{tick: {}}",
        "3:20",
        ["a source has known keys only", "'tick'", "replay, ticks, nexmark, folder, socket, kafka"],
    ),
    (SOURCE, "5", "3:19", ["a source is a mapping", "got 5", "{ticks: {rate: 1000}}"]),
    (SOURCE, "{}", "3:19", ["a source is exactly one of replay, ticks", "no keys"]),
    (SOURCE, "{ticks: {}, replay: a.csv}", "3:19", ["a source is exactly one of", "the keys ticks, replay"]),
    (SOURCE, "{ticks: 100}", "3:27", ["a ticks source is a mapping", "got 100", "{rate: 1000, symbols: 50}"]),
    (SOURCE, "{ticks: {rate: 0}}", "3:34", ["'rate' is a finite number above 0", "got 0", "such as 1000"]),
    (SOURCE, "{ticks: {rate: fast}}", "3:34", ["'rate' is a finite number above 0", "'fast'"]),
    (SOURCE, "{ticks: {symbols: 1.5}}", "3:37", ["'symbols' is a whole number, 1 or more", "got 1.5"]),
    (SOURCE, "{ticks: {symbols: 1e9}}", "3:37", ["symbols is a number from 1 to 17576"]),
    (SOURCE, "{ticks: {count: -1}}", "3:35", ["'count' is a whole number, 1 or more", "got -1"]),
    (SOURCE, "{ticks: {disorder: -1s}}", "3:38", ["'disorder' is a finite time, 0 or more", "'-1s'"]),
    (SOURCE, "{ticks: {disorder: 1 day}}", "3:38", ["'disorder' is a finite time", "'1 day'", "us, ms, s, min, h"]),
    (SOURCE, "{ticks: {rates: [[1s]]}}", "3:36", ["every entry of 'rates' is a pair"]),
    (SOURCE, "{ticks: {rates: []}}", "3:35", ["'rates' has at least one entry"]),
    (SOURCE, "{ticks: {rates: 5}}", "3:35", ["'rates' is a list", "got 5"]),
    (SOURCE, "{ticks: {seed: x}}", "3:34", ["'seed' is a whole number, 0 or more", "'x'"]),
    (SOURCE, "{nexmark: }", "3:28", ["'nexmark' has a value", "got nothing"]),
    (SOURCE, "{nexmark: {}}", "3:29", ["a nexmark source has the key 'kind'", "{kind: bids, rate: 1000}"]),
    (
        SOURCE,
        "{nexmark: bid}",
        "3:29",
        ["'nexmark' is a known kind of Nexmark event", "'bid'", "Did you mean 'bids'?"],
    ),
    (SOURCE, "{replay: {speed: 2}}", "3:28", ["a replay source has the key 'path'", "the keys speed"]),
    (SOURCE, "{replay: [a.csv]}", "3:28", ["a replay source is a mapping", "['a.csv']"]),
    (SOURCE, "{replay: gone.csv}", "3:28", ["gone.csv"]),
    (SOURCE, "{replay: {path: ''}}", "3:35", ["'path' is a path", "got ''", "starts at the folder of this file"]),
    (SOURCE, "{replay: {path: ticks.csv, speed: fast}}", "3:53", ["'speed' is a number above 0, or max", "'fast'"]),
    (SOURCE, "{replay: {path: ticks.csv, speed: -1}}", "3:53", ["'speed' is a finite number above 0", "got -1"]),
    (SOURCE, "{replay: {path: ticks.csv, repeat: 0}}", "3:54", ["'repeat' is a whole number, 1 or more"]),
    (
        SOURCE,
        "{folder: {path: incoming, format: xml}}",
        "3:53",
        ["'format' is a known format", "'xml'", "parquet, csv, json"],
    ),
    (SOURCE, "{folder: {path: incoming, every: 0}}", "3:52", ["'every' is a finite time above 0", "got 0"]),
    (SOURCE, "{socket: {port: 9999}}", "3:28", ["a socket source has the key 'schema'", "schema: sym STRING"]),
    (SOURCE, "{socket: {schema: a INT}}", "3:28", ["a socket source has the key 'port'", "port: 9999"]),
    (SOURCE, "{socket: {port: 1e6, schema: a INT}}", "3:35", ["'port' is a whole number from 0 to 65535"]),
    (SOURCE, "{kafka: {topic: ticks}}", "3:27", ["a kafka source has the key 'schema'", "schema: sym STRING"]),
    (
        SOURCE,
        "{kafka: {topic: t, schema: a INT, start: now}}",
        "3:60",
        ["'start' is a known start of a topic", "'now'", "latest, earliest"],
    ),
    (SOURCE, "{kafka: {topic: t, schema: a INT, options: [1]}}", "3:62", ["'options' is a mapping of words"]),
    # streams
    ("event_time: ts, ", "", "3:41", ["delay is about event times", "no event_time", "event_time: ts"]),
    ("event_time: ts, delay: 2s, ", "", "3:41", ["idle is about event times", "no event_time"]),
    ("delay: 2s", "delay: -2s", "3:64", ["'delay' is a finite time, 0 or more", "'-2s'"]),
    ("idle: 5s", "idle: 0", "3:74", ["'idle' is a finite time above 0", "got 0"]),
    ("event_time: ts", "event_time: [ts]", "3:53", ["'event_time' is a name", "['ts']"]),
    # tables
    (
        "symbols.csv",
        "gone.csv",
        "5:19",
        ["a table is a file or a folder that exists", "gone.csv", "folder of this file"],
    ),
    ("{file: symbols.csv}", "gone.csv", "5:12", ["a table is a file or a folder that exists"]),
    ("{file: symbols.csv}", "{file: 5}", "5:19", ["'file' is a path", "got 5"]),
    ("{file: symbols.csv}", "[symbols.csv]", "5:12", ["a table is a mapping", "{file: symbols.csv}"]),
    # queries
    ("SELECT * FROM ticks,", "5,", "7:14", ["'sql' is a query in Spark SQL", "got 5", "SELECT * FROM ticks"]),
    ("SELECT * FROM ticks,", "'',", "7:14", ["'sql' is a query in Spark SQL"]),
    ("window: 10s\n    slide", "slide", "10:5", ["slide is about windows", "no window", "window: 10s"]),
    ("window: 10s\n    slide: 2s\n    ", "", "10:5", ["time is about windows", "no window"]),
    ("window: 10s", "window: 0s", "10:13", ["'window' is a finite time above 0", "'0s'"]),
    ("window: 10s", "window: 0 rows", "10:13", ["'window' is a row or more", "'0 rows'", "5 rows"]),
    ("window: 10s", "window: 5 rows", "11:12", ["a window's slide is of what its size is", "slide: 1 row"]),
    (
        "window: 10s\n    slide: 2s",
        "window: 5 rows\n    slide: 1 row",
        "12:5",
        ["time is for windows of time", "one over rows", "window: 10s"],
    ),
    ("window: 10s", "window: ten", "10:13", ["'window' is a finite time above 0", "'ten'", "Write it like 5ms"]),
    ("time: event", "time: process", "12:11", ["'time' is a known time", "'process'", "event, arrival"]),
    ("limit: 30s", "limit: never", "13:12", ["'limit' is a finite time above 0", "'never'"]),
    ("limit: 30s", "start: late", "13:12", ["'start' is a known start", "'late'", "now, earliest"]),
    # results as streams
    ("{parquet: out/big}", "{stream: Ticks}", "7:56", ["a name of its own", "'Ticks' beside 'ticks'"]),
    ("{parquet: out/big}", "{stream: vwap}", "7:56", ["a name of its own", "'vwap' beside 'vwap'"]),
    ("{parquet: out/big}", "{stream: my big}", "7:65", ["'stream' is a plain name", "'my big'"]),
    (
        "FROM ticks, class: alerts, sink: {parquet: out/big}",
        "FROM x, sink: {stream: x}",
        "7:37",
        ["no query reads its own results", "big -> big"],
    ),
    ("class: alerts", "class: []", "7:42", ["'class' is a name"]),
    # QoS graphs
    ("limit: 30s", "qos: 5", "13:10", ["'qos' is a list", "got 5"]),
    ("limit: 30s", "qos: []", "13:10", ["'qos' has at least one entry", "got []"]),
    ("limit: 30s", "qos: [[0, 1], [1s]]", "13:19", ["every entry of 'qos' is a pair", "['1s']"]),
    ("limit: 30s", "qos: [[0, 1], [soon, 0]]", "13:20", ["every entry of 'qos' is a finite time", "'soon'"]),
    ("limit: 30s", "qos: [[0, 1], [1s, -1]]", "13:24", ["every entry of 'qos' is a finite number, 0 or more"]),
    ("limit: 30s", "qos: [[0, 1], [1s, 2]]", "13:10", ["utility never rises", "1 and then 2 at 1 s"]),
    ("limit: 30s", "qos: [[1s, 1], [0, 0]]", "13:10", ["go from left to right", "1 before 0", "Sort them"]),
    ("limit: 30s", "qos: [[0, 1]]\n    deadline: 1s", "13:5", ["a deadline or a QoS graph", "got both"]),
    ("limit: 30s", "loss: [[0, 0], [2, 1]]", "13:11", ["fraction is from 0 to 1", "0 to 2"]),
    ("limit: 30s", "loss: [[0, 1], [1, 0.5]]", "13:11", ["utility never falls", "1 and then 0.5 at 1"]),
    # sinks
    (SINK, "{}", "7:56", ["a sink is exactly one of parquet, jsonl, stream, console, discard", "no keys"]),
    (SINK, "{parquet: a, jsonl: b}", "7:56", ["a sink is exactly one of", "the keys parquet, jsonl"]),
    (SINK, "{parqet: a}", "7:57", ["a sink has known keys only", "'parqet'", "Did you mean 'parquet'?"]),
    (SINK, "out/big", "7:56", ["a sink is of a known kind", "'out/big'", "{parquet: out/big}"]),
    (SINK, "{parquet: }", "7:65", ["'parquet' has a value", "got nothing", "{parquet: out/big}"]),
    (SINK, "{parquet: 5}", "7:66", ["a parquet sink is a mapping", "got 5", "{folder: out/big, every: 10s}"]),
    (SINK, "{parquet: {every: 5}}", "7:66", ["a parquet sink has the key 'folder'"]),
    (SINK, "{parquet: {folder: 5}}", "7:75", ["'folder' is a path", "got 5"]),
    (SINK, "{parquet: {folder: a, evry: 5}}", "7:78", ["known keys only", "Did you mean 'every'?"]),
    (SINK, "{parquet: {folder: a, every: often}}", "7:85", ["'every' is a finite time, 0 or more", "'often'"]),
    (SINK, "parquet", "7:56", ["a sink without settings is console or discard", "'parquet'", "{parquet: out/big}"]),
    (SINK, "{console: 5}", "7:66", ["a console sink is a mapping", "got 5", "{rows: 20}"]),
    (SINK, "{console: {rows: 0}}", "7:73", ["'rows' is a whole number, 1 or more", "got 0"]),
    (SINK, "{console: {row: 5}}", "7:67", ["a console sink has known keys only", "Did you mean 'rows'?"]),
    (SINK, "{discard: {rows: 5}}", "7:66", ["'discard' has no settings", "Write sink: discard"]),
    ("limit: 30s", "sink: {jsonl: out/big}", "13:11", ["a place of its own", "where query 'big' writes", "out/vwap"]),
    ("limit: 30s", "sink: {jsonl: out/big/x}", "13:11", ["a place of its own", "'out/big/x'"]),
    ("limit: 30s", "sink: {parquet: ./out}", "13:11", ["a place of its own", "'./out'"]),
    # policy, lanes, state
    ("policy: bsd", "policy: best", "1:9", ["'policy' is a known policy", "'best'", "auto, fcfs"]),
    ("policy: bsd", "policy: {name: best}", "1:16", ["'name' is a known policy", "'best'"]),
    ("policy: bsd", "policy: 5", "1:9", ["a policy is a mapping", "got 5", "{name: bsd"]),
    ("policy: bsd", "policy: {train: {most: 5}}", "1:9", ["a policy has the key 'name'"]),
    ("policy: bsd", "policy: {name: bsd, quantum: 5ms}", "1:21", ["policy 'bsd' has known keys only", "'quantum'"]),
    (
        "policy: bsd",
        "policy: {name: auto, train: {}}",
        "1:22",
        ["policy 'auto' has known keys only", "There is name only"],
    ),
    ("policy: bsd", "policy: {name: bsd, train: 5}", "1:28", ["a train is a mapping", "{most: 50, slice: 100ms}"]),
    ("policy: bsd", "policy: {name: bsd, train: {most: 0}}", "1:35", ["'most' is a whole number, 1 or more"]),
    ("policy: bsd", "policy: {name: rr, over: x}", "1:26", ["'over' is a known word", "queries, units"]),
    (
        "policy: bsd",
        "policy: {name: bsd-clustered, ratio: 2, kind: uniform}",
        "1:38",
        ["a ratio is above 1 and goes with logarithmic clusters"],
    ),
    ("policy: bsd", "lanes: 0", "1:8", ["'lanes' is auto, jobs, a number from 1 to 256", "got 0", "resident: 2}"]),
    ("policy: bsd", "lanes: many", "1:8", ["'lanes' is auto, jobs, a number", "'many'"]),
    ("policy: bsd", "lanes: [2]", "1:8", ["'lanes' is auto, jobs, a number", "[2]"]),
    ("policy: bsd", "lanes: true", "1:8", ["'lanes' is auto, jobs, a number", "true"]),
    ("policy: bsd", "lanes: {job: 2}", "1:9", ["'lanes' has known keys only", "'job'", "Did you mean 'jobs'?"]),
    ("policy: bsd", "lanes: {jobs: 0}", "1:15", ["'jobs' is a whole number from 1 to 256", "got 0"]),
    ("policy: bsd", "lanes: {jobs: 1, resident: -1}", "1:28", ["'resident' is a whole number from 0 to 256"]),
    ("policy: bsd", "lanes: {jobs: }", "1:14", ["'jobs' has a value", "got nothing"]),
    ("policy: bsd", "fuse: maybe", "1:7", ["'fuse' is true or false", "'maybe'"]),
    ("policy: bsd", "sync: 1", "1:7", ["'sync' is true or false", "got 1"]),
    ("policy: bsd", "channel: tcp", "1:10", ["'channel' is a known channel", "'tcp'", "unix, flight"]),
    ("policy: bsd", "state: 5", "1:8", ["'state' is a path", "got 5"]),
]


@pytest.mark.parametrize(("old", "new", "place", "said"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_reported_with_its_place_the_value_and_the_remedy(folder, old, new, place, said):
    if old is not None:
        assert old in SMALL
    text = message(new if old is None else SMALL.replace(old, new, 1))
    assert text.startswith(f"p.yaml:{place}: ")
    for fragment in said:
        assert fragment in text
    assert "\n" not in text


def test_of_several_mistakes_the_first_in_the_file_is_reported_with_the_number_of_the_others(folder):
    text = message(SMALL.replace("rate: 100", "rate: 0").replace("10s", "ten").replace("policy: bsd", "lanes: 0"))
    assert text.startswith("p.yaml:1:8: ")
    assert text.endswith("(and 2 more mistakes)")


def test_a_file_that_is_missing_or_no_text_is_reported(folder):
    with pytest.raises(InputError, match=r"a pipeline is a file that can be read; got 'gone.yaml'"):
        load("gone.yaml")
    Path("p.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(InputError, match="a pipeline is a text file in UTF-8"):
        load("p.yaml")

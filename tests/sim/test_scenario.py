"""Scenario files: what they describe, and one clear message with its place for each mistake."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headgate.errors import InputError
from headgate.model.operator import Cost, Kind
from headgate.model.parameters import load as load_of
from headgate.policy.registry import POLICIES
from headgate.policy.trains import Train
from headgate.sim.scenario import DEMO, load, run
from headgate.sim.scenario_file import (
    PROCESSES,
    OperatorSpec,
    PolicySpec,
    QuerySpec,
    ScenarioFile,
    SharingSpec,
    TraceSpec,
    TrainSpec,
)

ROOT = Path(__file__).parents[2]

CHAIN = """\
streams:
  ticks: {arrivals: poisson, rate: 100}
queries:
  big: {from: ticks, operators: [select: {cost: 1ms, selectivity: 0.5}]}
tuples: 100
policies: [fcfs]
"""

NETWORK = """\
streams:
  a: {arrivals: poisson, rate: 10}
operators:
  x: {kind: select, inputs: [a], cost: 1ms, selectivity: 0.5}
  y: {kind: select, inputs: [x], cost: 1ms, selectivity: 0.5}
queries:
  q: {output: y}
tuples: 100
policies: [fcfs]
"""

TESTBED = """\
streams: {stream: {arrivals: poisson, rate: 10}}
testbed: {kind: single-stream, queries: 5}
utilisation: 0.5
tuples: 20
policies: [fcfs]
"""

POISSON = "arrivals: poisson, rate: 100"

# A scenario, what is replaced in it (all, for None) and by what, line and column of the mistake, and what is said.
MISTAKES = [
    # the file
    (CHAIN, None, "", "1:1", ["a scenario is a mapping", "got an empty file"]),
    (CHAIN, None, "# nothing\n", "1:1", ["got an empty file"]),
    (CHAIN, None, "- fcfs\n- hnr\n", "1:1", ["a scenario is a mapping", "['fcfs', 'hnr']"]),
    (CHAIN, None, "fcfs", "1:1", ["a scenario is a mapping", "'fcfs'"]),
    (CHAIN, "policies: [fcfs]", "policies: [fcfs", "7:1", ["the file is valid YAML", "']'"]),
    (CHAIN, "tuples: 100", "tuples: 100: 5", "5:12", ["the file is valid YAML"]),
    (CHAIN, "tuples: 100", "tuples: 100\ntuples: 200", "6:1", ["a key stands once", "'tuples'", "line 5"]),
    (CHAIN, "rate: 100}", "rate: 100, rate: 5}", "2:41", ["a key stands once", "'rate'", "line 2"]),
    (CHAIN, "rate: 100", "rate: !!python/tuple [1]", "2:36", ["no YAML tag"]),
    (CHAIN, "rate: 100", "rate: &x [*x]", "2:36", ["does not contain itself"]),
    (CHAIN, "rate: 100", "[1]: 100", "2:30", ["a key is a word"]),
    (CHAIN, "rate: 100", "rate: 1\x00", "2:37", ["printable characters"]),
    # keys
    (CHAIN, "tuples:", "tupels:", "5:1", ["a scenario has known keys only", "'tupels'", "Did you mean 'tuples'?"]),
    (CHAIN, "rate:", "rat:", "2:30", ["a poisson stream has known keys only", "'rat'", "Did you mean 'rate'?"]),
    (CHAIN, "from:", "form:", "4:9", ["a query has known keys only", "Did you mean 'from'?"]),
    (CHAIN, "cost:", "costs:", "4:43", ["an operator has known keys only", "Did you mean 'cost'?"]),
    (CHAIN, "1ms", "{a: 1ms, c: 1ms}", "4:58", ["a cost has known keys only", "'c'", "a, b"]),
    (CHAIN, "streams:\n  ticks: {arrivals: poisson, rate: 100}\n", "", "1:1", ["has the key 'streams'", "Add it"]),
    (CHAIN, "policies: [fcfs]\n", "", "1:1", ["a scenario has the key 'policies'", "[fcfs, hnr, bsd]"]),
    (CHAIN, ", rate: 100", "", "2:10", ["a poisson stream has the key 'rate'", "{arrivals: poisson, rate: 100}"]),
    (CHAIN, "cost: 1ms, ", "", "4:42", ["a select has the key 'cost'"]),
    (CHAIN, ", selectivity: 0.5", "", "4:42", ["a select has the key 'selectivity'"]),
    (CHAIN, "from: ticks, ", "", "4:8", ["a query has from and operators, or an output"]),
    (CHAIN, "from: ticks", "output: ticks", "4:8", ["a query has from and operators, or an output"]),
    (CHAIN, "tuples: 100\n", "", "1:1", ["tuples or a duration", "got neither"]),
    (CHAIN, "tuples: 100", "tuples: 100\nduration: 5s", "1:1", ["tuples or a duration", "got both"]),
    (CHAIN, "[fcfs]", "[{label: x}]", "6:12", ["a policy has the key 'policy'"]),
    # streams
    (CHAIN, "{arrivals: poisson, rate: 100}", "100", "2:10", ["a stream is a mapping", "got 100"]),
    (CHAIN, "{arrivals: poisson, rate: 100}", "", "2:9", ["a stream is a mapping", "got nothing"]),
    (CHAIN, "\n  ticks: {arrivals: poisson, rate: 100}", " {}", "1:10", ["'streams' has at least one entry"]),
    (CHAIN, "arrivals:", "arivals:", "2:10", ["either arrivals or a trace", "Did you mean 'arrivals'?"]),
    (CHAIN, "poisson", "poison", "2:21", ["known kind", "'poison'", "Did you mean 'poisson'?"]),
    (CHAIN, "poisson", "[poisson]", "2:21", ["known kind", "['poisson']"]),
    (CHAIN, "rate: 100", "rate: fast", "2:36", ["'rate' is a finite number above 0", "'fast'", "such as 100"]),
    (CHAIN, "rate: 100", "rate: .nan", "2:36", ["'rate' is a finite number above 0", "got nan"]),
    (CHAIN, "rate: 100", "rate: .inf", "2:36", ["'rate' is a finite number above 0", "got inf"]),
    (CHAIN, "rate: 100", "rate: -5", "2:36", ["'rate' is a finite number above 0", "got -5"]),
    (CHAIN, "rate: 100", "rate: true", "2:36", ["'rate' is a finite number above 0", "got true"]),
    (CHAIN, POISSON, "arrivals: on-off, alpha: 0.5", "2:36", ["on-off: alpha is above 1", "got 0.5"]),
    (CHAIN, POISSON, "arrivals: on-off, mean_on: -1s", "2:38", ["'mean_on' is a finite time above 0", "'-1s'"]),
    (CHAIN, POISSON, "arrivals: b-model, rate: 5, bias: 1", "2:45", ["b-model: bias is at least 0.5"]),
    (CHAIN, POISSON, "arrivals: steps, levels: [[5s, 1], [2s, 3]]", "2:10", ["steps: each from_time is later"]),
    (CHAIN, POISSON, "arrivals: steps, levels: [[5s, 1, 2]]", "2:37", ["every entry of 'levels' is a pair"]),
    (CHAIN, POISSON, "arrivals: steps, levels: []", "2:36", ["'levels' has at least one entry"]),
    # operators
    (CHAIN, "1ms", "-1ms", "4:49", ["'cost' is a finite time, 0 or more", "'-1ms'", "Write it like 5ms"]),
    (CHAIN, "1ms", "-0.5", "4:49", ["'cost' is a finite time, 0 or more", "got -0.5"]),
    (CHAIN, "1ms", ".nan", "4:49", ["'cost' is a finite time", "got nan"]),
    (CHAIN, "1ms", "1 parsec", "4:49", ["'cost' is a finite time", "'1 parsec'", "us, ms, s, min, h"]),
    (CHAIN, "1ms", "{a: 1ms, b: -3us}", "4:61", ["'b' is a finite time, 0 or more"]),
    (CHAIN, "1ms", "0", "4:8", ["query 'big': a query costs some time"]),
    (CHAIN, "0.5", "1.5", "4:67", ["selectivity of a select is above 0 and at most 1", "got 1.5"]),
    (CHAIN, "0.5", "0", "4:67", ["selectivity of a select is above 0", "got 0"]),
    (CHAIN, "0.5", ".nan", "4:67", ["'selectivity' is a finite number", "got nan"]),
    (CHAIN, "select:", "project:", "4:68", ["selectivity of a project is 1", "got 0.5"]),
    (CHAIN, "0.5", "0.5, window: 5s", "4:80", ["only a window join has a window"]),
    (CHAIN, "select:", "selct:", "4:34", ["known kind of operator in a chain", "'selct'", "Did you mean 'select'?"]),
    (CHAIN, "select:", "union:", "4:34", ["known kind of operator in a chain", "'union'"]),
    (CHAIN, "[select: {cost: 1ms, selectivity: 0.5}]", "[select]", "4:34", ["a step of a chain is one operator"]),
    (CHAIN, "[select: {cost: 1ms, selectivity: 0.5}]", "[]", "4:33", ["'operators' has at least one entry"]),
    (
        CHAIN,
        "from: ticks",
        "from: tocks",
        "4:15",
        ["names a stream or an operator", "'tocks'", "Did you mean 'ticks'?"],
    ),
    (NETWORK, "inputs: [a]", "inputs: [b]", "4:30", ["every input names a stream or an operator", "'b'", "a, x, y"]),
    (NETWORK, "output: y", "output: z", "7:15", ["'output' names a stream or an operator", "'z'"]),
    (NETWORK, "inputs: [a]", "inputs: [y]", "4:29", ["a query network has no cycle", "x -> y -> x"]),
    (NETWORK, "inputs: [a]", "inputs: [a, a]", "4:29", ["a select takes exactly 1 input", "got 2"]),
    (NETWORK, "inputs: [a]", "inputs: a", "4:29", ["'inputs' is a list", "'a'"]),
    (
        NETWORK,
        "kind: select, inputs: [a]",
        "kind: slect, inputs: [a]",
        "4:13",
        ["known kind", "Did you mean 'select'?"],
    ),
    (NETWORK, "kind: select, inputs: [a]", "kind: window_join, inputs: [a, a]", "4:6", ["has the key 'window'"]),
    (NETWORK, "output: y", "output: x", "5:3", ["read by a query", "'y'"]),
    (NETWORK, "output: y", "output: a", "7:6", ["a query computes something"]),
    (NETWORK, "  x:", "  a:", "4:3", ["another name than the streams", "'a'"]),
    (NETWORK, "streams:\n", "streams:\n  b: {arrivals: poisson, rate: 1}\n", "2:3", ["read by a query", "'b'"]),
    # policies
    (CHAIN, "[fcfs]", "[]", "6:11", ["'policies' has at least one entry"]),
    (CHAIN, "[fcfs]", "", "6:10", ["'policies' is a list", "got nothing"]),
    (CHAIN, "[fcfs]", "fcfs", "6:11", ["'policies' is a list", "'fcfs'"]),
    (CHAIN, "[fcfs]", "[hnr, fcsf]", "6:17", ["known policy", "'fcsf'", "Did you mean 'fcfs'?"]),
    (CHAIN, "[fcfs]", "[5]", "6:12", ["a policy is a mapping", "got 5"]),
    (CHAIN, "[fcfs]", "[{policy: hnr, quantum: 5ms}]", "6:26", ["policy 'hnr' has known keys", "'quantum'", "train"]),
    (CHAIN, "[fcfs]", "[{policy: rr, quantm: 5ms}]", "6:25", ["policy 'rr' has known keys", "'quantum'?"]),
    (CHAIN, "[fcfs]", "[{policy: rr, quantum: 0}]", "6:34", ["'quantum' is a finite time above 0", "got 0"]),
    (CHAIN, "[fcfs]", "[{policy: rr, quantum: 5K}]", "6:34", ["K is the factor", "no utilisation"]),
    (CHAIN, "[fcfs]", "[{policy: rr, runs: 0}]", "6:31", ["'runs' is a whole number, 1 or more", "got 0"]),
    (CHAIN, "[fcfs]", "[{policy: bsd, level: oprator}]", "6:33", ["known level", "Did you mean 'operator'?"]),
    (CHAIN, "[fcfs]", "[{policy: bsd, sharing: best}]", "6:35", ["known sharing strategy", "'best'", "pdt"]),
    (CHAIN, "[fcfs]", "[{policy: bsd, train: 5}]", "6:33", ["a train is a mapping", "{most: 50, slice: 100ms}"]),
    (CHAIN, "[fcfs]", "[{policy: bsd, train: {most: 0.5}}]", "6:40", ["'most' is a whole number", "got 0.5"]),
    (CHAIN, "[fcfs]", "[{policy: bsd-clustered, clusters: 0}]", "6:46", ["'clusters' is a whole number, 1 or more"]),
    (CHAIN, "[fcfs]", "[{policy: bsd-clustered, search: x}]", "6:44", ["'search' is a known word", "fagin"]),
    (CHAIN, "[fcfs]", "[fcfs, fcfs]", "6:18", ["a name of its own", "'fcfs' twice", "label"]),
    (CHAIN, "[fcfs]", "[fcfs]\nsharing: {strategy: x}", "7:21", ["known sharing strategy", "'x'"]),
    (CHAIN, "[fcfs]", "[fcfs]\nkernel: fast", "7:9", ["known kernel", "'fast'", "auto, events, compiled"]),
    (NETWORK, "[fcfs]", "[{policy: bsd, train: {most: 5}}]\nkernel: compiled", "9:12", ["compiled kernel"]),
    # amounts
    (CHAIN, "tuples: 100", "tuples: 0", "5:9", ["'tuples' is a whole number from 1", "got 0"]),
    (CHAIN, "tuples: 100", "tuples: 1.5", "5:9", ["'tuples' is a whole number", "got 1.5"]),
    (CHAIN, "tuples: 100", "tuples: " + "9" * 5000, "5:9", ["'tuples' is a whole number", "got inf"]),
    (CHAIN, "tuples: 100", "duration: 0s", "5:11", ["'duration' is a finite time above 0", "'0s'"]),
    (CHAIN, "tuples: 100", "duration: 1us", "2:10", ["stream 'ticks': at least one tuple arrives"]),
    (
        CHAIN,
        "tuples: 100",
        "duration: 1000h",
        "2:10",
        ["stream 'ticks': at most 100000000 tuples arrive", "about 3.6e+08"],
    ),
    (CHAIN, "rate: 100", "rate: 1e300", "2:36", ["'rate' is from 1e-12 to 1e+12", "1e+300"]),
    (CHAIN, "1ms", "1e-300", "4:49", ["'cost' is 0 or a time from 1e-12 s"]),
    (CHAIN, "tuples: 100", "tuples: 1\nutilisation: 0.5", "2:10", ["needs a mean rate", "got 1 tuple"]),
    (CHAIN, "[fcfs]", "[fcfs]\nutilisation: 0", "7:14", ["'utilisation' is a finite number above 0", "got 0"]),
    (CHAIN, "[fcfs]", "[fcfs]\nutilisation: .nan", "7:14", ["'utilisation' is a finite number", "got nan"]),
    (CHAIN, "[fcfs]", "[fcfs]\nseeds: []", "7:8", ["'seeds' has at least one entry"]),
    (CHAIN, "[fcfs]", "[fcfs]\nseeds: [1, -1]", "7:12", ["every entry of 'seeds' is a whole number, 0 or more"]),
    (CHAIN, "[fcfs]", "[fcfs]\nseeds: [1, 1]", "7:12", ["a seed stands once", "1 twice"]),
    (CHAIN, "[fcfs]", "[fcfs]\nseeds: 3", "7:8", ["'seeds' is a list", "got 3"]),
    # testbeds
    (CHAIN, "[fcfs]", "[fcfs]\ntestbed: {kind: single-stream}", "1:1", ["queries, or a testbed", "got both"]),
    (TESTBED, "testbed: {kind: single-stream, queries: 5}\n", "", "1:1", ["queries, or a testbed", "got neither"]),
    (TESTBED, "kind: single-stream", "kind: single", "2:17", ["known testbed", "Did you mean 'single-stream'?"]),
    (TESTBED, "stream:", "strem:", "1:1", ["the testbed single-stream reads stream", "got strem"]),
    (TESTBED, "utilisation: 0.5\n", "", "2:1", ["a utilisation makes them times"]),
    (TESTBED, "single-stream", "shared-select", "2:41", ["fill their groups", "5 queries in groups of 10"]),
    (TESTBED, "queries: 5", "group: 5", "2:32", ["only the testbed shared-select has groups"]),
    # traces
    (
        CHAIN,
        POISSON,
        "trace: gone.tl",
        "2:18",
        ["a trace is a file that exists", "gone.tl", "folder of the scenario"],
    ),
    (CHAIN, POISSON, "trace: one.tl, form: xml", "2:32", ["'form' is a known form of trace", "'xml'"]),
    (CHAIN, POISSON, "trace: one.tl, scale: 0", "2:33", ["'scale' is a finite number above 0"]),
    (CHAIN, POISSON, "trace: one.tl, colum: t", "2:26", ["a trace stream has known keys", "Did you mean 'column'?"]),
    (CHAIN, POISSON, "trace: one.tl, arrivals: poisson", "2:10", ["either arrivals or a trace"]),
    (
        CHAIN,
        "{arrivals: poisson, rate: 100}",
        "{trace: one.tl}\nutilisation: 0.5",
        "2:10",
        ["stream 'ticks'", "needs a mean rate", "got 1 tuple"],
    ),
]

IN_TRACES = [
    ("empty.tl", "empty.tl: ", ["a trace has at least one row"]),
    ("back.tl", "back.tl:3: ", ["do not run backwards", "1.5 after 2.0"]),
    ("text.csv, column: t", "text.csv:3: ", ["a number of seconds", "'noon'"]),
    ("text.csv", "text.csv: ", ["column names the column", "t, n"]),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("one.tl").write_text("1 10\n")
    Path("empty.tl").write_text("")
    Path("back.tl").write_text("1 10\n2 10\n1.5 10\n")
    Path("text.csv").write_text("t,n\n1,2\nnoon,3\n")
    return tmp_path


def scenario(text):
    Path("s.yaml").write_text(text)
    return load("s.yaml")


def message(text):
    with pytest.raises(InputError) as caught:
        run(scenario(text))
    return str(caught.value)


@pytest.mark.parametrize(("base", "old", "new", "place", "said"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_reported_with_its_place_the_value_and_the_remedy(folder, base, old, new, place, said):
    if old is not None:
        assert base.count(old) >= 1
    text = message(new if old is None else base.replace(old, new, 1))
    assert text.startswith(f"s.yaml:{place}: ")
    for fragment in said:
        assert fragment in text
    assert "\n" not in text


@pytest.mark.parametrize(("trace", "place", "said"), IN_TRACES)
def test_a_mistake_in_a_trace_is_reported_at_its_line_there(folder, trace, place, said):
    text = message(CHAIN.replace(POISSON, f"trace: {trace}"))
    assert text.startswith(place)
    for fragment in said:
        assert fragment in text


def test_of_several_mistakes_the_first_in_the_file_is_reported_with_the_number_of_the_others(folder):
    text = message(CHAIN.replace("rate: 100", "rat: 100").replace("1ms", "-1").replace("fcfs", "fcf"))
    assert text.startswith("s.yaml:2:30: ")
    assert text.endswith("(and 2 more mistakes)")


def test_a_file_that_is_missing_or_no_text_is_reported(folder):
    with pytest.raises(InputError, match=r"'gone.yaml' \(No such file or directory\)"):
        load("gone.yaml")
    Path("s.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(InputError, match="text file in UTF-8"):
        load("s.yaml")


def test_brackets_without_end_and_aliases_without_end_are_reported(folder):
    assert "nested a few levels deep" in message("a: " + "[" * 5000)
    aliases = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
    assert "at most" in message("a0: &a0 [1]\n" + aliases)


def test_keys_and_words_are_text_even_where_older_yaml_reads_booleans(folder):
    text = CHAIN.replace("big:", "on:").replace("from: ticks", "from: ticks, class: no").replace("100}", "1e2}")
    loaded = scenario(text)
    assert [(q.name, q.cls) for q in loaded.queries.queries] == [("on", "no")]
    assert loaded.file.streams["ticks"].rate == 100


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2", 2),
        ("0.002", 0.002),
        ("5us", 5e-6),
        ("5ms", 5e-3),
        ("1.5 s", 1.5),
        ("2min", 120),
        ("1h", 3600),
        ("1e-3", 1e-3),
    ],
)
def test_times_are_seconds_or_have_a_unit(folder, written, seconds):
    network = scenario(CHAIN.replace("1ms", written)).queries
    assert network.by_name["big.select"].cost.b == pytest.approx(seconds)


def test_a_cost_may_have_a_part_per_run_and_a_part_per_tuple(folder):
    network = scenario(CHAIN.replace("1ms", "{a: 5ms, b: 10us}")).queries
    cost = network.by_name["big.select"].cost
    assert (cost.a, cost.b) == pytest.approx((0.005, 1e-5))


def test_a_chain_becomes_operators_with_names_of_their_own(folder):
    chain = "[select: {cost: 1ms, selectivity: 0.5}, map: {cost: 1ms}, map: {cost: 2ms, selectivity: 3}]"
    network = scenario(CHAIN.replace("[select: {cost: 1ms, selectivity: 0.5}]", chain)).queries
    assert network.order == ("ticks", "big.select", "big.map", "big.map2")
    assert network.queries[0].output == "big.map2"


def test_a_network_has_shared_operators_joins_and_unions(folder):
    network = scenario("""
streams: {l: {arrivals: poisson, rate: 5}, r: {arrivals: constant, rate: 4}}
operators:
  hot: {kind: select, inputs: [l], cost: 1ms, selectivity: 0.5}
  both: {kind: union, inputs: [hot, r]}
  pairs: {kind: window_join, inputs: [hot, r], cost: 1ms, selectivity: 0.01, window: 10s}
queries:
  one: {output: pairs, class: boards}
  two: {from: both, operators: [project: {cost: 1ms}]}
duration: 5s
policies: [fcfs]
""").queries
    assert [q.cls for q in network.queries] == ["boards", "default"]
    assert {q.name for q in network.readers["hot"]} == {"one", "two"}
    assert network.by_name["pairs"].kind is Kind.WINDOW_JOIN
    assert network.by_name["pairs"].window == 10
    assert network.by_name["both"].cost == Cost()


@pytest.mark.parametrize(
    "stream",
    [
        "arrivals: poisson, rate: 100",
        "arrivals: constant, rate: 100",
        "arrivals: on-off",
        "arrivals: b-model, rate: 100",
        "arrivals: steps, levels: [[0s, 100], [1s, 0], [2s, 50]]",
        "arrivals: ramp, start_rate: 0, end_rate: 100, duration: 1min",
        "arrivals: pareto-intervals, low: 20, high: 500, interval: 1s",
    ],
)
def test_every_kind_of_arrivals_can_be_written(folder, stream):
    workload = scenario(CHAIN.replace(POISSON, stream)).workload(1)
    assert workload.tuples["ticks"] == 100
    assert set(PROCESSES) >= {stream.split()[1].rstrip(",")}


def times(draw):
    return np.concatenate(list(draw.chunks()))


def test_arrivals_are_drawn_the_same_each_time_and_in_chunks(folder):
    draw = scenario(CHAIN.replace("tuples: 100", "tuples: 20000")).workload(1).arrivals["ticks"]
    assert len(list(draw.chunks())) > 1
    assert np.array_equal(times(draw), times(draw))


def test_measured_statistics_are_another_run_than_declared_ones(folder):
    text = CHAIN.replace(
        "policies: [", "policies: [{policy: hnr, statistics: measured, period: 100ms, label: learns}, "
    )
    found = {p.label: p.decisions.mean for p in run(scenario(text)).policies}
    assert found["learns"] > 0


def test_a_trace_is_read_from_the_folder_of_the_scenario(folder, monkeypatch):
    Path("deep").mkdir()
    Path("deep/p.tl").write_text("".join(f"{t} 1\n" for t in (10, 11, 13, 16, 20)))
    Path("deep/s.yaml").write_text(CHAIN.replace(POISSON, "trace: p.tl, skip: 1, scale: 0.5"))
    assert times(load("deep/s.yaml").workload(1).arrivals["ticks"]).tolist() == [0, 1, 2.5, 4.5]


def test_a_duration_takes_all_arrivals_of_all_streams_before_it(folder):
    text = NETWORK.replace("tuples: 100", "duration: 2s").replace("poisson, rate: 10", "constant, rate: 10")
    assert times(scenario(text).workload(1).arrivals["a"]).tolist() == pytest.approx([i / 10 for i in range(1, 20)])


def test_utilisation_scales_costs_to_the_rate_of_the_arrivals_as_drawn(folder):
    loaded = scenario(CHAIN.replace(POISSON, "arrivals: on-off") + "utilisation: 0.7\n")
    for seed in (1, 2):
        workload = loaded.workload(seed)
        drawn = times(workload.arrivals["ticks"])
        assert workload.rates["ticks"] == 99 / (drawn[-1] - drawn[0])
        assert load_of(workload.network, workload.rates) == pytest.approx(0.7)
        assert workload.network.by_name["big.select"].cost.b == pytest.approx(0.001 * workload.K)


def test_costs_without_a_part_per_tuple_cannot_be_scaled(folder):
    text = message(CHAIN.replace("1ms", "{a: 1ms}") + "utilisation: 0.7\n")
    assert text.startswith("s.yaml:7:14: ")
    assert "a part per tuple" in text


def test_a_stream_keeps_its_arrivals_when_another_is_added(folder):
    alone = times(scenario(CHAIN).workload(3).arrivals["ticks"])
    more = CHAIN.replace(
        "queries:", "  b: {arrivals: poisson, rate: 9}\nqueries:\n  o: {from: b, operators: [map: {cost: 1}]}"
    )
    workload = scenario(more).workload(3)
    ticks, b = (times(workload.arrivals[name]) for name in ("ticks", "b"))
    assert np.array_equal(alone, ticks)
    assert not np.array_equal(ticks[:50] / 9, b[:50] / 100)


def test_a_testbed_is_drawn_by_the_seed_of_the_run_or_by_its_own(folder):
    own = scenario(TESTBED)
    fixed = scenario(TESTBED.replace("queries: 5", "queries: 5, seed: 9"))

    def selectivities(loaded, seed):
        return [op.selectivity for op in loaded.workload(seed).network.operators]

    assert selectivities(own, 1) != selectivities(own, 2)
    assert selectivities(fixed, 1) == selectivities(fixed, 2) == selectivities(own, 9)


def test_policies_get_their_options_and_times_in_multiples_of_K(folder):
    loaded = scenario(
        TESTBED.replace(
            "[fcfs]",
            "[{policy: rr, quantum: 16K, price: 1us, label: turns}, {policy: rr, runs: all},"
            " {policy: bsd, train: {slice: 2K}, level: operator, sharing: max},"
            " {policy: bsd-clustered, clusters: 3, kind: uniform, price: 0.1K}]",
        )
    )
    K = 0.25
    turns, drain, bsd, clustered = (loaded.setting(p, K) for p in loaded.file.policies)
    assert (turns.name, turns.options, turns.price) == ("turns", {"quantum": 4.0}, 1e-6)
    assert drain.options == {"runs": math.inf}
    assert bsd.options == {"train": Train(math.inf, 0.5)}
    assert (bsd.level, bsd.sharing.strategy, bsd.sharing.together) == ("operator", "max", "pdt")
    assert (clustered.options, clustered.price) == ({"clusters": 3, "kind": "uniform"}, pytest.approx(0.025))


def test_every_option_of_every_registered_policy_can_be_written():
    written = set(PolicySpec.model_fields)
    assert {option for policy in POLICIES.values() for option in policy.options} <= written


def test_every_registered_policy_runs(folder):
    result = run(scenario(TESTBED.replace("[fcfs]", f"[{', '.join(POLICIES)}]")))
    assert [p.label for p in result.policies] == list(POLICIES)
    results = {p.figures.results.mean for p in result.policies}
    assert len(results) == 1  # the same arrivals and the same draws
    assert all(p.figures.avg_slowdown.mean >= 1 for p in result.policies)


def test_both_kernels_give_the_same_figures(folder):
    text = TESTBED.replace("[fcfs]", "[fcfs, hnr, bsd]")
    compiled, events = (run(scenario(text + f"kernel: {kernel}\n")) for kernel in ("compiled", "events"))
    for a, b in zip(compiled.policies, events.policies, strict=True):
        assert a.figures.avg_slowdown.mean == pytest.approx(b.figures.avg_slowdown.mean)
        assert a.decisions.mean == b.decisions.mean


def test_a_run_is_the_same_every_time_and_reports_its_progress(folder):
    loaded = scenario(TESTBED.replace("[fcfs]", "[fcfs, hnr]") + "seeds: [1, 2]\n")
    told = []
    first = run(loaded, lambda *args: told.append(args))
    assert first == run(loaded)
    assert told == [
        (0, 4, "fcfs, seed 1"),
        (1, 4, "hnr, seed 1"),
        (2, 4, "fcfs, seed 2"),
        (3, 4, "hnr, seed 2"),
        (4, 4, "done"),
    ]
    assert first.policies[0].figures.avg_slowdown.n == 2
    assert run(loaded.with_seeds([1])).policies[0].per_seed == first.policies[0].per_seed[:1]


def test_classes_are_summed_up_apart_and_a_class_without_results_has_no_slowdown(folder):
    rare = "  rare: {from: ticks, class: z, operators: [select: {cost: 1us, selectivity: 1e-9}]}\ntuples:"
    result = run(scenario(CHAIN.replace("tuples:", rare).replace("from: ticks,", "from: ticks, class: c10,", 1)))
    figures = result.policies[0].classes
    assert list(figures) == ["c10", "z"]
    assert figures["z"].results.mean == 0
    assert math.isnan(figures["z"].avg_slowdown.mean)
    assert figures["c10"].results.mean == result.policies[0].figures.results.mean > 0


def test_the_demo_is_a_scenario_that_compares_the_published_policies():
    assert [p.policy for p in load(DEMO).file.policies] == ["fcfs", "rr", "srpt", "hr", "hnr", "lsf", "bsd"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem)
def test_an_example_runs(path):
    loaded = load(path)
    few = loaded.file.model_copy(update={"tuples": 150, "duration": None})
    result = run(replace(loaded, file=few, seeds=loaded.seeds[:1]))
    assert all(p.figures.results.mean > 0 for p in result.policies)


def test_the_scenarios_in_the_documentation_run(folder):
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "scenario.md").read_text(), re.DOTALL)
    whole = [block for block in blocks if "policies:" in block]
    assert len(whole) == 3
    for block in whole:
        assert run(scenario(block)).policies


def test_the_documentation_names_every_key():
    text = (ROOT / "docs" / "scenario.md").read_text()
    for spec in (ScenarioFile, PolicySpec, OperatorSpec, QuerySpec, SharingSpec, TraceSpec, *PROCESSES.values()):
        for name, field in spec.model_fields.items():
            assert f"`{field.alias or name}`" in text, (spec, name)
    for name in TrainSpec.model_fields:
        assert f"{name}: " in text
    for kind in (*PROCESSES, *Kind):
        assert f"`{kind}`" in text or kind == "source"

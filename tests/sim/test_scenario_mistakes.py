"""Every mistake in a scenario is one line: its place, the rule, the value and the remedy."""

from pathlib import Path

import pytest

from headgate.errors import InputError
from headgate.sim.scenario import load
from scenarios import CHAIN, NETWORK, POISSON, TESTBED, message

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

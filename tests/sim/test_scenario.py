"""Scenario files: what they describe."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headgate.model.operator import Cost, Kind
from headgate.model.parameters import load as load_of
from headgate.policy.registry import POLICIES
from headgate.policy.trains import Train
from headgate.sim.scenario import DEMO, load, run
from headgate.sim.scenario.file import (
    OperatorSpec,
    PolicySpec,
    QuerySpec,
    ScenarioFile,
    SharingSpec,
    TrainSpec,
)
from headgate.sim.scenario.streams import PROCESSES, TraceSpec
from scenarios import CHAIN, NETWORK, POISSON, TESTBED, message, scenario

ROOT = Path(__file__).parents[2]


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


def test_tuples_in_queues_are_reported_where_the_kernel_counts_them(folder):
    fast, slow = (run(scenario(CHAIN + kernel)).policies[0] for kernel in ("", "kernel: events\n"))
    assert fast.held is None
    assert slow.held.mean > 0
    assert slow.figures.p50_slowdown.mean <= slow.figures.p99_slowdown.mean

"""The event kernel: operators of every kind, trains, joins, the price of scheduling, and memory."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.registry import create
from headgate.sim import draws
from headgate.sim.compiled.chains import log
from headgate.sim.compiled.dispatch import compiled
from headgate.sim.metrics import tally_for
from headgate.sim.run import Setting, simulate
from headgate.sim.simulation import Simulation
from headgate.sim.testbed import at_utilisation, single_stream, two_streams
from helpers import EVERY_POLICY, STREAM, chains, join_network, on_events, operator, results, units_of

SEEDS = st.integers(0, 10_000)


def network_of(*operators, queries=None):
    ops = (Operator(STREAM, Kind.SOURCE), *operators)
    return Network(ops, tuple(queries or [Query("q", operators[-1].name)]))


# Trains.

TRAIN = network_of(operator("x", [STREAM], 1.0, a=1.0), operator("y", ["x"], 1.0, a=2.0))


@pytest.mark.parametrize(
    ("commit", "departures"),
    [
        ("result", [7.0, 8.0, 9.0]),  # x takes 1 + 3, and y has made its k-th result 2 + k later
        ("run", [9.0, 9.0, 9.0]),
    ],
)
def test_results_of_a_train_leave_one_by_one_or_when_the_run_ends(commit, departures):
    found = results(TRAIN, [0.0, 0.0, 0.0], options={"train": {"most": 3}}, commit=commit)
    assert [r.departure for r in found] == departures
    assert [r.slowdown for r in found] == [t / 5 for t in departures]


def test_a_train_pays_once_what_single_tuples_pay_each():
    _, single = on_events(TRAIN, [0.0] * 4, Setting("fcfs"))
    _, train = on_events(TRAIN, [0.0] * 4, Setting("fcfs", {"train": {"most": 4}}))
    assert (single.busy, single.runs) == (4 * 5.0, 4)
    assert (train.busy, train.runs) == (3 + 2 * 4.0, 1)


def test_only_what_passes_is_on_the_train_behind_a_filter():
    network = network_of(operator("x", [STREAM], 1.0, 0.5), operator("y", ["x"], 10.0))
    found = results(
        network,
        [0.0] * 4,
        options={"train": {"most": 4}},
        chance=lambda item, number: 0.0 if item in (1, 2) else 0.9,
    )
    assert [(int(r.identity), r.departure) for r in found] == [(1, 14.0), (2, 24.0)]


# Kinds of operators.


def test_a_union_passes_the_tuples_of_all_its_inputs():
    ops = (
        Operator("s", Kind.SOURCE),
        Operator("t", Kind.SOURCE),
        operator("x", ["s"], 1.0),
        operator("y", ["t"], 3.0),
        operator("u", ["x", "y"], 1.0, kind=Kind.UNION),
    )
    network = Network(ops, (Query("q", "u"),))
    found = results(network, {"s": [0.0, 20.0], "t": [10.0]})
    assert [(r.arrival, r.departure) for r in found] == [(0.0, 2.0), (10.0, 14.0), (20.0, 22.0)]
    assert [r.slowdown for r in found] == [1.0, 1.0, 1.0]
    assert results(network, {"s": [0.0], "t": [0.0]})[1].slowdown == 1 + 2.0 / 4.0


@pytest.mark.parametrize(
    ("s", "passed"), [(0.25, [3, 7]), (0.5, [1, 3, 5, 7, 9]), (0.4, [2, 4, 7, 9]), (1.0, list(range(10)))]
)
def test_an_aggregate_gives_one_result_for_every_so_many_tuples(s, passed):
    network = network_of(operator("agg", [STREAM], 1.0, s, kind=Kind.AGGREGATE))
    found = results(network, [10.0 * i for i in range(10)])
    assert [int(r.identity) for r in found] == passed
    assert all(r.slowdown == 1 for r in found)


@pytest.mark.parametrize("kind", [Kind.MAP, Kind.JOIN])
@pytest.mark.parametrize("s", [2.0, 2.5, 7.0])
def test_a_selectivity_above_one_gives_that_many_results_on_average(kind, s):
    network = network_of(operator("x", [STREAM], 1.0, s, kind=kind))
    found = results(network, [2.0 * i for i in range(1_000)])
    per_tuple = Counter(r.arrival for r in found)
    assert set(per_tuple.values()) <= {int(s), int(np.ceil(s))}
    assert len(found) / 1_000 == pytest.approx(s, abs=5 * 0.5 / np.sqrt(1_000))
    assert len({int(r.identity) for r in found}) == len(found)
    assert all(r.slowdown == 1 for r in found)


def test_copies_have_fates_of_their_own_behind_the_operator_that_made_them():
    network = network_of(operator("x", [STREAM], 1.0, 8.0), operator("y", ["x"], 0.1, 0.5, kind=Kind.SELECT))
    per_tuple = Counter(r.arrival for r in results(network, [10.0 * i for i in range(500)]))
    assert np.mean([per_tuple[10.0 * i] for i in range(500)]) == pytest.approx(4.0, abs=5 * np.sqrt(2 / 500))
    assert len(set(per_tuple.values())) > 3


def test_an_output_and_a_project_pass_everything():
    network = network_of(operator("p", [STREAM], 1.0, kind=Kind.PROJECT), operator("out", ["p"], kind=Kind.OUTPUT))
    assert [r.departure for r in results(network, [0.0, 0.0])] == [1.0, 2.0]


def test_a_source_that_costs_something_is_charged_once_for_all_its_readers():
    ops = (
        Operator(STREAM, Kind.SOURCE, (), Cost(b=5.0)),
        operator("x", [STREAM], 1.0),
        operator("y", [STREAM], 2.0),
    )
    network = Network(ops, (Query("x", "x"), Query("y", "y")))
    found = results(network, [0.0], "hnr")
    assert [(r.query, r.departure) for r in found] == [("x", 6.0), ("y", 8.0)]


def test_a_result_of_a_shared_operator_goes_to_every_query_that_it_is_the_output_of():
    network = network_of(operator("x", [STREAM], 1.0), queries=[Query("a", "x"), Query("b", "x")])
    assert [(r.query, r.departure) for r in results(network, [0.0])] == [("a", 1.0), ("b", 1.0)]


def test_streams_feed_their_own_queries_only():
    ops = (
        Operator("s", Kind.SOURCE),
        Operator("t", Kind.SOURCE),
        operator("x", ["s"], 1.0),
        operator("y", ["t"], 1.0),
    )
    network = Network(ops, (Query("x", "x"), Query("y", "y")))
    found = results(network, {"s": [0.0, 5.0], "t": [2.0]})
    assert [(r.query, r.departure) for r in found] == [("x", 1.0), ("y", 3.0), ("x", 6.0)]


# Window joins.


def pairs_by_definition(network, arrivals, seed):
    """Every match of every query, from the draws alone: both pass their select, are near enough, and match."""

    def passes(identity, op):
        return draws.draw(draws.Word(seed), identity, draws.Word(network.ids[op.name])) < op.selectivity

    found = []
    for query in network.queries:
        join = network.by_name[network.by_name[query.output].inputs[0]]
        sides = [network.by_name[name] for name in join.inputs]
        passed = [
            [(t, me) for i, t in enumerate(arrivals[side.inputs[0]]) if passes(me := draws.identity(k, i), side)]
            for k, side in enumerate(sides)
        ]
        for t, left in passed[0]:
            for u, right in passed[1]:
                both = draws.pair(left, right)
                if abs(t - u) <= join.window and passes(both, join):
                    found.append((query.name, int(both)))
    return sorted(found)


@pytest.mark.parametrize("level", ["query", "operator"])
@pytest.mark.parametrize("policy", EVERY_POLICY)
@settings(max_examples=6)
@given(seed=SEEDS)
def test_a_join_makes_every_pair_exactly_once_whatever_the_policy(policy, level, seed):
    rng = np.random.default_rng(seed)
    network, _ = at_utilisation(
        two_streams(seed, 3, (0.2, 3.0)), {"left": 1.0, "right": 1.0}, float(rng.uniform(0.5, 4.0))
    )
    arrivals = {name: np.cumsum(rng.exponential(1.0, 30)) for name in network.streams}
    options = {} if policy == "bsd-clustered" else {"train": {"most": int(rng.choice([1, 4]))}}
    found = results(network, arrivals, policy, options=options, level=level, seed=seed)
    assert sorted((r.query, int(r.identity)) for r in found) == pairs_by_definition(network, arrivals, seed)
    assert all(r.slowdown >= 1 - 1e-9 for r in found)


def test_a_pair_is_made_even_if_both_wait_longer_than_the_window():
    pair = join_network(window=1.0)
    ops = (Operator("busy", Kind.SOURCE), *pair.operators, operator("B", ["busy"], 100.0))
    network = Network(ops, (*pair.queries, Query("other", "B")))
    found = results(network, {"busy": [0.0], "left": [1.0, 1.5], "right": [2.0]})
    assert [r.query for r in found] == ["other", "pair", "pair"]


def test_the_window_has_both_its_edges():
    network = join_network(window=2.0)
    found = results(network, {"left": [10.0], "right": [7.75, 8.0, 12.0, 12.25]})
    assert len(found) == 2
    assert sorted(r.arrival for r in found) == [10.0, 12.0]


def test_a_stream_can_be_joined_with_itself():
    def self_join(source_cost):
        ops = (
            Operator(STREAM, Kind.SOURCE, (), Cost(b=source_cost)),
            operator("l", [STREAM], 1.0),
            operator("r", [STREAM], 1.0),
            operator("j", ["l", "r"], 1.0, kind=Kind.WINDOW_JOIN, window=5.0),
            operator("p", ["j"], 1.0),
        )
        return Network(ops, (Query("q", "p"),))

    for source_cost in (0.0, 0.5):
        for level in ("query", "operator"):
            found = results(self_join(source_cost), [0.0, 3.0, 7.0], level=level)
            assert len({int(r.identity) for r in found}) == len(found) == 7, (source_cost, level)


def nested(window=6.0):
    """J2(J1(a, b), c) with a select on every stream and a project on top."""
    ops = (
        *(Operator(name, Kind.SOURCE) for name in "abc"),
        *(operator(name.upper(), [name], cost) for name, cost in zip("abc", (1.0, 2.0, 3.0), strict=True)),
        operator("J1", ["A", "B"], 0.5, kind=Kind.WINDOW_JOIN, window=window),
        operator("J2", ["J1", "C"], 0.25, kind=Kind.WINDOW_JOIN, window=window),
        operator("P", ["J2"], 1.0),
    )
    return Network(ops, (Query("q", "P"),))


T_NESTED = 1 + 2 + 2 * 0.5 + 3 + 2 * 0.25 + 1


@pytest.mark.parametrize(
    ("arrivals", "departure"),
    [
        ((0.0, 0.0, 0.0), T_NESTED),
        ((0.0, 100.0, 200.0), 200 + 3 + 0.25 + 1),
        ((0.0, 200.0, 100.0), 200 + 2 + 0.5 + 0.25 + 1),
        ((200.0, 0.0, 100.0), 200 + 1 + 0.5 + 0.25 + 1),
        ((0.0, 1.0, 1.5), T_NESTED),
        ((0.0, 2.0, 100.0), 100 + 3 + 0.25 + 1),
    ],
)
def test_a_match_of_three_streams_alone_in_the_system_has_a_slowdown_of_one(arrivals, departure):
    network = nested(window=1000.0)
    [match] = results(network, {name: [t] for name, t in zip("abc", arrivals, strict=True)})
    assert match.arrival == max(arrivals)
    assert match.departure == pytest.approx(departure)
    assert match.slowdown == pytest.approx(1.0)


@pytest.mark.parametrize("policy", ["fcfs", "hnr", "bsd", "lsf", "rr"])
@pytest.mark.parametrize("level", ["query", "operator"])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_nested_joins_make_every_match_once_and_none_is_faster_than_alone(policy, level, seed):
    rng = np.random.default_rng(seed)
    arrivals = {name: np.cumsum(rng.exponential(3.0, 8)) for name in "abc"}
    found = results(nested(), arrivals, policy, level=level, seed=seed)
    # J1 has matches of their later arrival, and J2 compares that with the arrival of c.
    expected = sum(
        abs(a - b) <= 6.0 and abs(max(a, b) - c) <= 6.0
        for a in arrivals["a"]
        for b in arrivals["b"]
        for c in arrivals["c"]
    )
    assert len({int(r.identity) for r in found}) == len(found) == expected
    assert all(r.slowdown >= 1 - 1e-9 for r in found)


# Slowdown of everything else.


@pytest.mark.parametrize("policy", EVERY_POLICY)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_no_result_is_faster_than_alone(policy, seed):
    rng = np.random.default_rng(seed)
    network, _ = at_utilisation(single_stream(seed, 6), {STREAM: 1.0}, float(rng.uniform(0.2, 2.0)))
    found = results(network, np.cumsum(rng.exponential(1.0, 30)), policy, seed=seed)
    assert all(r.slowdown >= 1 - 1e-9 for r in found)


def test_a_tuple_alone_in_the_system_has_a_slowdown_of_one():
    network = chains([(1.0, 0.5), (2.0, 0.5), (4.0, 1.0)])
    found = results(network, [100.0 * i for i in range(200)])
    assert len(found) > 20
    assert all(r.slowdown == pytest.approx(1.0) for r in found)


# The price of scheduling.


def test_scheduling_operations_advance_the_clock_before_the_work():
    network = chains([(1.0, 1.0)], [(3.0, 1.0)])
    departures, report = on_events(network, [0.0], Setting("bsd", price=0.25))
    # Two priorities and one comparison, then one priority alone.
    assert departures == [(0, 0, 0.75 + 1.0), (1, 0, 1.75 + 0.25 + 3.0)]
    assert report.overhead == 1.0
    assert report.busy == 4.0
    assert report.ended == 5.0
    assert report.utilisation == 0.8


@pytest.mark.parametrize("policy", ["fcfs", "rr", "srpt", "hr", "hnr", "chain", "ml"])
def test_a_static_list_costs_nothing(policy):
    network = chains([(1.0, 1.0)], [(3.0, 1.0)])
    assert on_events(network, [0.0], Setting(policy, price=0.25))[1].overhead == 0


# What is reported.


def test_tuples_in_queues_are_averaged_over_time():
    # Served at 0, 4, 8: the second waits 3 s, the third 6 s, in a run of 12 s.
    _, report = on_events(chains([(4.0, 1.0)]), [0.0, 1.0, 2.0], Setting("fcfs"))
    assert report.average_held == pytest.approx(9.0 / 12.0)
    assert report.most_held == 2


def test_every_decision_is_told_with_its_time():
    told = []
    network = chains([(1.0, 1.0)], [(2.0, 1.0)])
    on_events(network, [0.0, 10.0], Setting("fcfs"), on_decision=lambda now, d: told.append((now, d.runs[0].unit)))
    assert told == [(0.0, 0), (1.0, 1), (10.0, 0), (11.0, 1)]


@given(seed=SEEDS)
def test_every_tuple_is_served_by_every_query_once(seed):
    rng = np.random.default_rng(seed)
    network = chains(*(rng.uniform(0.05, 1.0, (n, 2)).tolist() for n in rng.integers(1, 4, 3)))
    taken = Counter()
    _, report = on_events(
        network,
        np.cumsum(rng.exponential(1.0, 25)),
        Setting("bsd"),
        seed,
        on_decision=lambda _, d: taken.update(d.runs),
    )
    assert taken == {(k, 1): 25 for k in range(3)}
    assert report.runs == 75


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    network = two_streams(1, 3)
    arrivals = {"left": np.arange(20) * 1.0, "right": np.arange(20) * 1.1}
    first, again, other = (on_events(network, arrivals, Setting("bsd"), seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other


class Steady:
    """A monitor that measures nothing and counts how often it is asked."""

    period = 1.0

    def __init__(self, units):
        self.asked, self.observed, self._units = 0, 0, units

    def observe(self, outcome):
        self.observed += 1

    def units(self):
        self.asked += 1
        return self._units


def test_a_monitor_is_asked_every_period_through_idle_times_until_all_is_served():
    network = chains([(0.5, 1.0)])
    units = units_of(network)
    monitor = Steady(units)
    Simulation(network, units, create("hnr"), {STREAM: iter([0.0, 10.0, 20.25])}, monitor=monitor).run()
    assert monitor.asked == 21
    assert monitor.observed == 3


# Memory.


@pytest.mark.parametrize(
    "setting",
    [
        Setting("hnr"),
        Setting("bsd"),
        Setting("fcfs"),
        Setting("rr"),
        Setting("bsd-clustered", {"clusters": 12}),
        Setting("hnr", level="operator"),
    ],
    ids=lambda s: f"{s.policy}-{s.level}",
)
def test_a_long_run_at_low_load_keeps_no_more_than_a_few_pieces_of_its_arrivals(setting):
    network, _ = at_utilisation(single_stream(1, 5), {STREAM: 1.0}, 0.3)
    units = setting.plan(network, {STREAM: 1.0})
    kernel = compiled(network, units, setting.create(), setting.level, setting.price)
    kept = []

    def step(feed, *rest):
        kept.append(len(feed.A))
        kernel.step(feed, *rest)

    rng, pieces, size = np.random.default_rng(1), 400, 500

    def arrivals():
        now = 0.0
        for _ in range(pieces):
            times = now + np.cumsum(rng.exponential(1.0, size))
            now = times[-1]
            yield times

    report = replace(kernel, step=step).run({STREAM: arrivals()}, 1, tally_for(network), log())
    assert report.tally.sums.sum() > pieces * size
    assert len(kept) == pieces + 1
    assert max(kept) < 2 * size


def test_a_join_forgets_what_can_no_longer_match():
    network = join_network(0.01, 0.01, 0.01, 0.01, window=3.0)
    units = units_of(network)
    rng = np.random.default_rng(1)
    arrivals = {name: iter(np.cumsum(rng.exponential(1.0, 3_000)).tolist()) for name in network.streams}
    simulation = Simulation(network, units, create("fcfs"), arrivals)
    most = []
    simulation.on_result = lambda _: most.append(max(len(side) for side in simulation._operators._sides.values()))
    simulation.run()
    assert len(most) > 10_000
    assert max(most) < 40


@pytest.mark.parametrize("policy", ["fcfs", "hr", "hnr", "bsd", "srpt-c", "chain"])
def test_a_side_of_a_join_that_costs_nothing_goes_first_and_is_served(policy):
    network = join_network(0.0, 1.0, 0.0, 0.0)
    found = []
    setting = Setting(policy)
    Simulation(
        network,
        setting.plan(network, {"left": 1.0, "right": 1.0}),
        setting.create(),
        {"left": iter([0.0, 1.0]), "right": iter([0.0, 1.0])},
        on_result=found.append,
    ).run()
    assert len(found) == 4


def test_departures_are_written_by_every_kernel():
    network = join_network()
    rate = {"left": 1.0, "right": 1.0}
    written = log(10)
    arrivals = {name: iter([np.array([0.0, 5.0])]) for name in rate}
    simulate(network, rate, arrivals, Setting("hnr"), departures=written)
    assert written.used[0] == 4

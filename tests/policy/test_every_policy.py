"""What holds for every policy: decisions are explained, depend on the view alone, and serve everything."""

import math
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.network import Network, Query
from headgate.model.operator import Kind, Operator
from headgate.policy.registry import POLICIES
from headgate.policy.statement import PriorityPolicy
from headgate.policy.trains import Train
from headgate.sim.run import Setting
from helpers import EVERY_POLICY, Waiting, chains, join_network, on_events, operator, prepared, unit, units_of, view

STATELESS = [name for name in EVERY_POLICY if name not in ("rr", "lottery")]
STATED = [name for name, listed in POLICIES.items() if getattr(listed.make, "func", None) is PriorityPolicy]
POSITIVE = st.floats(0.01, 100.0)
SHARES = st.floats(0.01, 1.0)
TRIPLES = st.lists(st.tuples(SHARES, POSITIVE, POSITIVE), min_size=1, max_size=6)
SEEDS = st.integers(0, 10_000)


@st.composite
def states(draw):
    """Units and a view of their queues, at least one of which has a tuple."""
    triples = draw(TRIPLES)
    a = draw(st.sampled_from([0.0, 1.0]))
    units = [unit(t, number=k, a=a) for k, t in enumerate(triples)]
    times = draw(st.lists(st.floats(0.0, 50.0), min_size=1, max_size=12).map(sorted))
    firsts = draw(st.lists(st.integers(0, len(times)), min_size=len(units), max_size=len(units)))
    firsts[draw(st.integers(0, len(units) - 1))] = 0
    queues = [Waiting(times[first:], first) for first in firsts]
    return units, view(50.0, *queues)


# Explanations.

FORMULAS = {
    "fcfs": lambda W, n, a, b, S, T, waits: W,
    "srpt": lambda W, n, a, b, S, T, waits: 1 / (a + n * T),
    "srpt-c": lambda W, n, a, b, S, T, waits: 1 / (a + n * b),
    "hr": lambda W, n, a, b, S, T, waits: n * S / (a + n * b),
    "hnr": lambda W, n, a, b, S, T, waits: n * S / T / (a + n * b),
    "lsf": lambda W, n, a, b, S, T, waits: W / T,
    "bsd": lambda W, n, a, b, S, T, waits: waits * S / T**2 / (a + n * b),
    "ml": lambda W, n, a, b, S, T, waits: n * S / (a + n * b),
    "chain": lambda W, n, a, b, S, T, waits: n / (a + n * b),  # one operator: the slope is 1/C
}


@pytest.mark.parametrize("most", [1, 7])
@pytest.mark.parametrize("policy", STATED)
@given(state=states())
def test_the_terms_of_a_reason_give_the_priority_back(policy, most, state):
    units, now = state
    decision = prepared(policy, units, train=Train(most)).choose(now)
    terms = dict(decision.why.terms)
    priority, waits = terms.pop("priority"), terms.pop("ΣW", terms["W"])
    assert FORMULAS[policy](**terms, waits=waits) == pytest.approx(priority)
    assert decision.why.formula


@given(state=states(), clusters=st.integers(1, 5))
def test_the_terms_of_a_clustered_reason_give_the_priority_back(state, clusters):
    units, now = state
    terms = prepared("bsd-clustered", units, clusters=clusters).choose(now).why.terms
    assert terms["P"] * terms["W"] == terms["priority"]


@pytest.mark.parametrize("policy", STATED)
@given(state=states())
def test_no_pending_unit_has_a_higher_priority_than_the_chosen_one(policy, state):
    units, now = state
    decision = prepared(policy, units).choose(now)
    best = decision.why.terms["priority"]
    for u, queue in zip(units, now.queues, strict=True):
        if queue.pending:
            alone = prepared(policy, units).choose(
                view(now.now, *(queue if k == u.id else [] for k in range(len(units))))
            )
            assert alone.why.terms["priority"] <= best


# Purity.


@pytest.mark.parametrize("policy", STATELESS)
@given(state=states())
def test_the_same_view_gives_the_same_decision(policy, state):
    units, now = state
    made = prepared(policy, units)
    before = deepcopy(now)
    first = made.choose(now)
    again = made.choose(now)
    # Both remember where units are, so that the second time there is nothing to do.
    assert (replace(again, work=first.work) if policy in ("qos", "bucketing") else again) == first
    assert prepared(policy, units).choose(now) == first
    assert now == before


@pytest.mark.parametrize("policy", EVERY_POLICY)
@given(state=states())
def test_a_decision_runs_tuples_that_are_there(policy, state):
    units, now = state
    for options in ({}, {} if policy == "bsd-clustered" else {"train": Train(4)}):
        decision = prepared(policy, units, **options).choose(now)
        assert decision.runs
        assert all(1 <= run.train <= now.queues[run.unit].pending for run in decision.runs)
        assert len({run.unit for run in decision.runs}) == len(decision.runs)


# Nothing starves: whatever arrived is served.


def random_network(rng):
    """Chains, a shared operator and a join, by chance."""
    paths = [rng.uniform(0.1, 1.0, (int(n), 2)).tolist() for n in rng.integers(1, 4, int(rng.integers(1, 4)))]
    ops, queries = list(chains(*paths).operators), list(chains(*paths).queries)
    if rng.random() < 0.5:
        ops += [operator("x", ["stream"], 0.5, 0.7), operator("y", ["x"], 0.3), operator("z", ["x"], 2.0, 0.5)]
        queries += [Query("y", "y"), Query("z", "z")]
    if rng.random() < 0.5:
        pair = join_network(0.2, 0.3, 0.1, 0.2, (0.8, 0.7, 0.5), 3.0)
        ops += pair.operators
        queries += pair.queries
    return Network(tuple(ops), tuple(queries))


@pytest.mark.parametrize("level", ["query", "operator"])
@pytest.mark.parametrize("policy", EVERY_POLICY)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_every_tuple_that_arrives_is_served(policy, level, seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    arrivals = {name: np.cumsum(rng.exponential(1.0, 20)) for name in network.streams}
    options = {"train": {"most": int(rng.integers(1, 5))}} if policy != "bsd-clustered" else {}
    setting = Setting(policy, options, level)
    taken = {}

    def count(_, decision):
        for run in decision.runs:
            taken[run.unit] = taken.get(run.unit, 0) + run.train

    _, report = on_events(network, arrivals, setting, seed, on_decision=count)
    units = setting.plan(network, dict.fromkeys(network.streams, 1.0))
    assert all(taken[u.id] == 20 for u in units if u.leaf)
    assert report.average_held > 0
    assert report.most_held >= 1


def test_the_results_of_a_finite_workload_are_the_same_under_every_policy():
    network = chains([(1.0, 0.5), (2.0, 0.7)], [(3.0, 0.6)], [(0.5, 0.9), (0.5, 0.9), (0.5, 1.0)])
    arrivals = np.cumsum(np.random.default_rng(3).exponential(3.0, 100))
    found = {
        policy: sorted((query, item) for query, item, _ in on_events(network, arrivals, Setting(policy), 3)[0])
        for policy in EVERY_POLICY
    }
    assert len(found["fcfs"]) > 100
    assert all(results == found["fcfs"] for results in found.values())


def test_infinite_trains_are_whole_queues():
    ops = (Operator("stream", Kind.SOURCE), operator("x", ["stream"], 1.0, a=5.0))
    network = Network(ops, (Query("q", "x"),))
    [u] = units_of(network)
    for policy in STATED:
        [run] = prepared(policy, [u], train=Train(math.inf)).choose(view(9.0, [1.0] * 8)).runs
        assert run == (0, 8)

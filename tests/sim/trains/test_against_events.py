"""Where both kernels mean the same, they do the same: trains of one tuple that need no set-up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.sim.run import Setting
from helpers import on_events
from sim.trains.beds import by_operator, by_query, chain, left, network, run

POLICIES = ("fcfs", "hr", "hnr", "bsd", "lsf", "rr")

costs = st.floats(0.1, 2.0)
shares = st.sampled_from([0.3, 0.7, 1.0])
paths = st.lists(st.tuples(st.just(0.0), costs, shares), min_size=1, max_size=3)
gaps = st.lists(st.floats(0.01, 4.0), min_size=1, max_size=25)


def departures(network, arrivals, policy, level):
    """Departures of each query on the event kernel."""
    found, _ = on_events(network, arrivals, Setting(policy, level=level), seed=7)
    times = {query.name: [] for query in network.queries}
    for query, _, time in found:
        times[network.queries[query].name].append(time)
    return times


def same(bed, arrivals, policy, level):
    units = by_query() if level == "query" else by_operator(policy=policy)
    report = run(bed, arrivals, create(policy, {"train": Train(1)}), units=units, seed=7)
    for query, times in departures(bed, arrivals, policy, level).items():
        assert left(report, query)[1] == pytest.approx(times)


@settings(max_examples=60)
@given(
    st.lists(paths, min_size=1, max_size=4), gaps, st.sampled_from(POLICIES), st.sampled_from(["query", "operator"])
)
def test_chains_over_streams_of_their_own_depart_at_the_same_times(queries, gaps, policy, level):
    bed = network(*(chain(*path, name=f"q{k}", streams=f"s{k}") for k, path in enumerate(queries)))
    times, now = [], 0.0
    for gap in gaps:
        now += gap
        times.append(now)
    arrivals = {name: [t + 0.001 * k for t in times] for k, name in enumerate(bed.streams)}
    same(bed, arrivals, policy, level)


@settings(max_examples=40)
@given(paths, st.lists(paths, min_size=2, max_size=3), gaps, st.sampled_from(("fcfs", "hr", "bsd")))
def test_branches_behind_a_shared_operator_read_one_queue_at_their_own_pace(prefix, branches, gaps, policy):
    ops, shared = chain(*prefix, name="shared")
    queries = []
    for k, path in enumerate(branches):
        below = shared.output
        for j, (a, b, s) in enumerate(path):
            ops.append(Operator(f"q{k}.{j}", Kind.MAP, (below,), Cost(a, b), s))
            below = f"q{k}.{j}"
        queries.append(Query(f"q{k}", below))
    times = [sum(gaps[: k + 1]) for k in range(len(gaps))]
    same(Network(tuple(ops), tuple(queries)), {"s": times}, policy, "operator")

"""Clustered BSD: one priority for many queries, one decision for a tuple and all queries of a cluster."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.bsd import BSD
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.policy.clusters import count_for_ratio, logarithmic
from headgate.policy.protocol import Run
from headgate.policy.registry import create
from headgate.sim.metrics import summarise
from headgate.sim.run import Setting
from headgate.sim.testbed import at_utilisation, single_stream
from helpers import Waiting, on_compiled, prepared, unit, units_of, view

# φ = S/(C·T²): 1, 0.9, 0.8 near the top, 0.011, 0.01 at the bottom.
PHI = [1.0, 0.01, 0.9, 0.011, 0.8]
UNITS = [unit((phi, 1.0, 1.0), number=k) for k, phi in enumerate(PHI)]
HIGH, LOW = [0, 2, 4], [3, 1]


def runs(decision):
    return [run.unit for run in decision.runs]


def test_clusters_hold_their_units_by_falling_static_priority():
    policy = prepared("bsd-clustered", UNITS, clusters=2)
    assert policy.members == [LOW, HIGH]
    assert policy.pseudo == logarithmic([BSD.static(u) for u in UNITS], 2).pseudo


def test_a_decision_runs_every_query_of_the_cluster_on_its_oldest_tuple():
    decision = prepared("bsd-clustered", UNITS, clusters=2).choose(view(2.0, *([1.0] for _ in UNITS)))
    assert decision.runs == tuple(Run(k, 1) for k in HIGH)


def test_only_the_queries_that_have_not_processed_that_tuple_run():
    queues = [Waiting([1.5], 1), Waiting([1.0], 0), Waiting([1.0, 1.5], 0), Waiting([1.0], 0), Waiting([1.5], 1)]
    assert runs(prepared("bsd-clustered", UNITS, clusters=2).choose(view(2.0, *queues))) == [2]


def test_query_processing_has_a_scheduling_point_after_each_query():
    policy = prepared("bsd-clustered", UNITS, clusters=2, processing="query")
    decision = policy.choose(view(2.0, *([1.0] for _ in UNITS)))
    assert runs(decision) == HIGH[:1]


def test_waiting_lifts_a_low_cluster_over_a_high_one():
    policy = prepared("bsd-clustered", UNITS, clusters=2)
    low, high = policy.pseudo
    assert low * 30 > high * 2
    queues = [Waiting([28.0], 5) if k in HIGH else Waiting([0.0], 0) for k in range(5)]
    decision = policy.choose(view(30.0, *queues))
    assert runs(decision) == LOW
    assert decision.why.terms == {"cluster": 0.0, "P": low, "W": 30.0, "priority": low * 30.0}


def test_an_empty_cluster_is_neither_chosen_nor_counted():
    policy = prepared("bsd-clustered", UNITS, clusters=12, search="scan")
    assert sum(bool(m) for m in policy.members) < 12
    full = sum(bool(m) for m in policy.members)
    assert policy.choose(view(2.0, *([1.0] for _ in UNITS))).work == (full, full - 1, full)
    assert policy.choose(view(2.0, *([] for _ in UNITS))) is None


@pytest.mark.parametrize(
    ("options", "rule", "remedy"),
    [
        ({"kind": "square"}, "clustered BSD: a known kind", "Choose log, uniform."),
        ({"search": "guess"}, "clustered BSD: a known search", "Choose scan, fagin, threshold."),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(options, rule, remedy):
    with pytest.raises(InputError) as caught:
        create("bsd-clustered", options)
    assert (caught.value.rule, caught.value.remedy) == (rule, remedy)


@pytest.mark.parametrize("processing", ["cluster", "query"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 15), kind=st.sampled_from(["log", "uniform"]))
def test_every_search_gives_the_same_departures(processing, seed, m, kind):
    network, _ = at_utilisation(single_stream(seed, 20), {"stream": 1.0}, 1.2)
    arrivals = np.cumsum(np.random.default_rng(seed).exponential(1.0, 60))
    found = [
        on_compiled(
            network,
            arrivals,
            Setting("bsd-clustered", {"clusters": m, "kind": kind, "search": search, "processing": processing}),
            seed,
        )
        for search in ("scan", "fagin", "threshold")
    ]
    assert all(departures == found[0][0] for departures, _ in found)
    assert all(report.decisions == found[0][1].decisions for _, report in found)


def test_one_decision_per_tuple_and_cluster():
    network, _ = at_utilisation(single_stream(1, 30), {"stream": 1.0}, 0.9)
    arrivals = np.cumsum(np.random.default_rng(1).exponential(1.0, 50))
    setting = Setting("bsd-clustered", {"clusters": 4})
    policy = prepared("bsd-clustered", units_of(network), clusters=4)
    clusters = sum(bool(m) for m in policy.members)
    _, report = on_compiled(network, arrivals, setting)
    assert (report.decisions, report.runs) == (50 * clusters, 50 * 30)


def test_the_finer_the_clusters_the_nearer_to_bsd():
    network, _ = at_utilisation(single_stream(2, 60), {"stream": 1.0}, 0.95)
    arrivals = np.cumsum(np.random.default_rng(2).exponential(1.0, 2_000))
    exact = summarise(on_compiled(network, arrivals, Setting("bsd"))[1].tally).l2
    excess = {
        m: summarise(
            on_compiled(network, arrivals, Setting("bsd-clustered", {"clusters": m, "processing": "query"}))[1].tally
        ).l2
        / exact
        - 1
        for m in (2, 12, 5_000)
    }
    assert excess[2] > excess[12] > excess[5_000]
    assert abs(excess[5_000]) < 0.002


def test_a_ratio_gives_as_many_clusters_as_keep_it():
    units = units_of(single_stream(1, 40), "bsd")
    policy = ClusteredBsd(ratio=4.0)
    policy.prepare(units)
    phi = [BSD.static(unit) for unit in units]
    assert len(policy.pseudo) == count_for_ratio(phi, 4.0)
    for members in filter(None, policy.members):
        assert max(phi[i] for i in members) <= 4.0 * min(phi[i] for i in members) * (1 + 1e-9)


@pytest.mark.parametrize("options", [{"ratio": 1.0}, {"ratio": math.nan}, {"ratio": 2.0, "kind": "uniform"}])
def test_a_ratio_that_divides_nothing_or_goes_with_uniform_clusters_is_refused(options):
    with pytest.raises(InputError, match="a ratio is above 1 and goes with logarithmic clusters"):
        ClusteredBsd(**options)


def test_with_trains_every_query_of_the_best_cluster_that_waits_runs_its_own_train():
    policy = prepared("bsd-clustered", UNITS, clusters=2, train={"most": 5})
    decision = policy.choose(view(2.0, [0.0] * 9, [1.0], [], [1.0], [1.0] * 2))
    assert decision.runs == (Run(0, 5), Run(4, 2))

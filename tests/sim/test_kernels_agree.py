"""The compiled kernels against the event kernel: the same departures to the bit, the same decisions and overhead."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.unit import Sharing
from headgate.policy.clusters import KINDS
from headgate.policy.pruning import SEARCHES
from headgate.sim.metrics import MAX_H, MAX_R, RESULTS, SUM_H, SUM_H2, SUM_R
from headgate.sim.run import Setting, simulate
from headgate.sim.testbed import at_utilisation, shared_select, single_stream, two_streams
from helpers import STREAM, chains, on_compiled, on_events

SEEDS = st.integers(0, 2**32)
STATED = ["fcfs", "srpt", "srpt-c", "hr", "hnr", "lsf", "bsd", "chain", "ml"]
TURNS = [
    {"runs": 1},
    {"runs": 2},
    {"runs": math.inf},
    {"runs": math.inf, "quantum": 1.3},
    {"runs": 3, "quantum": 0.4},
    {"over": "units"},
]
CLUSTERED = [
    {"clusters": m, "kind": kind, "search": search, "processing": processing}
    for m in (1, 3, 12)
    for kind in KINDS
    for search in SEARCHES
    for processing in ("cluster", "query")
]
QUERY_LEVEL = [
    *[Setting(policy) for policy in STATED],
    *[Setting("rr", options) for options in TURNS],
    *[Setting("bsd-clustered", options) for options in CLUSTERED],
]
# Under the others a tuple can be left half-way for a new one of its own query, which this kernel does not do.
CARRY_ON = ["fcfs", "srpt", "hr", "hnr", "lsf", "bsd", "ml"]
OPERATOR_LEVEL = [Setting(policy, level="operator") for policy in CARRY_ON]


def called(setting):
    return "-".join([setting.policy, *map(str, setting.options.values())])


def random_chains(rng):
    """Hand-made chains of one to four operators of all plain kinds, or queries like the published ones."""
    if rng.random() < 0.3:
        network = single_stream(int(rng.integers(1000)), int(rng.integers(1, 20)))
        return at_utilisation(network, {STREAM: 1.0}, float(rng.uniform(0.5, 2.0)))[0]
    ops, queries = [Operator(STREAM, Kind.SOURCE)], []
    for q in range(rng.integers(1, 7)):
        below = STREAM
        for j in range(rng.integers(1, 5)):
            kind = Kind(rng.choice(["select", "map", "join", "project"]))
            # Few costs and selectivities, so that priorities of different queries are often equal.
            s = 1.0 if kind is Kind.PROJECT else float(rng.choice([0.25, 0.5, 1.0, rng.uniform(0.05, 1.0)]))
            cost = Cost(b=float(rng.choice([0.125, 0.5, rng.uniform(0.01, 1.0)])))
            ops.append(Operator(f"q{q}.{j}", kind, (below,), cost, s))
            below = f"q{q}.{j}"
        queries.append(Query(f"q{q}", below, cls=f"class {q % 2}"))
    return Network(tuple(ops), tuple(queries[i] for i in rng.permutation(len(queries))))


def random_arrivals(rng, n=40):
    """Times with idle gaps and bursts, and several tuples at one instant; some in step with the costs."""
    if rng.random() < 0.5:
        return np.cumsum(rng.integers(0, 9, n) / 4)
    gaps = rng.exponential(float(rng.uniform(0.1, 4.0)), n)
    return np.cumsum(np.where(rng.random(n) < 0.3, 0.0, gaps))


def assert_equal_runs(network, arrivals, setting, seed, cuts=()):
    departures, events = on_events(network, arrivals, setting, seed)
    found, compiled = on_compiled(network, arrivals, setting, seed, cuts=cuts)
    assert found == departures
    assert (compiled.decisions, compiled.runs) == (events.decisions, events.runs)
    assert compiled.overhead == events.overhead
    assert compiled.ended == events.ended
    assert compiled.busy == pytest.approx(events.busy)
    assert np.array_equal(compiled.tally.sums, events.tally.sums)
    assert np.array_equal(compiled.tally.bins, events.tally.bins)


@pytest.mark.parametrize("setting", QUERY_LEVEL, ids=called)
@settings(max_examples=16)
@given(seed=SEEDS, price=st.sampled_from([0.0, 0.01, 0.25]))
def test_at_query_level_the_kernels_depart_alike(setting, seed, price):
    rng = np.random.default_rng(seed)
    network, arrivals = random_chains(rng), random_arrivals(rng)
    cuts = rng.integers(0, len(arrivals) + 1, 3)
    assert_equal_runs(network, arrivals, replace(setting, price=price), seed, cuts)


@pytest.mark.parametrize("setting", OPERATOR_LEVEL, ids=called)
@settings(max_examples=25)
@given(seed=SEEDS)
def test_at_operator_level_the_kernels_depart_alike(setting, seed):
    rng = np.random.default_rng(seed)
    network, arrivals = random_chains(rng), random_arrivals(rng, 25)
    assert_equal_runs(network, arrivals, setting, seed, rng.integers(0, len(arrivals) + 1, 3))


@pytest.mark.parametrize("policy", ["chain", "srpt-c"])
@settings(max_examples=25)
@given(seed=SEEDS)
def test_a_tuple_left_half_way_for_another_of_its_query_makes_no_difference_between_kernels(policy, seed):
    rng = np.random.default_rng(seed)
    network, arrivals = random_chains(rng), random_arrivals(rng, 25)
    setting = Setting(policy, level="operator")
    _, events = on_events(network, arrivals, setting, seed)
    _, auto = on_compiled(network, arrivals, setting, seed, kernel="auto")
    assert np.array_equal(auto.tally.sums, events.tally.sums)
    assert auto.ended == events.ended


@pytest.mark.parametrize("policy", ["hnr", "bsd", "rr", "bsd-clustered"])
@settings(max_examples=10)
@given(seed=SEEDS)
def test_the_pieces_in_which_arrivals_are_fed_make_no_difference(policy, seed):
    rng = np.random.default_rng(seed)
    network, arrivals = random_chains(rng), random_arrivals(rng)
    whole, _ = on_compiled(network, arrivals, Setting(policy, price=0.01), seed)
    ones, _ = on_compiled(network, arrivals, Setting(policy, price=0.01), seed, cuts=range(len(arrivals)))
    assert ones == whole
    some, _ = on_compiled(network, arrivals, Setting(policy, price=0.01), seed, cuts=[0, 0, 7, 7, 30])
    assert some == whole


@pytest.mark.parametrize("policy", [*STATED, "rr", "bsd-clustered"])
def test_no_arrivals_are_no_trouble(policy):
    found, report = on_compiled(chains([(1.0, 0.5)]), [], Setting(policy))
    assert (found, report.runs, report.ended) == ([], 0, 0.0)


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_pruned_search_reads_as_much_in_both_kernels(search, seed):
    rng = np.random.default_rng(seed)
    network, arrivals = random_chains(rng), random_arrivals(rng)
    setting = Setting("bsd-clustered", {"search": search, "clusters": int(rng.integers(1, 15))})
    _, events = on_events(network, arrivals, setting, seed)
    _, compiled = on_compiled(network, arrivals, setting, seed)
    assert compiled.reads == events.reads > 0


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        (Setting("hnr", {"train": {"most": 4}}), "trains"),
        (Setting("rr", {"train": {"most": 4}}), "trains"),
        (Setting("bsd", level="operator", price=0.01), "a price at operator level"),
        (Setting("rr", level="operator"), "turns at operator level"),
        (Setting("bsd-clustered", level="operator"), "clusters at operator level"),
    ],
    ids=lambda x: x if isinstance(x, str) else x.policy,
)
def test_what_no_compiled_kernel_covers_is_refused_if_one_was_asked_for(setting, why):
    with pytest.raises(InputError) as caught:
        on_compiled(chains([(1.0, 0.5), (1.0, 0.5)]), [0.0], setting)
    assert caught.value.remedy == "Use kernel: auto or events."


# The kernels for joins and for shared operators keep sums only.

COLUMNS = [RESULTS, SUM_R, MAX_R, SUM_H, SUM_H2, MAX_H]


def assert_equal_sums(network, arrivals, setting, seed):
    rates = dict.fromkeys(network.streams, 1.0)
    found = [
        simulate(network, rates, {k: iter([v]) for k, v in arrivals.items()}, setting, seed, kernel=kernel)
        for kernel in ("events", "compiled")
    ]
    events, compiled = found
    assert np.array_equal(compiled.tally.of(RESULTS), events.tally.of(RESULTS))
    for column in COLUMNS:
        assert compiled.tally.of(column) == pytest.approx(events.tally.of(column), rel=1e-9)
    assert compiled.runs == events.runs
    assert compiled.busy == pytest.approx(events.busy)
    assert compiled.ended == pytest.approx(events.ended)
    assert events.tally.of(RESULTS).sum() > 0


JOIN_SETTINGS = [
    *[Setting(policy) for policy in STATED if policy != "chain"],
    *[Setting("rr", {**options, "over": "units"}) for options in TURNS[:-1]],
]


def random_joins(rng, seed, grid):
    """Join queries at some load, and arrivals of both streams; on a grid many are simultaneous."""
    network = two_streams(seed % 1000, 4, (0.5, 4.0))
    if rng.random() < 0.5:  # each operator at a cost of its own
        ops = [op.scaled(float(rng.uniform(0.2, 3.0))) for op in network.operators]
        network = Network(tuple(ops), network.queries)
    network, _ = at_utilisation(network, {"left": 1.0, "right": 1.0}, float(rng.uniform(0.5, 3.0)))
    gaps = rng.integers(0, 3, (2, 40)) * 1.0 if grid else rng.exponential(1.0, (2, 40))
    return network, dict(zip(network.streams, np.cumsum(gaps, axis=1), strict=True))


@pytest.mark.parametrize("setting", JOIN_SETTINGS, ids=called)
@settings(max_examples=10)
@given(seed=SEEDS, grid=st.booleans())
def test_two_stream_joins_give_the_same_results(setting, seed, grid):
    network, arrivals = random_joins(np.random.default_rng(seed), seed, grid)
    assert_equal_sums(network, arrivals, setting, seed)


def test_turns_over_joins_follow_the_units_whatever_side_is_declared_first():
    declared, arrivals = random_joins(np.random.default_rng(1), 1, grid=False)
    network = Network(tuple(reversed(declared.operators[2:])) + declared.operators[:2], declared.queries)
    setting = Setting("rr", {"over": "units"})
    rates = {"left": 1.0, "right": 1.0}
    auto, events = (
        simulate(network, rates, {k: iter([v]) for k, v in arrivals.items()}, setting, kernel=kernel)
        for kernel in ("auto", "events")
    )
    assert auto.tally.of(SUM_R) == pytest.approx(events.tally.of(SUM_R))


@pytest.mark.parametrize("policy", ["hr", "hnr", "bsd", "fcfs", "lsf"])
@pytest.mark.parametrize("together", ["pdt", "operator", "group"])
@pytest.mark.parametrize("strategy", ["max", "sum", "pdt", "pdt-opt"])
@settings(max_examples=4)
@given(seed=SEEDS, grid=st.booleans())
def test_shared_operators_give_the_same_results(strategy, together, policy, seed, grid):
    rng = np.random.default_rng(seed)
    network, _ = at_utilisation(shared_select(seed % 1000, 3, 4), {STREAM: 1.0}, float(rng.uniform(0.5, 2.0)))
    gaps = rng.integers(0, 3, 30) * 1.0 if grid else rng.exponential(1.0, 30)
    setting = Setting(policy, sharing=Sharing(strategy, together))
    assert_equal_sums(network, {STREAM: np.cumsum(gaps)}, setting, seed)

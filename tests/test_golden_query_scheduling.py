"""The golden vectors of multi-query scheduling, G1 to G14: small cases worked out by hand, exact."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.network import Network, Query
from headgate.model.operator import Kind, Operator
from headgate.model.parameters import envelope, load, output_cost
from headgate.model.sharing import Branch, best_single, pdt, pdt_opt, value, whole_group
from headgate.model.unit import plan
from headgate.policy.bsd import BSD
from headgate.policy.clusters import logarithmic, uniform
from headgate.policy.hnr import HNR
from headgate.policy.hr import HR
from headgate.policy.registry import create, listed
from headgate.policy.srpt import SRPT, SRPT_C
from headgate.sim.metrics import summarise
from headgate.sim.run import Setting
from headgate.sim.simulation import Simulation
from headgate.sim.testbed import single_stream
from helpers import chains, join_network, on_compiled, on_events, operator, order_of, prepared, unit, units_of, view


def exactly(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def printed(value, decimals):
    """A number as the specification prints it, rounded."""
    return pytest.approx(value, abs=0.5 * 10**-decimals)


def parameters(u):
    """S, C and T of the one segment that a unit is valued by."""
    [s] = u.basis.segments
    return s.S, s.C, s.T


# G1, two queries, three tuples.

G1 = chains([(5.0, 1.0)], [(2.0, 1 / 3)])
Q1, Q2 = 0, 1
Q2_FIRST = [(Q2, 4.0), (Q1, 11.0), (Q1, 16.0), (Q1, 21.0)]


def run_g1(policy, **options):
    """Three tuples at time 0, of which the second query accepts only the middle one."""
    found, report = on_events(
        G1, [0.0, 0.0, 0.0], Setting(policy, options), chance=lambda item, _: 0.0 if item == 1 else 0.9
    )
    return [(query, time) for query, _, time in found], summarise(report.tally)


def test_g1_hr_serves_the_first_query_first():
    departures, summary = run_g1("hr")
    assert departures == [(Q1, 5.0), (Q1, 10.0), (Q1, 15.0), (Q2, 19.0)]
    assert summary.avg_r == exactly(12.25)
    assert summary.avg_h == exactly(3.875)
    assert summary.max_h == exactly(9.5)
    assert summary.l2 == exactly(math.sqrt(104.25))
    assert summary.l2 == printed(10.2103, 4)


@pytest.mark.parametrize("policy", ["hnr", "srpt", "srpt-c", "lsf", "bsd"])
def test_g1_the_policies_that_look_at_time_serve_the_second_query_first(policy):
    departures, summary = run_g1(policy)
    assert departures == Q2_FIRST
    assert summary.avg_r == exactly(13.0)
    assert summary.avg_h == exactly(2.9)
    assert summary.max_h == exactly(4.2)
    assert summary.l2 == exactly(math.sqrt(36.72))
    assert summary.l2 == printed(6.0597, 4)


@pytest.mark.parametrize(("policy", "options"), [("fcfs", {}), ("rr", {"runs": 1})])
def test_g1_fcfs_takes_the_tuples_one_by_one(policy, options):
    departures, summary = run_g1(policy, **options)
    assert departures == [(Q1, 5.0), (Q1, 12.0), (Q2, 14.0), (Q1, 19.0)]
    assert summary.avg_r == exactly(12.5)
    assert summary.avg_h == exactly(3.55)
    assert summary.max_h == exactly(7.0)
    assert summary.l2 == exactly(math.sqrt(1 + 2.4**2 + 7**2 + 3.8**2))


@pytest.mark.parametrize(
    ("statement", "first", "second"), [(HR, 0.2, 1 / 6), (HNR, 0.04, 1 / 12), (BSD, 0.008, 1 / 24)]
)
def test_g1_priorities(statement, first, second):
    assert [statement.static(u) for u in units_of(G1)] == [exactly(first), exactly(second)]


# G2, every selectivity one.

G2 = [unit((1.0, T, T), number=k) for k, T in enumerate((3.0, 6.0, 24.0))]


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (HR, (1 / 3, 1 / 6, 1 / 24)),
        (HNR, (1 / 9, 1 / 36, 1 / 576)),
        (SRPT, (1 / 3, 1 / 6, 1 / 24)),
        (SRPT_C, (1 / 3, 1 / 6, 1 / 24)),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_g2_with_all_selectivities_one_the_rates_are_powers_of_one_over_T(statement, values):
    assert [statement.static(u) for u in G2] == [exactly(v) for v in values]
    assert order_of(statement.name, G2) == [0, 1, 2]


# G3, a query of three operators.

G3 = chains([(2.0, 0.5), (2.0, 0.5), (2.0, 1.0)])


def test_g3_leaf_parameters():
    [leaf] = units_of(G3)
    assert parameters(leaf) == exactly((0.25, 3.5, 6.0))
    assert (HR.static(leaf), HNR.static(leaf), BSD.static(leaf)) == (
        exactly(1 / 14),
        exactly(1 / 84),
        exactly(1 / 504),
    )


def test_g3_operators_get_the_parameters_of_what_remains_and_rates_grow():
    units = units_of(G3, "hr", level="operator")
    assert [parameters(u) for u in units] == [(0.25, 3.5, 6.0), (0.5, 3.0, 6.0), (1.0, 2.0, 6.0)]
    assert [HR.static(u) for u in units] == [exactly(1 / 14), exactly(1 / 6), exactly(1 / 2)]


def test_g3_min_latency_cost_is_the_inverse_of_the_rate():
    [leaf] = units_of(G3)
    assert output_cost(leaf.segments[0].path) == exactly(14.0)
    assert 1 / HR.static(leaf) == exactly(14.0)


def test_g3_chain_is_one_piece_over_all_three_operators():
    [leaf] = units_of(G3)
    assert envelope(leaf.segments[0].path) == (exactly(2 / 7),) * 3


# G4, HR and HNR disagree.

G4 = [unit((1.0, 4.0, 4.0), number=0), unit((0.2, 1.0, 1.0), number=1)]


def total_slowdown(order):
    """Expected sum of slowdowns of a batch of one tuple per unit, all at time 0."""
    total, now = 0.0, 0.0
    for k in order:
        [s] = G4[k].segments
        total += s.S * (now + s.T) / s.T
        now += s.C
    return total


@pytest.mark.parametrize(
    ("statement", "priorities", "order", "total"),
    [(HR, (0.25, 0.2), [0, 1], 2.0), (HNR, (0.0625, 0.2), [1, 0], 1.45)],
    ids=["hr", "hnr"],
)
def test_g4_hr_prefers_the_productive_query_and_hnr_the_short_one(statement, priorities, order, total):
    assert [statement.static(u) for u in G4] == [exactly(p) for p in priorities]
    assert order_of(statement.name, G4) == order
    assert total_slowdown(order) == exactly(total)


# G5, BSD priorities cross.

G5 = [unit((0.16, 2.0, 2.0), number=0), unit((0.4, 2.0, 2.0), number=1)]


@pytest.mark.parametrize(
    ("now", "chosen", "x", "y"),
    [(9.0, 0, 0.18, 0.15), (9.999, 0, None, None), (10.001, 1, None, None), (11.0, 1, 0.22, 0.25)],
)
def test_g5_the_steeper_query_overtakes_at_ten(now, chosen, x, y):
    assert [BSD.static(u) for u in G5] == [exactly(0.02), exactly(0.05)]
    decision = prepared("bsd", G5).choose(view(now, [0.0], [6.0]))
    assert decision.runs[0].unit == chosen
    if x is not None:
        assert decision.why.terms["priority"] == exactly(max(x, y))
        assert (0.02 * now, 0.05 * (now - 6)) == (exactly(x), exactly(y))


# G6, priority-defining trees of two and of three branches.

SHARED = operator("x", ["stream"], 4.0, 0.5)
BRANCHES = {"i": (2.0, 0.5), "j": (2.0, 1.0), "k": (16.0, 0.25)}


def shared_group(names):
    """Queries behind one select: a join with (cost, selectivity), then a project of the same cost."""
    ops = [Operator("stream", Kind.SOURCE), SHARED]
    for name in names:
        c, s = BRANCHES[name]
        ops += [operator(f"{name}.join", ["x"], c, s), operator(f"{name}.project", [f"{name}.join"], c)]
    return Network(tuple(ops), tuple(Query(name, f"{name}.project") for name in names))


def g6_branches(names, weight):
    """The segment of each query on its own, and the branch that it makes behind the shared operator."""
    segments = [units_of(shared_group(name))[0].segments[0] for name in names]
    return [(s, Branch(weight(s), s.C - SHARED.cost.b)) for s in segments]


def test_g6_segments():
    found = [(s.S, s.C, s.T, a / (4 + r)) for s, (a, r) in g6_branches("ijk", HNR.weight)]
    assert found == [
        (0.25, 5.5, 8.0, exactly(1 / 176)),
        (0.5, 6.0, 8.0, exactly(1 / 96)),
        (0.125, 14.0, 36.0, exactly(1 / 4032)),
    ]


@pytest.mark.parametrize(
    ("names", "strategy", "chosen", "v"),
    [
        ("ij", pdt, (1, 0), 1 / 80),
        ("ij", pdt_opt, (1, 0), 1 / 80),
        ("ij", best_single, (1,), 1 / 96),
        ("ij", whole_group, (0, 1), 1 / 80),
        ("ijk", pdt, (1, 0), 1 / 80),
        ("ijk", pdt_opt, (1, 0), 1 / 80),
        ("ijk", best_single, (1,), 1 / 96),
        ("ijk", whole_group, (0, 1, 2), 1 / 180),
    ],
)
def test_g6_values_under_hnr(names, strategy, chosen, v):
    branches = [branch for _, branch in g6_branches(names, HNR.weight)]
    assert strategy(branches, 4.0) == (chosen, exactly(v))


def test_g6_the_rest_of_k_has_its_own_unit_and_priority():
    shared, rest = units_of(shared_group("ijk"))
    assert [s.query for s in shared.segments] == ["j", "i"]
    assert [s.query for s in rest.segments] == ["k"]
    assert (shared.leaf, rest.leaf) == (True, False)
    assert HNR.static(shared) == exactly(1 / 80)
    assert HNR.static(rest) == exactly(1 / 2880)


def test_g6_static_part_of_bsd():
    branches = [branch for _, branch in g6_branches("ij", BSD.weight)]
    assert [b.a for b in branches] == [exactly(1 / 256), exactly(1 / 128)]
    assert pdt(branches, 4.0).value == exactly(1 / 640)
    [shared] = units_of(shared_group("ij"), "bsd")
    assert BSD.static(shared) == exactly(1 / 640)


# G7, the published greedy misses the optimum.

G7 = {"p": (1 / 16, 13 / 8, 5.0), "u": (1 / 4, 3.0, 9.0), "w": (1 / 8, 7 / 4, 5.0)}
G7_BRANCHES = [Branch(S / T, C - 1.0) for S, C, T in G7.values()]
P, U, W = 0, 1, 2


def test_g7_own_priorities():
    assert [value(G7_BRANCHES, [i], 1.0) for i in (P, U, W)] == [exactly(1 / 130), exactly(1 / 108), exactly(1 / 70)]
    assert value(G7_BRANCHES, [W, U], 1.0) == exactly(19 / 1350)


def test_g7_pdt_stops_at_w_where_the_optimum_has_p_too():
    assert pdt(G7_BRANCHES, 1.0) == ((W,), exactly(1 / 70))
    assert pdt(G7_BRANCHES, 1.0).value == printed(0.014286, 6)
    found = pdt_opt(G7_BRANCHES, 1.0)
    assert set(found.chosen) == {W, P}
    assert found.value == exactly(3 / 190)
    assert found.value == printed(0.015789, 6)


# G8, clusters.


def test_g8_two_logarithmic_clusters_over_one_to_a_hundred():
    found = logarithmic([1.0, 9.99, 10.0, 100.0], 2)
    assert found.of == (0, 0, 1, 1)
    assert found.pseudo == (exactly(1.0), exactly(10.0))


def test_g8_ratio_of_twelve_clusters():
    _, pseudo = logarithmic([1.0, 1.2e5], 12)
    assert len(pseudo) == 12
    assert pseudo[1] / pseudo[0] == printed(2.6501, 4)


def test_g8_two_uniform_clusters_are_cut_in_the_middle():
    found = uniform([1.0, 50.4, 50.5, 50.6, 100.0], 2)
    assert found.of == (0, 0, 1, 1, 1)
    assert found.pseudo == (1.0, 50.5)


# G9, parameters of a join.

G9 = join_network(1.0, 2.0, 3.0, 1.0, (0.5, 0.4, 0.2), 10.0)
G9_RATES = {"left": 1 / 2.0, "right": 1 / 0.5}


def test_g9_virtual_segments_of_both_sides():
    left, right = plan(G9, G9_RATES, HNR.weight)
    assert [u.entry.operator for u in (left, right)] == ["L", "R"]
    assert parameters(left) == exactly((0.8, 3.3, 10.0))
    assert parameters(right) == exactly((0.2, 3.4, 10.0))
    assert [HNR.static(u) for u in (left, right)] == exactly([0.8 / 33, 0.2 / 34])
    assert [HNR.static(u) for u in (left, right)] == printed([0.024242, 0.005882], 6)


def test_g9_load_is_that_of_both_sides():
    assert load(G9, G9_RATES) == exactly(8.45)


# G10, slowdown of a match.


def run_g10(left, right, busy=()):
    """The join of G9 with every tuple passing, a window of 30 s, and a query on the side that costs 5."""
    pair = join_network(1.0, 2.0, 3.0, 1.0, window=30.0)
    ops = (Operator("busy", Kind.SOURCE), *pair.operators, operator("B", ["busy"], 5.0))
    network = Network(ops, (*pair.queries, Query("other", "B")))
    arrivals = {"busy": busy, "left": [left], "right": [right]}
    found = []
    Simulation(
        network,
        plan(network, dict.fromkeys(network.streams, 1.0), listed("fcfs").weight),
        create("fcfs"),
        {name: iter(times) for name, times in arrivals.items()},
        on_result=found.append,
    ).run()
    [match] = [r for r in found if r.query == "pair"]
    return match


@pytest.mark.parametrize(("right", "departure"), [(1.0, 10.0), (20.0, 26.0), (0.0, 10.0)])
def test_g10_a_match_alone_leaves_at_its_ideal_time(right, departure):
    match = run_g10(0.0, right)
    assert match.departure == exactly(departure)
    assert match.slowdown == exactly(1.0)


def test_g10_a_delay_of_half_the_ideal_time_is_a_slowdown_of_one_and_a_half():
    match = run_g10(0.0, 20.0, busy=[20.0])
    assert match.departure == exactly(31.0)
    assert match.departure - match.arrival == exactly(11.0)
    assert match.slowdown == exactly(1.5)


# G11, round robin of one tuple is FCFS where all queries read one stream.

COSTS = st.floats(0.01, 10.0)
PATHS = st.lists(st.tuples(COSTS, st.floats(0.05, 1.0)), min_size=1, max_size=4)
GAPS = st.lists(st.one_of(st.just(0.0), st.floats(0.0, 20.0)), min_size=1, max_size=25)


@pytest.mark.parametrize("run", [on_events, on_compiled], ids=["events", "compiled"])
@given(paths=st.lists(PATHS, min_size=1, max_size=5), gaps=GAPS, seed=st.integers(0, 2**32))
def test_g11_round_robin_of_one_tuple_is_fcfs(run, paths, gaps, seed):
    network, arrivals = chains(*paths), np.cumsum(gaps)
    fcfs, _ = run(network, arrivals, Setting("fcfs"), seed)
    turns, _ = run(network, arrivals, Setting("rr", {"runs": 1}), seed)
    assert turns == fcfs


# G12, one tuple through 500 queries like the published ones.


@pytest.fixture(scope="module")
def sets():
    return [units_of(single_stream(seed)) for seed in range(50)]


def zero_load(statement, sets):
    """Expected average slowdown and response time of one tuple, over the sets; None is the order of the queries."""
    h, r = [], []
    for units in sets:
        order = list(range(len(units))) if statement is None else statement.ranked(units)[1]
        segments = [units[k].segments[0] for k in order]
        S, C, T = (np.array([getattr(s, name) for s in segments]) for name in "SCT")
        before = np.cumsum(C) - C
        h.append(np.sum(S * (before + T) / T) / S.sum())
        r.append(np.sum(S * (before + T)) / S.sum())
    return np.mean(h), np.mean(r)


@pytest.mark.parametrize(
    ("statement", "slowdown", "response"),
    [
        (HNR, 61.3, 1378),
        (HR, 65.6, 1344),
        (SRPT, 72.1, 1610),
        (SRPT_C, 88.0, 1855),
        (None, 384, 3002),
    ],
    ids=["hnr", "hr", "srpt", "srpt-c", "fcfs and rr"],
)
def test_g12_zero_load_limit(sets, statement, slowdown, response):
    h, r = zero_load(statement, sets)
    assert h == pytest.approx(slowdown, rel=0.04)
    assert r == pytest.approx(response, rel=0.04)


def test_g12_ratio_of_the_largest_to_the_smallest_static_priority(sets):
    ratios = []
    for units in sets[:20]:
        phi = [BSD.static(u) for u in units]
        ratios.append(max(phi) / min(phi))
    assert 1.1e5 <= np.mean(ratios) <= 1.45e5


# G13, trains.


def train_priority(u, n):
    return HNR.static(u, n) * HNR.urgency(0.0, 0.0, 0.0, n)


def g13_unit(rate, b, a):
    """A unit with Σ S/T of `rate`."""
    return unit((rate, b, 1.0), a=a, b=b)


@pytest.mark.parametrize(
    ("rate", "b", "a", "n", "v"),
    [
        (0.5, 2.0, 10.0, 1, 0.5 / 12),
        (0.5, 2.0, 10.0, 10, 5 / 30),
        (0.2, 1.0, 10.0, 10, 0.1),
        *[(0.5, 2.0, 0.0, n, 0.25) for n in (1, 7, 1000)],
        *[(0.2, 1.0, 0.0, n, 0.2) for n in (1, 7, 1000)],
    ],
)
def test_g13_hnr_of_a_train(rate, b, a, n, v):
    assert train_priority(g13_unit(rate, b, a), n) == exactly(v)


def test_g13_a_long_train_forgets_what_it_pays_once():
    assert train_priority(g13_unit(0.5, 2.0, 10.0), 10**9) == pytest.approx(0.25, rel=1e-8)


# G14, the rest of a segment outside the priority-defining tree.


@given(
    s_x=st.floats(0.01, 1.0),
    c_x=COSTS,
    stages=PATHS,
    weight=st.sampled_from([HNR.weight, BSD.weight]),
)
def test_g14_the_priority_of_the_rest_does_not_depend_on_the_shared_selectivity(s_x, c_x, stages, weight):
    whole = units_of(chains([(c_x, s_x), *stages]))[0].segments[0]
    a, r = weight(whole), whole.C - c_x
    # The rest of the segment, made as an operator-level unit makes it: by leaving the shared operator out.
    rest = type(whole)(whole.query, whole.path[1:], whole.T)
    assert pytest.approx(whole.S / s_x, rel=1e-9) == rest.S
    assert pytest.approx(r / s_x, rel=1e-9) == rest.C
    assert weight(rest) / rest.C == pytest.approx(a / r, rel=1e-9)

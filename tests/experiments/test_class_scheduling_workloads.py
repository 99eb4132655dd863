"""The workloads: how many queries of which kind, over how many streams, at what cost."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest

from headgate.experiments.class_scheduling import workloads as w
from headgate.experiments.class_scheduling.cases import Seen, averaged, ms
from headgate.experiments.class_scheduling.changing import filtered
from headgate.model.operator import Kind
from headgate.model.parameters import rates

WORKLOADS = [
    (w.A, [7, 7, 7], (6, 3, 1), 1500, 1),
    (w.B, [2, 8, 11], (3, 2, 1), 1500, 1),
    (w.C, [2, 8, 11], (6, 3, 1), 1500, 1),
    (w.D, [7, 7, 7], (30, 20, 10), 1600, 1),
    (w.E, [2, 8, 11], (60, 30, 10), 1500, 1),
    (w.F, [11, 8, 2], (60, 30, 10), 1500, 1),
    (w.W5G, [3, 5, 7, 6, 4], (50, 40, 30, 20, 10), 1200, 1),
    (w.W5G_4, [12, 20, 28, 24, 16], (50, 40, 30, 20, 10), 1200, 4),
    (w.W3D_6, [21, 21, 21], (60, 30, 10), 3600, 6),
    (w.W3E_6, [14, 21, 28], (30, 20, 10), 3600, 6),
    (w.W3F_6, [28, 21, 14], (30, 20, 10), 3600, 6),
    (w.W5I, [12, 12, 15, 12, 12], (50, 40, 30, 20, 10), 3600, 6),
    (w.W5L, [22, 32, 38, 38, 32], (80, 30, 30, 10, 10), 1200, 6),
    (w.scaled_queries(2), [6, 10, 14, 12, 8], (50, 40, 30, 20, 10), 1200, 2),
    (w.scaled_queries(16), [48, 80, 112, 96, 64], (50, 40, 30, 20, 10), 1200, 16),
    (w.scaled_rate(8), [12, 20, 28, 24, 16], (50, 40, 30, 20, 10), 2400, 8),
]


@pytest.mark.parametrize(
    ("workload", "queries", "P", "rate", "cores"), WORKLOADS, ids=lambda v: getattr(v, "name", "")
)
def test_classes_priorities_rates_and_cores_are_those_published(workload, queries, P, rate, cores):
    assert [len(part.queries) for part in workload.parts] == queries
    assert (workload.P, workload.rate, workload.cores) == (P, rate, cores)


@pytest.mark.parametrize(
    "workload", [w.A, w.B, w.C, w.D, w.E, w.F, w.W3D_6, w.W3E_6, w.W3F_6, w.W5I], ids=lambda v: v.name
)
def test_queries_come_in_sets_of_nine_aggregates_six_joins_and_six_selects(workload):
    kinds = Counter("".join(part.queries for part in workload.parts))
    sets = kinds.total() // 21
    assert kinds == {"a": 9 * sets, "j": 6 * sets, "s": 6 * sets}
    assert len(w.network(workload, 1).streams) == 27 * sets


def test_a_query_costs_24_microseconds_per_tuple_of_its_streams_on_average():
    net = w.network(w.A, 1)
    out = rates(net, dict.fromkeys(net.streams, 1.0))
    work = sum(op.cost.b * sum(out[name] for name in op.inputs) for op in net.operators)
    # Of the selects' selectivities only their mean is fixed.
    assert work / 21 == pytest.approx(24e-6, rel=0.03)


def test_a_seed_fixes_the_selects_and_nothing_else():
    one, same, other = (w.network(w.A, seed) for seed in (1, 1, 2))
    assert one == same != other
    assert [op.name for op in one.operators] == [op.name for op in other.operators]
    found = [op.selectivity for op in w.of_class(one, "2", Kind.SELECT)]
    assert len(found) == 2
    assert all(0.25 <= s <= 1 for s in found)


def test_union_and_except_are_queries_of_the_first_class():
    net = w.network(w.W5L, 1)
    assert [q.cls for q in net.queries if q.name in ("1.0", "1.1")] == ["1", "1"]
    assert len(net.by_name["1.0.union"].inputs) == len(net.by_name["1.1.except"].inputs) == 2


def test_leaves_of_a_class_share_streams_where_they_are_to():
    workload = w.scaled_queries(8)
    alone, shared = w.network(workload, 1), w.network(workload, 1, sharing=8)
    assert len(shared.streams) == pytest.approx(len(alone.streams) / 8, abs=5)
    for query in shared.queries:
        assert all(name.startswith(f"{query.cls}.") for name in shared.members[query.name])


def test_behind_selects_every_stream_of_a_join_is_filtered():
    net = w.network(filtered(), 1)
    joins = len(w.of_class(net, "3", Kind.JOIN))
    selects = w.of_class(net, "3", Kind.SELECT)
    assert len(selects) == 2 * joins + w.W5I.parts[2].queries.count("s")
    assert {op.selectivity for op in selects} == {1.0}


def seen(mean, over_time=((0.1, 0.3),), results=((1, 3),)):
    at = dict.fromkeys((10, 25, 50, 75, 90, 95), mean)
    return Seen((50, 40), mean, at, np.array(over_time), np.array(results), slots=())


def test_inversion_and_weighted_response_time_are_those_of_the_publication():
    assert seen((2.0, 1.0)).inversion() == 1.25
    assert seen((1.0, 2.0)).inversion() == 0
    assert seen((2.0, 1.0)).victims(75) == [1]
    assert seen((1.0, 2.0)).wavg == pytest.approx(130 / 90)
    assert seen((1.0, 2.0)).starvation == 2


def test_a_span_of_time_weighs_its_parts_by_their_results():
    assert seen((1.0, 1.0)).between(0, 0.2) == (pytest.approx(0.25),)
    assert seen((1.0, 1.0)).between(0.1, 0.2) == (pytest.approx(0.3),)


def test_seeds_are_averaged_and_a_class_without_results_stays_one():
    runs = [seen((1.0, 2.0)), seen((3.0, math.nan), ((0.5, math.nan),), ((3, 0),))]
    found = averaged(runs)
    assert found.mean[0] == 2.0
    assert math.isnan(found.mean[1])
    assert found.over_time.tolist() == [[pytest.approx(0.4), pytest.approx(0.3)]]
    assert ms(found.mean) == "2e+03 –"


def test_a_class_alone_keeps_its_queries():
    assert w.B.only(1).parts == (w.Part(3, "jj"),)
    assert dataclasses.replace(w.B, name="B_H", parts=w.B.parts[:1]) == w.B.only(1)

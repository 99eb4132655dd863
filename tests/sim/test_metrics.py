"""Response times and slowdowns: sums that are exact, percentiles within one per cent, intervals over seeds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headgate.model.network import Network, Query
from headgate.sim.metrics import class_names, interval, record_all, summarise, tally, tally_for
from helpers import chains

LOG_NORMAL = {"lognormal": lambda rng, n: rng.lognormal(2.0, 2.0, n)}
DATA = {
    **LOG_NORMAL,
    "exponential": lambda rng, n: rng.exponential(1e-3, n),
    "pareto": lambda rng, n: 1 + rng.pareto(1.2, n),
    "two values": lambda rng, n: rng.choice([1.0, 1e6], n),
    "one value": lambda rng, n: np.full(n, 3.7),
}


def filled(query, r, h, cls):
    t = tally(cls)
    record_all(t, np.asarray(query, dtype=np.int64), np.asarray(r, dtype=float), np.asarray(h, dtype=float))
    return t


def percentile(values, share):
    """The smallest value that has the share of all at or below it."""
    return np.quantile(values, share, method="inverted_cdf")


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
@pytest.mark.parametrize("n", [1, 2, 99, 20_000])
def test_percentiles_are_within_one_per_cent_and_the_rest_is_exact(data, n):
    rng = np.random.default_rng(n)
    r, h = data(rng, n), data(rng, n)
    found = summarise(filled(rng.integers(0, 4, n), r, h, [0, 1, 0, 2]))
    assert found.results == n
    for share, got_r, got_h in ((0.5, found.p50_r, found.p50_h), (0.99, found.p99_r, found.p99_h)):
        assert got_r == pytest.approx(percentile(r, share), rel=0.01)
        assert got_h == pytest.approx(percentile(h, share), rel=0.01)
    assert (found.max_r, found.max_h) == (r.max(), h.max())
    assert found.avg_r == pytest.approx(r.mean(), rel=1e-12)
    assert found.avg_h == pytest.approx(h.mean(), rel=1e-12)
    assert found.l2 == pytest.approx(np.linalg.norm(h), rel=1e-12)
    assert found.rms == pytest.approx(np.sqrt(np.mean(h**2)), rel=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(1e-6, 1e6), st.floats(1.0, 1e6)), min_size=1, max_size=50))
def test_a_class_is_summarised_as_if_it_were_alone(rows):
    cls = [0, 1, 0, 2]
    query, r, h = zip(*rows, strict=True)
    whole = filled(query, r, h, cls)
    for k in range(3):
        mine = [row for row in rows if cls[row[0]] == k]
        found = summarise(whole, k)
        assert found.results == len(mine)
        if mine:
            assert found.avg_h == pytest.approx(np.mean([row[2] for row in mine]))
            assert found.max_r == max(row[1] for row in mine)
            assert found.p99_h == pytest.approx(percentile([row[2] for row in mine], 0.99), rel=0.01)
    assert sum(summarise(whole, k).results for k in range(3)) == len(rows)


def test_a_class_without_results_has_no_numbers():
    t = filled([0, 0], [1.0, 2.0], [1.0, 2.0], [0, 1])
    empty = summarise(t, 1)
    assert (empty.results, empty.l2) == (0, 0.0)
    for name in ("avg_r", "p50_r", "p99_r", "max_r", "avg_h", "p50_h", "p99_h", "max_h", "rms"):
        assert math.isnan(getattr(empty, name))
    assert summarise(t).results == 2


def test_an_empty_tally_has_no_numbers():
    assert summarise(tally([0])).results == 0
    assert tally([0]).least_h == math.inf


def test_the_smallest_slowdown_is_kept():
    assert filled([0, 1, 0], [1.0, 1.0, 1.0], [3.0, 1.25, 2.0], [0, 0]).least_h == 1.25


def test_values_beyond_the_histogram_count_and_keep_the_maximum_exact():
    found = summarise(filled([0, 0, 0], [0.0, 1e-12, 1e30], [0.0, 1e-12, 1e30], [0]))
    assert found.max_h == 1e30
    assert found.results == 3
    assert 0 <= found.p50_h <= 1e-8
    assert found.p99_h <= 1e30


def test_a_tally_numbers_the_classes_in_the_order_of_the_queries():
    plain = chains([(1.0, 1.0)], [(1.0, 1.0)], [(1.0, 1.0)])
    classes = ("gold", "bronze", "gold")
    network = Network(
        plain.operators, tuple(Query(q.name, q.output, c) for q, c in zip(plain.queries, classes, strict=True))
    )
    assert class_names(network) == ["gold", "bronze"]
    assert tally_for(network).cls.tolist() == [0, 1, 0]


def test_memory_does_not_grow_with_the_number_of_results():
    t = tally([0, 1])
    size = t.sums.nbytes + t.bins.nbytes
    record_all(t, np.zeros(100_000, np.int64), np.ones(100_000), np.ones(100_000))
    assert summarise(t).results == 100_000
    assert t.sums.nbytes + t.bins.nbytes == size


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), confidence=st.sampled_from([0.9, 0.95, 0.99]))
def test_the_interval_is_students(values, confidence):
    found = interval(values, confidence)
    mean, error = np.mean(values), stats.sem(values)
    if error > 0:
        low, high = stats.t.interval(confidence, len(values) - 1, mean, error)
        assert found.half == pytest.approx((high - low) / 2)
    else:
        assert found.half == 0
    assert (found.n, found.low, found.high) == (len(values), min(values), max(values))
    assert found.mean == pytest.approx(mean)


def test_a_single_seed_has_no_interval():
    found = interval([2.5])
    assert (found.mean, found.low, found.high, found.n) == (2.5, 2.5, 2.5, 1)
    assert math.isnan(found.half)
    assert str(found) == "2.5"


def test_an_interval_reads_as_mean_and_half_width():
    assert str(interval([1.0, 2.0, 3.0])) == "2 ± 2.5"

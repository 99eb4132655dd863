"""What operators do to a train: the same chance as everywhere, counts, merges, matches in a window."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.operator import Kind, Operator
from headgate.sim.draws import Word, draw, identity, pair
from headgate.sim.trains.passing import Sides, counted, merged, passed
from headgate.sim.trains.tasks import Task
from headgate.sim.trains.timeline import Timeline
from headgate.sim.trains.train import Train

SEED, OPERATOR = Word(3), Word(5)


def tuples(n, stream=0):
    return np.arange(n, dtype=float), np.array([identity(stream, i) for i in range(n)], np.uint64)


def whole(s, cuts, made):
    """What an operator makes of 300 tuples in trains that end at the cuts."""
    times, ids = tuples(300)
    ends = [0, *sorted(cuts), 300]
    return [made(times[a:b], ids[a:b], a) for a, b in pairwise(ends)]


@given(st.sampled_from([0.2, 0.75, 1.5]), st.lists(st.integers(0, 300), max_size=5))
def test_chance_is_that_of_the_tuple_however_trains_are_cut(s, cuts):
    parts = whole(s, cuts, lambda times, ids, _: passed(times, ids, s, OPERATOR, SEED))
    times, ids = (np.concatenate(column) for column in zip(*parts, strict=True))
    expected = []
    for i in range(300):
        item = identity(0, i)
        copies = int(s) + (draw(SEED, item, OPERATOR) < s - int(s))
        expected += [(i, int(item) if copies == 1 else int(pair(item, Word(k)))) for k in range(copies)]
    assert list(zip(times.tolist(), ids.tolist(), strict=True)) == expected


@given(st.sampled_from([0.2, 0.3, 1.0]), st.lists(st.integers(0, 300), max_size=5))
def test_an_aggregate_gives_its_share_of_results_however_trains_are_cut(s, cuts):
    parts = whole(s, cuts, lambda times, ids, seen: counted(times, ids, s, seen))
    times = np.concatenate([part[0] for part in parts])
    assert len(times) == int(300 * s)
    assert np.all(np.abs(np.diff(times) - 1 / s) < 1)


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_a_merge_is_in_the_order_of_arrival_and_left_first(left, right):
    left, right = np.array(sorted(left), float), np.array(sorted(right), float)
    times, ids = merged(left, np.zeros(len(left), np.uint64), right, np.ones(len(right), np.uint64))
    assert list(zip(times, ids, strict=True)) == sorted([(t, 0) for t in left] + [(t, 1) for t in right])


def test_a_window_join_gives_its_share_of_the_pairs_within_the_window():
    """Each pair at most 2.5 apart is met once, when its later tuple comes: all of them at s = 1."""
    sides = Sides(2.5)
    left, right = np.arange(0.0, 40.0, 1.0), np.arange(0.5, 40.0, 1.0)
    ids = np.arange(40, dtype=np.uint64)
    made = sum(
        len(sides.match((left[a:b], ids[a:b]), (right[a:b], ids[a:b]), 1.0, OPERATOR, SEED)[0])
        for a, b in [(0, 7), (7, 8), (8, 40)]
    )
    assert made == sum(abs(a - b) <= 2.5 for a in left for b in right)


def test_a_window_join_yields_by_the_rate_of_the_other_side():
    rng = np.random.default_rng(0)
    left, right = (np.cumsum(rng.exponential(1 / rate, int(80 * rate))) for rate in (50.0, 100.0))
    ids = [tuples(len(times), stream)[1] for stream, times in enumerate((left, right))]
    sides, made = Sides(2.0), 0
    for start in np.arange(0.0, 90.0, 0.1):
        spans = [slice(*np.searchsorted(times, (start, start + 0.1))) for times in (left, right)]
        trains = [
            (times[span], ids[k][span]) for k, (times, span) in enumerate(zip((left, right), spans, strict=True))
        ]
        made += len(sides.match(*trains, 0.05, OPERATOR, SEED)[0])
    pairs = np.sum(np.searchsorted(right, left + 2.0) - np.searchsorted(right, left - 2.0))
    assert pairs == pytest.approx(4.0 * 100.0 * len(left), rel=0.05)
    assert made == pytest.approx(0.05 * pairs, rel=0.003)


def test_a_selectivity_follows_its_curve():
    op = Operator("o", Kind.SELECT, ("s",), selectivity=1.0)
    task = Task(op, 1, 0, [0], None, (), Timeline(((0.0, 1.0), (5.0, 0.25))))
    train = Train(*tuples(4000))
    assert task.turn([train], 4.9).length == 4000
    assert task.turn([train], 5.0).length == pytest.approx(1000, rel=0.1)

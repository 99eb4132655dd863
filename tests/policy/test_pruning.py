"""The pruned searches find what a full scan finds, and never read more than both lists."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.policy.pruning import Candidate, fagin, scan, threshold

PSEUDO = st.one_of(st.floats(1e-3, 1e3), st.integers(1, 9).map(float))
WAITS = st.one_of(st.floats(0.0, 100.0), st.integers(0, 4).map(float))
pruned = pytest.mark.parametrize("search", [fagin, threshold])


@st.composite
def states(draw):
    """Clusters that have tuples, by falling pseudo priority; no two have the same, waits may be equal or zero."""
    pseudo = sorted(draw(st.lists(PSEUDO, min_size=1, max_size=20, unique=True)), reverse=True)
    waits = draw(st.lists(WAITS, min_size=len(pseudo), max_size=len(pseudo)))
    if draw(st.booleans()):
        # The hard case: a high pseudo priority goes with a short wait, and all products are much the same.
        waits = [(1 + wait / 100) / P for wait, P in zip(waits, pseudo, strict=True)]
    numbers = range(len(pseudo) - 1, -1, -1)
    return [Candidate(*row) for row in zip(numbers, pseudo, waits, strict=True)]


@pruned
@settings(max_examples=200)
@given(candidates=states())
def test_a_pruned_search_returns_what_a_scan_returns(search, candidates):
    found, full = search(candidates), scan(candidates)
    assert found.best == full.best
    assert found.best.priority == max(c.P * c.W for c in candidates)


@pruned
@given(candidates=states())
def test_a_pruned_search_reads_each_list_once_at_most_and_looks_at_what_it_reads(search, candidates):
    found, m = search(candidates), len(candidates)
    assert found.reads % 2 == 0
    assert 2 <= found.reads <= 2 * m
    assert 1 <= found.seen <= min(m, found.reads)


@given(candidates=states())
def test_a_scan_looks_at_every_cluster(candidates):
    assert scan(candidates)[1:] == (len(candidates), len(candidates))


def test_of_equal_priorities_the_higher_pseudo_priority_wins():
    candidates = [Candidate(2, 4.0, 1.0), Candidate(1, 2.0, 2.0), Candidate(0, 1.0, 4.0)]
    for search in (scan, fagin, threshold):
        assert search(candidates).best.cluster == 2


def test_a_cluster_on_top_of_both_lists_ends_fagins_search_at_once():
    candidates = [Candidate(3, 9.0, 50.0), *(Candidate(k, float(k), 1.0) for k in (2, 1, 0))]
    assert fagin(candidates) == (candidates[0], 1, 2)


def test_fagin_stops_as_soon_as_one_cluster_has_come_up_in_both_lists():
    # By P: 4, 3, 2, 1. By W: 1, 3, 2, 4. Cluster 3 is second in both.
    waits = {4: 1.0, 3: 6.0, 2: 5.0, 1: 7.0}
    candidates = [Candidate(k, float(k), waits[k]) for k in (4, 3, 2, 1)]
    assert fagin(candidates) == (candidates[1], 3, 4)

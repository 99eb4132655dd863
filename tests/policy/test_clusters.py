"""Clusters of static priorities: how far apart members are, and the edges."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.clusters import KINDS, count_for_ratio, logarithmic, uniform

PHI = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=40)
COUNTS = st.integers(1, 30)
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@each_kind
@given(phi=PHI, m=COUNTS)
def test_every_priority_has_a_cluster_and_the_pseudo_priorities_ascend_from_the_smallest(kind, phi, m):
    of, pseudo = kind(phi, m)
    assert len(of) == len(phi)
    assert all(0 <= k < len(pseudo) <= m for k in of)
    assert pseudo[0] == pytest.approx(min(phi))
    assert list(pseudo) == sorted(pseudo)


@each_kind
@given(phi=PHI, m=COUNTS)
def test_a_larger_priority_is_never_in_a_lower_cluster(kind, phi, m):
    of, _ = kind(phi, m)
    by_phi = [k for _, k in sorted(zip(phi, of, strict=True))]
    assert by_phi == sorted(by_phi)


@each_kind
@given(phi=PHI, m=COUNTS)
def test_the_pseudo_priority_is_the_lower_bound_of_its_members(kind, phi, m):
    of, pseudo = kind(phi, m)
    assert all(pseudo[k] <= p * (1 + 1e-7) for p, k in zip(phi, of, strict=True))


@given(phi=PHI, m=COUNTS)
def test_inside_a_logarithmic_cluster_priorities_differ_by_the_ratio_at_most(phi, m):
    of, pseudo = logarithmic(phi, m)
    eps = (max(phi) / min(phi)) ** (1 / m)
    assert all(p <= pseudo[k] * eps * (1 + 1e-7) for p, k in zip(phi, of, strict=True))


@given(phi=PHI, m=COUNTS)
def test_inside_a_uniform_cluster_priorities_differ_by_the_width_at_most(phi, m):
    of, pseudo = uniform(phi, m)
    width = (max(phi) - min(phi)) / m
    assert all(p - pseudo[k] <= width * (1 + 1e-7) + 1e-12 * max(phi) for p, k in zip(phi, of, strict=True))


@given(phi=PHI, eps=st.floats(1.01, 100.0))
def test_the_count_for_a_ratio_keeps_it_and_one_cluster_less_would_not(phi, eps):
    m = count_for_ratio(phi, eps)
    spread = max(phi) / min(phi)
    assert spread ** (1 / m) <= eps * (1 + 1e-6)
    assert m == 1 or spread ** (1 / (m - 1)) > eps * (1 - 1e-6)


@each_kind
@pytest.mark.parametrize("m", [1, 2, 12])
def test_equal_priorities_make_one_cluster(kind, m):
    assert kind([0.3] * 5, m) == ((0,) * 5, (0.3,))


@each_kind
@pytest.mark.parametrize("m", [1, 2, 12, 100])
def test_priorities_that_differ_by_rounding_only_are_no_trouble(kind, m):
    of, pseudo = kind([0.3, math.nextafter(0.3, 1), math.nextafter(0.3, 0)], m)
    assert all(0 <= k < len(pseudo) <= m for k in of)


@each_kind
def test_the_largest_priority_is_clamped_into_the_last_cluster(kind):
    of, pseudo = kind([1.0, 1000.0], 3)
    assert of == (0, 2)
    assert len(pseudo) == 3


@pytest.mark.parametrize(("base", "m"), [(5.0, 5), (7.0, 5), (10.0, 4), (1.5, 6)])
def test_exact_powers_of_the_ratio_begin_their_clusters(base, m):
    of, _ = logarithmic([base**k for k in range(m + 1)], m)
    assert of == (*range(m), m - 1)


@each_kind
@pytest.mark.parametrize("m", [0, -1])
def test_no_cluster_at_all_is_refused(kind, m):
    with pytest.raises(InputError) as caught:
        kind([1.0, 2.0], m)
    assert (caught.value.rule, caught.value.got) == ("there is at least one cluster", m)
    assert caught.value.remedy == "Give clusters: 1 or more."


@pytest.mark.parametrize("eps", [1.0, 0.5, math.nan])
def test_a_ratio_that_separates_nothing_is_refused(eps):
    with pytest.raises(InputError) as caught:
        count_for_ratio([1.0, 2.0], eps)
    assert caught.value.rule == "the ratio inside a cluster is above 1"

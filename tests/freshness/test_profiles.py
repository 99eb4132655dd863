"""Profiles of users, and the master profile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.freshness.profiles import Accesses, Profile, master

ANN, BOB = Profile({"a": 8, "b": 2}), Profile({"b": 1, "c": 1}, weight=3)


def test_the_master_profile_is_the_weighted_sum_of_all():
    assert master([ANN, BOB]) == pytest.approx({"a": 8 / 16, "b": 5 / 16, "c": 3 / 16})


def test_users_can_count_equally_however_much_they_access():
    assert master([ANN, BOB], equally=True) == pytest.approx({"a": 0.2, "b": 0.425, "c": 0.375})


frequencies = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 100), min_size=1)


@given(st.lists(st.builds(Profile, frequencies, st.floats(0.1, 10)), min_size=1), st.booleans())
def test_the_master_profile_adds_up_to_1(users, equally):
    assert sum(master(users, equally=equally).values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Profile({"a": 1}, weight=-1), "user's weight"),
        (lambda: Profile({"a": -2}), "here of 'a'"),
        (lambda: master([]), "somebody accesses"),
        (lambda: master([Profile({"a": 0})]), "somebody accesses"),
    ],
)
def test_what_is_no_profile_is_refused(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_accesses_lose_half_of_their_weight_in_a_half_life():
    seen = Accesses(half_life=10.0)
    seen.observe("a", 0.0, times=4)
    seen.observe("b", 20.0)
    assert master([seen.profile]) == pytest.approx({"a": 0.5, "b": 0.5})


def test_long_after_only_what_is_recent_counts():
    seen = Accesses(half_life=1.0)
    for now in range(5000):
        seen.observe("old" if now < 4000 else "new", float(now))
    assert master([seen.profile])["new"] == pytest.approx(1)

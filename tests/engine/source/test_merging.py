"""Sequences are merged by time, each in its own order, and nobody who is behind is overtaken."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.source.merging import Merging

TIMES = st.lists(st.integers(0, 20), max_size=12)


def merged(*sequences):
    merging = Merging()
    for name, times in enumerate(sequences):
        for k, at in enumerate(times):
            merging.add(name, at, (name, k, at))
    return merging


def test_the_earliest_goes_first_and_who_is_behind_holds_up_what_is_later():
    merging = merged([1, 4, 5], [2, 3], [])
    assert merging.take(2, behind={1, 2}) == []
    merging.add(2, 2, (2, 0, 2))
    assert merging.take(9, behind={1, 2}) == [(0, 0, 1), (1, 0, 2), (2, 0, 2)]
    assert merging.take(9, behind={1}) == [(1, 1, 3)]
    assert merging.take(1) == [(0, 1, 4)]
    assert merging.lengths == {0: 1, 1: 0, 2: 0}
    assert len(merging) == 1


def test_what_is_earlier_than_what_came_before_it_in_its_sequence_does_not_overtake():
    assert merged([5, 1], [2, 5]).take(9) == [(1, 0, 2), (0, 0, 5), (0, 1, 1), (1, 1, 5)]


@given(st.lists(TIMES, min_size=1, max_size=4), st.data())
def test_however_it_comes_nothing_is_lost_and_each_sequence_keeps_its_order(sequences, data):
    merging, found, given_out = Merging(), [], [0] * len(sequences)
    while any(len(times) > n for times, n in zip(sequences, given_out, strict=True)):
        name = data.draw(st.sampled_from([i for i, times in enumerate(sequences) if len(times) > given_out[i]]))
        merging.add(name, sequences[name][given_out[name]], (name, given_out[name]))
        given_out[name] += 1
        behind = {i for i, times in enumerate(sequences) if len(times) > given_out[i]}
        found += merging.take(data.draw(st.integers(0, 3)), behind)
    found += merging.take(99)
    assert sorted(found) == sorted((i, k) for i, times in enumerate(sequences) for k in range(len(times)))
    for i in range(len(sequences)):
        assert [k for name, k in found if name == i] == list(range(len(sequences[i])))


@given(st.lists(TIMES.map(sorted), min_size=1, max_size=4), st.data())
def test_sequences_that_are_in_order_come_out_in_order_if_who_has_more_is_known(sequences, data):
    merging, found, given_out = Merging(), [], [0] * len(sequences)
    while behind := {i for i, times in enumerate(sequences) if len(times) > given_out[i]}:
        name = data.draw(st.sampled_from(sorted(behind)))
        merging.add(name, sequences[name][given_out[name]], sequences[name][given_out[name]])
        given_out[name] += 1
        found += merging.take(data.draw(st.integers(0, 5)), {i for i in behind if len(sequences[i]) > given_out[i]})
    found += merging.take(99)
    assert found == sorted(found)

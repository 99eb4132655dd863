"""A stream of results whose log engines share: instances append one after the other, wherever they are cut off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.logs import SCHEMA, opened, table
from headgate.engine.intake import LiveStream
from headgate.engine.log.shared import SharedTrains
from headgate.engine.sink import stream
from headgate.engine.sink.into_stream import Results
from headgate.engine.sink.pen import Heir, Pen
from headgate.engine.sink.protocol import Opening
from headgate.errors import SupersededError

FIRST = Heir(1, 1)
AT_TEN, AT_TWENTY = {"closed": 10}, {"closed": 20}
AFTER = Heir(2, 2, since=AT_TEN)
"""What begins where the first one ends."""
INSTEAD = Heir(2, 2, before=frozenset([1]))
"""What takes the place of the first one."""
REST = Heir(3, 1, before=frozenset([1]))
"""The tail of the first one."""


class Place:
    """A shared log, and instances of a query, each on a node of its own."""

    def __init__(self, folder):
        self.folder, self.logs = folder, []

    def instance(self, heir, last=None, *, opens=True):
        node = self.folder / f"node{len(self.logs)}"
        node.mkdir()
        log = opened(node, name="joined", shared=SharedTrains(self.folder / "joined"))
        self.logs.append(log)
        live = LiveStream(log, Results("q", SCHEMA, lambda: False), node / "source", None, feeds=False)
        sink = stream("joined", event_time="t")
        sink.attach(live, self.folder / "joined" / "_staged")
        sink.succeed(heir)
        if opens:
            sink.open(opening(heir, last))
        return sink

    def values(self):
        log = self.logs[-1]
        log.follow()
        return [v for train in log.trains for v in log.rows(train).column("v").to_pylist()]


def opening(heir, last=None):
    return Opening("q", SCHEMA, None, last, instance=f"{heir.number:06d}")


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    yield made
    for log in made.logs:
        log.manifest.close()


def staged(sink, run, first, count=2):
    return sink.stage(run, table(list(range(first, first + count)), first=first), np.full(count, 5.0))


def give(sink, run, first, count=2):
    receipt = staged(sink, run, first, count)
    sink.publish(receipt)
    return receipt


def taken_over(sink, heir, last):
    sink.fence(opening(heir))
    sink.take_over(opening(heir, last))


def test_the_next_instance_waits_for_the_boundary_and_goes_on_behind_it(place):
    first, after = place.instance(FIRST), place.instance(AFTER)
    give(first, 1, 0)
    assert not after.take()
    with pytest.raises(SupersededError):
        give(after, 1, 99)
    give(first, 2, 2)
    assert first.hand_on(AT_TEN)
    assert after.take()
    give(after, 1, 4)
    assert not first.take()
    with pytest.raises(SupersededError, match="another instance of query 'q' appends to stream 'joined'"):
        give(first, 3, 99)
    assert place.values() == [0, 1, 2, 3, 4, 5]


def test_an_instance_that_stays_after_all_goes_on_unless_the_next_one_has_begun(place):
    first, after = place.instance(FIRST), place.instance(AFTER)
    give(first, 1, 0)
    first.hand_on(AT_TEN)
    assert first.take()
    assert not after.take()
    last = staged(first, 2, 2)
    first.publish(last)
    first.publish(last)
    assert place.values() == [0, 1, 2, 3]


@pytest.mark.parametrize("shown", [False, True])
def test_what_was_committed_by_an_instance_that_died_is_there_once_before_what_follows(place, shown):
    first = place.instance(FIRST)
    give(first, 1, 0)
    last = staged(first, 2, 2)
    if shown:
        first.publish(last)
    instead = place.instance(INSTEAD, opens=False)
    for _ in range(2):
        taken_over(instead, FIRST, last)
    instead.open(opening(INSTEAD))
    give(instead, 3, 4)
    assert place.values() == [0, 1, 2, 3, 4, 5]


def test_an_instance_that_slept_appends_nothing_whatever_it_had_in_hand(place):
    first = place.instance(FIRST)
    last = give(first, 1, 0)
    pending = staged(first, 2, 2)
    instead = place.instance(INSTEAD, opens=False)
    instead.fence(opening(FIRST))
    # Awake again, before anybody has read how far it had come.
    with pytest.raises(SupersededError):
        first.publish(pending)
    assert not first.take()
    instead.take_over(opening(FIRST, last))
    instead.open(opening(INSTEAD))
    give(instead, 2, 2)
    assert not first.take()
    with pytest.raises(SupersededError, match="another instance of query 'q' appends"):
        staged(first, 3, 99)
    assert place.values() == [0, 1, 2, 3]


def test_an_instance_that_was_replaced_before_its_turn_never_gets_it(place):
    first, after = place.instance(FIRST), place.instance(AFTER)
    other = Heir(3, 3, since=AT_TEN, before=frozenset([2]))
    replaced = place.instance(other, opens=False)
    taken_over(replaced, AFTER, None)
    replaced.open(opening(other))
    give(first, 1, 0)
    first.hand_on(AT_TEN)
    assert not after.take()
    assert replaced.take()
    give(replaced, 1, 2)
    assert place.values() == [0, 1, 2, 3]


def test_a_tail_does_the_rest_before_the_next_instance_has_its_turn(place):
    first, after = place.instance(FIRST), place.instance(AFTER)
    last = give(first, 1, 0)
    rest = place.instance(REST, opens=False)
    taken_over(rest, FIRST, last)
    rest.open(opening(REST))
    assert not after.take()
    give(rest, 2, 2)
    assert rest.hand_on(AT_TEN)
    assert after.take()
    give(after, 1, 4)
    assert place.values() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("goes_on", [False, True])
def test_the_tail_of_an_instance_that_had_handed_on_has_nothing_to_do(place, goes_on):
    first, after = place.instance(FIRST), place.instance(AFTER)
    last = give(first, 1, 0)
    first.hand_on(AT_TEN)
    if goes_on:
        assert after.take()
    rest = place.instance(REST, opens=False)
    taken_over(rest, FIRST, last)
    rest.open(opening(REST))
    assert rest.hand_on(AT_TEN)
    assert after.take()
    give(after, 1, 2)
    assert place.values() == [0, 1, 2, 3]


def test_an_instance_that_leaves_before_its_turn_has_its_turn_all_the_same(place):
    first, after = place.instance(FIRST), place.instance(AFTER)
    third = place.instance(Heir(3, 3, since=AT_TWENTY))
    assert not after.hand_on(AT_TWENTY)
    give(first, 1, 0)
    first.hand_on(AT_TEN)
    assert not third.take()
    assert after.take()
    give(after, 1, 2)
    assert after.hand_on(AT_TWENTY)
    assert third.take()
    assert place.values() == [0, 1, 2, 3]


@pytest.mark.parametrize("shown", [False, True])
def test_an_instance_whose_node_starts_again_goes_on_where_it_was(place, shown):
    first = place.instance(FIRST)
    last = staged(first, 1, 0)
    if shown:
        first.publish(last)
    staged(first, 2, 99)
    first = place.instance(FIRST, last)
    give(first, 2, 2)
    assert place.values() == [0, 1, 2, 3]


def test_a_stream_that_has_ended_is_whole_for_all_instances_that_come_later(place):
    first = place.instance(FIRST)
    last = give(first, 1, 0)
    place.logs[0].end()
    instead = place.instance(INSTEAD, opens=False)
    taken_over(instead, FIRST, last)
    instead.open(opening(INSTEAD))
    assert instead.take()
    assert instead.hand_on(AT_TEN)
    assert place.values() == [0, 1]


INSTANCES = st.builds(
    Heir,
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([None, AT_TEN, AT_TWENTY]),
    st.frozensets(st.integers(1, 4), max_size=3),
)


@given(
    st.lists(st.tuples(INSTANCES, st.sampled_from(["take", "hand", "fence"]), st.sampled_from([AT_TEN, AT_TWENTY])))
)
def test_one_instance_at_most_has_the_pen_and_whoever_was_fenced_never_again(steps):
    pen, fenced = Pen(), set()
    for heir, what, until in steps:
        before = pen
        if what == "take" and pen.may_go_to(heir):
            pen = pen.taken(heir)
            assert not before.held
            assert heir.number not in fenced
        elif what == "hand" and pen.held:
            pen = pen.handed_on(until)
        elif what == "fence":
            pen = pen.taken_from(heir.number)
            fenced.add(heir.number)
        assert not (pen.held and pen.holder in fenced)
        assert Pen.of(pen.as_json()) == pen

"""One log for several engines: however they take turns, sleep or die, it has no fork, no gap and nothing twice."""

import os
import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.live import until
from engine.log.logs import SCHEMA, feed, opened, table
from headgate.engine.intake import LiveStream
from headgate.engine.log import shared as shared_log
from headgate.engine.log.shared import SharedTrains
from headgate.engine.source.protocol import Rejected
from headgate.engine.windows import Window
from headgate.errors import HeadgateError, InputError, SupersededError

SECOND = 1_000_000


def log_of(folder, node, **more):
    """The log as one engine has it, and its state folder."""
    (folder / node).mkdir(exist_ok=True)
    return opened(folder / node, shared=SharedTrains(folder / "shared"), **more)


@pytest.fixture
def nodes(tmp_path):
    made = [log_of(tmp_path, node) for node in ("a", "b")]
    yield made
    for log in made:
        log.manifest.close()


def again(folder, log, node, **more):
    log.manifest.close()
    return log_of(folder, node, **more)


def values(log):
    return [value for train in log.trains for value in log.rows(train).column("v").to_pylist()]


def known(log):
    """All that is known of the trains."""
    return list(log.trains), log.state, log.ended, log.counted


def take(log, n, at=None):
    """What a source does that counts: append the next n numbers behind its state."""
    start = (log.state or {"at": 0})["at"] if at is None else at
    log.append(table([start + i for i in range(n)], first=start), {"at": start + n})


# What is in a folder.


def test_a_train_is_read_as_it_was_written_with_all_that_is_known_of_it(nodes):
    log, other = nodes
    feed(log, [[5, 9], [3, 20]])
    bad = [Rejected("x", "odd", "here"), Rejected("y", "odd", "there")]
    log.append(table([30], first=4), {"at": 5}, rejected=bad)
    log.pass_time(time.time() + 5)
    log.end()
    found = [log.shared.read(seq) for seq in range(5)]
    assert [each.train for each in found] == list(log.trains)
    assert [each.late for each in found] == [0, 1, 0, 0, 0]
    assert [each.rejected for each in found] == [{}, {}, {"odd": 2}, {}, {}]
    assert [each.state for each in found] == [{"at": 0}, {"at": 2}, {"at": 5}, {"at": 5}, {"at": 5}]
    assert [each.ended for each in found] == [False] * 4 + [True]
    assert (log.shared.first(), log.shared.last(), log.shared.read(5)) == (0, 4, None)
    assert other.follow() == list(log.trains)
    assert known(other) == known(log)
    assert other.rows(other.trains[1]).equals(log.rows(log.trains[1]))
    assert list((log.shared.folder).glob(".*")) == []


def test_a_follower_sees_the_same_watermarks_windows_and_tuples_and_is_told_of_each_train(tmp_path):
    told = []
    feeder, follower = log_of(tmp_path, "a", delay=3), log_of(tmp_path, "b", delay=3, on_append=told.append)
    feed(feeder, [[1, 4], [9, 2], [14]])
    feeder.pass_time(1.0, 40)
    follower.follow()
    assert told == list(feeder.trains) == list(follower.trains)
    window = Window(5, 5)
    for train in feeder.trains:
        assert follower.panes(train, window) == feeder.panes(train, window)
    for position in range(6):
        for kind in ("event", "arrival"):
            assert follower.watermark(kind, position) == feeder.watermark(kind, position)
    assert follower.slices(0, 5) == feeder.slices(0, 5)
    assert follower.extent(0, 10, "event") == feeder.extent(0, 10, "event")
    for log in (feeder, follower):
        log.manifest.close()


def test_rows_that_are_refused_are_told_of_even_if_nothing_else_came_and_are_written_by_the_feeder_only(
    nodes, tmp_path
):
    log, other = nodes
    log.append(SCHEMA.empty_table(), {"at": 0}, rejected=[Rejected("x", "odd", "here")])
    feed(log, [[5]], [7 * SECOND])
    log.append(SCHEMA.empty_table(), {"at": 1}, rejected=[Rejected("y", "odd", "here")])
    log.append(SCHEMA.empty_table(), {"at": 1})
    other.follow()
    assert known(other) == known(log)
    assert (len(log.trains), other.counted) == (3, (0, {"odd": 2}))
    assert log.trains[-1].arrived_last == 7 * SECOND
    assert len({file.name for file in (tmp_path / "a" / "dead" / "s").iterdir()}) == 2
    assert not (tmp_path / "b" / "dead").exists()
    take(other, 1, at=1)
    with pytest.raises(SupersededError):
        log.append(table([9], first=1), {"at": 2}, rejected=[Rejected("z", "odd", "here")])
    assert len(list((tmp_path / "a" / "dead" / "s").iterdir())) == 2


def test_whoever_comes_second_is_superseded_has_changed_nothing_and_goes_on_behind_the_other(nodes, tmp_path):
    log, other = nodes
    take(log, 2)
    before = known(other)
    for late in (lambda: take(other, 3), lambda: other.pass_time(time.time()), other.end):
        with pytest.raises(SupersededError, match=r"train 0 of .* is somebody else's"):
            late()
    assert known(other) == before
    other.follow()
    take(other, 3)
    log.follow()
    assert values(log) == values(other) == list(range(5))
    assert issubclass(SupersededError, HeadgateError)
    assert list(log.shared.folder.glob(".*")) == []


@pytest.mark.parametrize("changed", [{"event_time": None}, {"delay": 7}])
def test_a_stream_is_the_same_for_all_who_share_it(nodes, tmp_path, changed):
    with pytest.raises(InputError, match=f"another {next(iter(changed))}"):
        log_of(tmp_path, "c", **changed)


# Interleavings.

acts = st.tuples(st.sampled_from("ab"), st.sampled_from(["take", "follow", "pass", "restart", "crash", "drop"]))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(acts, st.integers(1, 3)), max_size=15))
def test_two_feeders_never_fork_lose_or_repeat_a_tuple(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("nodes")
    logs = {node: log_of(folder, node) for node in "ab"}
    committed = 0
    for (node, act), n in steps:
        log = logs[node]
        if act == "take":
            at = (log.state or {"at": 0})["at"]
            try:
                take(log, n)
                assert at == committed
                committed += n
            except SupersededError:
                assert at < committed or log.shared.has((log.trains[-1].seq if log.trains else -1) + 1)
                log.follow()
        elif act == "follow":
            log.follow()
        elif act == "pass":
            with suppress(SupersededError):
                log.pass_time(time.time(), committed)
        elif act == "restart":
            logs[node] = again(folder, log, node)
        elif act == "crash":
            # What was written has no number yet, or the manifest does not know of it.
            (log.shared.folder / f".{n}.x.tmp").write_bytes(b"half")
            with suppress(SupersededError), pytest.MonkeyPatch.context() as patch:
                patch.setattr(log._committed, "append", lambda *_, **__: 1 / 0)
                at = (log.state or {"at": 0})["at"]
                with pytest.raises(ZeroDivisionError):
                    take(log, n)
                assert at == committed
                committed += n
            logs[node] = again(folder, log, node)
        else:
            # Nothing is forgotten that the floor of the log does not allow.
            log.drop(log.head)
    for log in logs.values():
        log.follow()
        assert values(log) == list(range(committed))
        assert (log.state or {"at": 0}) == {"at": committed}
        assert [train.first for train in log.trains] == list(np.cumsum([0, *(t.count for t in log.trains)]))[:-1]
        # A train at the floor that has no tuple may be forgotten.
        assert [t for t in log.trains if t.end] == [t for t in logs["a"].trains if t.end]
    for log in logs.values():
        log.manifest.close()


# Crashes.


def test_what_was_written_and_not_linked_is_nothing_and_goes_once_it_is_old(nodes, tmp_path, monkeypatch):
    log, _ = nodes
    take(log, 2)
    with monkeypatch.context() as patch:
        patch.setattr(shared_log.os, "link", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            log.append(table([1], first=2), {"at": 3}, rejected=[Rejected("x", "odd", "here")])
    (left,) = log.shared.folder.glob(".*.tmp")
    (tmp_path / "a" / "dead" / "s").mkdir(parents=True, exist_ok=True)
    (tmp_path / "a" / "dead" / "s" / "000000000001-gone.jsonl").write_text("{}\n")
    log = again(tmp_path, log, "a")
    assert left.exists()
    assert list((tmp_path / "a" / "dead" / "s").iterdir()) == []
    os.utime(left, (1, 1))
    log = again(tmp_path, log, "a")
    assert not left.exists()
    take(log, 1)
    assert values(log) == [0, 1, 2]
    log.manifest.close()


def test_a_restart_has_what_the_folder_has_and_not_what_the_manifest_remembers(nodes, tmp_path):
    log, other = nodes
    take(log, 2)
    take(log, 2)
    log.shared.path(1).unlink()
    other.follow()
    take(other, 1)
    log = again(tmp_path, log, "a")
    assert known(log) == known(other)
    assert values(log) == [0, 1, 2]
    log.manifest.close()


def test_a_disk_that_is_full_is_told_of_and_leaves_nothing(nodes, monkeypatch):
    log, _ = nodes

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shared_log.os, "link", full)
        with pytest.raises(HeadgateError, match=r"cannot write .* No space left"):
            take(log, 2)
    assert list(log.shared.folder.glob(".*")) == []
    take(log, 2)
    assert values(log) == [0, 1]


# Letting go.


def test_rows_are_forgotten_up_to_the_floor_and_files_only_by_who_may(nodes, tmp_path):
    log, other = nodes
    for _ in range(4):
        take(log, 2)
    assert log.drop(8) == 0
    log.floor = 5
    assert log.drop(3) == 1
    assert log.drop(8) == 1
    assert [train.first for train in log.trains] == [4, 6]
    assert [train.first for train in again(tmp_path, log, "a").trains] == [4, 6]
    assert other.shared.numbers() == [0, 1, 2, 3]
    assert [other.shared.reaching(at) for at in (0, 1, 2, 7, 8, 99)] == [0, 0, 1, 3, 3, 3]
    assert other.shared.drop(2) == 2
    assert (other.shared.first(), other.shared.last(), other.shared.floor()) == (2, 3, 2)
    assert other.shared.drop(99) == 1
    assert other.shared.numbers() == [3]
    assert other.shared.drop(1) == 0
    assert other.shared.floor() == 3


def test_what_has_gone_for_all_is_forgotten_by_each(nodes, tmp_path):
    log, other = nodes
    for _ in range(4):
        take(log, 2)
    other.follow()
    other.shared.drop(2)
    looked = []
    log.floor = 6
    assert log.drop(6, looked.extend) == 3
    assert [train.seq for train in looked] == [2]
    assert [train.seq for train in log.trains] == [3]
    other = again(tmp_path, other, "b")
    assert [train.seq for train in other.trains] == [2, 3]
    assert other.manifest.streams.trains("s") == list(other.trains)
    other.manifest.close()


def test_a_number_that_has_gone_is_not_given_again_to_who_was_asleep(nodes):
    log, other = nodes
    take(log, 2)
    other.follow()
    for _ in range(4):
        take(log, 1)
    log.shared.drop(4)
    with pytest.raises(SupersededError):
        take(other, 9)
    assert log.shared.numbers() == [4]
    # Even if its file is there for a moment.
    stale = SharedTrains(other.shared.folder)
    stale.floor = lambda: 0
    stale.create(shared_log.Shared(other.trains[0].__class__(*([1] * 13)), writer="stale"), table([1]))
    assert log.shared.numbers() == [4]
    assert [train.seq for train in other.follow()] == [4]
    assert other.state == {"at": 6}
    assert log.shared.drop(4) == 1
    take(other, 2)
    assert log.follow() == [other.trains[-1]]
    assert values(other) == [5, 6, 7]
    assert other.manifest.streams.trains("s") == list(other.trains)


# Streams that run.


class Counting:
    """A source that appends the numbers behind its state until it is stopped, or has come so far."""

    def __init__(self, most=10**9, pause=0.001):
        self.most, self.pause = most, pause

    def run(self, intake):
        while (at := (intake.state or {"at": 0})["at"]) < self.most:
            intake.append(table([at], first=at), {"at": at + 1})
            if intake.wait(self.pause):
                return


class Wrapping(Counting):
    """One that says in its own words that it could not append."""

    def run(self, intake):
        try:
            super().run(intake)
        except SupersededError as error:
            msg = f"my own words: {error}"
            raise ValueError(msg) from error


@pytest.fixture
def live(nodes, tmp_path):
    made = [
        LiveStream(log, Wrapping(), tmp_path / "source", None, feeds=feeds)
        for log, feeds in zip(nodes, (True, False), strict=True)
    ]
    for stream in made:
        stream.start()
    yield made
    for stream in made:
        stream.stop()


def same(streams):
    for stream in streams:
        stream.stop()
    for stream in streams:
        stream.log.follow()
        assert values(stream.log) == list(range(stream.log.head))
    assert list(streams[0].log.trains) == list(streams[1].log.trains)


def test_one_feeds_and_the_other_follows_and_they_change_places(live):
    first, second = live
    until(lambda: second.log.head > 5)
    assert (first.status, second.status, second.rate > 0) == ("running", "following", True)
    first.feed(False)
    second.feed(True)
    assert (first.status, second.status) == ("following", "running")
    goal = second.log.head + 5
    until(lambda: first.log.head > goal)
    assert (first.reason, second.reason) == (None, None)
    second.feed(True)
    same(live)
    assert [stream.status for stream in live] == ["paused", "paused"]


def test_a_feeder_that_is_superseded_follows_and_says_so(live, caplog):
    first, second = live
    until(lambda: second.log.head > 5)
    second.feed(True)
    until(lambda: not (first.feeds and second.feeds))
    loser, winner = (second, first) if first.feeds else (first, second)
    until(lambda: loser.status == "following")
    assert "is somebody else's, who feeds this stream now" in loser.reason
    assert "stream s is fed by another engine" in caplog.text
    goal = winner.log.head + 5
    until(lambda: loser.log.head > goal)
    # It may be told to feed all the same.
    loser.feed(True)
    until(lambda: not (first.feeds and second.feeds))
    same(live)


def test_only_the_feeder_lets_time_pass_and_gives_way_if_another_did(live):
    first, second = live
    until(lambda: second.log.head > 2)
    first.feed(False)
    first.source.pause, head = 3600.0, first.log.head
    first.feed(True)
    # The one train that it gives now has come to both.
    until(lambda: first.status == "running" and first.log.head == second.log.head == head + 1)
    window = Window(1, 1, "arrival")
    before = len(second.log.trains)
    second.pass_time([window])
    assert len(second.log.trains) == before
    first.pass_time([window])
    until(lambda: len(second.log.trains) > before)
    second.log.pass_time(time.time() + 1)
    first.idle = 1e-9
    first.pass_time([])
    until(lambda: first.status == "following" and len(first.log.trains) == len(second.log.trains))
    same(live)


def test_the_end_of_a_stream_ends_it_for_all(live):
    first, second = live
    until(lambda: second.log.head > 2)
    first.source.most = first.log.head + 3
    until(lambda: first.status == second.status == "ended")
    assert second.log.ended
    second.feed(True)
    assert second.status == "ended"
    same(live)


def test_who_feeds_a_log_that_is_not_shared_is_no_question(tmp_path):
    log = opened(tmp_path)
    with pytest.raises(InputError, match="a log that is not shared"):
        LiveStream(log, Counting(), tmp_path / "source", None).feed(False)
    assert log.follow() == []
    log.manifest.close()

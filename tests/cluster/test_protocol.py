"""Queries on nodes that crash, hang, come back, with a coordinator that restarts: everything once, in the end."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.world import Cluster, KilledError
from headgate.errors import HeadgateError, InputError

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""The ledger syncs every entry, which takes most of the time on a disk."""

EVENTS = st.tuples(
    st.sampled_from(
        [
            *("turn", "turn", "talk", "step", "run", "run", "run", "grow", "grow"),
            *("move", "move", "kill", "join", "sleep", "wake", "cut", "heal", "restart", "lapse", "lapse"),
            *("break", "mend", "leave", "drain", "die", "die", "crash", "full", "room"),
            *("send", "send", "deliver", "deliver", "hear", "hear", "late", "look late"),
        ]
    ),
    st.integers(0, 5),
    st.integers(0, 5),
)


def happen(cluster, event, i, j):
    try:
        _happen(cluster, event, i, j)
    except KilledError as killed:
        if killed.node is None:
            cluster.restart()
        else:
            cluster.kill(killed.node)


def _happen(cluster, event, i, j):
    nodes = sorted(cluster.nodes)
    awake = sorted(cluster.awake())
    if event == "grow":
        cluster.shared.head += 1 + i
    elif event == "restart":
        cluster.restart()
    elif event == "lapse":
        cluster.lapse(1.0 + i)
    elif event == "turn":
        for name in awake:
            cluster.talk(name)
            cluster.nodes[name].step()
    elif event == "join":
        name = f"n{i % 3}"
        if name not in cluster.nodes:
            cluster.join(name)
    elif event == "move" and nodes:
        try:
            cluster.coordinator.move(f"q{i % len(cluster.questions)}", nodes[j % len(nodes)])
        except InputError:
            return
        except HeadgateError:
            if not cluster.full:
                raise
    elif event == "crash":
        cluster.entries = i % 3, j % 2 == 1
    elif event in ("full", "room"):
        cluster.full = event == "full"
    elif event == "deliver":
        cluster.deliver(i)
    elif event == "hear":
        cluster.hear(i)
    elif event == "late":
        cluster.deliver(i, late=True)
    elif event == "look late" and cluster.before:
        with suppress(*(HeadgateError,) if cluster.full else ()):
            cluster.before.look()
    elif event == "wake" and cluster.asleep:
        cluster.asleep.discard(sorted(cluster.asleep)[i % len(cluster.asleep)])
    elif event == "heal":
        cluster.cut.clear()
    elif awake:
        name = awake[i % len(awake)]
        if event == "talk":
            cluster.talk(name)
        elif event == "step":
            cluster.nodes[name].step()
        elif event == "run":
            cluster.work_on(name, j)
        elif event == "kill":
            cluster.kill(name)
        elif event == "sleep":
            cluster.asleep.add(name)
        elif event == "cut":
            cluster.cut.add(name)
        elif event == "leave" and name not in cluster.cut and not cluster.full:
            cluster.leave(name)
        elif event == "drain":
            with suppress(InputError):
                cluster.coordinator.drain(name)
        elif event == "send":
            cluster.send(name)
        elif event == "die":
            cluster.work[name].dies = j
        elif event in ("break", "mend"):
            cluster.work[name].broken = event == "break"


def settle(cluster, bad):
    """Let all come to rest; with a node that can begin nothing more, if it is `bad` and there is another one."""
    for name in ("n0", "n1"):
        if name not in cluster.nodes:
            cluster.join(name)
    cluster.shared.head += 3
    cluster.calm(max(cluster.nodes) if bad else None)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(EVENTS, max_size=120), st.booleans())
def test_every_result_is_published_once_whatever_happens_to_nodes_and_coordinator(stateless, events, bad):
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        cluster = Cluster(Path(folder), stateless, 3)
        for event in events:
            happen(cluster, *event)
        settle(cluster, bad)
        for question in cluster.questions:
            found = cluster.shared.published.get(question.name, [])
            assert sorted(found) == list(range(cluster.shared.head)), question
        where = cluster.coordinator.told().queries
        assert all(each["status"] == "ACTIVE" and each["coming"] is None for each in where)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(EVENTS, max_size=120), st.booleans())
def test_results_that_are_a_stream_are_in_it_once_and_in_order_whatever_happens(stateless, events, bad):
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        cluster = Cluster(Path(folder), stateless, 3, chained=True)
        for event in events:
            happen(cluster, *event)
        settle(cluster, bad)
        for question in cluster.questions:
            assert cluster.shared.results(question.gives) == list(range(cluster.shared.head)), question
        where = cluster.coordinator.told().queries
        assert all(each["status"] == "ACTIVE" and each["coming"] is None for each in where)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(EVENTS, max_size=120), st.booleans())
def test_apart_every_result_counts_once_whatever_happens_and_what_has_counted_goes_on_to(stateless, events, bad):
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        cluster = Cluster(Path(folder), stateless, 3, apart=True)
        before = {}
        for event in events:
            happen(cluster, *event)
            counted = cluster.counted()
            assert all(counted[key] >= count for key, count in before.items())
            before = counted
            for question in cluster.questions:
                found = cluster.gathered(question.name)
                assert len(found) == len(set(found)), question
        settle(cluster, bad)
        for question in cluster.questions:
            assert sorted(cluster.gathered(question.name)) == list(range(cluster.shared.head)), question
        where = cluster.coordinator.told().queries
        assert all(each["status"] == "ACTIVE" and each["coming"] is None for each in where)


def test_a_query_moves_and_nothing_is_published_twice(tmp_path):
    cluster = Cluster(tmp_path, [True, False], 2)
    cluster.shared.head = 10
    cluster.calm()
    for query in ("q0", "q1"):
        (before,) = [each["node"] for each in cluster.coordinator.told().queries if each["name"] == query]
        to = "n1" if before == "n0" else "n0"
        cluster.coordinator.move(query, to)
        cluster.shared.head += 10
        cluster.calm()
        (now,) = [each for each in cluster.coordinator.told().queries if each["name"] == query]
        assert (now["node"], now["instance"]) == (to, 2)
        assert sorted(cluster.shared.published[query]) == list(range(cluster.shared.head))


def test_a_query_with_windows_runs_at_both_nodes_until_the_boundary(tmp_path):
    cluster = Cluster(tmp_path, [False], 2)
    cluster.shared.head = 10
    cluster.calm()
    cluster.shared.head = 20
    cluster.coordinator.move("q0", "n1")
    for name in ("n1", "n0", "n1", "n0", "n1"):
        cluster.talk(name)
        cluster.nodes[name].step()
        cluster.talk(name)
    assert cluster.nodes["n0"].held == {"q0": "STOP_PREPARING"}
    assert cluster.nodes["n1"].held == {"q0": "ACTIVE"}


def test_a_node_that_is_cut_off_but_beats_keeps_its_queries(tmp_path):
    cluster = Cluster(tmp_path, [True], 2)
    cluster.calm()
    (before,) = [each["node"] for each in cluster.coordinator.told().queries]
    folder = tmp_path / "nodes" / before
    folder.mkdir(parents=True)
    for i in range(20):
        (folder / "beat").touch()
        os.utime(folder / "beat", (i, i))
        cluster.now += 1.0
        cluster.coordinator.look()
    told = cluster.coordinator.told()
    assert [each["node"] for each in told.queries] == [before]
    assert {each["name"]: each["status"] for each in told.nodes}[before] == "cut off"


def test_a_move_that_makes_no_sense_is_refused(tmp_path):
    cluster = Cluster(tmp_path, [True], 2)
    cluster.calm()
    (where,) = [each["node"] for each in cluster.coordinator.told().queries]
    with pytest.raises(InputError, match="another node"):
        cluster.coordinator.move("q0", where)
    with pytest.raises(InputError, match="a node that is there"):
        cluster.coordinator.move("q0", "n7")
    with pytest.raises(InputError, match="a query of the pipeline"):
        cluster.coordinator.move("nobody", "n1")


@pytest.mark.parametrize("apart", [True, False])
def test_a_node_that_leaves_is_taken_over_from_at_once(tmp_path, apart):
    cluster = Cluster(tmp_path, [True, False], 2, apart=apart)
    cluster.shared.head = 10
    cluster.calm()
    lost = cluster.coordinator.told().queries[0]["node"]
    late = cluster.nodes[lost].report()
    cluster.leave(lost)
    assert lost not in {each["node"] for each in cluster.coordinator.told().queries}
    assert [each["why"] for each in cluster.coordinator.told().gone] == ["it was stopped"]
    with pytest.raises(InputError, match="which has left"):
        cluster.coordinator.report(late, None, 0.0)
    cluster.join(lost)
    cluster.calm()
    assert not cluster.coordinator.told().gone


def test_a_node_that_is_drained_gives_its_queries_away_without_a_stop_and_gets_none(tmp_path):
    cluster = Cluster(tmp_path, [True, False] * 4, 1)
    cluster.shared.head = 10
    cluster.calm()
    with pytest.raises(InputError, match="Start another node first"):
        cluster.coordinator.drain("n0")
    cluster.join("n1")
    cluster.lapse(2)
    cluster.coordinator.drain("n0")
    cluster.coordinator.look()
    assert sum(each["coming"] == "n1" for each in cluster.coordinator.told().queries) == 4
    cluster.shared.head = 20
    cluster.calm()
    told = cluster.coordinator.told()
    assert {each["node"] for each in told.queries} == {"n1"}
    assert {each["name"]: (each["status"], each["queries"]) for each in told.nodes}["n0"] == ("draining", 0)
    assert {(each["outcome"], each["why"]) for each in told.moves} == {("done", "the node that it is on is drained")}
    for question in cluster.questions:
        assert sorted(cluster.shared.published[question.name]) == list(range(20))
    with pytest.raises(InputError, match="being drained"):
        cluster.coordinator.move("q0", "n0")
    cluster.kill("n0")
    cluster.join("n0")
    cluster.lapse(2)
    cluster.coordinator.move("q0", "n0")
    cluster.calm()
    assert cluster.coordinator.told().queries[0]["node"] == "n0"


def test_a_node_goes_on_giving_its_queries_away_when_the_coordinator_starts_again(tmp_path):
    cluster = Cluster(tmp_path, [True] * 8, 2)
    cluster.calm()
    cluster.coordinator.drain("n0")
    cluster.lapse(1)
    assert "n0" in {each["node"] for each in cluster.coordinator.told().queries}
    cluster.restart()
    cluster.calm()
    told = cluster.coordinator.told()
    assert {each["node"] for each in told.queries} == {"n1"}
    assert {each["name"]: each["status"] for each in told.nodes}["n0"] == "draining"


def test_a_query_that_no_other_node_can_prepare_stays_on_the_one_that_is_drained(tmp_path):
    cluster = Cluster(tmp_path, [True], 2)
    cluster.calm()
    (here,) = [each["node"] for each in cluster.coordinator.told().queries]
    cluster.work["n1" if here == "n0" else "n0"].broken = True
    cluster.coordinator.drain(here)
    cluster.lapse(30)
    told = cluster.coordinator.told()
    assert ([each["node"] for each in told.queries], len(told.moves)) == ([here], 1)

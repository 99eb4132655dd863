"""Queries on nodes that crash, hang, come back, with a coordinator that restarts: everything once, in the end."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.world import Cluster
from headgate.errors import InputError

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""The ledger syncs every entry, which takes most of the time on a disk."""

EVENTS = st.tuples(
    st.sampled_from(
        [
            *("turn", "turn", "talk", "step", "run", "run", "run", "grow", "grow"),
            *("move", "move", "kill", "join", "sleep", "wake", "restart", "lapse", "lapse"),
        ]
    ),
    st.integers(0, 5),
    st.integers(0, 5),
)


def happen(cluster, event, i, j):
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
    elif event == "wake" and cluster.asleep:
        cluster.asleep.discard(sorted(cluster.asleep)[i % len(cluster.asleep)])
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


@settings(max_examples=150, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=3), st.lists(EVENTS, max_size=120))
def test_every_result_is_published_once_whatever_happens_to_nodes_and_coordinator(stateless, events):
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        cluster = Cluster(Path(folder), stateless, 3)
        for event in events:
            happen(cluster, *event)
        if not cluster.nodes:
            cluster.join("n0")
        cluster.shared.head += 3
        cluster.calm()
        for question in cluster.questions:
            found = cluster.shared.published.get(question.name, [])
            assert sorted(found) == list(range(cluster.shared.head)), question
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

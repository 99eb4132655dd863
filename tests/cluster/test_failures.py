"""What fails on a node: it is said, tried again, and done by others if it goes on."""

import pytest

from cluster.world import Cluster
from headgate.cluster.instances import Failure
from headgate.cluster.streams import TRIES
from headgate.cluster.waiting import LostSparkError, NotYetError
from headgate.errors import InputError


def where(cluster, name="q0"):
    return next(each for each in cluster.coordinator.told().queries if each["name"] == name)


def statuses(cluster):
    return {each["name"]: each["status"] for each in cluster.coordinator.told().nodes}


def why(cluster, node):
    return next(each["why"] for each in cluster.coordinator.told().nodes if each["name"] == node)


def other(cluster):
    return "n1" if where(cluster)["node"] == "n0" else "n0"


def raises(error):
    def act(*_):
        raise error

    return act


@pytest.mark.parametrize("part", ["hear", "release", "feed", "mend", "prioritise", "look", "forget"])
def test_what_fails_in_a_step_is_said_and_keeps_nothing_else_from_being_done(tmp_path, part):
    cluster = Cluster(tmp_path, [True], 1)
    setattr(cluster.work["n0"], part, raises(RuntimeError("a defect")))
    cluster.calm()
    assert where(cluster)["status"] == "ACTIVE"
    assert "RuntimeError: a defect" in why(cluster, "n0")
    delattr(cluster.work["n0"], part)
    cluster.lapse(2)
    assert why(cluster, "n0") == ""


def test_a_thread_whose_turn_fails_takes_the_next_one(tmp_path, caplog):
    cluster = Cluster(tmp_path, [True], 1)
    node, turns = cluster.nodes["n0"], []

    def turn():
        turns.append(1)
        if len(turns) == 3:
            node.stop()
        raise KeyError("x")

    node._threads = []
    node._over.wait = lambda seconds: None
    node._turns("working", turn)
    assert len(turns) == 3
    assert caplog.text.count("working: KeyError: 'x'; trying again") == 1


def test_a_node_whose_spark_has_ended_ends(tmp_path):
    cluster = Cluster(tmp_path, [True], 1)
    node = cluster.nodes["n0"]
    node._done("Spark", raises(LostSparkError("the Spark of this node has ended")))
    assert node.ended.is_set()
    assert "Spark of this node has ended" in str(node.lost)


def test_a_node_that_makes_no_headway_does_not_beat_and_others_take_over(tmp_path):
    cluster = Cluster(tmp_path, [True], 2)
    cluster.calm()
    stuck = where(cluster)["node"]
    folder = tmp_path / "nodes" / stuck
    folder.mkdir(parents=True)
    node = cluster.nodes[stuck]

    def beats():
        (folder / "beat").unlink(missing_ok=True)
        node._over.clear()
        node._over.wait = lambda seconds: node._over.set()
        node._beat()
        node._over.clear()
        return (folder / "beat").exists()

    assert beats()
    cluster.asleep.add(stuck)
    for _ in range(120):
        cluster.talk(stuck)
        cluster.lapse(1)
    assert statuses(cluster) == {"n0": "there", "n1": "there"}
    cluster.lapse(1)
    cluster.talk(stuck)
    assert statuses(cluster)[stuck] == "stuck"
    cluster.lapse(5)
    assert not beats()
    assert where(cluster)["node"] != stuck
    assert [(each["name"], each["why"]) for each in cluster.coordinator.told().gone] == [(stuck, "it is stuck")]
    with pytest.raises(InputError, match="which is stuck"):
        cluster.talk(stuck)
    cluster.nodes[stuck].step()
    cluster.calm()
    assert statuses(cluster) == {"n0": "there", "n1": "there"}
    assert not cluster.coordinator.told().gone


def test_a_node_that_plans_for_long_is_not_stuck_as_long_as_it_comes_on(tmp_path):
    cluster = Cluster(tmp_path, [True, True, True], 1)
    cluster.talk("n0")

    def begin(order):
        cluster.now += 60.0
        assert not cluster.nodes["n0"].report().stuck
        raise NotYetError("later")

    cluster.work["n0"].begin = begin
    cluster.nodes["n0"].step()
    assert cluster.now == 180.0
    assert not cluster.nodes["n0"].report().stuck


def test_a_query_that_has_failed_is_shown_with_the_reason(tmp_path):
    cluster = Cluster(tmp_path, [True], 1)
    cluster.calm()
    cluster.work["n0"].down = lambda: {"q0": "no room"}
    cluster.lapse(1)
    assert (where(cluster)["status"], where(cluster)["why"]) == ("FAILED", "no room")
    assert why(cluster, "n0") == "query q0: no room"


def test_a_move_whose_target_cannot_prepare_the_query_is_called_off_with_the_reason(tmp_path):
    cluster = Cluster(tmp_path, [True], 2)
    cluster.calm()
    here, there = where(cluster)["node"], other(cluster)
    cluster.work[there].broken = True
    for _ in range(2):
        # The failures of the first move do not count for the second.
        cluster.coordinator.move("q0", there)
        cluster.lapse(TRIES - 1)
        assert where(cluster)["coming"] == there
        cluster.lapse(3)
        assert (where(cluster)["coming"], where(cluster)["node"]) == (None, here)
    assert [move["outcome"] for move in cluster.coordinator.told().moves] == ["RuntimeError: out of order"] * 2
    cluster.work[there].broken = False
    cluster.coordinator.move("q0", there)
    cluster.calm()
    assert cluster.coordinator.told().moves[-1]["outcome"] == "done"


def test_a_move_that_waits_is_not_called_off_and_stays_where_it_is_when_it_is_told_to(tmp_path):
    cluster = Cluster(tmp_path, [False], 2)
    cluster.calm()
    here, there = where(cluster)["node"], other(cluster)
    cluster.work[there].prepare = raises(NotYetError("reading"))
    cluster.coordinator.move("q0", there)
    cluster.lapse(30)
    assert (where(cluster)["coming"], where(cluster)["node"]) == (there, here)
    cluster.coordinator.move("q0", here)
    cluster.shared.head = 5
    cluster.calm()
    assert where(cluster)["coming"] is None
    assert cluster.coordinator.told().moves[-1]["outcome"] == f"it stays on {here}, as asked for"
    assert sorted(cluster.shared.published["q0"]) == list(range(5))


@pytest.mark.parametrize("apart", [True, False])
def test_a_query_that_its_node_cannot_begin_is_placed_elsewhere_and_not_in_turn(tmp_path, apart):
    cluster = Cluster(tmp_path, [True], 3, apart=apart)
    for name in ("n0", "n1"):
        cluster.work[name].broken = True
    cluster.lapse(40)
    assert (where(cluster)["node"], where(cluster)["status"]) == ("n2", "ACTIVE")
    cluster.kill("n2")
    cluster.lapse(40)
    number = where(cluster)["instance"]
    cluster.lapse(40)
    assert where(cluster)["instance"] == number
    assert where(cluster)["why"] == "RuntimeError: out of order"
    cluster.shared.head = 3
    cluster.calm()
    assert where(cluster)["status"] == "ACTIVE"
    found = cluster.gathered("q0") if apart else cluster.shared.published["q0"]
    assert sorted(found) == [0, 1, 2]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("killed", [True, False])
def test_the_rest_of_an_instance_is_done_elsewhere_where_its_node_cannot_do_it(tmp_path, apart, killed):
    cluster = Cluster(tmp_path, [False], 3, apart=apart)
    cluster.shared.head = 10
    cluster.calm()
    here, there = where(cluster)["node"], other(cluster)
    cluster.shared.head = 20
    cluster.coordinator.move("q0", there)
    for name in (there, here) * 3:
        cluster.talk(name)
        cluster.nodes[name].step()
        cluster.talk(name)
    assert [cluster.nodes[name].held["q0"] for name in (here, there)] == ["STOP_PREPARING", "ACTIVE"]
    cluster.kill(here)
    if not killed:
        # It is back at once, and cannot go on with what it had.
        cluster.join(here)
    cluster.shared.head = 30
    cluster.calm(broken=there if killed else here)
    assert (where(cluster)["node"], where(cluster)["status"]) == (there, "ACTIVE")
    found = cluster.gathered("q0") if apart else cluster.shared.published["q0"]
    assert sorted(found) == list(range(30))


@pytest.mark.parametrize("apart", [True, False])
def test_a_coordinator_that_was_asleep_takes_nobody_for_lost_but_who_stays_silent(tmp_path, apart):
    cluster = Cluster(tmp_path, [True, True], 2, apart=apart)
    cluster.calm()
    before = [each["node"] for each in cluster.coordinator.told().queries]
    cluster.now += 20.0
    cluster.coordinator.look()
    cluster.lapse(10)
    assert [each["node"] for each in cluster.coordinator.told().queries] == before
    assert not cluster.coordinator.told().gone
    cluster.kill("n0")
    cluster.now += 20.0
    cluster.lapse(5)
    assert not cluster.coordinator.told().gone
    cluster.lapse(2)
    assert [each["name"] for each in cluster.coordinator.told().gone] == ["n0"]


def test_a_source_that_fails_time_and_again_is_fed_by_the_next_node(tmp_path):
    cluster = Cluster(tmp_path, [True, True], 2)
    cluster.calm()
    cluster.coordinator.move("q1", other(cluster))
    cluster.calm()
    (feeder,) = [name for name, work in cluster.work.items() if work.fed]
    cluster.work[feeder].bad_feeds["s"] = Failure("no such file", 1)
    cluster.lapse(3)
    assert cluster.work[feeder].fed == ("s",)
    assert why(cluster, feeder) == "stream s: no such file"
    cluster.work[feeder].bad_feeds["s"] = Failure("no such file", TRIES)
    cluster.lapse(3)
    assert [name for name, work in cluster.work.items() if work.fed] == ["n1" if feeder == "n0" else "n0"]


def test_one_query_that_is_on_its_way_keeps_tuples_of_its_streams_alone(tmp_path):
    cluster = Cluster(tmp_path, [True, True], 2, chained=True)
    cluster.calm()
    placement = cluster.coordinator._placement
    here, there = where(cluster)["node"], other(cluster)
    cluster.work[there].prepare = raises(NotYetError("reading"))
    cluster.coordinator.move("q0", there)
    for work in cluster.work.values():
        work.needed = lambda: {"s": 8, "r0": 5, "r1": 4}
    before = {**placement._streams.floors, "r1": 4}
    cluster.lapse(3)
    assert placement._streams.floors == before
    cluster.coordinator.move("q0", here)
    cluster.lapse(3)
    assert placement._streams.floors == {"s": 8, "r0": 5, "r1": 4}

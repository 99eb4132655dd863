"""What the coordinator makes of the orders of its policy."""

import logging

import pytest

from headgate.cluster.balance import Balance
from headgate.cluster.coordinator import Coordinator
from headgate.cluster.instances import Question, Report, Running
from headgate.control.nodes.options import Options
from headgate.control.nodes.orders import Migrate, Sleep
from headgate.errors import InputError
from headgate.policy.protocol import Why

WHY = Why("as told", {})
QUICK = Options(reports=2, spikes=2, sleeps=1)


class World:
    """A coordinator that balances, and nodes that run what it wants, and have next to nothing to do."""

    def __init__(self, folder, names):
        self.now = 0.0
        questions = [Question(f"q{i}", "gold", ("ticks",)) for i in range(2)]
        self.balance = Balance({"gold": 1.0}, QUICK, sleeps=True)
        self.coordinator = Coordinator(
            folder, questions, nodes=len(names), balance=self.balance, clock=lambda: self.now
        )
        self.names = names

    def seconds(self, count):
        for _ in range(count):
            self.now += 1.0
            for name in self.names:
                wanted = self.coordinator.report(Report(name, "1", member=self.coordinator.member), None, 0.0)[2][
                    "queries"
                ]
                ran = {q: Running(order["instance"]["number"], "ACTIVE") for q, order in wanted.items()}
                load = {"capacity": 1.0, "queries": {q: {"busy": 0.0, "tuples": 0, "shed": 0} for q in ran}}
                load["classes"] = [{"name": "gold", "priority": 1.0, "headroom": 1.0, "usage": 0.0, "drop": 0.0}]
                self.coordinator.report(Report(name, "1", ran, load=load, member=self.coordinator.member), None, 0.0)
            self.coordinator.look()

    def where(self):
        return {each["name"]: each["node"] for each in self.coordinator.told().queries}

    def statuses(self):
        return {each["name"]: each["status"] for each in self.coordinator.told().nodes}


def test_a_node_that_sleeps_takes_over_when_all_others_are_lost(tmp_path):
    world = World(tmp_path, ["a"])
    world.seconds(2)
    world.names = ["a", "b"]
    world.seconds(3)
    world.balance._obey(Sleep("b", WHY), world.coordinator)
    assert world.statuses() == {"a": "there", "b": "asleep"}
    with pytest.raises(InputError, match="'b', which sleeps"):
        world.coordinator.move("q0", "b")
    world.names = ["b"]
    world.seconds(8)
    assert world.where() == {"q0": "b", "q1": "b"}
    assert world.statuses() == {"b": "there"}


def test_an_order_that_cannot_be_carried_out_does_not_hold_up_the_others(tmp_path, monkeypatch, caplog):
    world = World(tmp_path, ["a"])
    world.seconds(2)
    world.names = ["a", "b"]
    world.seconds(1)
    orders = (Migrate("q0", "a", "gone", WHY), Migrate("q1", "a", "b", WHY))
    monkeypatch.setattr(world.balance._balancer, "decide", lambda *_: orders)
    with caplog.at_level(logging.INFO):
        world.seconds(1)
    assert "not done" in caplog.text
    assert {each["name"]: each["coming"] for each in world.coordinator.told().queries} == {"q0": None, "q1": "b"}


def test_a_node_that_says_nothing_is_seen_as_it_was_and_not_as_idle(tmp_path, monkeypatch):
    world = World(tmp_path, ["a"])
    seen = []
    monkeypatch.setattr(world.balance._balancer, "decide", lambda now, reports: seen.append(list(reports)) or ())
    world.seconds(4)
    last = seen[-1]
    assert [report.node for report in last] == ["a"]
    world.names = []
    world.seconds(3)
    assert seen[-1] == last
    assert seen[-1][0].time == 4.0
    # Then it is taken for gone.
    world.seconds(4)
    assert seen[-1] == []

"""A fluid node against the train kernel: the same load management over operators that are simulated run by run."""

import numpy as np
import pytest

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.classes.cqc import Cqc
from headgate.policy.trains import Train
from headgate.sim.nodes.fluid import FluidNode
from headgate.sim.nodes.simulation import Setup
from headgate.sim.nodes.workload import CLASSES
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.steering import Control

PERIOD, END, COST = 0.15, 24.0, 0.002
NAMES = [each.name for each in CLASSES]


def by_trains(loads, setup):
    """Losses and response times of one query of each class, whose tuples come by chance."""
    ops, queries = [], []
    for name in NAMES:
        ops += [
            Operator(f"{name}.s", Kind.SOURCE),
            Operator(name, Kind.PROJECT, (f"{name}.s",), Cost(0.0, COST), 1.0),
        ]
        queries.append(Query(name, name, name))
    network = Network(tuple(ops), tuple(queries))
    rng = np.random.default_rng(5)
    rates = {f"{name}.s": load / COST for name, load in loads.items()}
    times = {name: np.sort(rng.uniform(0, END, int(rate * END))) for name, rate in rates.items()}
    team = Team(
        Cqc(CLASSES, period=0.01, inner="fcfs", train=Train(5)), lambda net: plan.by_query(net, rates, CLASSES)
    )
    control = Control(setup.management(CLASSES), PERIOD)
    report = Simulation(network, CLASSES, times, [team], seed=3, control=control, until=END).run()
    return {name: (report.loss(name), report.responses(name).mean) for name in NAMES}


def as_fluid(loads, setup):
    node = FluidNode(setup.management(CLASSES), CLASSES)
    seen = dict.fromkeys(NAMES, (0.0, 0.0, 0.0, 0.0))
    for step in range(round(END / PERIOD)):
        found = node.period(step * PERIOD, PERIOD, loads, {name: load / COST for name, load in loads.items()})
        for name, each in found.items():
            seen[name] = tuple(
                a + b
                for a, b in zip(seen[name], (each.arrived, each.dropped, each.served, each.response), strict=True)
            )
    return {name: (dropped / arrived, rt / served) for name, (arrived, dropped, served, rt) in seen.items()}


@pytest.mark.parametrize("loads", [(0.2, 0.2, 0.9), (0.7, 0.2, 0.4), (0.8, 0.5, 0.3)])
def test_a_fluid_node_loses_what_the_train_kernel_loses_and_is_as_late_to_a_control_period(loads):
    given = dict(zip(NAMES, loads, strict=True))
    trains, fluid = by_trains(given, Setup()), as_fluid(given, Setup())
    for name in NAMES:
        assert fluid[name][0] == pytest.approx(trains[name][0], abs=0.015)
        assert fluid[name][1] == pytest.approx(trains[name][1], abs=PERIOD)

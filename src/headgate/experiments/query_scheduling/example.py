"""QRY-E11: the worked example, two queries and three tuples, to the digit."""

from collections.abc import Mapping
from typing import Any

from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.sim.metrics import Summary, summarise
from headgate.sim.run import Setting
from headgate.sim.simulation import Simulation

PAPER = {"hr": (12.25, 3.875), "hnr": (13.0, 2.9)}
POLICIES = ("fcfs", "hr", "hnr", "srpt", "lsf", "bsd")


def example() -> Network:
    """Q1 costs 5 and passes everything, Q2 costs 2 and passes a third."""
    return Network(
        (
            Operator("stream", Kind.SOURCE),
            Operator("Q1", Kind.SELECT, ("stream",), Cost(b=5.0)),
            Operator("Q2", Kind.SELECT, ("stream",), Cost(b=2.0), 1 / 3),
        ),
        (Query("Q1", "Q1"), Query("Q2", "Q2")),
    )


def run(policy: str) -> Summary:
    """Three tuples at time 0, of which Q2 accepts the middle one."""
    network, rate = example(), {"stream": 1.0}
    setting = Setting(policy)
    simulation = Simulation(
        network,
        setting.plan(network, rate),
        setting.create(),
        {"stream": iter([0.0, 0.0, 0.0])},
        chance=lambda item, _operator: 0.0 if item == 1 else 0.99,
    )
    return summarise(simulation.run().tally)


def tasks(_scale: Scale) -> Mapping[Any, Task]:
    """One run per policy."""
    return {("example", policy): (run, (policy,)) for policy in POLICIES}


def e11(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Response time and slowdown of HR and HNR."""
    rows = []
    for policy, (response, slowdown) in PAPER.items():
        got: Summary = results["example", policy]
        for name, paper, value in (("response time", response, got.avg_r), ("slowdown", slowdown, got.avg_h)):
            rows.append(banded(f"average {name} under {policy}", f"{paper:g}", round(value, 9), Band(paper, paper)))
    figure = Figure(
        "Example 1",
        "",
        "average",
        (
            Line("response time", (), [results["example", p].avg_r for p in POLICIES]),
            Line("slowdown", (), [results["example", p].avg_h for p in POLICIES]),
        ),
        POLICIES,
        log_y=False,
    )
    return Outcome(E11.id, E11.title, "three tuples at time 0", "none", tuple(rows), (figure,))


E11 = Experiment("QRY-E11", "The worked example", "Table 1 and Figure 2", tasks, e11)

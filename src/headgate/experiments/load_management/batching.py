"""DILOS-E1 and E2: turns over batches, which cost less a tuple the longer they are."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.control.dilos import Management
from headgate.experiments.load_management import inputs, networks
from headgate.experiments.load_management.single import SURROGATE, line
from headgate.experiments.report import Band, Experiment, Figure, Line, Outcome, Scale, Task, banded, claim, holds
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.shed.none import NoManager
from headgate.sim.metrics import Floats
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.report import Report
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.steering import Control

STEP = 5.0
SETUP, EACH = 91 * networks.US, 29 * networks.US
LONG = 0.01
"""Seconds that only a growing queue takes: a full batch takes less than two milliseconds."""
NAIVE = 1 / (SETUP + EACH)
"""Tuples per second without batches."""


def _run(times: Floats, batch: int, end: float, scale: float = 1.0) -> Report:
    network = networks.batched(scale * SETUP, scale * EACH)
    team = Team(
        create("rr", {"over": "units", "train": Train(math.inf)}),
        lambda net: plan.by_query(net, {"s": 1.0}, networks.ONE),
    )
    control = Control(Management(networks.ONE, "none", lambda H, _: NoManager(H)), 0.5)
    return Simulation(
        network, networks.ONE, {"s": times}, [team], Machine(batch=batch), control=control, until=end
    ).run()


def ramp(batch: int, top: int) -> list[float]:
    """The mean response time at each step of the ramp, in the second half of the step, in seconds."""
    end = STEP * top
    report = _run(inputs.evenly(inputs.BATCHES[:top], end), batch, end)
    found = report.over_time(by="input", width=STEP / 2)
    return [float(found.mean[2 * k + 1]) for k in range(top)]


def bursts(seed: int) -> tuple[Floats, Floats]:
    """Rates and costs per tuple by control periods on bursty input, costs as many times higher as rates are lower."""
    times = inputs.bursty(None, seed)
    scale = 30_000 / (2.5 * len(times) / inputs.END)
    moments = _run(times, networks.BATCH, inputs.END, scale).moments
    seen = [moment.seen["all"] for moment in moments]
    return np.array([each.arrived / each.seconds for each in seen]), np.array([each.cost for each in seen])


def e1_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """The ramp with batches, and its beginning without."""
    return {("ramp", networks.BATCH): (ramp, (networks.BATCH, 8)), ("ramp", 1): (ramp, (1, 2))}


def e1(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """How much batches add to the capacity."""
    found: list[float] = results["ramp", networks.BATCH]
    alone: list[float] = results["ramp", 1]
    rates = [rate for _, rate in inputs.BATCHES]
    stable = [rate for rate, time in zip(rates, found, strict=True) if time < LONG]
    steps = [after > before for before, after in pairwise(found[:7])]
    rows = [
        banded(
            "capacity with batches of 50 over that without", "3.6×", max(stable) / NAIVE, Band(3.5, math.inf, "×")
        ),
        holds("the response time rises at every step up to 35,000", "yes", sum(steps), len(steps)),
        holds("stable at 30,000 and overloaded at 35,000", "yes", int(max(stable) == 30_000), 1),
        claim(
            "response time at 5,000",
            "about 120 µs",
            f"{1e6 * found[0]:.4g} µs",
            confirmed=abs(1e6 * found[0] / 120 - 1) < 0.1,
        ),
        holds("without batches overloaded at 10,000 and not at 5,000", "8,300", int(alone[0] < 1e-3 < alone[1]), 1),
    ]
    figure = Figure("a ramp of 5,000 tuples/s", "tuples/s", "response time (s)", (Line("batches", rates, found),))
    note = "Costs of 91 µs a turn and 29 µs a tuple are read off this figure. Steps are 5 s long in place of 20 s."
    return Outcome(E1.id, E1.title, "5,000 to 40,000 tuples/s", "none", tuple(rows), (figure,), (note,))


def e2_tasks(_scale: Scale) -> Mapping[Any, Task]:
    """One run."""
    return {("bursts", 1): (bursts, (1,))}


def e2(_scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """The cost of a tuple falls where the rate is high."""
    rates, costs = results["bursts", 1]
    found = float(np.corrcoef(rates, costs)[0, 1])
    quiet, busy = (costs[rates <= np.quantile(rates, 0.5)].mean(), costs[rates >= np.quantile(rates, 0.95)].mean())
    rows = [
        banded("correlation of rate and cost", "below 0", found, Band(-1.0, 0.0)),
        claim(
            "the cost falls sharply at the peaks",
            "yes",
            f"{1 - busy / quiet:.0%} below that of the quieter half",
            confirmed=busy < 0.8 * quiet,
        ),
    ]
    figures = (
        Figure("rate", "time (s)", "tuples/s", (line("rate", rates, 0.5),), log_y=False),
        Figure("cost of a tuple", "time (s)", "s", (line("cost", costs, 0.5),), log_y=False),
    )
    note = "Costs are those of E1, as many times higher as the rates are lower, so that peaks come near the capacity."
    return Outcome(E2.id, E2.title, SURROGATE, "1", tuple(rows), figures, (note,))


E1 = Experiment("DILOS-E1", "What batches add to the capacity", "Figure 13", e1_tasks, e1)
E2 = Experiment("DILOS-E2", "The cost of a tuple by the rate", "Figure 14", e2_tasks, e2)

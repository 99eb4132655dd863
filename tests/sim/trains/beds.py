"""Small networks for the train kernel, and runs of them in one line."""

import math

import numpy as np

from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.registry import create, listed
from headgate.policy.trains import Train
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.simulation import Simulation

US = 1e-6
ONE_CLASS = (QueryClass("default"),)

SETUP = 8.25
PER_TUPLE = {
    "source": 3.0,
    "select": 7.0,
    "project": 5.0,
    "window": 5.0,
    "aggregate": 7.2,
    "join": 5.9,
    "output": 6.8,
}
"""Microseconds per turn and per tuple, as calibrated for the schedulers of classes."""


def op(name, what, inputs, s=1.0, kind=None):
    kind = kind or {"window": Kind.PROJECT}.get(what) or Kind(what)
    return Operator(name, kind, tuple(inputs), Cost(SETUP * US, PER_TUPLE[what] * US), s)


def stream(name, *, costs=False):
    return op(name, "source", ()) if costs else Operator(name, Kind.SOURCE)


def select_query(name, cls="default", s=0.5, **how):
    ops = [
        stream(f"{name}.s", **how),
        op(f"{name}.select", "select", [f"{name}.s"], s),
        op(f"{name}.project", "project", [f"{name}.select"]),
        op(f"{name}.out", "output", [f"{name}.project"]),
    ]
    return ops, Query(name, f"{name}.out", cls)


def aggregate_query(name, cls="default", **how):
    ops = [
        stream(f"{name}.s", **how),
        op(f"{name}.window", "window", [f"{name}.s"]),
        op(f"{name}.aggregate", "aggregate", [f"{name}.window"]),
        op(f"{name}.project", "project", [f"{name}.aggregate"]),
        op(f"{name}.out", "output", [f"{name}.project"]),
    ]
    return ops, Query(name, f"{name}.out", cls)


def join_query(name, cls="default", **how):
    ops = [
        stream(f"{name}.l", **how),
        stream(f"{name}.r", **how),
        op(f"{name}.left", "window", [f"{name}.l"]),
        op(f"{name}.right", "window", [f"{name}.r"]),
        op(f"{name}.join", "join", [f"{name}.left", f"{name}.right"], 0.5),
        op(f"{name}.project", "project", [f"{name}.join"]),
        op(f"{name}.out", "output", [f"{name}.project"]),
    ]
    return ops, Query(name, f"{name}.out", cls)


def network(*queries):
    return Network(tuple(op for ops, _ in queries for op in ops), tuple(query for _, query in queries))


def chain(*stages, cls="default", name="q", streams="s"):
    """A query over one stream: its operators are given as (a, b, s)."""
    ops, below = [Operator(streams, Kind.SOURCE)], streams
    for k, (a, b, s) in enumerate(stages):
        ops.append(Operator(f"{name}.{k}", Kind.MAP, (below,), Cost(a, b), s))
        below = f"{name}.{k}"
    return ops, Query(name, below, cls)


def rates(network, rate=1.0):
    return dict.fromkeys(network.streams, rate)


def in_turn(**how):
    """Round robin over units, each draining its queue."""
    return create("rr", {"over": "units", "train": Train(math.inf), **how})


def by_query(classes=ONE_CLASS, part=plan.inner, rate=1.0):
    return lambda network: part(plan.by_query(network, rates(network, rate), classes))


def by_operator(classes=ONE_CLASS, part=tuple, rate=1.0, policy="hr"):
    weight = listed(policy).weight
    return lambda network: part(plan.by_operator(network, rates(network, rate), weight, classes))


def run(network, arrivals, policy=None, *, classes=ONE_CLASS, units=None, cores=1, machine=None, **more):
    """A run on one team; arrivals by stream, or the same for all."""
    times = arrivals if isinstance(arrivals, dict) else dict.fromkeys(network.streams, arrivals)
    team = Team(policy or in_turn(), units or by_query(classes), cores)
    times = {name: np.asarray(each, float) for name, each in times.items()}
    return Simulation(network, classes, times, [team], machine or Machine(), **more).run()


def poisson(rate, n, seed=0):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, n))


def left(report, query="q"):
    """When the results of a query left, with the arrivals of their tuples."""
    departures = report.departures[query]
    return departures.arrived.tolist(), departures.left.tolist()

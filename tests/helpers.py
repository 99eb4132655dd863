"""What several test files need: networks in one line, queues to show a policy, and a run on each kernel."""

import math
from dataclasses import dataclass, field

import numpy as np

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit, plan
from headgate.policy.protocol import View
from headgate.policy.registry import POLICIES, create, listed
from headgate.sim.compiled.chains import log
from headgate.sim.run import Setting, simulate
from headgate.sim.simulation import Simulation

STREAM = "stream"


def operator(name, inputs, c=0.0, s=1.0, *, kind=Kind.MAP, a=0.0, window=None):
    return Operator(name, kind, tuple(inputs), Cost(a, c), s, window)


def chains(*paths, order=None):
    """A network of chains over one stream: query k is q<k> with an operator of (cost, selectivity) per stage."""
    ops = [Operator(STREAM, Kind.SOURCE)]
    queries = []
    for q, path in enumerate(paths):
        below = STREAM
        for j, (c, s) in enumerate(path):
            ops.append(operator(f"q{q}.{j}", [below], c, s))
            below = f"q{q}.{j}"
        queries.append(Query(f"q{q}", below))
    return Network(tuple(ops), tuple(queries[i] for i in order or range(len(queries))))


def join_network(left=1.0, right=1.0, join=1.0, top=1.0, selectivities=(1.0, 1.0, 1.0), window=10.0):
    """One query over the streams `left` and `right`: a select on each side, a window join, a project."""
    s_left, s_right, s_join = selectivities
    ops = (
        Operator("left", Kind.SOURCE),
        Operator("right", Kind.SOURCE),
        operator("L", ["left"], left, s_left, kind=Kind.SELECT),
        operator("R", ["right"], right, s_right, kind=Kind.SELECT),
        operator("J", ["L", "R"], join, s_join, kind=Kind.WINDOW_JOIN, window=window),
        operator("P", ["J"], top, kind=Kind.PROJECT),
    )
    return Network(ops, (Query("pair", "P"),))


def units_of(network, policy="hnr", **how):
    """The units of a network whose streams bring one tuple a second each."""
    return plan(network, dict.fromkeys(network.streams, 1.0), listed(policy).weight, **how)


def unit(*segments, number=0, a=0.0, b=None, leaf=True):
    """A unit that carries queries given as (S, C, T)."""
    made = tuple(segment(*given, query=f"q{number}.{k}") for k, given in enumerate(segments))
    cost = Cost(a, sum(s.C for s in made) if b is None else b)
    return Unit(number, Entry(f"op{number}"), (f"op{number}",), made, cost, Basis(made, cost), leaf)


def segment(S, C, T, query="q"):
    """A segment of one operator with the given S, C and T."""
    return Segment(query, (Stage(C, S),), T)


@dataclass
class Waiting:
    """A queue for a policy to look at: the arrivals of its tuples, and the number of the first."""

    arrivals: list[float] = field(default_factory=list)
    position: int = 0

    @property
    def pending(self):
        return len(self.arrivals)

    @property
    def oldest(self):
        return self.arrivals[0] if self.arrivals else math.inf

    def arrived(self, n):
        return sum(self.arrivals[:n])


def view(now, *queues):
    """A scheduling point; a queue is given by the arrivals of its tuples, or as it is."""
    return View(now, [q if isinstance(q, Waiting) else Waiting(list(q)) for q in queues])


def prepared(policy, units, **options):
    """A policy by name, ready to choose among the units."""
    made = create(policy, options)
    made.prepare(units)
    return made


def order_of(policy, units, now=1.0):
    """The order in which a policy serves units that have one tuple each, all of the same age."""
    made = prepared(policy, units)
    queues = [Waiting([0.0]) for _ in units]
    order = []
    while (decision := made.choose(view(now, *queues))) is not None:
        for run in decision.runs:
            queues[run.unit].arrivals.clear()
            order.append(run.unit)
    return order


def on_events(network, arrivals, setting, seed=0, **more):
    """The event kernel: departures as (query, item, time), and the report. `arrivals` by stream, or the one."""
    streams = arrivals if isinstance(arrivals, dict) else {network.streams[0]: arrivals}
    units = setting.plan(network, dict.fromkeys(network.streams, 1.0))
    number = {q.name: i for i, q in enumerate(network.queries)}
    departures = []
    simulation = Simulation(
        network,
        units,
        setting.create(),
        {name: iter([float(t) for t in times]) for name, times in streams.items()},
        seed,
        price=setting.price,
        on_result=lambda r: departures.append((number[r.query], int(r.identity), r.departure)),
        **more,
    )
    return departures, simulation.run()


def on_compiled(network, arrivals, setting, seed=0, *, cuts=(), kernel="compiled"):
    """The compiled kernel, fed the arrivals in pieces that end at `cuts`: departures and the report."""
    times = np.asarray(arrivals, dtype=np.float64)
    room = log(len(times) * len(network.queries))
    report = simulate(
        network,
        {STREAM: 1.0},
        {network.streams[0]: iter(np.split(times, sorted(cuts)))},
        setting,
        seed,
        kernel=kernel,
        departures=room,
    )
    used = int(room.used[0])
    columns = (column[:used].tolist() for column in (room.query, room.item, room.time))
    return list(zip(*columns, strict=True)), report


def results(network, arrivals, policy="fcfs", *, options=None, level="query", **more):
    """Every `Result` of a run on the event kernel, in order."""
    setting = Setting(policy, options or {}, level)
    found = []
    streams = arrivals if isinstance(arrivals, dict) else {network.streams[0]: arrivals}
    simulation = Simulation(
        network,
        setting.plan(network, dict.fromkeys(network.streams, 1.0)),
        setting.create(),
        {name: iter([float(t) for t in times]) for name, times in streams.items()},
        on_result=found.append,
        **more,
    )
    simulation.run()
    return found


EVERY_POLICY = tuple(POLICIES)

"""Running a network under a policy, on the fastest kernel that covers it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from headgate.errors import InputError
from headgate.model.network import Network
from headgate.model.unit import Level, Sharing, Unit, plan
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.policy.protocol import Decision, Policy
from headgate.policy.registry import create, listed
from headgate.policy.round_robin import RoundRobin
from headgate.policy.statement import PriorityPolicy, Statement
from headgate.sim.compiled import clustered, shared_stream
from headgate.sim.compiled.chains import (
    ARRIVED,
    BUSY,
    DECISIONS,
    JOBS,
    NOW,
    OVERHEAD,
    READS,
    Chains,
    Feed,
    Log,
    State,
    chains,
    is_chains,
    log,
    state,
)
from headgate.sim.metrics import Floats, Tally, tally_for
from headgate.sim.simulation import Monitor, Report, Simulation

Kernel = Literal["auto", "events", "compiled"]


@dataclass(frozen=True)
class Setting:
    """A policy by name with its options, the level it schedules at, and how it deals with shared operators."""

    policy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    level: Level = "query"
    sharing: Sharing = Sharing()
    price: float = 0.0
    label: str = ""

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return self.label or self.policy

    def create(self) -> Policy:
        """The policy itself."""
        return create(self.policy, self.options)

    def plan(self, network: Network, streams: Mapping[str, float]) -> tuple[Unit, ...]:
        """The units it schedules."""
        return plan(network, streams, listed(self.policy).weight, self.level, self.sharing)


def simulate(
    network: Network,
    streams: Mapping[str, float],
    arrivals: Mapping[str, Iterator[Floats]],
    setting: Setting,
    seed: int = 0,
    *,
    kernel: Kernel = "auto",
    monitor: Callable[[Sequence[Unit]], Monitor] | None = None,
    departures: Log | None = None,
    on_decision: Callable[[float, Decision], None] | None = None,
    commit: Literal["result", "run"] = "result",
) -> Report:
    """Serve all arrivals of all streams. `streams` are their mean rates, `arrivals` their times in chunks."""
    units = setting.plan(network, streams)
    policy = setting.create()
    plain = monitor is None and on_decision is None and commit == "result"
    compiled = _compiled(network, units, policy, setting) if kernel != "events" and plain else None
    if compiled is not None:
        return compiled.run(arrivals[network.streams[0]], seed, tally_for(network), departures or log())
    if kernel == "compiled":
        raise InputError(
            "the compiled kernel runs chains of selects and joins over one stream, one tuple at a time",
            f"policy {setting.name} on this network",
            "Use kernel: auto or events.",
        )
    return Simulation(
        network,
        units,
        policy,
        {name: _times(chunks) for name, chunks in arrivals.items()},
        seed,
        price=setting.price,
        monitor=monitor(units) if monitor else None,
        on_decision=on_decision,
        commit=commit,
    ).run()


def _times(chunks: Iterator[Floats]) -> Iterator[float]:
    for chunk in chunks:
        yield from chunk.tolist()


@dataclass(frozen=True)
class _Compiled:
    """A compiled kernel, and the loop that feeds it arrivals chunk by chunk."""

    step: Callable[[Feed, State, Tally, Log], None]
    queues: int

    def run(self, chunks: Iterator[Floats], seed: int, t: Tally, lg: Log) -> Report:
        s = state(self.queues)
        buffer, base = np.empty(0), 0
        for chunk in chunks:
            done = int(s.head.min())
            buffer = np.concatenate([buffer[done:], chunk])
            base += done
            s.head[:] -= done
            s.counts[ARRIVED] -= done
            self.step(Feed(buffer, base, False, np.uint64(seed)), s, t, lg)
        self.step(Feed(buffer, base, True, np.uint64(seed)), s, t, lg)
        return Report(
            t,
            decisions=int(s.counts[DECISIONS]),
            runs=int(s.counts[JOBS]),
            busy=float(s.times[BUSY]),
            overhead=float(s.times[OVERHEAD]),
            ended=float(s.times[NOW]),
            reads=int(s.counts[READS]),
        )


def _compiled(network: Network, units: Sequence[Unit], policy: Policy, setting: Setting) -> _Compiled | None:
    """The compiled kernel for a policy, or None where only the event kernel will do."""
    if not is_chains(network):
        return None
    if isinstance(policy, PriorityPolicy) and policy.train.most == 1:
        if setting.level == "operator":
            return _operator_level(network, units, policy.statement) if not setting.price else None
        return _query_level(network, units, policy.statement, setting.price)
    if setting.level == "operator":
        return None
    ch = chains(network, units)
    if isinstance(policy, RoundRobin) and policy.train.most == 1:
        runs, quantum = float(policy.runs), float(policy.quantum)
        return _Compiled(
            lambda f, s, t, lg: shared_stream.by_turns(f, s, ch, runs, quantum, t, lg), len(network.queries)
        )
    if isinstance(policy, ClusteredBsd):
        return _clusters(ch, units, policy, setting.price)
    return None


def _query_level(network: Network, units: Sequence[Unit], statement: Statement, price: float) -> _Compiled:
    ch, size = chains(network, units), len(units)
    static, ranked = statement.ranked(units)
    order = np.array(ranked)
    if statement.alpha == 0:
        return _Compiled(lambda f, s, t, lg: shared_stream.by_list(f, s, ch, order, t, lg), size)
    phi = np.array(static)[order]
    charged = price if statement.compares(static) else 0.0
    return _Compiled(lambda f, s, t, lg: shared_stream.by_scan(f, s, ch, order, phi, charged, t, lg), size)


def _operator_level(network: Network, units: Sequence[Unit], statement: Statement) -> _Compiled | None:
    if any(len(unit.members) != 1 for unit in units):
        return None  # an operator that costs nothing runs with another, which the kernel's stages do not know
    start = np.cumsum([0] + [len(network.members[q.name]) - 1 for q in network.queries])
    whole = plan(network, dict.fromkeys(network.streams, 1.0), statement.weight)
    ch = chains(network, whole)._replace(start=start)
    static, ranked = statement.ranked(units)
    place = {network.ids[unit.entry.operator]: k for k, unit in enumerate(units)}
    rank = {k: r for r, k in enumerate(ranked)}
    phi = np.array([static[place[int(op)]] for op in ch.operator])
    ranks = np.array([rank[place[int(op)]] for op in ch.operator])
    alpha, size = statement.alpha, len(network.queries)
    return _Compiled(lambda f, s, t, lg: shared_stream.by_operator(f, s, ch, phi, ranks, alpha, t, lg), size)


def _clusters(ch: Chains, units: Sequence[Unit], policy: ClusteredBsd, price: float) -> _Compiled:
    policy.prepare(units)
    members = clustered.Members(
        np.cumsum([0] + [len(m) for m in policy.members]),
        np.array([q for m in policy.members for q in m], np.int64),
        np.array(policy.pseudo),
    )
    how, whole = clustered.SEARCH[policy.search], policy.processing == "cluster"
    return _Compiled(
        lambda f, s, t, lg: clustered.by_clusters(f, s, ch, members, how, whole, price, t, lg), len(policy.pseudo)
    )

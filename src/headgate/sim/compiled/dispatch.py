"""Which compiled kernel runs a network under a policy, if one does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Protocol

import numpy as np

from headgate.model.network import Network
from headgate.model.unit import Level, Unit, plan
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.policy.protocol import Policy
from headgate.policy.round_robin import RoundRobin
from headgate.policy.statement import PriorityPolicy, Statement
from headgate.sim.compiled import clustered, groups, joins, shared_stream
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
    members,
    state,
)
from headgate.sim.metrics import Floats, Ints, Tally
from headgate.sim.simulation import Report


class Compiled(Protocol):
    """A compiled kernel, ready to run. `logs` says whether it can write departures down."""

    logs: ClassVar[bool]

    def run(self, arrivals: Mapping[str, Iterator[Floats]], seed: int, t: Tally, lg: Log) -> Report:
        """Serve all arrivals."""


def compiled(network: Network, units: Sequence[Unit], policy: Policy, level: Level, price: float) -> Compiled | None:
    """The compiled kernel for a network and a policy, or None where only the event kernel will do."""
    if isinstance(policy, PriorityPolicy | RoundRobin | ClusteredBsd) and policy.train.most > 1:
        return None
    if is_chains(network):
        return _over_chains(network, units, policy, level, price)
    if level == "query" and not price and joins.is_joins(network):
        return _over_joins(network, units, policy)
    if level == "query" and not price and groups.is_groups(network):
        return _over_groups(network, units, policy)
    return None


@dataclass(frozen=True)
class _Fed:
    """A kernel over one stream that is fed arrivals chunk by chunk and keeps the ones that wait."""

    logs: ClassVar[bool] = True
    stream: str
    step: Callable[[Feed, State, Tally, Log], None]
    queues: int
    counts_reads: bool = False

    def run(self, arrivals: Mapping[str, Iterator[Floats]], seed: int, t: Tally, lg: Log) -> Report:
        s = state(self.queues)
        buffer, base = np.empty(0), 0
        for chunk in arrivals[self.stream]:
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
            reads=int(s.counts[READS]) if self.counts_reads else None,
        )


@dataclass(frozen=True)
class _Whole:
    """A kernel that wants each stream's arrivals at once."""

    logs: ClassVar[bool] = False
    streams: tuple[str, ...]
    step: Callable[[tuple[Floats, ...], np.uint64, Tally], tuple[int, float, float]]

    def run(self, arrivals: Mapping[str, Iterator[Floats]], seed: int, t: Tally, _log: Log) -> Report:
        times = tuple(np.concatenate([np.empty(0), *arrivals[name]]) for name in self.streams)
        runs, busy, ended = self.step(times, np.uint64(seed), t)
        return Report(t, decisions=runs, runs=runs, busy=busy, ended=ended)


def _over_chains(
    network: Network, units: Sequence[Unit], policy: Policy, level: Level, price: float
) -> Compiled | None:
    stream, size = network.streams[0], len(network.queries)
    if level == "operator":
        if not isinstance(policy, PriorityPolicy) or price:
            return None
        return _operator_level(network, units, policy.statement)
    ch = chains(network, units)
    if isinstance(policy, PriorityPolicy):
        return _query_level(stream, ch, units, policy.statement, price)
    if isinstance(policy, RoundRobin):
        runs, quantum = float(policy.visit), float(policy.quantum)
        return _Fed(stream, lambda f, s, t, lg: shared_stream.by_turns(f, s, ch, runs, quantum, t, lg), size)
    if isinstance(policy, ClusteredBsd):
        return _clusters(stream, ch, units, policy, price)
    return None


def _query_level(stream: str, ch: Chains, units: Sequence[Unit], statement: Statement, price: float) -> Compiled:
    order, phi, compares = _ranked(statement, units)
    if statement.alpha == 0:
        return _Fed(stream, lambda f, s, t, lg: shared_stream.by_list(f, s, ch, order, t, lg), len(units))
    charged = price if compares else 0.0
    places = [list(same) for _, same in groupby(range(len(order)), key=lambda k: phi[k])]
    alike = members([order[same].tolist() for same in places], [phi[same[0]] for same in places])
    return _Fed(stream, lambda f, s, t, lg: shared_stream.by_scan(f, s, ch, alike, charged, t, lg), len(places))


def _ranked(statement: Statement, units: Sequence[Unit]) -> tuple[Ints, Floats, bool]:
    """The units by rank, their static priorities in that order, and whether decisions compute any."""
    static, ranked = statement.ranked(units)
    order = np.array(ranked)
    return order, np.array(static)[order], statement.compares(static)


def _operator_level(network: Network, units: Sequence[Unit], statement: Statement) -> Compiled | None:
    if any(len(unit.members) != 1 for unit in units):
        return None  # an operator that costs nothing runs with another, which the kernel's stages do not know
    ch = chains(network, plan(network, dict.fromkeys(network.streams, 1.0), statement.weight))
    static, ranked = statement.ranked(units)
    place = {network.ids[unit.entry.operator]: k for k, unit in enumerate(units)}
    rank = {k: r for r, k in enumerate(ranked)}
    phi = np.array([static[place[int(op)]] for op in ch.operator])
    ranks = np.array([rank[place[int(op)]] for op in ch.operator])
    if any(phi[j] > phi[j + 1] for q in range(len(ch.T)) for j in range(ch.start[q], ch.start[q + 1] - 1)):
        return None  # a tuple may be left half-way for the next one of its query
    alpha = statement.alpha
    return _Fed(
        network.streams[0],
        lambda f, s, t, lg: shared_stream.by_operator(f, s, ch, phi, ranks, alpha, t, lg),
        len(network.queries),
    )


def _clusters(stream: str, ch: Chains, units: Sequence[Unit], policy: ClusteredBsd, price: float) -> Compiled:
    policy.prepare(units)
    full = [k for k, queries in enumerate(policy.members) if queries]  # an empty one would keep every tuple waiting
    grouped = members([policy.members[k] for k in full], [policy.pseudo[k] for k in full])
    how, whole = clustered.SEARCH[policy.search], policy.processing == "cluster"
    return _Fed(
        stream,
        lambda f, s, t, lg: clustered.by_clusters(f, s, ch, grouped, how, whole, price, t, lg),
        len(full),
        counts_reads=True,
    )


def _over_joins(network: Network, units: Sequence[Unit], policy: Policy) -> Compiled | None:
    j, place = joins.joins(network, units)
    if isinstance(policy, PriorityPolicy):
        order, phi, _ = _ranked(policy.statement, units)
        by_place, alpha = place[order], policy.statement.alpha
        return _Whole(
            network.streams,
            lambda A, seed, t: joins.by_priority(j, A[0], A[1], seed, by_place, phi, alpha, t),
        )
    in_turn = list(place) == sorted(place)
    if isinstance(policy, RoundRobin) and policy.over == "units" and in_turn:
        runs, quantum = float(policy.visit), float(policy.quantum)
        return _Whole(network.streams, lambda A, seed, t: joins.by_turns(j, A[0], A[1], seed, runs, quantum, t))
    return None


def _over_groups(network: Network, units: Sequence[Unit], policy: Policy) -> Compiled | None:
    if not isinstance(policy, PriorityPolicy):
        return None
    g, ch = groups.groups(network, units)
    order, phi, _ = _ranked(policy.statement, units)
    alpha = policy.statement.alpha
    return _Whole(network.streams, lambda A, seed, t: groups.by_priority(g, ch, A[0], seed, order, phi, alpha, t))

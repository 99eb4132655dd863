"""Recorded runs under other policies: whole trains at a time, so that millions of tuples take seconds."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from headgate.errors import InputError
from headgate.monitor.figures import Summary, summarise
from headgate.policy.registry import create
from headgate.sim.server import Server, Service
from headgate.sim.workload import Workload


@dataclass(frozen=True)
class Replayed:
    """A workload as a policy would have served it, in so many seconds.

    `spread` has the response times of each class by magnitude, and how many results are expected to have them.
    """

    policy: str
    seconds: float
    summary: Summary
    spread: Mapping[str, Mapping[int, float]]


def replay(workload: Workload, policy: str, options: Mapping[str, Any] | None = None, lanes: int = 1) -> Replayed:
    """Serve a workload under a query-level policy, whose runs are what it says."""
    if lanes < 1:
        raise InputError("there is at least one lane", lanes, "Give lanes: 1 or more.")
    return serve(workload, policy, Service(partial(create, policy, options), lanes))


def serve(workload: Workload, policy: str, service: Service) -> Replayed:
    """Serve a workload as a policy of this name would."""
    if not workload.units:
        raise InputError("a workload has at least one unit", "none", "Add one.")
    server = Server(workload, service)
    server.run()
    spread: dict[str, Counter[int]] = {}
    for one, times in zip(server.served, server.spread, strict=True):
        spread.setdefault(one.cls, Counter()).update(times)
    return Replayed(policy, server.now, summarise(server.served, service.lanes * server.now), spread)

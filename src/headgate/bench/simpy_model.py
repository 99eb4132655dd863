"""The same model as the single-stream kernels, written anew in SimPy: a reference for their answers and their speed.

One server and many queries that all read one stream, each a chain of operators; a decision runs one query on its
oldest tuple. Nothing here comes from the rest of Headgate, so an error there is not repeated here.
"""

import heapq
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeAlias

import simpy

Operator: TypeAlias = tuple[float, float, int]
"""Cost of a tuple, share of the tuples that pass, and the number that goes into the draws."""

_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_ODD = 0xD1342543DE82EF95


def _mix(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _WORD
    return x ^ (x >> 31)


def draw(seed: int, item: int, operator: int) -> float:
    """A number in [0, 1) for a tuple at an operator: SplitMix64 over seed, tuple and operator."""
    key = _mix(seed * _ODD + (item + 1) * _GOLDEN & _WORD)
    return (_mix(key + (operator + 1) * _ODD & _WORD) >> 11) / 2**53


class Departure(NamedTuple):
    """A result: its query, the tuple it came from, and when it left."""

    query: int
    item: int
    time: float


class Run(NamedTuple):
    """What a run yields: the results in the order in which they left, and how often a query ran on a tuple."""

    departures: list[Departure]
    executions: int


class Query(NamedTuple):
    """S results per tuple, C expected and T ideal time of a tuple, and the operators."""

    S: float
    C: float
    T: float
    path: Sequence[Operator]


class Scheduler(ABC):
    """A queue per query, and a rule that says which of them is next."""

    def __init__(self, queries: int) -> None:
        self.queues: list[deque[int]] = [deque() for _ in range(queries)]

    def add(self, item: int) -> None:
        """Queue a tuple for every query."""
        for queue in self.queues:
            queue.append(item)

    @abstractmethod
    def next(self, now: float) -> int | None:
        """The query whose oldest tuple runs next; None if nothing waits."""

    def ran(self, time: float) -> None:  # noqa: B027 - most rules do not look at it
        """Learn how long that took."""


class Ordered(Scheduler):
    """Jobs in a heap, for priorities that do not change while a tuple waits; the least key goes first."""

    def __init__(self, keys: Sequence[float] | None, queries: int) -> None:
        super().__init__(queries)
        self.keys = keys
        self.jobs: list[tuple[float, int]] = []

    def add(self, item: int) -> None:
        """Queue a tuple for every query, by the query's key or, without one, by the order of arrival."""
        super().add(item)
        for query in range(len(self.queues)):
            heapq.heappush(self.jobs, (self.keys[query] if self.keys else item, query))

    def next(self, _now: float) -> int | None:
        """The least key, of equals the smaller query."""
        return heapq.heappop(self.jobs)[1] if self.jobs else None


class Ageing(Scheduler):
    """Priorities φ·W, which grow at different speeds; the largest is looked for every time."""

    def __init__(self, phi: Sequence[float], arrivals: Sequence[float]) -> None:
        super().__init__(len(phi))
        self.phi, self.arrivals = phi, arrivals

    def next(self, now: float) -> int | None:
        """The largest φ·W; of equals the larger φ, then the older tuple, then the smaller query."""
        arrivals = self.arrivals
        best = max(
            (
                (phi * (now - arrivals[queue[0]]), phi, -queue[0], -query)
                for query, (phi, queue) in enumerate(zip(self.phi, self.queues, strict=True))
                if queue
            ),
            default=None,
        )
        return -best[-1] if best else None


class Turns(Scheduler):
    """Visits in turn, each of `runs` tuples or `quantum` seconds, whichever ends first."""

    def __init__(self, queries: int, runs: float, quantum: float) -> None:
        super().__init__(queries)
        self.visit = (runs, quantum)
        self.at, self.runs, self.time = -1, 0.0, 0.0

    def next(self, _now: float) -> int | None:
        """Go on with the visit, or visit the next query; what is left of a visit to an empty queue is lost."""
        size = len(self.queues)
        if not (self.queues[self.at] and self.runs > 0 and self.time > 0):
            turns = ((self.at + step) % size for step in range(1, size + 1))
            self.at = next((turn for turn in turns if self.queues[turn]), self.at)
            self.runs, self.time = self.visit
        if not self.queues[self.at]:
            self.runs = 0
            return None
        self.runs -= 1
        return self.at

    def ran(self, time: float) -> None:
        """Charge the visit."""
        self.time -= time


class Server:
    """The processor: whenever it is free it asks the scheduler what to run."""

    def __init__(
        self, env: simpy.Environment, scheduler: Scheduler, queries: Sequence[Query], seed: int, expected: int
    ) -> None:
        self.env, self.scheduler, self.queries, self.seed = env, scheduler, queries, seed
        self.departures: list[Departure] = []
        self.executions, self.expected = 0, expected
        self.arrival = env.event()

    def arrive(self, item: int) -> None:
        """A tuple comes in; wakes the server if it sleeps."""
        self.scheduler.add(item)
        if not self.arrival.triggered:
            self.arrival.succeed()

    def serve(self) -> Generator[simpy.Event, None, None]:
        """Run jobs until all that are expected have been."""
        env = self.env
        while self.executions < self.expected:
            query = self.scheduler.next(env.now)
            if query is None:
                self.arrival = env.event()
                yield self.arrival
                continue
            item = self.scheduler.queues[query].popleft()
            elapsed, passed = self.execute(query, item)
            yield env.timeout(elapsed)
            self.scheduler.ran(elapsed)
            self.executions += 1
            if passed:
                self.departures.append(Departure(query, item, env.now))

    def execute(self, query: int, item: int) -> tuple[float, bool]:
        """The time of a tuple in a query, and whether it comes out."""
        elapsed = 0.0
        for cost, passes, operator in self.queries[query].path:
            elapsed += cost
            if draw(self.seed, item, operator) >= passes:
                return elapsed, False
        return elapsed, True


def run(
    queries: Sequence[Sequence[Operator]],
    arrivals: Sequence[float],
    seed: int,
    policy: str,
    *,
    runs: float = 1,
    quantum: float = math.inf,
) -> Run:
    """Serve all arrivals. `runs` and `quantum` are the length of a visit under round robin."""
    env = simpy.Environment()
    known = [_query(path) for path in queries]
    server = Server(env, _scheduler(policy, known, arrivals, runs, quantum), known, seed, len(known) * len(arrivals))
    # Scheduled before the server's own events, so that a tuple is there for the decision of the same instant.
    for item, time in enumerate(arrivals):
        env.timeout(time, item).callbacks.append(lambda event: server.arrive(event.value))
    env.process(server.serve())
    env.run()
    return Run(server.departures, server.executions)


def _query(path: Sequence[Operator]) -> Query:
    S, C = 1.0, 0.0
    for cost, passes, _ in reversed(path):
        S, C = passes * S, cost + passes * C
    return Query(S, C, sum(cost for cost, _, _ in path), path)


def _scheduler(
    policy: str, queries: Sequence[Query], arrivals: Sequence[float], runs: float, quantum: float
) -> Scheduler:
    match policy:
        case "fcfs":
            return Ordered(None, len(queries))
        case "hr":
            return Ordered([-q.S / q.C for q in queries], len(queries))
        case "hnr":
            return Ordered([-q.S / (q.C * q.T) for q in queries], len(queries))
        case "srpt":
            return Ordered([q.T for q in queries], len(queries))
        case "lsf":
            return Ageing([1 / q.T for q in queries], arrivals)
        case "bsd":
            return Ageing([q.S / (q.C * q.T**2) for q in queries], arrivals)
        case "rr":
            return Turns(len(queries), runs, quantum)
        case _:
            raise ValueError(policy)

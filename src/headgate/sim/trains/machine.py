"""What things cost on the simulated machine: turns, decisions, and what is left of the cores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headgate.errors import InputError
from headgate.model.operator import FREE, Cost
from headgate.policy.protocol import Work
from headgate.sim.trains.timeline import Timeline


@dataclass(frozen=True)
class Overheads:
    """Seconds that are no work on tuples.

    Each decision takes `decision` and an `operation` for every priority computed or compared, each run `dispatch`,
    each unit that was looked at in vain `poll`; who compares priorities looks at units that have something. To
    `rebuild` a scheduler's program costs `a` and for each entry `b`; a `cycle` of the load manager comes on top of
    the decision after it.
    """

    decision: float = 0.0
    dispatch: float = 0.0
    poll: float = 0.0
    operation: float = 0.0
    rebuild: Cost = FREE
    cycle: float = 0.0

    def of(self, work: Work, runs: int) -> float:
        """Time of a decision that led to so many runs."""
        if work.operations:
            return self.decision + self.operation * work.operations
        return self.decision + self.poll * max(0, work.reads - runs)


@dataclass(frozen=True)
class Machine:
    """The machine that a simulation runs on.

    `capacity` is the share of each core that background jobs leave. Costs vary by a factor between 1 − `noise` and
    1 + `noise`. One turn reads at most `batch` tuples of each input. The queue behind an operator holds `queue`
    tuples, or what `queues` says for it. To look at a tuple that is dropped takes `read` seconds. With `synchronised`
    an operator of several inputs takes a tuple only when all its inputs have come as far in time.
    """

    capacity: Timeline | None = None
    noise: float = 0.0
    overheads: Overheads = Overheads()
    batch: float = math.inf
    queue: float = math.inf
    queues: Mapping[str, float] = field(default_factory=dict)
    read: float = 0.0
    synchronised: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.noise < 1:
            raise InputError("machine: noise is at least 0 and below 1", self.noise, "Give a share, such as 0.1.")
        if not self.batch >= 1:
            raise InputError("machine: a turn reads at least one tuple", self.batch, "Give a batch such as 50.")
        for size in (self.queue, *self.queues.values()):
            if not size >= 1:
                raise InputError("machine: a queue holds at least one tuple", size, "Give a size such as 1000.")

    def room_behind(self, operator: str) -> float:
        """The capacity of the queue behind an operator."""
        return self.queues.get(operator, self.queue)


class Clockwork:
    """Turns seconds of work into seconds of the clock, and varies the work by chance."""

    _BLOCK = 4096

    def __init__(self, machine: Machine, seed: np.random.SeedSequence) -> None:
        self._noise = machine.noise
        self._capacity = machine.capacity
        self._rng = np.random.default_rng(seed)
        self._factors: list[float] = []

    def work(self, seconds: float) -> float:
        """The work that a turn really is, where it should be so much."""
        if not self._noise:
            return seconds
        if not self._factors:
            self._factors = self._rng.uniform(1 - self._noise, 1 + self._noise, self._BLOCK).tolist()
        return seconds * self._factors.pop()

    def takes(self, work: float, now: float) -> float:
        """How long work takes that starts now."""
        return work if self._capacity is None else work / self._capacity.at(now)

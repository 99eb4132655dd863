"""One processor and the iterations that wait for it: who runs, for how long, and who waits meanwhile.

What can be interrupted, and where, makes the dispatchers: anywhere (RM, EDF), nowhere (HPF), or at the ends of pieces
of a given length (trains). Who is first is a key of the job, the smallest first: its period, its relative deadline or
its absolute one, then the order of admission, then the number of the iteration. So of one query the oldest unfinished
iteration is always the one that runs.
"""

import math
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

EPS = 1e-9
"""Seconds that make no difference: instants so close are one, and work so small is done."""

Key = tuple[float, int, int]


@dataclass(slots=True)
class Job:
    """An iteration on its way: `left` seconds of work of its `cost`.

    It is interrupted only at the ends of pieces of that length: anywhere for 0, nowhere if infinite.
    """

    key: Key
    release: float
    due: float
    cost: float
    piece: float = 0.0
    left: float = field(init=False)
    begin: float | None = None
    finish: float | None = None

    def __post_init__(self) -> None:
        self.left = self.cost


class Processor:
    """Runs the first of the jobs that are ready; time is passed in, and never goes back."""

    def __init__(self) -> None:
        self.now = 0.0
        self.current: Job | None = None
        self._ready: list[tuple[Key, Job]] = []
        self._stretch = 0.0
        self._taken = 0.0

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing waits."""
        return self.current is None and not self._ready

    def add(self, job: Job) -> None:
        """A job is ready; it runs from the next dispatch on, at the earliest."""
        heappush(self._ready, (job.key, job))

    def remove(self, job: Job) -> None:
        """A job is given up, wherever it is."""
        if job is self.current:
            self.current = None
            return
        self._ready = [entry for entry in self._ready if entry[1] is not job]
        heapify(self._ready)

    def take(self, seconds: float) -> None:
        """Have the processor for something that goes before all jobs, and stops the one that runs."""
        self._taken = max(self._taken, self.now) + seconds

    def ends(self) -> float:
        """When the next dispatch is due by itself: a job or a piece of it ends, or the processor is free for one."""
        if self.current is not None:
            return max(self._taken, self.now) + min(self.current.left, self._stretch)
        return max(self._taken, self.now) if self._ready else math.inf

    def advance(self, now: float) -> Job | None:
        """Let time pass until `now`, not beyond the end of what runs; the job that is done by then, if any."""
        start, self.now = max(self._taken, self.now), now
        job = self.current
        if job is None or now < start:
            return None
        job.left -= now - start
        self._stretch -= now - start
        if job.left <= EPS:
            job.left, job.finish, self.current = 0.0, now, None
            return job
        if self._stretch <= EPS:
            self.current = None
            self.add(job)
        return None

    def dispatch(self) -> None:
        """Let the first of the ready jobs run, if the processor may leave the one that it is at."""
        job, ready = self.current, self._ready
        if job is not None and not job.piece and ready and ready[0][0] < job.key:
            self.add(job)
            self.current = job = None
        if job is None and ready and self._taken <= self.now + EPS:
            self.current = job = heappop(ready)[1]
            self._stretch = job.piece or math.inf
            if job.begin is None:
                job.begin = self.now

"""A node: one job at a time, in the order in which they come. Results leave when the work for their tuple is done."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from headgate.sim.events import Agenda, Rank
from headgate.sim.migration.rows import Row

Outcome = tuple[list[Row], int]
"""What comes of a piece of work, and how long it takes in microseconds."""
Job = Callable[[], Outcome]


@dataclass(frozen=True, slots=True)
class Result:
    """A row that has left a node: when, of which node, and when the tuple that caused it had arrived there."""

    row: Row
    node: str
    arrived: int
    left: int

    @property
    def response(self) -> int:
        """The response time."""
        return self.left - self.arrived


class Node:
    """A server with a queue, whose results are kept while it `holds`."""

    def __init__(self, name: str, agenda: Agenda, out: list[Result]) -> None:
        self.name = name
        self.agenda = agenda
        self.out = out
        self.queue: deque[tuple[int, Job]] = deque()
        self.busy = False
        self.free_at = 0
        self.holds = False
        self.kept: list[tuple[Row, int]] = []

    @property
    def now(self) -> int:
        """The time in microseconds."""
        return int(self.agenda.now)

    def take(self, arrived: int, job: Job) -> None:
        """Have a job done behind those that wait."""
        self.queue.append((arrived, job))
        if not self.busy:
            self._next()

    def take_first(self, jobs: Sequence[tuple[int, Job]]) -> None:
        """Have jobs done before those that wait."""
        self.queue.extendleft(reversed(jobs))
        if not self.busy:
            self._next()

    def _next(self) -> None:
        while self.queue:
            arrived, job = self.queue.popleft()
            self.busy = True
            rows, work = job()
            if work:
                self.free_at = self.now + work
                self.agenda.at(self.free_at, Rank.FINISH, partial(self._done, arrived, rows))
                return
            self._give(arrived, rows)
            self.busy = False

    def _done(self, arrived: int, rows: list[Row]) -> None:
        self._give(arrived, rows)
        self.busy = False
        self._next()

    def _give(self, arrived: int, rows: list[Row]) -> None:
        self.kept += [(row, arrived) for row in rows]
        if not self.holds:
            self.release()

    def release(self) -> None:
        """Give out what was kept, and all that comes from now on."""
        self.holds = False
        self.out += [Result(row, self.name, arrived, self.now) for row, arrived in self.kept]
        self.kept = []

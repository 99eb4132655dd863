"""A unit at work: its operators one after the other, each over what the one before has passed on."""

from collections.abc import Sequence
from typing import NamedTuple

from headgate.model.operator import Kind, Operator
from headgate.sim.draws import Word
from headgate.sim.trains.channels import Channel
from headgate.sim.trains.lines import Line, Taken
from headgate.sim.trains.machine import Clockwork, Machine
from headgate.sim.trains.passing import Sides, counted, merged, passed
from headgate.sim.trains.timeline import Timeline
from headgate.sim.trains.train import Train


class Task:
    """One operator of a unit, with what it has done: turns, tuples read, results made, seconds of work.

    `inputs` are the numbers of the trains it reads: those of the unit's ports come first, then what its operators
    make. `channel` takes what readers in other units wait for; `queries` have their results here.
    """

    __slots__ = (
        *("_curve", "_kind", "_number", "_s", "_seed", "_seen", "_sides"),
        *("a", "b", "channel", "inputs", "made", "name", "queries", "read", "turns", "work"),
    )

    def __init__(
        self,
        op: Operator,
        number: int,
        seed: int,
        inputs: Sequence[int],
        channel: Channel | None,
        queries: Sequence[int],
        curve: Timeline | None,
    ) -> None:
        self.name, self.a, self.b = op.name, op.cost.a, op.cost.b
        self.inputs, self.channel, self.queries = inputs, channel, queries
        self._kind, self._s, self._curve = op.kind, op.selectivity, curve
        self._number, self._seed = Word(number), Word(seed)
        self._seen = 0
        self._sides = Sides(op.window) if op.window is not None else None
        self.turns = self.read = self.made = 0
        self.work = 0.0

    def turn(self, trains: Sequence[Train], now: float) -> Train:
        """What the operator makes of its inputs."""
        s = self._s if self._curve is None else self._curve.at(now)
        if self._sides is not None:
            left, right = (trains[i] for i in self.inputs)
            self.read += left.length + right.length
            return Train(*self._sides.match(left, right, s, self._number, self._seed))
        train = trains[self.inputs[0]]
        for i in self.inputs[1:]:
            train = Train(*merged(*train, *trains[i]))
        n = len(train.times)
        self.read += n
        if s == 1 or not n:
            return train
        if self._kind is Kind.AGGREGATE:
            self._seen += n
            return Train(*counted(*train, s, self._seen - n))
        return Train(*passed(*train, s, self._number, self._seed))


class Left(NamedTuple):
    """Results: the numbers of their queries, the arrival of each, and when they left."""

    queries: Sequence[int]
    train: Train
    time: float


class Flight(NamedTuple):
    """A run under way: tuples read, how long it takes and until when, the work in it, its results.

    `mark` is how far in the time of arrivals the unit has come with it.
    """

    read: int
    took: float
    finish: float
    work: float
    left: list[Left]
    mark: float


class Crew:
    """The operators of one unit."""

    __slots__ = ("_channels", "_marks", "_read_cost", "line", "tasks")

    def __init__(self, line: Line, tasks: Sequence[Task], machine: Machine) -> None:
        self.line, self.tasks = line, tasks
        self._read_cost, self._marks = machine.read, machine.synchronised
        self._channels = [task.channel for task in tasks if task.channel is not None]

    def start(self, taken: Taken, now: float, clockwork: Clockwork) -> Flight:
        """Run over what was taken. Each operator has its turn, and its results leave when that has ended."""
        trains = list(taken.trains)
        left: list[Left] = []
        total = self._read_cost * taken.dropped
        at = now + clockwork.takes(total, now) if total else now
        for task in self.tasks:
            before = task.read
            train = task.turn(trains, now)
            trains.append(train)
            work = clockwork.work(task.a + task.b * (task.read - before))
            at += clockwork.takes(work, at)
            total += work
            made = len(train.times)
            task.turns += 1
            task.made += made
            task.work += work
            if made and task.queries:
                left.append(Left(task.queries, train, at))
            if task.channel is not None:
                task.channel.write(train)
        return Flight(taken.read, at - now, at, total, left, self.line.done() if self._marks else now)

    def finish(self, flight: Flight) -> None:
        """Let others see what the run has made."""
        for channel in self._channels:
            channel.publish(flight.mark)

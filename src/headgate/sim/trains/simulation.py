"""The train kernel: any network, policies for any number of cores, load management, and no event per tuple.

A run takes what its unit's ports have at the scheduling point and is worked out at once; what it makes is there for
others when it has ended. So events are ends of runs and control periods, and an arrival only where a core waits.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from headgate.control.boundaries import Division
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.model.network import Network
from headgate.model.network import Port as Place
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.protocol import Outcome, Run, View
from headgate.sim.events import Agenda, Rank
from headgate.sim.metrics import Floats
from headgate.sim.trains.accounts import accounts, between
from headgate.sim.trains.assembly import Assembly
from headgate.sim.trains.channels import Stream
from headgate.sim.trains.cores import Core, Group, Team
from headgate.sim.trains.machine import Clockwork, Machine
from headgate.sim.trains.measured import Measured
from headgate.sim.trains.report import Departures, Report
from headgate.sim.trains.steering import Control, Steering
from headgate.sim.trains.tasks import Flight, Left
from headgate.sim.trains.timeline import Timeline

_NONE: frozenset[int] = frozenset()
_LAST = 1 << 30
"""The rank of the end: whatever happens at that time happens before."""


@dataclass
class Simulation:
    """One run of a network on a machine.

    `arrivals` are the times of each stream. It ends when all is served, or at `until`. Results of tuples that arrived
    before `warm` do not count. `curves` are the selectivities of operators that change with time. Every `refresh`
    seconds the policies are given units with the selectivities measured since. `changes` happen at their times.
    `on_run` is told of each run when it has ended: on which team and core it was, and how it went.
    """

    network: Network
    classes: Sequence[QueryClass]
    arrivals: Mapping[str, Floats]
    teams: Sequence[Team]
    machine: Machine = Machine()
    seed: int = 0
    control: Control | None = None
    curves: Mapping[str, Timeline] = field(default_factory=dict)
    refresh: float = math.inf
    changes: Sequence[tuple[float, Callable[[], None]]] = ()
    until: float = math.inf
    warm: float = 0.0
    on_run: Callable[[int, int, Outcome], None] | None = None

    def run(self) -> Report:
        """Serve the streams."""
        self._set_up()
        agenda = self._agenda
        for time, change in self.changes:
            agenda.at(time, Rank.CONTROL, change)
        if self._steering and not self._steering.control.after_visit:
            steering = self._steering
            agenda.at(steering.control.period, Rank.CONTROL, partial(self._control_event, steering))
        if self.refresh < math.inf:
            agenda.at(self.refresh, Rank.CONTROL, self._refresh_event)
        if self.until < math.inf:
            agenda.at(self.until, _LAST, self._stop)
        self._dispatch()
        while not self._stopped and agenda.step():
            if not self._stopped:
                self._dispatch()
        return self._close()

    def _set_up(self) -> None:
        network = self.network
        self._agenda = Agenda()
        self._division = Division(network, self.classes)
        costs, drops = np.random.SeedSequence(self.seed).spawn(2)
        self._clockwork = Clockwork(self.machine, costs)
        for name in network.streams:
            if network.readers[name] and name not in self.arrivals:
                raise InputError(
                    f"stream '{name}': every stream that is read has arrivals", "none", "Give its times."
                )
        self._streams = {
            name: Stream(i, np.ascontiguousarray(self.arrivals[name], dtype=np.float64))
            for i, name in enumerate(network.streams)
            if name in self.arrivals
        }
        self._steering = Steering(self.control, network, self._division, drops) if self.control else None
        plans = [tuple(team.plan(network)) for team in self.teams]
        assembly = Assembly(
            network,
            [unit for units in plans for unit in units],
            self.machine,
            self._streams,
            self._agenda,
            self.seed,
            self._steering.gate if self._steering else _open,
            self.curves,
        )
        self._ports, self._tasks = assembly.ports, assembly.tasks
        crews = iter(assembly.crews)
        self._groups = [
            Group(team, units, [next(crews) for _ in units]) for team, units in zip(self.teams, plans, strict=True)
        ]
        if self._steering:
            self._steering.begin(self.classes, self._tasks, self._ports)
        self._measured = Measured(network, self._tasks)
        self._departures = [Departures() for _ in network.queries]
        self._report = Report(
            network, {q.name: d for q, d in zip(network.queries, self._departures, strict=True)}, self.warm
        )
        # Most class schedulers do not look at response times.
        self._listeners = [
            group.classes
            for group in self._groups
            if group.classes is not None and type(group.classes).responded is not ByClass.responded
        ]
        self._bounded = self.machine.queue < math.inf or bool(self.machine.queues)
        self._ended = 0.0
        self._debt = 0.0
        self._wake = math.inf
        self._stopped = False

    def _stop(self) -> None:
        self._stopped = True

    def _dispatch(self) -> None:
        """Let the cores that have nothing to do look for something.

        Where queues are bounded, what one has taken may have made room for another, so they look again.
        """
        looking = True
        while looking:
            started = waits = False
            for group in self._groups:
                for core in group.cores:
                    if core.idle:
                        found = self._choose(group, core)
                        started, waits = started or found, waits or not found
            looking = started and waits and self._bounded
        if waits:
            self._sleep()

    def _sleep(self) -> None:
        """Have the cores look again when something comes that could change what they do.

        That is a tuple for a unit which has none. One that has some, and yet was not run, is not run for having more.
        """
        now = self._agenda.now
        nearest = math.inf
        for group in self._groups:
            if any(core.idle for core in group.cores):
                for line in group.fed:
                    if not line.running and (time := line.next()) < nearest and not line.pending:
                        nearest = time
        if nearest < self._wake or self._wake <= now:
            self._wake = nearest
            if nearest < math.inf:
                self._agenda.at(nearest, Rank.ARRIVAL, _nothing)

    def _choose(self, group: Group, core: Core) -> bool:
        """Ask the policy for a core; whether it has got something to do."""
        now = self._agenda.now
        running = frozenset(group.running) if group.running else _NONE
        view = View(now, group.lines, core.number, len(group.cores), running)
        decision = group.policy.choose(view)
        if self._steering and self._steering.control.after_visit and group is self._groups[0]:
            cls = None if decision is None else group.units[decision.runs[0].unit].cls
            if self._steering.due_after(cls, now):
                self._steer(self._steering)
        if decision is None:
            return False
        self._report.decisions += 1
        runs = decision.runs
        overhead = self.machine.overheads.of(decision.work, len(runs)) + self._debt
        self._debt = 0.0
        if group.programmed is not None and group.programmed.updates > group.updates:
            self._report.rebuilds += group.programmed.updates - group.updates
            group.updates = group.programmed.updates
            overhead += self.machine.overheads.rebuild.of(len(group.programmed.program))
        for run in runs:
            if run.unit in group.running:
                rule = "a unit runs on one core at a time"
                raise InputError(rule, group.units[run.unit].name, "Have the policy look at View.running.")
            group.running.add(run.unit)
            group.lines[run.unit].running = True
        core.idle = False
        core.runs = iter(runs)
        return self._next_run(group, core, overhead)

    def _next_run(self, group: Group, core: Core, overhead: float = 0.0) -> bool:
        """Start what the core has to run next, if anything."""
        now = self._agenda.now
        for run in core.runs:
            crew = group.crews[run.unit]
            taken = crew.line.take(run.train)
            if not taken.read:
                group.running.discard(run.unit)
                crew.line.running = False
                overhead += self.machine.overheads.poll
                continue
            overhead += self.machine.overheads.dispatch
            self._report.overhead += overhead
            start = now + self._clockwork.takes(overhead, now) if overhead else now
            flight = crew.start(taken, start, self._clockwork)
            core.flying, core.cls = flight.read, group.units[run.unit].cls
            self._agenda.at(flight.finish, Rank.FINISH, partial(self._land, group, core, run, now, flight))
            return True
        core.idle = True
        return False

    def _land(self, group: Group, core: Core, run: Run, start: float, flight: Flight) -> None:
        """End a run: others see what it made, and everybody learns how it went."""
        crew = group.crews[run.unit]
        crew.finish(flight)
        crew.line.running = False
        group.running.discard(run.unit)
        report = self._report
        report.runs += 1
        report.work += flight.work
        core.flying = 0
        core.busy += flight.took
        self._ended = flight.finish
        results = self._leave(group, run.unit, flight.left) if flight.left else group.no_results[run.unit]
        outcome = Outcome(Run(run.unit, flight.read), start, flight.finish, results)
        group.policy.observe(outcome)
        if self.on_run:
            self.on_run(self._groups.index(group), core.number, outcome)
        self._next_run(group, core)

    def _leave(self, group: Group, unit: int, leaving: Sequence[Left]) -> tuple[int, ...]:
        """Let results go; how many each segment of the unit has."""
        counts = list(group.no_results[unit])
        for left in leaving:
            times = left.train.times
            for query in left.queries:
                self._departures[query].add(times, left.time)
                place = group.segment_of[unit].get(self.network.queries[query].name)
                if place is not None:
                    counts[place] += len(times)
            if self._steering is not None:
                self._steering.statistics.left(left, left.time * len(times) - float(times.sum()))
            for scheduler in self._listeners:
                for query in left.queries:
                    scheduler.responded(self.network.queries[query].cls, left.time - times)
        return tuple(counts)

    def _steer(self, steering: Steering) -> None:
        steering.act(self._agenda.now, [group.classes for group in self._groups if group.classes is not None])
        self._debt += self.machine.overheads.cycle

    def _control_event(self, steering: Steering) -> None:
        self._steer(steering)
        self._again(steering.control.period, partial(self._control_event, steering))

    def _refresh_event(self) -> None:
        """Give the policies units as measured."""
        network = self._measured.network()
        if network is not None:
            for group in self._groups:
                group.policy.prepare(group.plan(network))
        self._again(self.refresh, self._refresh_event)

    def _again(self, period: float, event: Callable[[], None]) -> None:
        """Have an event once more, while there is something to come or to do."""
        now = self._agenda.now
        if (
            any(stream.next(now) < math.inf for stream in self._streams.values())
            or any(not core.idle for group in self._groups for core in group.cores)
            or any(port.waiting(now) for port in self._ports.values())
        ):
            self._agenda.at(now + period, Rank.CONTROL, event)

    def _close(self) -> Report:
        report, now = self._report, self._agenda.now
        report.ended = now if self._stopped else self._ended
        report.accounts = accounts(self._division, self._ports, now)
        unfinished = between(self._division, self._ports, now)
        for group in self._groups:
            for core in group.cores:
                if core.flying:
                    unfinished[core.cls] += core.flying
        report.unfinished = unfinished
        report.busy = [[core.busy for core in group.cores] for group in self._groups]
        report.turns = sum(task.turns for task in self._tasks.values())
        if self._steering:
            report.moments = self._steering.moments
        return report


def _nothing() -> None:
    """An arrival needs no more than that the cores look again."""


def _open(_: Place) -> None:
    """Nothing is dropped anywhere."""

"""A query runs on one node, is asked to move to the other, and both are watched until the streams end.

The state machines of `control.migration` do the moving; this carries out what they say and hands in what happens.
Times are microseconds. Tuples reach a node a fixed time after their own and all in order; messages take a fixed time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate.control.migration.messages import Handover, Migrate, Ready
from headgate.control.migration.methods import WRP, Link, StopAndCopy, UniMiCo, check
from headgate.control.migration.moving import (
    Action,
    Ask,
    Begin,
    Connect,
    Connected,
    Counted,
    CountRows,
    Deactivate,
    Event,
    Finished,
    FinishThrough,
    Got,
    Originator,
    Release,
    Send,
    Target,
)
from headgate.control.migration.timestamps import RowCut, common_start, measured_start, row_reference
from headgate.sim.events import Agenda, Rank
from headgate.sim.migration.node import Node, Outcome, Result
from headgate.sim.migration.query import Plan, Query
from headgate.sim.migration.rows import Row, Tuple, merged
from headgate.sim.migration.windows import Counting

SECOND = 1_000_000


@dataclass(frozen=True)
class Setup:
    """What is simulated. `asked` is when the query is asked to move; never, if it is None.

    `delays` are those of tuples to the two nodes, `connects` how long the target takes to connect to each input, and
    `background` other work on each node: when it comes and how long it takes.
    """

    query: Query
    streams: Sequence[Sequence[Tuple]]
    asked: int | None = None
    method: UniMiCo | WRP | StopAndCopy = field(default_factory=UniMiCo)
    delays: tuple[int, int] = (0, 0)
    latency: int = 0
    connects: tuple[int, ...] = ()
    background: tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]] = ((), ())
    row_bytes: int = 100
    bandwidth: float = 12.5e6


@dataclass(frozen=True)
class Report:
    """All results in the order in which they were given out, and what the move took."""

    results: tuple[Result, ...]
    messages: int
    handed_over: int | None
    moved: int | None
    """When the target began, and when the originator was done; None if it came to neither."""
    copied: int = 0

    @property
    def rows(self) -> list[Row]:
        """The rows in order, whichever node they come from."""
        return [each.row for each in self.results]

    @property
    def inserted(self) -> list[Row]:
        """The net results: what came about, without what takes it back."""
        return [row for row in self.rows if row.sign > 0]


class Simulation:
    """One run."""

    def __init__(self, setup: Setup) -> None:
        if setup.asked is not None:
            check(setup.method, setup.query.name, setup.query.shape)
        self.setup = setup
        self.agenda = Agenda()
        self.out: list[Result] = []
        self.here, self.there = (Node(name, self.agenda, self.out) for name in ("originator", "target"))
        ordered = isinstance(setup.method, StopAndCopy) or setup.method.ordered
        self.originator = Originator(setup.query.name, setup.query.shape, ordered=ordered)
        self.target = Target(setup.query.name, ordered=ordered)
        self.plan = Plan(setup.query, from_the_start=True)
        self.next: Plan | None = None
        self.ahead: list[tuple[int, list[Row], bool]] | None = None
        self.open = [False] * setup.query.shape.inputs
        self.firsts: list[int | None] = [None] * setup.query.shape.inputs
        self.buffer: list[tuple[int, Tuple | None]] = []
        self.position = -1
        self.running = True
        self.messages = self.copied = 0
        self.handed_over: int | None = None
        self.moved: int | None = None
        self.processing = False
        self.tuples = merged(setup.streams)
        self.end = max((each.ts for each in self.tuples), default=0) + 1

    def run(self) -> Report:
        """Run until nothing is left to do."""
        setup = self.setup
        for number, each in enumerate([*self.tuples, None]):
            ts = self.end if each is None else each.ts
            self.agenda.at(ts + setup.delays[0], Rank.ARRIVAL, partial(self._arrives_here, number, each))
            self.agenda.at(ts + setup.delays[1], Rank.ARRIVAL, partial(self._arrives_there, each))
        for node, jobs in zip((self.here, self.there), setup.background, strict=True):
            for time, work in jobs:
                self.agenda.at(time, Rank.ARRIVAL, partial(node.take, time, partial(_other, work)))
        if setup.asked is not None:
            self.agenda.at(setup.asked, Rank.CONTROL, self._ask)
        while self.agenda.step():
            pass
        return Report(tuple(self.out), self.messages, self.handed_over, self.moved, self.copied)

    @property
    def _now(self) -> int:
        return int(self.agenda.now)

    # The originator.

    def _arrives_here(self, number: int, each: Tuple | None) -> None:
        if self.running:
            self.here.take(self._now, partial(self._process_here, number, each))

    def _process_here(self, number: int, each: Tuple | None) -> Outcome:
        if not self.running:
            return [], 0
        self.position = number
        self.processing = True
        found = self.plan.process(each)
        self.processing = False
        self._settle(self._now + found[1])
        return found

    def _settle(self, done: int) -> None:
        """Say that the last window is out when the work that is being done is done, and its results have left."""
        if self.running and self.originator.handover is not None and self.plan.controlling.finished:
            self.running = False
            self.agenda.at(done, Rank.CONTROL, partial(self._here, Finished()))

    def _here(self, event: Event) -> None:
        self.originator, actions = self.originator.step(event)
        for action in actions:
            self._do_here(action)

    def _do_here(self, action: Action) -> None:
        match action:
            case Send(message=message):
                self._post(partial(self._there, Got(message)))
            case CountRows(reference=reference):
                self._counting(reference)
            case FinishThrough(handover=handover):
                self.plan.controlling.stop(handover)
                if not self.processing:
                    self._settle(max(self._now, self.here.free_at))
            case Deactivate():
                self.moved = self._now

    def _counting(self, reference: int) -> None:
        operator = self.plan.controlling
        if not isinstance(operator, Counting):
            raise TypeError(operator)

        def counted(cut: RowCut) -> None:
            self._here(Counted(cut, operator.ts_mi(cut)))

        operator.count(reference, counted)

    def _ready(self, ready: Ready) -> None:
        """Where other windows feed the controlling one, from when on the target will have the same rows."""
        self._measure(ready, 0, common_start(ready.ts_starts), ())

    def _measure(self, ready: Ready, place: int, ts_start: int, cuts: tuple[RowCut, ...]) -> None:
        """The same behind one window after the other: what comes to it is as here from `ts_start` on."""
        operator, earliest = self.plan.operators[place], self.setup.query.earliest
        if operator is self.plan.controlling:
            self._here(Got(ready, operator.last, ts_start if place else None, cuts))
        elif isinstance(operator, Counting):

            def counted(cut: RowCut) -> None:
                missing = operator.missing(cut, earliest=earliest)
                operator.passed(
                    missing, lambda ts: self._measure(ready, place + 1, max(ts_start, ts + 1), (*cuts, cut))
                )

            operator.count(row_reference(ts_start, ts_start - 1 if operator.last is None else operator.last), counted)
        else:
            stage = self.setup.query.stages[place]
            self._measure(ready, place + 1, measured_start(ts_start, (stage,), earliest=earliest), cuts)

    # The target.

    def _arrives_there(self, each: Tuple | None) -> None:
        if not any(self.open) or (each is not None and not self.open[each.stream]):
            return
        if each is not None and self.firsts[each.stream] is None:
            self.firsts[each.stream] = each.ts
            self._connected()
        if self.next is not None:
            self._take_there(self._now, each)
        else:
            self.buffer.append((self._now, each))

    def _take_there(self, arrived: int, each: Tuple | None) -> None:
        if self.next is not None:
            self.there.take(arrived, partial(self._process_there, self.next, arrived, each))

    def _process_there(self, plan: Plan, arrived: int, each: Tuple | None) -> Outcome:
        if self.ahead is None:
            return plan.process(each)
        rows, work = plan.first(each)
        self.ahead.append((arrived, rows, each is None))
        return [], work

    def _connected(self) -> None:
        firsts = [first for first in self.firsts if first is not None]
        if len(firsts) == len(self.firsts):
            plan = Plan(self.setup.query, from_the_start=False)
            plan.prepare(common_start(firsts))
            if plan.leading:
                self.ahead, self.next = [], plan
                self._take_buffered()
            self._there(Connected(tuple(firsts)))

    def _take_buffered(self) -> None:
        for arrived, each in self.buffer:
            self._take_there(arrived, each)
        self.buffer = []

    def _there(self, event: Event) -> None:
        self.target, actions = self.target.step(event)
        for action in actions:
            self._do_there(action)

    def _do_there(self, action: Action) -> None:
        match action:
            case Send(message=Ready() as ready):
                self._post(partial(self._ready, ready))
            case Connect():
                connects = self.setup.connects or (0,) * len(self.open)
                for stream, takes in enumerate(connects):
                    self.agenda.at(self._now + takes, Rank.CONTROL, partial(self._connect, stream))
            case Begin(handover=handover, hold=hold):
                self.handed_over = self._now
                self.there.holds = hold
                self.next = self.next or Plan(self.setup.query, from_the_start=False)
                self.next.begin(handover)
                self._catch_up(self.next, handover)
                self._take_buffered()
            case Release():
                self.there.release()

    def _catch_up(self, plan: Plan, handover: Handover) -> None:
        """Let the next window have what those before it have brought out meanwhile."""
        cut = handover.before[0] if handover.before else handover.rows
        begins = handover.activation if cut is None else cut.reference
        ahead, self.ahead = self.ahead or [], None
        jobs = []
        for arrived, rows, ended in ahead:
            needed = [row for row in rows if begins is not None and plan.stamped(row).at >= begins]
            if needed or ended:
                jobs.append((arrived, partial(plan.rest, needed, ended=ended)))
        self.there.take_first(jobs)

    def _connect(self, stream: int) -> None:
        self.open[stream] = True

    # Both.

    def _post(self, delivered: Callable[[], None]) -> None:
        self.messages += 1
        self.agenda.at(self._now + self.setup.latency, Rank.CONTROL, delivered)

    def _ask(self) -> None:
        match self.setup.method:
            case StopAndCopy() as method:
                self._stop_and_copy(method)
            case WRP():
                self.originator, _ = self.originator.step(Ask(self.there.name))
                self.agenda.at(self._now + self.setup.latency, Rank.CONTROL, self._announce)
            case _:
                self._here(Ask(self.there.name))

    def _stop_and_copy(self, method: StopAndCopy) -> None:
        """The originator stops where it is; what it has not processed waits for the target."""
        self.running = False
        link = Link(self.setup.latency / SECOND, self.setup.bandwidth)
        course = method.course(self.setup.query.shape, self.plan.held * self.setup.row_bytes, link)
        self.messages, self.copied = course.messages, course.copied
        # What is being done is done, and its results leave, before the state is complete.
        resumes = max(self._now, self.here.free_at) + round(course.paused * SECOND)
        self.handed_over, self.moved = resumes, self._now
        self.next = self.plan
        for each in [*self.tuples, None][self.position + 1 :]:
            arrived = (self.end if each is None else each.ts) + self.setup.delays[1]
            self.agenda.at(max(arrived, resumes), Rank.ARRIVAL, partial(self._take_there, arrived, each))

    def _announce(self) -> None:
        """WRP: upstream says from which time on it sends to both nodes; the target can read from there on."""
        border = self._now + 1
        self.firsts = [border] * len(self.firsts)
        self.open = [True] * len(self.open)
        self.target, _ = self.target.step(Got(Migrate(self.setup.query.name)))
        self._connected()
        # What is said from here on is counted as it is said.
        course = self.setup.method.course(self.setup.query.shape, 0, Link(0, 1))
        self.messages = course.messages - (2 if self.originator.ordered else 1)


def _other(work: int) -> Outcome:
    return [], work

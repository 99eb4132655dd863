"""Bucketing: SlopeSlack at a fraction of its cost. Units are kept in cells of about the same slope and slack.

A schedule takes the cells in their order. While a queue does not change, the expected output latency grows with the
clock, so it is known beforehand when a unit leaves its cell: a calendar queue has these times, and only the units
that are due, or whose queue has changed, are put into another cell. With `events=False` all are, each time. Inside a
cell it is first come, first served; with one cell that is all there is.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from operator import ne
from typing import get_args

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.calendar_queue import CalendarQueue
from headgate.policy.qos.partitions import Partition, Table, Widths
from headgate.policy.qos.schedule import ready
from headgate.policy.qos.slope_slack import Expectant

FORMULA = "first cell of slope and slack, at the expected output latency"


@dataclass
class Bucketing(Expectant):
    """The units in the first cells of `partitions`² of them."""

    partitions: int = 20
    widths: Widths = "equal"
    events: bool = True
    _partition: Partition = field(default=Partition((), ()), init=False)
    _tables: list[Table] = field(default_factory=list, init=False)
    _before: dict[int, list[int]] = field(default_factory=dict, init=False)
    _cells: dict[int, dict[int, None]] = field(default_factory=dict, init=False)
    _cell: list[int | None] = field(default_factory=list, init=False)
    _origin: list[float] = field(default_factory=list, init=False)
    _followed: bool = field(default=False, init=False)
    _pending: list[int] = field(default_factory=list, init=False)
    _first: list[int] = field(default_factory=list, init=False)
    _calendar: CalendarQueue = field(default_factory=CalendarQueue, init=False, compare=False)
    _until: list[float] = field(default_factory=list, init=False)
    _wakes: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitions < 1:
            raise InputError("bucketing has at least one partition", self.partitions, "Give 1 or more, such as 20.")
        if self.widths not in get_args(Widths):
            raise InputError("known widths of cells", f"'{self.widths}'", f"Choose {', '.join(get_args(Widths))}.")

    def prepare(self, units: Sequence[Unit]) -> None:
        """Find the cells of each graph; where only statistics have changed, units keep their places."""
        super().prepare(units)
        partition = Partition.of(self._prospects.graphs, self.partitions, self.widths)
        self._tables = [Table.of(graph, partition) for graph in self._prospects.graphs]
        if partition != self._partition or len(units) != len(self._cell):
            self._partition = partition
            self._clear(len(units))
        self._pending, self._first = [-1] * len(units), [-1] * len(units)
        self._followed = False
        self._before = {}
        if self._prospects.carries:
            for i, unit in enumerate(units):
                for k in unit.behind:
                    self._before.setdefault(k, []).append(i)

    def choose(self, view: View) -> Decision | None:
        """Put units into their cells, and take the first."""
        moved = self._follow(view) if self.events else self._anew(view)
        chosen: list[int] = []
        swept = self._partition.cells
        # Only cells with units in them are visited; what is charged for is a sweep over all.
        for cell in sorted(self._cells):
            lost = self.recover and cell == self._partition.cells - 1
            chosen += sorted(self._cells[cell], key=partial(self._left, view)) if lost else self._cells[cell]
            if len(chosen) >= self.size:
                swept = cell + 1
                break
        if not chosen:
            return None
        return self._decision(view, chosen[: self.size], FORMULA, Work(computations=moved, reads=swept))

    def cell_of(self, unit: int) -> int | None:
        """The cell that a unit is in; None if it has nothing to do."""
        return self._cell[unit]

    def _follow(self, view: View) -> int:
        """Move the units whose queues have changed, or whose time in a cell is over."""
        pending, first, now = self._pending, self._first, view.now
        touched = self._touched(self._changed(view))
        moved = len(touched)
        for _, i in self._calendar.pop_until(now):
            self._wakes[i] = math.inf
            if self._cell[i] is None or i in touched:
                continue
            if self._until[i] > now:
                self._wake(i)
            else:
                self._assign(i, now)
                moved += 1
        for i in touched:
            queue = view.queues[i]
            pending[i] = queue.pending
            if queue.pending:
                first[i] = queue.position
                self._origin[i] = self._prospects.origin(view, i)
                self._assign(i, now)
            else:
                self._leave(i)
                moved -= 1
        return moved

    def _changed(self, view: View) -> Collection[int]:
        """The units whose queues are not as they were."""
        if view.changed is not None and self._followed:
            return view.changed
        self._followed = True
        queues, pending, first = view.queues, self._pending, self._first
        found = [*compress(range(len(queues)), map(ne, [queue.pending for queue in queues], pending))]
        # As many tuples may wait as before, and yet be others.
        waited = (i for units in self._cells.values() for i in units)
        return found + [i for i in waited if queues[i].pending == pending[i] and queues[i].position != first[i]]

    def _touched(self, changed: Collection[int]) -> Collection[int]:
        """With the units that count on what waits behind them."""
        if not self._before:
            return dict.fromkeys(changed)
        return dict.fromkeys(i for k in changed for i in (k, *self._before.get(k, ())))

    def _anew(self, view: View) -> int:
        """Assign all units that wait."""
        self._clear(len(view.queues))
        waiting = sorted(ready(view), key=self._rank.__getitem__)
        for i in waiting:
            self._origin[i] = self._prospects.origin(view, i)
            self._assign(i, view.now)
        return len(waiting)

    def _assign(self, i: int, now: float) -> None:
        cell, until = self._tables[self._prospects.kind[i]].look(now - self._origin[i])
        if cell != self._cell[i]:
            self._leave(i)
            self._cell[i] = cell
            self._cells.setdefault(cell, {})[i] = None
        self._until[i] = self._origin[i] + until
        if self.events:
            self._wake(i)

    def _wake(self, i: int) -> None:
        """See to it that the calendar has the unit in time. Too early does no harm, and is seen to then."""
        until, wakes = self._until[i], self._wakes[i]
        if until < wakes:
            if wakes < math.inf:
                self._calendar.delete(wakes, i)
            self._calendar.insert(until, i)
            self._wakes[i] = until

    def _leave(self, i: int) -> None:
        cell = self._cell[i]
        if cell is None:
            return
        units = self._cells[cell]
        del units[i]
        if not units:
            del self._cells[cell]
        self._cell[i] = None

    def _clear(self, n: int) -> None:
        self._cells, self._calendar = {}, CalendarQueue()
        self._cell, self._origin = [None] * n, [0.0] * n
        self._until, self._wakes = [math.inf] * n, [math.inf] * n

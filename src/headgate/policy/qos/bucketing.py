"""Bucketing: SlopeSlack at a fraction of its cost. Units are kept in cells of about the same slope and slack.

A schedule takes the cells in their order. While a queue does not change, the expected output latency grows with the
clock, so it is known beforehand when a unit leaves its cell: a calendar queue has these times, and only the units
that are due, or whose queue has changed, are put into another cell. With `events=False` all are, each time. Inside a
cell it is first come, first served; with one cell that is all there is.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import islice

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.calendar_queue import CalendarQueue
from headgate.policy.qos.changes import Changes
from headgate.policy.qos.partitions import Partition, Table
from headgate.policy.qos.schedule import ready
from headgate.policy.qos.slope_slack import Expectant

FORMULA = "first cell of slope and slack, at the expected output latency"


@dataclass
class Bucketing(Expectant):
    """The units in the first cells of `partitions`² of them."""

    partitions: int = 20
    events: bool = True
    _partition: Partition = field(default=Partition((), ()), init=False)
    _tables: list[Table] = field(default_factory=list, init=False)
    _changes: Changes = field(init=False, repr=False, compare=False)
    _cells: dict[int, dict[int, None]] = field(default_factory=dict, init=False)
    _cell: list[int | None] = field(default_factory=list, init=False)
    _origin: list[float] = field(default_factory=list, init=False)
    _calendar: CalendarQueue = field(default_factory=CalendarQueue, init=False, compare=False)
    _low: list[float] = field(default_factory=list, init=False)
    _high: list[float] = field(default_factory=list, init=False)
    _wakes: list[float] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitions < 1:
            raise InputError("bucketing has at least one partition", self.partitions, "Give 1 or more, such as 20.")

    def prepare(self, units: Sequence[Unit]) -> None:
        """Find the cells of each graph; where only statistics have changed, units keep their places."""
        super().prepare(units)
        partition = Partition.of(self._prospects.graphs, self.partitions)
        self._tables = [Table.of(graph, partition) for graph in self._prospects.graphs]
        if partition != self._partition or len(units) != len(self._cell):
            self._partition = partition
            self._clear(len(units))
        self._changes = Changes(units, carries=self._prospects.carries)
        self._low = [math.inf] * len(units)

    def choose(self, view: View) -> Decision | None:
        """Put units into their cells, and take the first."""
        moved = self._follow(view) if self.events else self._anew(view)
        chosen: list[int] = []
        swept = self._partition.cells
        # Only cells with units in them are visited; what is charged for is a sweep over all.
        for cell in sorted(self._cells):
            units, needed = self._cells[cell], self._looked_at - len(chosen)
            if self.recover and cell == self._partition.cells - 1:
                chosen += nsmallest(needed, units, partial(self._left, view))
            else:
                chosen += islice(units, needed)
            if len(chosen) == self._looked_at:
                swept = cell + 1
                break
        if not chosen:
            return None
        chosen = [*self._saved(view, chosen)][: self.size]
        return self._decision(view, chosen, FORMULA, Work(computations=moved, reads=swept))

    def cell_of(self, unit: int) -> int | None:
        """The cell that a unit is in; None if it has nothing to do."""
        return self._cell[unit]

    def _since(self, view: View, unit: int) -> float:  # noqa: ARG002 - known from when its queue last changed
        return self._origin[unit]

    def _follow(self, view: View) -> int:
        """Move the units whose queues have changed, or whose time in a cell is over."""
        now, touched, moved = view.now, self._changes.look(view), 0
        for _, i in self._calendar.pop_until(now):
            self._wakes[i] = math.inf
            if self._cell[i] is None or i in touched:
                continue
            if self._origin[i] + self._high[i] > now:
                self._wake(i)
            else:
                self._assign(i, self._origin[i], now)
                moved += 1
        waiting = []
        for i in touched:
            if view.queues[i].pending:
                waiting.append(i)
            else:
                self._leave(i)
        for i, (_, origin) in zip(waiting, self._prospects.trains(view, waiting), strict=True):
            self._assign(i, origin, now)
        return moved + len(waiting)

    def _anew(self, view: View) -> int:
        """Assign all units that wait."""
        self._clear(len(view.queues))
        waiting = sorted(ready(view), key=self._rank.__getitem__)
        for i, (_, origin) in zip(waiting, self._prospects.trains(view, waiting), strict=True):
            self._assign(i, origin, view.now)
        return len(waiting)

    def _assign(self, i: int, origin: float, now: float) -> None:
        """Put a unit into the cell of its latency; mostly it is there already."""
        self._origin[i] = origin
        if self._cell[i] is None or not self._low[i] < now - origin <= self._high[i]:
            cell, self._low[i], self._high[i] = self._tables[self._prospects.kind[i]].look(now - origin)
            if cell != self._cell[i]:
                self._leave(i)
                self._cell[i] = cell
                self._cells.setdefault(cell, {})[i] = None
        if self.events and origin + self._high[i] < self._wakes[i]:
            self._wake(i)

    def _wake(self, i: int) -> None:
        """See to it that the calendar has the unit in time. Too early does no harm, and is seen to then."""
        until, wakes = self._origin[i] + self._high[i], self._wakes[i]
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
        self._low, self._high, self._wakes = [math.inf] * n, [math.inf] * n, [math.inf] * n

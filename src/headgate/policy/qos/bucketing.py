"""Bucketing: SlopeSlack at a fraction of its cost. Units are kept in cells of about the same slope and slack.

A schedule takes the cells in their order. While a queue does not change, the expected output latency grows with the
clock, so it is known beforehand when a unit leaves its cell: a calendar queue has these times, and only the units
that are due, or whose queue has changed, are put into another cell. With `events=False` all are, each time. Inside a
cell it is first come, first served; with one cell that is all there is.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.protocol import Decision, View, Work
from headgate.policy.qos.calendar_queue import CalendarQueue
from headgate.policy.qos.partitions import Partition, Table, Widths
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
    _before: list[list[int]] = field(default_factory=list, init=False)
    _cells: dict[int, dict[int, None]] = field(default_factory=dict, init=False)
    _cell: list[int | None] = field(default_factory=list, init=False)
    _origin: list[float] = field(default_factory=list, init=False)
    _queues: list[tuple[int, int]] = field(default_factory=list, init=False)
    _calendar: CalendarQueue = field(default_factory=CalendarQueue, init=False, compare=False)
    _due: dict[int, float] = field(default_factory=dict, init=False)

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
        self._queues = [(-1, -1)] * len(units)
        self._before = [[] for _ in units]
        if self._prospects.carries:
            for i, unit in enumerate(units):
                for k in unit.behind:
                    self._before[k].append(i)

    def choose(self, view: View) -> Decision | None:
        """Put units into their cells, and take the first."""
        moved = self._follow(view) if self.events else self._anew(view)
        chosen: list[int] = []
        swept = self._partition.cells
        # Only cells with units in them are visited; what is charged for is a sweep over all.
        for cell in sorted(self._cells):
            chosen += self._cells[cell]
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
        seen = self._queues
        changed = []
        for i, queue in enumerate(view.queues):
            n, at = seen[i]
            if queue.pending != n or (n and queue.position != at):
                seen[i] = (queue.pending, queue.position if queue.pending else -1)
                changed.append(i)
        moved = 0
        for i in self._touched(changed):
            if (due := self._due.pop(i, None)) is not None:
                self._calendar.delete(due, i)
            if view.queues[i].pending:
                self._origin[i] = self._prospects.arrived(view, i) - self._prospects.ect(view, i)
                self._assign(i, view.now)
                moved += 1
            else:
                self._leave(i)
        for _, i in self._calendar.pop_until(view.now):
            del self._due[i]
            self._assign(i, view.now)
            moved += 1
        return moved

    def _touched(self, changed: list[int]) -> Iterable[int]:
        """With the units that count on what waits behind them."""
        if not self._prospects.carries:
            return changed
        return dict.fromkeys(i for k in changed for i in (k, *self._before[k]))

    def _anew(self, view: View) -> int:
        """Assign all units that wait."""
        self._clear(len(view.queues))
        waiting = sorted((i for i, queue in enumerate(view.queues) if queue.pending), key=self._rank.__getitem__)
        for i in waiting:
            self._origin[i] = self._prospects.arrived(view, i) - self._prospects.ect(view, i)
            self._assign(i, view.now)
        return len(waiting)

    def _assign(self, i: int, now: float) -> None:
        cell, until = self._tables[self._prospects.kind[i]].look(now - self._origin[i])
        if cell != self._cell[i]:
            self._leave(i)
            self._cell[i] = cell
            self._cells.setdefault(cell, {})[i] = None
        if self.events and until < math.inf:
            self._due[i] = self._origin[i] + until
            self._calendar.insert(self._due[i], i)

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
        self._cells, self._due, self._calendar = {}, {}, CalendarQueue()
        self._cell, self._origin = [None] * n, [0.0] * n

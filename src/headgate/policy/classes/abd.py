"""ABD: a broadcast-disk program over the classes, with slots of one length that adapts.

A slot lasts q seconds. Inside it the units of the class run in turn, from where the class stopped last time, each on
all that waits for it if that fits into the rest of the slot, else on as many tuples as fit, which ends the slot. Then

    q grows by the time over the slot plus the time that what is left of the unit's queue still needs
    q shrinks by its last growth after a round without any

At the end of a round a class that has been slower than the next, less important one moves the running frequencies:
the next one loses a slot, or if it has a single one, the slower class gets another. They do not move back.

Each lane takes its own slots of the one program.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.classes.inversion import CAP, fix_ties, nudge
from headgate.policy.classes.measures import inverted
from headgate.policy.classes.programs import frequencies, program
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.classes.window import Level, Windows
from headgate.policy.protocol import Decision, Run, View, Why, Work

FORMULA = "the class's slot; inside, next in turn"


@dataclass
class _Slot:
    """A slot that a lane has begun: whose it is, since when, and the unit whose queue did not fit."""

    cls: int
    since: float
    cut: int | None = None
    fresh: bool = True


@dataclass
class Abd(ByClass):
    """A program over classes in slots of a length that begins at `q0` and stays within `q_max` seconds.

    `keep_order` keeps a class's frequency above the next one's. Inversion is looked for at a `level` of the response
    times, once the classes have so many `samples`.
    """

    q0: float = 50e-6
    q_max: float = math.inf
    keep_order: bool = False
    level: Level = "mean"
    samples: int = 1
    variant: str = "ruler"
    q: float = field(default=0.0, init=False)
    f: list[int] = field(default_factory=list, init=False)
    program: list[int] = field(default_factory=list, init=False)
    rounds: int = field(default=0, init=False)
    updates: int = field(default=0, init=False)
    updated: float = field(default=0.0, init=False)
    _windows: Windows = field(default_factory=Windows, init=False)
    _cursors: dict[str, int] = field(default_factory=dict, init=False)
    _slots: dict[int, _Slot] = field(default_factory=dict, init=False)
    _at: int = field(default=0, init=False)
    _grown: bool = field(default=False, init=False)
    _growth: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.q0 <= self.q_max:
            got = f"q0 {self.q0} and q_max {self.q_max}"
            raise InputError(
                "abd: a slot is longer than 0 s and begins within its bound", got, "Give 0 < q0 <= q_max."
            )
        self.q = self.q0
        self._windows = Windows(self.level, self.samples)
        self._reshared()

    def prepare(self, units: Sequence[Unit]) -> None:
        """Take the units; the turn of each class stays where it is."""
        known = [unit.entry for unit in self.units]
        super().prepare(units)
        if known != [unit.entry for unit in units]:
            self._slots.clear()
        for each, members in zip(self.order, self.members, strict=True):
            self._cursors[each.name] = self._cursors.get(each.name, 0) % max(1, len(members))

    def choose(self, view: View) -> Decision | None:
        """Go on with the lane's slot while something fits, else take the next slot of a class with work."""
        slot = self._slots.pop(view.lane, None)
        if not any(queue.pending for queue in view.queues):
            return None
        slot, looked = slot or self._next(view.now), 1
        while (run := self._within(view, slot)) is None:
            slot, looked = self._next(view.now), looked + 1
        self._slots[view.lane] = slot
        left = self.q - (view.now - slot.since)
        terms = {"class": slot.cls + 1.0, "f": float(self.f[slot.cls]), "slice": self.q, "left": left}
        return Decision((run,), Why(FORMULA, terms), Work(reads=looked))

    def responded(self, cls: str, times: ArrayLike) -> None:
        """Take response times, for the end of the round."""
        self._windows.add(cls, times)

    def _reshared(self) -> None:
        self.f = frequencies(self.weights)
        self._slots.clear()
        self._rebuild()

    def _rebuild(self) -> None:
        self.program, self._at = program(self.f, self.variant), 0
        self._windows.reset()

    def _next(self, now: float) -> _Slot:
        if self._at == len(self.program):
            self._end_round(now)
        cls = self.program[self._at]
        self._at += 1
        return _Slot(cls, now)

    def _within(self, view: View, slot: _Slot) -> Run | None:
        """What runs next in a slot; None if the slot is over."""
        left = self.q - (view.now - slot.since)
        if slot.cut is not None:
            if view.queues[slot.cut].pending:
                self._grow(left, self._need(view, slot.cut))
            return None
        name, members = self.order[slot.cls].name, self.members[slot.cls]
        for _ in members:
            i = members[self._cursors[name]]
            if view.queues[i].pending:
                return self._fit(view, slot, i, left)
            self._advance(slot.cls)
        return None

    def _fit(self, view: View, slot: _Slot, i: int, left: float) -> Run | None:
        unit = self.units[i]
        m = self.train.length(unit, view.queues[i].pending)
        if unit.cost.of(m) <= left:
            self._advance(slot.cls)
            slot.fresh = False
            return Run(i, m)
        n = math.floor((left - unit.cost.a) / unit.cost.b) if unit.cost.b else 0
        if n < 1 and slot.fresh and self.q >= self.q_max:
            # A slot that may not grow would never hold the unit.
            n = 1
        if n < 1:
            self._grow(left, self._need(view, i))
            return None
        slot.cut, slot.fresh = i, False
        return Run(i, min(n, m))

    def _need(self, view: View, i: int) -> float:
        return self.units[i].cost.of(self.train.length(self.units[i], view.queues[i].pending))

    def _advance(self, cls: int) -> None:
        name = self.order[cls].name
        self._cursors[name] = (self._cursors[name] + 1) % len(self.members[cls])

    def _grow(self, left: float, need: float) -> None:
        growth = min(max(0.0, -left) + need, self.q_max - self.q)
        if growth > 0:
            self.q += growth
            self._grown, self._growth = True, growth

    def _end_round(self, now: float) -> None:
        self._at, self.rounds = 0, self.rounds + 1
        if not self._grown and self.q > self._growth:
            self.q -= self._growth
        self._grown = False
        victim = inverted(self.P, self._windows.at_level([each.name for each in self.order]))
        if not any(victim):
            return
        f = nudge(self.f, victim)
        f = fix_ties(f, self.P) if self.keep_order else f
        if max(f) <= CAP * max(frequencies(self.weights)):
            self.f, self.updates, self.updated = f, self.updates + 1, now
            self._rebuild()

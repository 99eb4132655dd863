"""What a decision is shown: the queues of the units that a kind of lane runs, kept from one decision to the next.

    noted(unit)      a run of it has begun or ended
    anything()       something has changed and nobody says what: for any thread
    look(...)        the queues as they are now, who runs, and which queues are others than at the look before

A unit is asked again what it waits for when it may have another answer: there is a new train in a stream that it
reads, a run of it has begun or ended, or a moment has come that it had named by its `until`. Whatever else happens,
to one unit or to the plan, has all of them asked. So they are every so often in any case: whoever was forgotten would
have to wait for that, and not for ever.

    plan.units ──▶ waiting, until ──▶ asked ──▶ Ripening ──▶ shown ──▶ View
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from headgate.engine.evaluation.protocol import NOTHING, Waiting
from headgate.engine.live_plan import LivePlan
from headgate.engine.log.stored import StoredTrain
from headgate.engine.log.stream import StreamLog
from headgate.engine.units import LiveUnit
from headgate.model.unit import Unit
from headgate.policy.worthwhile import OVERRIPE, Ripening

EVERY = 0.2
"""Seconds after which all are asked in any case."""


class Shown(NamedTuple):
    """What a policy is shown. The queues are good until the next look."""

    queues: Sequence[Waiting]
    running: frozenset[int]
    changed: Collection[int] | None


class Looking:
    """The looks of all kinds of lanes. All but `anything` is for the scheduler's thread.

    Runs are put off for the part `overripe` of the time until results are due, at most.
    """

    def __init__(self, plan: LivePlan, every: float = EVERY) -> None:
        self._plan, self._every = plan, every
        self.overripe = OVERRIPE
        self._kept: dict[str, Kept] = {}
        # Another object says that there is news: threads that bring some at the same time cannot undo each other's.
        self._news = object()

    def anything(self) -> None:
        """Ask all units at the next look."""
        self._news = object()

    def noted(self, unit: LiveUnit) -> None:
        """Ask a unit at the next look, since a run of it has begun or ended."""
        for kept in self._kept.values():
            kept.noted(unit)

    def look(self, kind: str, taken: Collection[bool], now: float) -> Shown:
        """What lanes of a kind are shown, which take units by whether they are the kernel's."""
        plan, kept = self._plan, self._kept.get(kind)
        fresh = kept is None or kept.units is not plan.units or kept.taken != taken
        if kept is None or fresh:
            kept = self._kept[kind] = Kept(plan.units, taken)
        asked = kept.ask(now, self._news, self._every)
        if kept.measure(plan.models, plan.due, self.overripe):
            asked = range(len(plan.units))
        changed = kept.show(asked, now)
        return Shown(kept.shown, frozenset(kept.running), None if fresh else changed)

    def next(self, kind: str) -> float:
        """The first moment at which a unit may have another answer, as of the last look of lanes of a kind."""
        kept = self._kept.get(kind)
        # Of a plan that is no more, nobody would look at what was named for it.
        if kept is None or kept.units is not self._plan.units or not kept.moments:
            return math.inf
        return kept.moments[0][0]


@dataclass(slots=True)
class _Followed:
    """A stream, the units that read it, and its trains when it was looked at last."""

    log: StreamLog
    readers: list[int] = field(default_factory=list)
    trains: Sequence[StoredTrain] | None = None
    last: StoredTrain | None = None

    @property
    def moved(self) -> bool:
        """Whether trains have come or gone since then."""
        # First what stands still: what comes in between is seen once more, and not too late.
        trains, last = self.log.trains, self.log.last
        if trains is self.trains and last is self.last:
            return False
        self.trains, self.last = trains, last
        return True


class Kept:
    """What units of a plan have answered, of those that a kind of lane takes; the others wait for nothing."""

    def __init__(self, units: Sequence[LiveUnit], taken: Collection[bool]) -> None:
        self.units, self.taken = units, taken
        self.asked, self.shown = [NOTHING] * len(units), [NOTHING] * len(units)
        self.running: set[int] = set()
        self.moments: list[tuple[float, int]] = []
        """When whom to ask again, as a heap; what does not stand in `_until` any more is out of date."""
        self._until = [math.inf] * len(units)
        self._models: Sequence[Unit] = ()
        self._ripening = Ripening((), ())
        self._green = np.zeros(len(units), np.bool_)
        self._place = {id(unit): i for i, unit in enumerate(units)}
        self._mine = [i for i, unit in enumerate(units) if unit.in_kernel in taken]
        self._noted: set[int] = set()
        self._always: set[int] = set()
        """Those who say nothing about how long their answer is good."""
        streams: dict[StreamLog, _Followed] = {}
        for i in self._mine:
            for log in units[i].logs:
                streams.setdefault(log, _Followed(log)).readers.append(i)
        self._streams = list(streams.values())
        self._news: object = None
        self._whole = -math.inf

    def noted(self, unit: LiveUnit) -> None:
        """Ask a unit at the next look; nothing if it is new, since a new plan is looked at as a whole."""
        i = self._place.get(id(unit))
        if i is not None:
            self._noted.add(i)

    def ask(self, now: float, news: object, every: float) -> Collection[int]:
        """Ask whoever may have another answer; gives those who have."""
        moved = [stream for stream in self._streams if stream.moved]
        # The clock of a machine may be set back.
        if news is not self._news or not 0.0 <= now - self._whole < every:
            self._news, self._whole = news, now
            self.moments, self._until = [], [math.inf] * len(self.units)
            self._always.clear()
            self.running = {i for i, unit in enumerate(self.units) if unit.busy}
            self._noted.clear()
            return self._ask(self._mine, now)
        due = set(self._always)
        while self.moments and self.moments[0][0] <= now:
            until, i = heappop(self.moments)
            if self._until[i] == until:
                self._until[i] = math.inf
                due.add(i)
        for stream in moved:
            due.update(stream.readers)
        for i in self._noted:
            if self.units[i].busy:
                self.running.add(i)
            else:
                self.running.discard(i)
            if self.units[i].in_kernel in self.taken:
                due.add(i)
        self._noted.clear()
        return self._ask(due, now)

    def _ask(self, some: Iterable[int], now: float) -> Collection[int]:
        units, asked, untils, changed = self.units, self.asked, self._until, []
        for i in some:
            unit = units[i]
            found = unit.waiting(now)
            until = unit.until(found, now)
            if until <= now:
                self._always.add(i)
            else:
                self._always.discard(i)
                if until != untils[i]:
                    untils[i] = until
                    if until < math.inf:
                        heappush(self.moments, (until, i))
            if found is not asked[i]:
                asked[i] = found
                changed.append(i)
        return changed

    def measure(self, models: Sequence[Unit], due: Sequence[float], overripe: float) -> bool:
        """Go by units as measured, and by how long their results may take; whether these are others than before."""
        if models is self._models and overripe == self._ripening.overripe:
            return False
        self._models, self._ripening = models, Ripening([unit.cost for unit in models], due, overripe)
        return True

    def show(self, asked: Collection[int], now: float) -> Collection[int]:
        """Show what has been asked, without what is unripe; gives the units whose queues are others than before."""
        for i in asked:
            self._ripening.put(i, self.asked[i])
        before, green = self._green, self._ripening.green(now)
        self._green = green
        turned = () if green is before else np.flatnonzero(green != before).tolist()
        changed = []
        for i in (*asked, *turned):
            queue = NOTHING if green[i] else self.asked[i]
            if queue is not self.shown[i]:
                self.shown[i] = queue
                changed.append(i)
        return changed

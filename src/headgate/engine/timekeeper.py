"""Deadlines while the engine runs: what comes is watched, planned for, and what is late is counted and explained."""

import logging
import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.control.deadlines.admission import Admission, admit
from headgate.control.deadlines.feedback import Estimate, Feedback, Plan
from headgate.control.deadlines.profiles import create
from headgate.control.deadlines.rescheduling import Admitted, Due, Finished, Trigger
from headgate.control.deadlines.rescheduling import create as trigger
from headgate.control.deadlines.task import LEAST_SELECTIVITY
from headgate.engine.evaluation.closed import Closed
from headgate.engine.evaluation.trial import LEAST_TRIED
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit, Iterating
from headgate.engine.log.manifest import Manifest
from headgate.engine.running import Done
from headgate.errors import InputError
from headgate.model.operator import Cost
from headgate.policy.deadlines import Order
from headgate.record import Iterated, Recorder

_LOOK = 0.1
"""Seconds between two looks at how fast streams move."""
_RECENT = 1.0
"""Rates are those of so many seconds."""
_SILENCE = 0.02
"""Seconds after the end of a window until a stream in which nothing comes is taken to be silent."""
_PIECES = 4
"""A piece is at most such a part of the shortest deadline, or as many times as long as a run over nothing."""
_MOVED = 0.2
"""Estimates that are off by more than this part ask for a new plan."""
_RETRIED = 8
"""One in so many iterations of a suspended query runs."""
_BEYOND, _FAR = 8, 0.5
"""What so many iterations of late took beyond what was expected is planned for; none of them counts with more."""
_USEFUL = 0.02
"""An iteration that keeps less of its window than this says nothing."""
_LIVE: Mapping[str, Mapping[str, Any]] = {"lrm+": {"margin": 0.05}, "ledf+": {"margin": 0.05}}
"""Options of profiles here: runs on Spark vary."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How queries with a deadline are served: a profile by name with its options, and their part of a lane's time.

    What is left of that lane is for the other queries; as long as there are none, deadlines have all of it.
    """

    profile: str = "lrm+"
    share: float = 0.9
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            rule = "the share of queries with a deadline is a part of the time"
            raise InputError(rule, self.share, "Give a number above 0 and up to 1, such as 0.9.")
        create(self.profile, **self.options)


def served(given: Deadlines | str | None) -> Deadlines:
    """How queries with a deadline are served, by a profile's name or as it is said."""
    if given is None:
        return Deadlines()
    return Deadlines(given) if isinstance(given, str) else given


@dataclass
class Tally:
    """What has become of the iterations of a query."""

    iterations: int = 0
    missed: int = 0
    useful: int = 0
    tuples: int = 0
    kept: int = 0
    worst: float = 0.0
    reason: str | None = None
    finished: deque[float] = field(default_factory=lambda: deque(maxlen=200))

    def take(self, found: Iterated) -> None:
        """Count an iteration."""
        self.iterations += 1
        self.tuples += found.tuples
        self.kept += round(found.kept * found.tuples)
        self.finished.append(found.finish - found.release)
        self.worst = max(self.worst, found.finish - found.release)
        self.useful += not found.missed and found.kept >= _USEFUL
        if found.missed:
            self.missed += 1
            self.reason = found.why


class Timekeeper:
    """Keeps the deadlines of an engine's queries. All but `keep` is for the scheduler's thread."""

    def __init__(
        self, wanted: Deadlines, streams: Mapping[str, LiveStream], manifest: Manifest, recorder: Recorder
    ) -> None:
        self.wanted = wanted
        self.profile = create(wanted.profile, **{**_LIVE.get(wanted.profile, {}), **wanted.options})
        self.next = 0.0
        self.tallies: dict[str, Tally] = {}
        self.plan: Plan | None = None
        self._streams, self._manifest, self._recorder = streams, manifest, recorder
        self._feedback = Feedback(self.profile)
        self._trigger: Trigger | None = None
        self._units: Sequence[DeadlineUnit] = ()
        self._heads: dict[str, deque[tuple[float, int]]] = {}
        self._beyond: dict[str, deque[float]] = {}
        self._planned: dict[str, Estimate] = {}
        self._emptied: dict[str, int] = {}
        self._pressing = False
        self._alone = True

    @property
    def order(self) -> Order:
        """Who goes first."""
        return self.profile.order

    # Before an iteration

    def keep(self, unit: DeadlineUnit, closed: Closed, counts: Mapping[str, int]) -> float:
        """The share of a window that is read. What was decided once holds, also after a crash."""
        known = self._manifest.iteration(unit.name)
        if known and known[0] == closed.end:
            return known[1]
        kept = self._kept(unit, counts)
        self._manifest.open_iteration(unit.name, closed.end, kept)
        return kept

    def _kept(self, unit: DeadlineUnit, counts: Mapping[str, int]) -> float:
        unit.counts = counts
        if self.profile.reduction is None or (not unit.known and sum(counts.values()) < LEAST_TRIED):
            # What comes before there is enough for a trial is one.
            return 1.0
        now = self.estimate(unit, counts)
        plan, planned = self.plan, self._planned.get(unit.name)
        fits = self.profile.hold != "clampx" or planned is None or not _apart(planned.cost, now.cost)
        if plan is None or planned is None or planned.tuples <= 0 or not fits:
            # Nobody has planned for it yet, or for another one.
            plan = Feedback(self.profile, self._feedback.blocked).reschedule(0.0, {**self._planned, unit.name: now})
            self._pressing = True
        if unit.name in plan.suspended:
            # What never runs never shows that it has become cheaper.
            self._emptied[unit.name] = self._emptied.get(unit.name, 0) + 1
            return self.profile.floor if self._emptied[unit.name] % _RETRIED == 0 else 0.0
        part = self._part(unit)
        allowance = plan.allowances[unit.name]
        found = allowance.keep(now.tuples, now.cost, lambda budget: unit.affordable(counts, budget * part))
        return min(1.0, max(found, self.profile.floor))

    def estimate(self, unit: DeadlineUnit, counts: Mapping[str, float] | None = None) -> Estimate:
        """What an iteration of a unit takes over so many tuples; without them, over those that are expected."""
        deadline = unit.deadline
        if counts is None:
            counts = self._expected(unit)
        tuples, work, least = sum(counts.values()), unit.work(counts), unit.work(counts, 0.0).seconds
        part = self._part(unit)
        return Estimate(
            deadline.stride,
            deadline.due,
            deadline.weight,
            tuples=tuples,
            cost=work.seconds / part,
            fixed=least / part,
            selectivity=unit.selectivity.of(counts),
            piece=work.longest / part,
            per_tuple=(work.seconds - least) / (part * tuples) if tuples else unit.cost.cost.b / part,
        )

    def _expected(self, unit: DeadlineUnit) -> Mapping[str, float]:
        """The tuples of the next window: at the rates of late; over event time, as many as in the last."""
        if unit.evaluation.plan.window.time == "event":
            return unit.counts
        return {name: self._rate(name) * unit.deadline.window for name in unit.evaluation.streams}

    def planned(self, unit: DeadlineUnit) -> float | None:
        """The share of a window that the plan has a query keep."""
        plan = self.plan
        if plan is None:
            return None
        allowance = plan.allowances.get(unit.name)
        return allowance.fraction if allowance else 0.0

    def admit(self, unit: DeadlineUnit) -> Admission:
        """Whether one more query fits beside those that there are, by what comes now."""
        running = {each.name: self.estimate(each) for each in list(self._units)}
        return admit(running, unit.name, self.estimate(unit), self.profile, blocked=self._feedback.blocked)

    def like(self, streams: Collection[str]) -> Cost:
        """What queries over some of these streams cost that run already, or others if there are none."""
        known = [unit for unit in list(self._units) if unit.known]
        near = [unit for unit in known if not set(streams).isdisjoint(unit.evaluation.streams)] or known
        if not near:
            return Cost()
        return Cost(float(np.median([u.cost.cost.a for u in near])), float(np.median([u.each for u in near])))

    @property
    def settled(self) -> float:
        """Seconds until every iteration that is released now is due."""
        return max((unit.deadline.due for unit in list(self._units)), default=0.0)

    @property
    def share(self) -> float:
        """The part of the lane's time that deadlines have: all of it as long as nobody else runs there."""
        return 1.0 if self._alone else self.wanted.share

    def _part(self, unit: DeadlineUnit) -> float:
        """The part of a time that is planned for an iteration in which it is expected to run."""
        known = self._beyond.get(unit.name)
        return self.share / (1 + float(np.mean(list(known)))) if known else self.share

    # As time passes

    def look(self, units: Sequence[DeadlineUnit], now: float, blocked: float | None = None) -> None:
        """See how fast streams move, close what time has closed, and plan anew if it is time to.

        On their lane something else may run for as long as `blocked` when an iteration is released; None if there is
        nothing else.
        """
        self._units, self._alone, self._feedback.blocked = units, blocked is None, blocked or 0.0
        if not units:
            self.next = now + _LOOK
            return
        self._watch(now)
        releases = [self._released(unit, now) for unit in units]
        if self._due(now):
            self._reschedule(now)
        self.next = min(now + _LOOK, *releases)

    def _watch(self, now: float) -> None:
        for name in {name for unit in self._units for name in unit.evaluation.streams}:
            known = self._heads.setdefault(name, deque())
            known.append((now, self._streams[name].log.head))
            while len(known) > 2 and known[1][0] <= now - _RECENT:
                known.popleft()

    def _rate(self, stream: str) -> float:
        known = self._heads.get(stream)
        if not known or known[-1][0] <= known[0][0]:
            return 0.0
        (began, low), (until, high) = known[0], known[-1]
        return (high - low) / (until - began)

    def _released(self, unit: DeadlineUnit, now: float) -> float:
        """Let the clock close the window that has ended where streams are silent; when the next one ends."""
        window = unit.evaluation.plan.window
        if window.time != "arrival":
            return math.inf
        ended = (round(now * 1e6) - window.size) // window.slide * window.slide + window.size
        if now >= ended / 1e6 + _SILENCE:
            for name in unit.evaluation.streams:
                if self._streams[name].log.watermark("arrival") < ended:
                    self._streams[name].pass_time([window])
        return (ended + window.slide) / 1e6 + _SILENCE

    def _due(self, now: float) -> bool:
        periods = [unit.deadline.stride for unit in self._units]
        if self._trigger is None:
            self._trigger = trigger(self.profile.trigger, periods, self.profile.threshold)
        changed = {unit.name for unit in self._units} != set(self._planned)
        if changed:
            self._trigger.on(Admitted(periods), now)
        if self._pressing or changed or now >= self._trigger.next(now):
            return True
        return self.profile.hold == "clampx" and self._moved()

    def _moved(self) -> bool:
        """Whether a query asks for more or less than was planned, or yields another part of what it reads."""
        pairs = [(self._planned[unit.name], self.estimate(unit)) for unit in self._units]
        figures = [pair for old, new in pairs for pair in ((old.cost, new.cost), (_worth(old), _worth(new)))]
        return any(_apart(old, new) for old, new in figures)

    def _reschedule(self, now: float) -> None:
        shortest = min(unit.deadline.due for unit in self._units)
        for unit in self._units:
            slice_ = max(shortest / _PIECES, _PIECES * unit.cost.cost.a) if self.profile.preemptive else math.inf
            unit.slice, unit.aborts = slice_, self.profile.abort
        self._planned = {unit.name: self.estimate(unit) for unit in self._units}
        for unit in self._units:
            planned = self._planned[unit.name]
            unit.planned = planned.cost * self.share, planned.tuples
        self.plan = self._feedback.reschedule(now, self._planned)
        self._pressing = False
        if self._trigger:
            self._trigger.fired(now)

    # After a run

    def ran(self, unit: DeadlineUnit, done: Done) -> None:
        """Take note of a run, and of the iteration that it ends."""
        for other in self._units:
            if other is not unit and other.current and math.isfinite(other.current.begin):
                other.current.interrupted += 1
        expected = unit.cost.cost
        found = unit.ran(done)
        if found is None:
            return
        entry = self._iterated(unit, found, done.finished)
        opened = found.opened
        model = entry.pieces * expected.a + expected.b * unit.weight(opened.taken, opened.beside)
        if opened.taken or opened.beside:
            beyond = found.worked / model - 1 if model > 0 else 0.0
            self._beyond.setdefault(unit.name, deque(maxlen=_BEYOND)).append(min(_FAR, max(0.0, beyond)))
            unit.selectivity.observe(found.results, opened.counts, entry.kept)
        self.tallies.setdefault(unit.name, Tally()).take(entry)
        self._recorder.append(entry)
        if entry.missed:
            _log.info("query %s: %s", unit.name, entry.why)
        self._tell(unit, entry, opened.counts, done.finished)

    def _tell(self, unit: DeadlineUnit, entry: Iterated, counts: Mapping[str, int], now: float) -> None:
        if self._trigger is None:
            return
        whole = unit.deadline.weight * unit.selectivity.of(counts) * entry.tuples
        lost = whole if entry.missed else whole * (1 - entry.kept)
        told = [self._trigger.on(Due(unit.name, whole, lost), now), self._trigger.on(Finished(unit.name), now)]
        self._pressing = self._pressing or any(told) or (entry.missed and self.profile.hold == "clampx")

    def _iterated(self, unit: DeadlineUnit, found: Iterating, finished: float) -> Iterated:
        opened = found.opened
        # What keeps nothing has nothing to wait for.
        finish = finished if opened.kept > 0 or found.given_up else min(finished, found.release)
        missed = finish > found.due
        return Iterated(
            query=unit.name,
            end=opened.closed.end / 1e6,
            release=found.release,
            begin=min(found.begin, finish),
            finish=finish,
            due=found.due,
            tuples=opened.tuples,
            kept=opened.kept,
            planned=found.planned,
            worked=found.worked,
            pieces=opened.pieces,
            interrupted=found.interrupted,
            plan=self.plan.id if self.plan else 0,
            missed=missed,
            why=_reason(found, finish) if missed else None,
        )


def _apart(old: float, new: float) -> bool:
    return abs(new - old) > _MOVED * max(old, new)


def _worth(estimate: Estimate) -> float:
    """The selectivity as far as it counts."""
    return max(LEAST_SELECTIVITY, estimate.selectivity)


def _reason(found: Iterating, finish: float) -> str:
    """Why an iteration was late, by where its time went."""
    late = finish - found.due
    waited, elsewhere = found.begin - found.release, finish - found.begin - found.worked
    parts = {
        f"it waited {waited:.2f} s before it began": waited,
        f"others ran for {elsewhere:.2f} s in between": elsewhere,
        f"its own work took {found.worked:.2f} s": found.worked,
    }
    most = max(parts, key=lambda part: parts[part])
    said = f"late by {late:.2f} s{' and given up' if found.given_up else ''}: {most}"
    if found.worked > 1.2 * found.planned:
        said += f", where {found.planned:.2f} s were planned"
    if found.opened.tuples > 1.2 * found.expected:
        said += f"; its window had {found.opened.tuples:,} tuples, {found.expected:,.0f} were planned"
    return said

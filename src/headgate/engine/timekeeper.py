"""Deadlines while the engine runs: what comes is watched, planned for, and what is late is counted and explained."""

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from headgate.control.deadlines.admission import Admission, admit
from headgate.control.deadlines.feedback import Estimate, Feedback, Plan
from headgate.control.deadlines.rescheduling import Admitted, Due, Finished, Trigger
from headgate.control.deadlines.rescheduling import create as trigger
from headgate.control.deadlines.task import LEAST_SELECTIVITY
from headgate.engine.evaluation.closed import Closed
from headgate.engine.evaluation.trial import LEAST_TRIED
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit, Iterating
from headgate.engine.log.manifest import Manifest
from headgate.engine.running import Done
from headgate.engine.seen import Seen
from headgate.engine.served import Deadlines
from headgate.engine.sparing import budget
from headgate.engine.tally import Tally
from headgate.engine.windows import NEVER
from headgate.policy.deadlines import Order
from headgate.record import Iterated, Recorder

_LOOK = 0.1
"""Seconds between two looks at how fast streams move."""
_SILENCE = 0.02
"""Seconds after the end of a window until a stream in which nothing comes is taken to be silent."""
_NOTED = 0.1
"""Seconds after which the end of a run has been taken note of."""
_PIECES = 4
"""A piece is at most such a part of the shortest deadline, or as many times as long as a run over nothing."""
_MOVED = 0.2
"""Estimates that are off by more than this part ask for a new plan."""
_RETRIED = 8
"""One in so many iterations of a suspended query runs, and the first that it has."""
_PENDING = 60.0
"""Seconds after which who was taken in and has not come does not count any more."""
_RESTS = 10
"""Between two plans for the same queries there is so many times as long as the last one took to make."""
_LEFT_OUT = (
    "even if every query kept {:.0%} of its tuples, all of them would be too much, and it is one that weighs least"
)
"""Why a query is suspended."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Standing:
    """The plan in force, and what it was made for. Both are taken at once: lanes look at it while another is made."""

    plan: Plan
    planned: Mapping[str, Estimate]


class Timekeeper:
    """Keeps the deadlines of an engine's queries.

    Lanes ask what they `keep`, and whoever registers queries asks to `admit` them; all else is for the scheduler's
    thread. Another way to serve them goes on from what was seen `before`, but a plan holds only for its own way.
    """

    def __init__(
        self,
        wanted: Deadlines,
        streams: Mapping[str, LiveStream],
        manifest: Manifest,
        recorder: Recorder,
        before: "Timekeeper | None" = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.wanted = wanted
        self.profile = wanted.made
        self.next = 0.0
        self._streams, self._manifest, self._recorder, self._clock = streams, manifest, recorder, clock
        self._feedback = Feedback(self.profile)
        # A lane plans anew where it finds a window that nobody has planned for.
        self._planning = threading.Lock()
        self._standing: _Standing | None = None
        self._trigger: Trigger | None = None
        self._pressing = False
        self._changed = True
        self._rests = 0.0
        self._said: set[str] = set()
        self._back: dict[str, float] = {}
        """Since when queries are not suspended any more."""
        self._admitting = threading.Lock()
        self.seen: Seen = before.seen if before else Seen()
        self.tallies = self.seen.tallies

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        standing = self._standing
        return standing.plan if standing else None

    def suspended(self) -> Sequence[str]:
        """Who is left out by the plan in force."""
        plan = self.plan
        return plan.suspended if plan else ()

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
        # What was due while it was suspended is lost, and to read it now would have the next ones wait.
        lost = closed.at + unit.deadline.due <= self._back.get(unit.name, -math.inf)
        kept = None if lost else self._kept(unit, counts)
        if kept is None:
            self.seen.left_out[unit.name] = closed.end
            kept = 0.0
        self._manifest.open_iteration(unit.name, closed.end, kept)
        return kept

    def _kept(self, unit: DeadlineUnit, counts: Mapping[str, int]) -> float | None:
        """The same; None if the query is suspended and the window is left out."""
        unit.counts = counts
        if self.profile.reduction is None or (not unit.known and sum(counts.values()) < LEAST_TRIED):
            # What comes before there is enough for a trial is one.
            expected = self.estimate(unit)
            unit.planned = expected.cost * self.share, expected.tuples
            return 1.0
        now = self.estimate(unit, counts)
        standing = self._standing
        if standing is None or self._unplanned(standing, unit, now):
            # What the others have to read now is in their estimates: a plan in which this one is alone would let each
            # of them have all the time.
            standing = self._planned_for({**self._estimates(), unit.name: now})
            self._pressing = True
        plan = standing.plan
        if unit.name in plan.suspended:
            return self._retried(unit, counts)
        part = self.seen.part(unit, self.share)
        allowance = plan.allowances[unit.name]
        if self.profile.reclaims:
            given = budget(unit, plan, standing.planned, self.profile, self.seen, self.share, self._clock())
            # With more than was planned, pieces are not to become longer than all before it can wait for.
            piece = (
                max(plan.longest[unit.name], min(now.piece, allowance.budget))
                if given > allowance.budget
                else math.inf
            )
            found = unit.affordable(counts, given * part, piece * part)
        else:
            found = allowance.keep(now.tuples, now.cost, lambda budget: unit.affordable(counts, budget * part))
        return min(1.0, max(found, self.profile.floor))

    def _retried(self, unit: DeadlineUnit, counts: Mapping[str, int]) -> float | None:
        """The share of a window of a suspended query: what never runs never shows that it has become cheaper, or that
        its trial took too long. None if the window is left out.
        """
        self.seen.emptied[unit.name] = self.seen.emptied.get(unit.name, 0) + 1
        if unit.measured and self.seen.emptied[unit.name] % _RETRIED:
            return None
        # Read at its least, all runs are of one length. On a machine that has become slower what they take in any
        # case would be taken for what a tuple costs, and a longer window for far more than it is.
        unit.unsure = True
        # The least of a short window is less than a tuple, and would show nothing.
        return min(1.0, max(self.profile.floor, 1 / max(1, *counts.values())))

    def _unplanned(self, standing: _Standing, unit: DeadlineUnit, now: Estimate) -> bool:
        """Whether nobody has planned for a query yet, or for a window of far less."""
        planned = standing.planned.get(unit.name)
        if planned is None:
            return True
        if self._clock() < self._rests:
            # Its budget by the last plan may be small, but with it nobody is late.
            return False
        more = now.cost > planned.cost and _apart(planned.cost, now.cost)
        return planned.tuples <= 0 or (self.profile.hold == "clampx" and more)

    def planned(self, unit: DeadlineUnit) -> float | None:
        """The share of a window that the plan has a query keep."""
        plan = self.plan
        if plan is None:
            return None
        allowance = plan.allowances.get(unit.name)
        return allowance.fraction if allowance else 0.0

    def admit(self, units: Sequence[DeadlineUnit], more: Callable[[], bool] = lambda: True) -> tuple[str, Admission]:
        """Whether more queries fit beside those that there are, by what comes now: all of them, or none.

        Gives the answer, and to which of them it is. Whoever is taken in counts from now on, and is planned for
        before there is an answer: what others begin from then on leaves room for it. `more` says whether there is
        time to look for offers.
        """
        with self._admitting:
            asked = {unit.name: self.estimate(unit) for unit in units}
            found = self._answered(list(asked)[-1:], asked, more)
            if found[1].kind == "refuse" and len(asked) > 1:
                # Whoever is the first that does not fit.
                found = self._answered(list(asked), asked, more)
            if found[1].kind != "refuse":
                until = self._clock() + _PENDING
                self.seen.pending |= {name: (each, until) for name, each in asked.items()}
                self._planned_for(self._estimates())
        return found

    def _answered(
        self, names: Sequence[str], asked: Mapping[str, Estimate], more: Callable[[], bool]
    ) -> tuple[str, Admission]:
        """The answer to the first of these that does not fit, or to the last: each beside those before it."""
        out = self.suspended()
        # Who is suspended takes no time from anybody.
        beside = {name: each for name, each in self._estimates().items() if name not in out and name not in asked}
        beside |= {name: each for name, each in asked.items() if name not in names}
        for name in names:
            found = admit(beside, name, asked[name], self.profile, self._feedback.blocked, more)
            if found.kind == "refuse":
                break
            beside[name] = asked[name]
        return name, found

    def forget(self, names: Collection[str]) -> None:
        """Count no more who was taken in and does not come."""
        for name in names:
            if self.seen.pending.pop(name, None):
                self._pressing = True

    def _estimates(self) -> dict[str, Estimate]:
        """What all ask for that there are, or that were taken in and are about to come."""
        coming = {name: each for name, (each, _) in list(self.seen.pending.items())}
        return coming | {unit.name: self.estimate(unit) for unit in list(self.seen.units)}

    @property
    def share(self) -> float:
        """The part of the lane's time that deadlines have: all of it as long as nobody else runs there."""
        return 1.0 if self.seen.alone else self.wanted.share

    def estimate(self, unit: DeadlineUnit, counts: Mapping[str, float] | None = None) -> Estimate:
        """What an iteration of a unit takes over so many tuples; without them, over those that are expected."""
        return self.seen.estimate(unit, self.share, counts)

    # As time passes

    def look(self, units: Sequence[DeadlineUnit], now: float, blocked: float | None = None) -> None:
        """See how fast streams move, close what time has closed, and plan anew if it is time to.

        On their lane something else may run for as long as `blocked` when an iteration is released; None if there is
        nothing else.
        """
        there, before = {unit.name for unit in units}, {unit.name for unit in self.seen.units}
        self._changed = self._changed or there != before
        for name in before - there:
            # Another one of that name begins anew.
            self.tallies[name].open.clear()
        self.seen.units, self.seen.alone, self._feedback.blocked = units, blocked is None, blocked or 0.0
        self.forget([name for name, (_, until) in list(self.seen.pending.items()) if name in there or now > until])
        self.seen.watch(self._streams, now)
        if not units:
            self.next = now + _LOOK
            return
        releases = [self._released(unit, now) for unit in units]
        self.overdue(now - _NOTED)
        if self._due(now):
            self._reschedule(now)
        self.next = min(now + _LOOK, *releases)

    def overdue(self, now: float) -> None:
        """Count what should be done by now and is not: who never runs is late as well."""
        for unit in self.seen.units:
            tally = self.tallies.setdefault(unit.name, Tally())
            for end, why in unit.overdue(now, max(tally.open, default=NEVER)):
                tally.overdue(end, why)

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
        periods = [unit.deadline.stride for unit in self.seen.units]
        if self._trigger is None:
            self._trigger = trigger(self.profile.trigger, periods, self.profile.threshold)
        if self._changed:
            self._trigger.on(Admitted(periods), now)
            return True
        if now < self._rests:
            return False
        if self._pressing or now >= self._trigger.next(now):
            return True
        return self.profile.hold == "clampx" and self._standing is not None and self._moved(self._standing.planned)

    def _moved(self, planned: Mapping[str, Estimate]) -> bool:
        """Whether a query asks for more or less than was planned, or yields another part of what it reads."""
        pairs = [(planned[unit.name], self.estimate(unit)) for unit in self.seen.units if unit.name in planned]
        figures = [pair for old, new in pairs for pair in ((old.cost, new.cost), (_worth(old), _worth(new)))]
        return any(_apart(old, new) for old, new in figures)

    def _reschedule(self, now: float) -> None:
        shortest = min(unit.deadline.due for unit in self.seen.units)
        for unit in self.seen.units:
            slice_ = max(shortest / _PIECES, _PIECES * unit.cost.cost.a) if self.profile.preemptive else math.inf
            unit.slice, unit.aborts = slice_, self.profile.abort
        self._pressing = False
        self._planned_for(self._estimates())
        self._changed = False
        if self._trigger:
            self._trigger.fired(now)

    def _planned_for(self, estimates: Mapping[str, Estimate]) -> _Standing:
        """Plan anew, for all from now on."""
        with self._planning:
            began = self._clock()
            found = _Standing(self._feedback.reschedule(began, estimates), estimates)
            self._rests = self._clock() + _RESTS * (self._clock() - began)
            for unit in self.seen.units:
                if unit.name in estimates:
                    planned = estimates[unit.name]
                    unit.planned = planned.cost * self.share, planned.tuples
            before, self._standing = self._standing, found
        load = sum(each.cost / each.period for each in estimates.values()) * self.share
        self._say(found.plan, before.plan if before else None, load)
        return found

    def _say(self, plan: Plan, before: Plan | None, load: float) -> None:
        """Warn of what does not fit: once for the same queries, and whenever one is suspended or is so no more."""
        were = before.suspended if before else ()
        for name in plan.suspended:
            if name not in were:
                _log.warning("query %s is suspended: %s", name, _LEFT_OUT.format(self.profile.floor))
        for name in were:
            if name in plan.allowances:
                self._back[name] = plan.since
                _log.warning("query %s is suspended no more", name)
        if not plan.verdict.ok and self._said != set(plan.order):
            self._said = set(plan.order)
            what = "tuples are shed" if self.profile.reduction else "deadlines will be missed"
            said = f"the {len(plan.order)} queries with a deadline do not fit as they are"
            blocked = self._feedback.blocked
            behind = f" behind runs of others of up to {blocked:.2g} s" if blocked else ""
            _log.warning("%s: they ask for %.0f%% of a lane's time%s, and %s", said, 100 * load, behind, what)

    # After a run

    def ran(self, unit: DeadlineUnit, done: Done) -> None:
        """Take note of a run, and of the iteration that it ends."""
        for other in self.seen.units:
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
            self.seen.took(unit, beyond)
            unit.selectivity.observe(found.results, opened.counts, entry.kept)
        self.tallies.setdefault(unit.name, Tally()).take(entry, opened.closed.end)
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
        late = entry.missed and entry.finish > entry.due
        self._pressing = self._pressing or any(told) or (late and self.profile.hold == "clampx")

    def _iterated(self, unit: DeadlineUnit, found: Iterating, finished: float) -> Iterated:
        opened = found.opened
        # What keeps nothing has nothing to wait for.
        finish = finished if opened.kept > 0 or found.given_up else min(finished, found.release)
        left_out = self.seen.left_out.get(unit.name) == opened.closed.end
        late = found.late(finish) if finish > found.due else None
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
            missed=left_out or late is not None,
            why=f"left out: {_LEFT_OUT.format(self.profile.floor)}" if left_out else late,
        )


def _apart(old: float, new: float) -> bool:
    return abs(new - old) > _MOVED * max(old, new)


def _worth(estimate: Estimate) -> float:
    """The selectivity as far as it counts."""
    return max(LEAST_SELECTIVITY, estimate.selectivity)

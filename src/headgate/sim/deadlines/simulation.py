"""The run itself: windows fill, iterations are released, the processor works them off, plans say what they read.

Everything that falls on one instant happens in this order: what runs is finished; what is due and unfinished is late;
queries come and go; a plan is made; windows that end are released, already by that plan; the processor takes up the
first of what is ready. An iteration that keeps nothing is done at its release and never waits for the processor.
"""

import math
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush

from headgate.control.deadlines import rescheduling
from headgate.control.deadlines.admission import Admission, admit
from headgate.control.deadlines.feedback import Estimate, Feedback, Plan
from headgate.control.deadlines.keeping import kept_count
from headgate.control.deadlines.measures import Iterated
from headgate.control.deadlines.rescheduling import Admitted, Due, Event, Finished, Removed
from headgate.control.deadlines.spare import Claim, affordable
from headgate.model.costs import Window
from headgate.sim.deadlines.monitor import Monitor, Snapshot
from headgate.sim.deadlines.processor import EPS, Job, Key, Processor
from headgate.sim.deadlines.setup import Report, Setup
from headgate.sim.deadlines.workload import Query


@dataclass(slots=True)
class _Open:
    """An iteration from its release on."""

    query: Query
    index: int
    job: Job
    window: Window
    left: Window = field(default_factory=dict)
    modelled: float = 0.0
    remaining: float = 0.0
    begun: bool = False

    def thin(self, k: float) -> None:
        """Keep such a fraction of the window; only before it begins."""
        query, window = self.query, self.window
        self.left = window if k >= 1 else {s: float(kept_count(k, int(n))) for s, n in window.items()}
        self.modelled = query.tree.thinned(window, self.left)
        drift = query.drift.at(self.job.release) if query.drift else 1.0
        self.job.cost = self.job.left = self.modelled * drift

    def record(self) -> Iterated:
        query, job, tree = self.query, self.job, self.query.tree
        tuples, kept = tree.sources(self.window), tree.sources(self.left)
        real = query.nominal is None
        return Iterated(
            query=query.name,
            index=self.index,
            release=job.release,
            due=job.due,
            tuples=tuples,
            kept=kept,
            cost=job.cost,
            begin=math.inf if job.begin is None else job.begin,
            finish=math.inf if job.finish is None else job.finish,
            remaining=self.remaining,
            weight=query.deadline.weight,
            selectivity=tree.selectivity(self.window) if query.nominal is None else query.nominal,
            results=tree.outputs(self.window) if real else None,
            given=tree.outputs(self.left) if real else None,
        )


class Simulation:
    """One run of a setup; use `simulate`."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._profile = setup.profile
        self._sheds = setup.profile.reduction is not None
        self._processor = Processor()
        self._feedback = Feedback(setup.profile)
        self._order = {query.name: place for place, query in enumerate(setup.queries)}
        self._present: dict[str, Query] = {q.name: q for q in setup.queries if q.admitted <= EPS}
        self._releases = [(q.first, self._order[q.name], 1, q) for q in self._present.values()]
        heapify(self._releases)
        self._dues: list[tuple[float, int, int, _Open]] = []
        self._changes = self._planned_changes()
        self._open: dict[tuple[int, int], _Open] = {}
        self._all: list[_Open] = []
        self._aborted: set[tuple[str, int]] = set()
        self._answers: dict[str, Admission] = {}
        self._plan: Plan | None = None
        self._planned: dict[str, Estimate] = {}
        self._plans: list[Plan] = []
        self._snapshots: list[Snapshot] = []
        self._asked = False
        longest = max(q.deadline.stride for q in setup.queries)
        self._monitor = Monitor(setup.rates, longest)
        self._trigger = rescheduling.create(setup.profile.trigger, self._periods(), setup.profile.threshold)

    def run(self) -> Report:
        """From the first releases to the horizon."""
        horizon, processor = self._setup.horizon, self._processor
        if self._sheds:
            self._monitor.planned(0.0)
            self._make_plan(0.0)
        now = 0.0
        while True:
            now = self._next(now)
            if now > horizon + EPS:
                break
            self._step(now)
        processor.advance(horizon)
        return Report(
            tuple(each.record() for each in self._all),
            tuple(self._plans),
            tuple(self._snapshots),
            self._answers,
            frozenset(self._aborted),
            horizon,
            len(self._snapshots) * self._setup.overhead,
        )

    def _next(self, now: float) -> float:
        events = [math.inf]
        if self._releases:
            events.append(self._releases[0][0])
        if self._dues:
            events.append(self._dues[0][0])
        if self._changes:
            events.append(self._changes[-1][0])
        if self._sheds:
            events.append(max(now, self._trigger.next(now)))
        event, ends = min(events), self._processor.ends()
        # What ends a rounding error before something else happens does so together with it.
        return ends if ends < event - EPS else event

    def _step(self, now: float) -> None:
        if (done := self._processor.advance(now)) is not None:
            self._finish(done, now)
        while self._dues and self._dues[0][0] <= now + EPS:
            self._fall_due(heappop(self._dues)[-1], now)
        while self._changes and self._changes[-1][0] <= now + EPS:
            self._change(self._changes.pop()[-1], now)
        if self._sheds and (self._asked or self._trigger.next(now) <= now + EPS):
            self._reschedule(now)
        if now < self._setup.horizon - EPS:
            while self._releases and self._releases[0][0] <= now + EPS:
                self._release(now)
        else:
            self._releases.clear()
        self._processor.dispatch()
        if self._profile.reclaims:
            self._reclaim(now)

    def _release(self, now: float) -> None:
        release, order, index, query = heappop(self._releases)
        if query.name not in self._present:
            return
        deadline, tree = query.deadline, query.tree
        start = release - deadline.window
        window: Window = {s: float(self._setup.rates[s].count(start, release)) for s in tree.streams}
        k = self._keep(query, window)
        due = release + deadline.due
        job = Job(self._key(query, order, index, due), release, due, 0.0, self._piece)
        each = _Open(query, index, job, window)
        each.thin(k)
        self._all.append(each)
        heappush(self._dues, (due, order, index, each))
        heappush(self._releases, (query.release(index + 1), order, index + 1, query))
        if self._plan and query.name in self._plan.suspended:
            return
        self._open[order, index] = each
        if k > 0 and any(each.left.values()):
            self._processor.add(job)
        else:
            job.begin, job.finish, job.left = now, now, 0.0
            del self._open[order, index]
            self._tell_finished(query, now)

    def _keep(self, query: Query, window: Window, budget: float | None = None) -> float:
        if self._plan is None or (allowance := self._plan.allowances.get(query.name)) is None:
            return 0.0 if self._plan and query.name in self._plan.suspended else 1.0
        allowance = allowance if budget is None else replace(allowance, budget=budget)
        phi, tree = self._phi(query), query.tree
        return allowance.keep(
            tree.sources(window), phi * tree.cost(window), lambda budget: tree.fraction(window, budget / phi)
        )

    def _reclaim(self, now: float) -> None:
        """The iteration that begins now may have more than its budget, or has to do with less."""
        job, plan = self._processor.current, self._plan
        if job is None or plan is None or (each := self._open[job.key[1], job.key[2]]).begun:
            return
        each.begun = True
        following = {query.name: at for at, _, _, query in self._releases}
        names = [name for name in plan.order if name in plan.allowances and name in following]
        name = each.query.name
        if name not in names:
            return
        allowance, claims = plan.allowances[name], [self._claim(plan, other, following[other]) for other in names]
        earliest = self._profile.order == "edf"
        budget = affordable(now, claims, names.index(name), self._profile.margin, earliest=earliest)
        if self._piece > plan.longest[name]:
            # It is a piece that nobody could wait for.
            budget = min(budget, max(allowance.budget, plan.longest[name]))
        each.thin(self._keep(each.query, each.window, budget))

    def _claim(self, plan: Plan, name: str, following: float) -> Claim:
        query = self._present[name]
        released = [each for each in self._open.values() if each.query is query]
        left = sum(each.job.left for each in released if each.job.left < each.job.cost)
        return replace(
            Claim.of(self._planned[name], plan.allowances[name].budget, self._profile.floor, following),
            waiting=sum(each.job.left >= each.job.cost for each in released),
            left=self._phi(query) * left,
            first=min((each.job.due for each in released), default=None),
        )

    @property
    def _piece(self) -> float:
        return self._setup.piece if self._profile.preemptive else math.inf

    def _key(self, query: Query, order: int, index: int, due: float) -> Key:
        first = {"rate": query.deadline.stride, "deadline": query.deadline.due, "edf": due}[self._profile.order]
        return first, order, index

    def _finish(self, job: Job, now: float) -> None:
        each = self._open.pop((job.key[1], job.key[2]))
        self._monitor.finished(each.query.name, job.cost, each.modelled)
        self._tell_finished(each.query, now)

    def _fall_due(self, each: _Open, now: float) -> None:
        each.remaining = each.job.left
        if each.job.finish is None and self._profile.abort:
            self._give_up(each)
        record = each.record()
        self._monitor.due(record)
        whole, lost = record.weight * record.whole, record.weight * record.lost
        self._hear(Due(record.query, whole, lost), now)

    def _give_up(self, each: _Open) -> None:
        if self._open.pop((each.job.key[1], each.index), None) is not None:
            self._processor.remove(each.job)
            self._aborted.add((each.query.name, each.index))

    def _tell_finished(self, query: Query, now: float) -> None:
        # Who plans at every finish does so once for each, also where several fall on one instant.
        if self._sheds and self._trigger.on(Finished(query.name), now):
            self._reschedule(now)

    def _hear(self, event: Event, now: float) -> None:
        # All that is due, comes or goes at one instant is heard before it is answered.
        if self._sheds and self._trigger.on(event, now):
            self._asked = True

    def _planned_changes(self) -> list[tuple[float, int, Query]]:
        """Queries that come or go, the last one first."""
        come = [(q.admitted, self._order[q.name], q) for q in self._setup.queries if q.name not in self._present]
        go = [(q.removed, self._order[q.name], q) for q in self._setup.queries if q.removed < math.inf]
        return sorted(come + go, key=lambda each: (-each[0], -each[1]))

    def _change(self, query: Query, now: float) -> None:
        if query.name in self._present:
            del self._present[query.name]
            if not self._setup.graceful:
                for each in [each for each in self._open.values() if each.query is query]:
                    self._give_up(each)
            self._hear(Removed(self._periods()), now)
        elif query.removed > now + EPS and self._let_in(query, now):
            self._present[query.name] = query
            heappush(self._releases, (query.first, self._order[query.name], 1, query))
            self._hear(Admitted(self._periods()), now)

    def _let_in(self, query: Query, now: float) -> bool:
        if not self._setup.gated:
            return True
        running = {name: self._estimate(each, now) for name, each in self._present.items()}
        answer = admit(running, query.name, self._estimate(query, now), self._profile)
        self._answers[query.name] = answer
        return answer.kind != "refuse"

    def _periods(self) -> list[float]:
        return [query.deadline.stride for query in self._present.values()]

    def _reschedule(self, now: float) -> None:
        self._snapshots.append(self._monitor.planned(now))
        self._make_plan(now)
        self._processor.take(self._setup.overhead)

    def _make_plan(self, now: float) -> None:
        estimates = {name: self._estimate(query, now) for name, query in self._present.items()}
        carried: dict[str, float] = {}
        if self._profile.carried:
            for each in self._open.values():
                carried[each.query.name] = carried.get(each.query.name, 0.0) + each.job.left
        self._plan = self._feedback.reschedule(now, estimates, carried)
        self._planned = estimates
        self._plans.append(self._plan)
        self._trigger.fired(now)
        self._asked = False

    def _phi(self, query: Query) -> float:
        return self._monitor.correction(query.name) if self._setup.corrected else 1.0

    def _estimate(self, query: Query, now: float) -> Estimate:
        tree, phi = query.tree, self._phi(query)
        window = {s: self._setup.estimator.tuples(query, self._setup.rates[s], now) for s in tree.streams}
        cost, results = tree.evaluate(window)
        tuples, least = tree.sources(window), tree.emptied(window)
        selectivity = query.nominal
        if selectivity is None:
            selectivity = results / tuples if tuples > 0 else 1.0
        return Estimate(
            period=query.deadline.stride,
            due=query.deadline.due,
            weight=query.deadline.weight,
            tuples=tuples,
            cost=phi * cost,
            fixed=phi * least,
            selectivity=selectivity,
            piece=self._setup.piece if self._setup.blocking else 0.0,
            per_tuple=phi * (cost - least) / tuples if tuples > 0 else 0.0,
            solve=None if tree.linear else lambda budget: tree.fraction(window, budget / phi),
        )


def simulate(setup: Setup) -> Report:
    """Run a setup; the same one gives the same run to the bit."""
    return Simulation(setup).run()

"""ARMaDILoS: the coordinator's policy. Reports of nodes in, orders out; it knows neither clocks nor who drives it.

Whoever drives it calls `decide` once in a report interval with the latest report of every node that is heard of, and
carries out what it returns: in most calls nothing, at the end of a round what the reports of the round come to. What
it decides is a function of the calls alone. It keeps only what the last rounds were: one that begins anew, because
the coordinator was restarted, decides again after a round, and only forgets how long queries have to stay.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from headgate.control.nodes.entitled import NEAR, lost
from headgate.control.nodes.minimal import minimal
from headgate.control.nodes.options import WEIGHED, Options, Rule
from headgate.control.nodes.orders import Migrate, Order, Prioritise
from headgate.control.nodes.picture import Picture, picture
from headgate.control.nodes.placement import Placement
from headgate.control.nodes.reports import NodeReport
from headgate.control.nodes.sleeping import FULL, Sleeping
from headgate.control.nodes.weighed import weighed
from headgate.policy.protocol import Why

LOWER = "at its own priority it would lose nothing"
_RULES: Mapping[Rule, Callable[[Picture, Options], Iterator[Order]]] = {"minimal": minimal, "weighed": weighed}


class Balancer:
    """Decides which queries move, which classes get another priority on a node, and which nodes sleep."""

    def __init__(self, options: Options = WEIGHED) -> None:
        self.options = options
        self.rounds = 0
        self.placement = Placement()
        self.sleeping = Sleeping(options)
        self._calls = 0
        self._history: dict[str, deque[NodeReport]] = {}
        self._came: list[tuple[str, str]] = []
        self._new: set[str] = set()

    def decide(self, now: float, reports: Iterable[NodeReport]) -> tuple[Order, ...]:
        """Take the latest report of each node; the orders of the round if this ends one.

        A report that was seen before counts once, and one from after `now` not at all.
        """
        found = sorted((report for report in reports if report.time <= now), key=lambda report: report.node)
        self._take(found)
        self.placement.take((r for r in found if r.awake), self.rounds, self.options)
        self._calls += 1
        if self._calls < self.options.reports:
            return tuple(self._hurried())
        self._calls = 0
        self.rounds += 1
        return (*self._round(), *self._hurried())

    def _take(self, reports: list[NodeReport]) -> None:
        if self._history:
            empty = {report.node for report in reports if report.awake and not report.queries}
            self._new = (self._new | {name for name in empty if name not in self._history}) & empty
        self._history = {r.node: self._history.get(r.node, deque(maxlen=self.options.reports)) for r in reports}
        for report in reports:
            past = self._history[report.node]
            if past and past[-1].awake != report.awake:
                # What was before it slept says nothing about now.
                past.clear()
            if not past or report.time > past[-1].time:
                past.append(report)

    def _round(self) -> tuple[Order, ...]:
        number, options = self.rounds, self.options
        seen = picture({name: list(past) for name, past in self._history.items()}, self.placement, number, options)
        for node, cls in self._came:
            if node in seen.nodes:
                seen.nodes[node].came.add(cls)
        self._came.clear()
        self.sleeping.mark(seen, number)
        orders: list[Order] = [*_lowered(seen, options)]
        if options.rule == "weighed":
            orders += self.sleeping.fill(seen)
        orders += _RULES[options.rule](seen, options)
        orders += self.sleeping.wake(seen, number, self._unhelped(seen))
        orders += self.sleeping.drain(seen, self.placement, number)
        for order in orders:
            if isinstance(order, Migrate):
                self.placement.order(order.query, order.origin, order.target, number)
        return tuple(orders)

    def _hurried(self) -> Iterator[Order]:
        """What does not wait for the end of a round by the weighed rule: waking where room is or will be short, and
        giving queries to those who have woken up, or are new where a node is full.
        """
        if self.options.rule == "minimal" or not (self.sleeping.waited_for or self._new or self._asleep()):
            return
        length = self.options.reports - self.options.spikes + 1
        last = {name: list(past)[-length:] for name, past in self._history.items()}
        awake = [past for past in last.values() if past[-1].awake and len(past) == length]
        full = any(all(_load(report) > FULL * report.capacity for report in past) for past in awake)
        seen = picture(last, self.placement, self.rounds, self.options)
        orders = [
            *self.sleeping.arrived(seen, self._new if full else ()),
            *self.sleeping.hurry(seen, self.rounds, self._rise(length), full=full),
        ]
        if awake:
            self._new.clear()
        for order in orders:
            if isinstance(order, Migrate):
                self.placement.order(order.query, order.origin, order.target, self.rounds)
                self._came.append((order.target, seen.nodes[order.target].queries[order.query].cls))
        yield from orders

    def _asleep(self) -> bool:
        return any(not past[-1].awake for past in self._history.values())

    def _rise(self, length: int) -> float:
        """By how much the load of all nodes grows in a second: the least that it did between reports, for longer than
        a spike lasts, so that one that jumps and stays does not count.
        """
        awake = [list(past)[-length - 1 :] for past in self._history.values() if past[-1].awake]
        # A node that has just woken up had nothing to do before.
        known = [past for past in awake if len(past) == length + 1]
        if not known or len(known) < len(awake):
            return 0.0
        loads = [sum(_load(report) for report in reports) for reports in zip(*known, strict=True)]
        times = [max(report.time for report in reports) for reports in zip(*known, strict=True)]
        told = pairwise(zip(loads, times, strict=True))
        least: float = min((b - a) / (t - s) if t > s else 0.0 for (a, s), (b, t) in told)
        return max(0.0, least)

    def _unhelped(self, seen: Picture) -> float:
        """The load that is lost and that moves do not help; by the minimal rule, all that is lost."""
        if self.options.rule == "minimal":
            return sum(node.classes[cls].drop * node.classes[cls].load for cls, node in seen.losing())
        lost = [(node.lost()[cls], node.loads[cls]) for cls, node in seen.losing()]
        return sum(each for each, load in lost if each > self.options.loss * load)


def _load(report: NodeReport) -> float:
    return sum(each.load for each in report.classes.values())


def _lowered(seen: Picture, options: Options) -> Iterator[Prioritise]:
    """Give classes their own priority back, where the reason for another is gone."""
    for node in seen.nodes.values():
        for cls, report in node.classes.items():
            own, now = report.original, node.priorities[cls]
            if cls in node.losing or abs(now - own) <= NEAR * own:
                continue
            capacity = node.full - options.reserve * node.capacity
            if not lost(capacity, node.priorities | {cls: own}, node.loads)[cls]:
                node.priorities[cls] = own
                terms = {"P": now, "own": own, "L": node.loads[cls], "C": capacity}
                yield Prioritise(node.name, cls, own, Why(LOWER, terms))

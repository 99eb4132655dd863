"""Balancing as the coordinator does it: what nodes say of their load to the policy, its orders to the placement."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headgate.cluster.instances import Report
from headgate.cluster.placement import Placement
from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.options import WEIGHED, Options
from headgate.control.nodes.orders import Migrate, Order, Prioritise, Sleep
from headgate.control.nodes.reports import ClassReport, NodeReport, QueryReport
from headgate.errors import InputError

_EVERY = 1.0
"""Seconds between two looks at the load."""
_LEAST = 1e-6
_log = logging.getLogger(__name__)


class Obeys(Protocol):
    """What a coordinator does when it is told to."""

    def move(self, query: str, node: str, why: str = ...) -> None:
        """Have a query run on another node."""

    def prioritise(self, node: str, cls: str, priority: float) -> None:
        """Give a class another priority on a node."""

    def shut(self, node: str, *, asleep: bool) -> None:
        """Give a node no queries any more, or do so again."""


@dataclass
class _Seen:
    """What a node said last, and what the policy was told of it."""

    at: float
    said: Report
    told: NodeReport | None = None


class Balance:
    """Asks the policy now and then, and passes its orders on."""

    def __init__(self, original: Mapping[str, float], options: Options = WEIGHED, *, sleeps: bool = False) -> None:
        """`original` are the priorities that classes have everywhere; nodes are put to sleep only if they may."""
        self._original = original
        self._balancer = Balancer(options if sleeps else replace(options, awake=sys.maxsize))
        self._due = 0.0
        self._seen: dict[str, _Seen] = {}
        self._asleep: set[str] = set()

    def look(self, now: float, placement: Placement, coordinator: Obeys) -> None:
        """Decide if it is time to, and have that done."""
        if now < self._due:
            return
        self._due = now + _EVERY
        where = placement.where()
        for name in self._asleep & {current.node for current, _ in where.values() if current}:
            # The only one that is left had to take queries.
            self._shut(name, coordinator, asleep=False)
        coming = {name for name, (_, to) in where.items() if to}
        reports = [
            made for report in placement.nodes.values() if (made := self._made(now, report, placement, coming))
        ]
        for order in self._balancer.decide(now, reports):
            try:
                self._obey(order, coordinator)
            except InputError as error:
                # Something has happened since the last reports. The others hold.
                _log.info("not done: %s", error)

    def _obey(self, order: Order, coordinator: Obeys) -> None:
        if isinstance(order, Migrate):
            coordinator.move(order.query, order.target, order.why.formula)
        elif isinstance(order, Prioritise):
            _log.info(
                "class %s has priority %g on node %s: %s", order.cls, order.priority, order.node, order.why.formula
            )
            coordinator.prioritise(order.node, order.cls, order.priority)
        else:
            asleep = isinstance(order, Sleep)
            _log.info("node %s %s: %s", order.node, "sleeps" if asleep else "wakes up", order.why.formula)
            self._shut(order.node, coordinator, asleep=asleep)

    def _shut(self, node: str, coordinator: Obeys, *, asleep: bool) -> None:
        (self._asleep.add if asleep else self._asleep.discard)(node)
        coordinator.shut(node, asleep=asleep)

    def _made(self, now: float, report: Report, placement: Placement, coming: set[str]) -> NodeReport | None:
        """What a node has to do, since the last look; None if there was none, or it is being drained."""
        load = report.load
        if not load or report.node in placement.draining:
            return None
        last, queries = self._seen.get(report.node), load.get("queries", {})
        if last and last.said is report:
            # It is silent, or slow. That is not the same as having nothing to do.
            return last.told
        self._seen[report.node] = seen = _Seen(now, report)
        if last is None or now <= last.at:
            return None
        before = last.said.load.get("queries", {})
        made: dict[str, QueryReport] = {}
        for name in report.running:
            if name in queries and name in placement.questions:
                asked = placement.questions[name]
                work = _load(queries[name], before.get(name, {}), now - last.at)
                shares = frozenset(asked.streams)
                made[name] = QueryReport(asked.cls, work, asked.stateless, shares, name not in coming)
        classes = {each["name"]: self._class(each, made) for each in load.get("classes", [])}
        awake = report.node not in self._asleep
        seen.told = NodeReport(report.node, now, float(load.get("capacity", 1)), classes, made, awake)
        return seen.told

    def _class(self, told: Mapping[str, Any], queries: Mapping[str, QueryReport]) -> ClassReport:
        work = sum(each.load for each in queries.values() if each.cls == told["name"])
        headroom, usage = told.get("headroom"), told.get("usage")
        if headroom is None or usage is None:
            # Load is not managed there: a class has what it needs.
            headroom, usage = max(work, _LEAST), 1.0
        original = self._original.get(told["name"], told["priority"])
        return ClassReport(headroom, headroom * usage, told["drop"], original, told["priority"])


def _load(now: Mapping[str, Any], before: Mapping[str, Any], seconds: float) -> float:
    """The work of a query in seconds per second, as if nothing were dropped."""
    busy, passed, shed = (max(0.0, now[key] - before.get(key, 0)) for key in ("busy", "tuples", "shed"))
    kept = 1.0 - shed / passed if passed else 1.0
    return float(busy / seconds / max(kept, 0.01))

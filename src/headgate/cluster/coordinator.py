"""The coordinator: hears the nodes, keeps the ledger, notices who is gone, and says what each should do.

It holds nothing that is not in the ledger or in what nodes report, so one that is started again goes on as before. It
is not in the way of the data: while it is away, nodes go on with what they have.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.cluster.balance import Balance
from headgate.cluster.ledger import Ledger
from headgate.cluster.messages import written
from headgate.cluster.placement import How, Instance, Placement, Question, Report
from headgate.errors import InputError

_log = logging.getLogger(__name__)

Wanted = tuple[int, str, dict[str, Any]]
"""When it was said, by a number that grows; a version, and what is wanted in it."""


@dataclass
class _Alive:
    """What is known of whether a node is there: when it was heard, and when its file was last seen to change."""

    heard: float
    beat: float = 0.0
    seen: float = 0.0
    life: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What a coordinator tells people: nodes, and where each query is."""

    nodes: Sequence[Mapping[str, Any]]
    queries: Sequence[Mapping[str, Any]]
    moves: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


class Coordinator:
    """Looks after a cluster. Any thread may call it."""

    def __init__(
        self,
        folder: Path,
        questions: Sequence[Question],
        *,
        nodes: int = 1,
        patience: float = 5.0,
        balance: Balance | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Places queries once so many `nodes` are there; one that is silent for longer than `patience` is gone."""
        self._folder, self._wait_for, self._patience, self._clock = folder, nodes, patience, clock
        self._ledger = Ledger(folder / "queries")
        self._placement = Placement(questions, list(self._ledger.entries()))
        self._balance = balance
        self._alive: dict[str, _Alive] = {}
        self._changed = threading.Condition()
        self._began = clock()
        self._serial = 0
        self._moves: list[dict[str, Any]] = []
        self._settled = any(current for current, _ in self._placement.where().values())
        # Those who have something to do may be there: whether they are, shows in time.
        for name in self._placement.expected():
            self._alive[name] = _Alive(self._began)
            self._placement.heard(Report(name, ""))

    def report(self, report: Report, known: str | None, wait: float) -> Wanted:
        """Take note of a report, and say what is wanted; if that is known, wait a while for something else."""
        with self._changed:
            now = self._clock()
            alive = self._alive.setdefault(report.node, _Alive(now))
            if alive.life and alive.life != report.life:
                _log.info("node %s has started again", report.node)
            alive.heard, alive.life = now, report.life
            self._placement.heard(report)
            self._settle()
            until = now + wait
            while True:
                version, found = self._wanted(report.node)
                if version != known or (left := until - self._clock()) <= 0:
                    # Also behind those of a coordinator before this one.
                    self._serial = max(self._serial + 1, time.time_ns())
                    return self._serial, version, found
                self._changed.wait(left)

    def move(self, query: str, node: str, why: str = "asked for", how: How = "unimico") -> None:
        """Have a query run on another node."""
        with self._changed:
            current = self._placement.where().get(query, (None, None))[0]
            self._placement.move(query, node, how)
            said = {"query": query, "from": current.node if current else None, "to": node, "why": why}
            self._moves = [*self._moves[-99:], {"at": time.time(), **said}]
            _log.info("query %s moves from %s to %s: %s", query, said["from"], node, why)
            self._settle()

    def look(self) -> None:
        """About ten times a second: see who is gone, and whether the load should be balanced."""
        with self._changed:
            now = self._clock()
            for name in list(self._placement.nodes):
                if now - self._last_sign(name, now) > self._patience:
                    _log.warning("node %s is gone: nothing heard for %.1f s", name, self._patience)
                    self._placement.lost(name)
                    del self._alive[name]
            self._settle()
        if self._balance:
            try:
                self._balance.look(now, self._placement, self)
            except InputError as error:
                _log.info("not done: %s", error)

    def _last_sign(self, name: str, now: float) -> float:
        """When there was a sign of life: a message, or its file changed. One that is cut off runs all the same."""
        alive = self._alive[name]
        try:
            beat = (self._folder / "nodes" / name / "beat").stat().st_mtime
        except OSError:
            return alive.heard
        if beat != alive.beat:
            alive.beat, alive.seen = beat, now
        return max(alive.heard, alive.seen)

    def shut(self, node: str, *, asleep: bool) -> None:
        """Give a node no queries any more, or do so again."""
        with self._changed:
            self._placement.shut(node, asleep=asleep)

    def prioritise(self, node: str, cls: str, priority: float) -> None:
        """Give a class another priority on a node."""
        with self._changed:
            of_node = self._placement.priorities.setdefault(node, {})
            of_node[cls] = priority
            self._changed.notify_all()

    def _settle(self) -> None:
        """Enter what is due, until nothing is."""
        if not self._settled and len(self._placement.nodes) < self._wait_for:
            return
        self._settled = True
        while due := self._placement.due():
            for entry in due:
                if not self._ledger.enter(entry):
                    # Another coordinator has written that number: what stands there counts.
                    self._reload()
                    return
                self._placement.enter(entry)
                if isinstance(entry, Instance):
                    _log.info("query %s: instance %d on node %s", entry.query, entry.number, entry.node)
        self._placement.raise_floors()
        self._changed.notify_all()

    def _reload(self) -> None:
        nodes = self._placement.nodes
        self._placement = Placement(list(self._placement.questions.values()), list(self._ledger.entries()))
        for report in nodes.values():
            self._placement.heard(report)

    def _wanted(self, node: str) -> tuple[str, dict[str, Any]]:
        found = written(self._placement.wanted(node))
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16], found

    def told(self) -> Told:
        """How everything is, for people."""
        with self._changed:
            now, placement = self._clock(), self._placement
            nodes = []
            for name, report in placement.nodes.items():
                alive = self._alive[name]
                silent = now - alive.heard
                said = "cut off" if silent > self._patience else "there"
                load = report.load
                nodes.append(
                    {
                        "name": name,
                        "status": said,
                        "silent": round(silent, 2),
                        "queries": sum(each.status != "START_PREPARING" for each in report.running.values()),
                        "feeds": list(report.feeding),
                        "address": load.get("address"),
                        "classes": load.get("classes", []),
                        "failed": dict(report.failed),
                    }
                )
            queries = []
            for name, (current, coming) in placement.where().items():
                host = placement.nodes.get(current.node) if current else None
                mine = host.running.get(name) if host else None
                right = mine if mine and current and mine.number == current.number else None
                queries.append(
                    {
                        "name": name,
                        "class": placement.questions[name].cls,
                        "node": current.node if current else None,
                        "instance": current.number if current else None,
                        "status": right.status if right else "INACTIVE",
                        "coming": coming,
                    }
                )
            return Told(nodes, queries, tuple(self._moves))

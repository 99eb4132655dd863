"""The coordinator: hears the nodes, keeps the ledger, notices who is gone, and says what each should do.

It holds nothing that is not in the ledger or in what nodes report, so one that is started again goes on as before. It
is not in the way of the data: while it is away, nodes go on with what they have.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headgate.cluster.balance import Balance
from headgate.cluster.borders import Checkpoint
from headgate.cluster.instances import Entry, How, Instance, Membership, Question, Report, Serial, Told
from headgate.cluster.ledger import Ledger
from headgate.cluster.membership import check, founded
from headgate.cluster.messages import written
from headgate.cluster.placement import Placement
from headgate.engine.log.mark import Mark
from headgate.engine.source.protocol import State
from headgate.errors import InputError

_BORDERS = 2.0
"""Seconds from one entry of the borders of nodes apart to the next."""
_ASLEEP = 1.0
"""Seconds from one look to the next, of which there are ten in one otherwise."""
_log = logging.getLogger(__name__)

Wanted = tuple[Serial, str, dict[str, Any]]
"""When it was said; a version, and what is wanted in it."""


@dataclass
class _Alive:
    """What is known of whether a node is there: when it was heard, and when its file was last seen to change."""

    heard: float
    beat: float = 0.0
    seen: float = 0.0
    life: str = ""


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
        apart: Mapping[str, Callable[[float], State]] | None = None,
        pipeline: str = "",
    ) -> None:
        """Places queries once so many `nodes` are there; one that is silent for longer than `patience` is gone.

        Nodes share the folder, unless they are `apart`: then it is the coordinator's own, and this is, by stream, how
        its source begins at a time. `pipeline` stands for what all nodes have to have of it.
        """
        self._folder, self._wait_for, self._patience, self._clock = folder, nodes, patience, clock
        self._ledger = Ledger(folder)
        self.member = Membership(founded(folder), pipeline)
        self._apart = apart
        self._placement = Placement(questions, list(self._ledger.entries()), apart=apart is not None)
        self._due = clock()
        self._balance = balance
        self._alive: dict[str, _Alive] = {}
        self._changed = threading.Condition()
        self._looked = self._awake = clock()
        self._epoch, self._said = self._ledger.begin(), 0
        self._moves: list[dict[str, Any]] = []
        self._gone: dict[str, dict[str, Any]] = {}
        self._left: dict[str, str] = {}
        self._settled = any(current for current, _ in self._placement.where().values())
        # Those who have something to do may be there: whether they are, shows in time.
        for name in self._placement.expected():
            self._alive[name] = _Alive(self._awake)
            self._placement.heard(Report(name, ""))

    def report(self, report: Report, known: str | None, wait: float) -> Wanted:
        """Take note of a report, and say what is wanted; if that is known, wait a while for something else."""
        with self._changed:
            now = self._clock()
            self.admit(report)
            before = self._placement.nodes.get(report.node)
            if report.stuck and before is None:
                remedy = "See its log for what it waits for, or start it again."
                raise InputError("a node does what it is told", f"'{report.node}', which is stuck", remedy)
            if self._left.get(report.node) == report.life:
                raise InputError(
                    "a node reports until it leaves", f"'{report.node}', which has left", "Start it again."
                )
            self._gone.pop(report.node, None)
            alive = self._alive.setdefault(report.node, _Alive(now))
            if alive.life and alive.life != report.life:
                _log.info("node %s has started again", report.node)
            alive.life = report.life
            if not report.stuck:
                alive.heard = now
            if before is None or before.life != report.life or before.serial <= report.serial:
                self._placement.heard(report)
            self._note_called_off()
            self._settle()
            until = now + wait
            while True:
                version, found = self._wanted(report.node)
                if version != known or (left := until - self._clock()) <= 0:
                    self._said += 1
                    return (self._epoch, self._said), version, found
                self._changed.wait(left)

    def move(self, query: str, node: str, why: str = "asked for", how: How = "unimico") -> None:
        """Have a query run on another node."""
        with self._changed:
            current = self._placement.where().get(query, (None, None))[0]
            self._placement.move(query, node, how)
            if not self._note_called_off():
                said = {"query": query, "from": current.node if current else None, "to": node, "why": why}
                self._moves = [*self._moves[-99:], {"at": time.time(), **said, "outcome": None}]
                _log.info("query %s moves from %s to %s: %s", query, said["from"], node, why)
            self._settle()

    def drain(self, node: str) -> None:
        """Have a node give its queries away, one after the other and without a stop."""
        with self._changed:
            self._placement.drain(node)
            _log.info("node %s is drained", node)

    def leave(self, node: str, life: str, why: str = "it was stopped") -> None:
        """A node has stopped: others take over what it still had, and do not wait to see that it is silent."""
        with self._changed:
            self._left[node] = life
            known = self._placement.nodes.get(node)
            if known and known.life == life:
                self._lose(node, why)
                self._settle()

    def _note_called_off(self) -> bool:
        """Tell of moves that came to nothing; whether there were any."""
        found, self._placement.called_off = self._placement.called_off, []
        for each in found:
            _log.warning("query %s does not move to %s: %s", each.query, each.node, each.why)
            for move in self._moves:
                if (move["query"], move["to"], move["outcome"]) == (each.query, each.node, None):
                    move["outcome"] = each.why
        return bool(found)

    def look(self) -> None:
        """About ten times a second: see who is gone, and whether the load should be balanced."""
        with self._changed:
            now = self._clock()
            if now - self._looked > max(_ASLEEP, self._patience / 2):
                # It was asleep itself, perhaps with its machine: that it has heard nobody says nothing.
                self._awake = now
            self._looked = now
            for name in list(self._placement.nodes):
                if now - self._last_sign(name, now) > self._patience:
                    stuck = self._placement.nodes[name].stuck
                    why = "it is stuck" if stuck else f"nothing heard for {self._patience:g} s"
                    self._lose(name, why)
            for query, target in list(self._placement.leaving()):
                self.move(query, target, "the node that it is on is drained")
            self._settle()
            if self._apart is not None and self._settled and now >= self._due:
                self._due = now + _BORDERS
                self._enter_borders(self._apart)
            if self._balance:
                self._balance.look(now, self._placement, self)

    def _lose(self, name: str, why: str) -> None:
        _log.warning("node %s is gone: %s", name, why)
        self._gone[name] = {"name": name, "since": time.time(), "why": why}
        self._placement.lost(name)
        del self._alive[name]
        self._note_called_off()

    def _last_sign(self, name: str, now: float) -> float:
        """When there was a sign of life: a message, or its file changed. One that is cut off runs all the same."""
        alive = self._alive[name]
        if self._apart is None:
            with suppress(OSError):
                beat = (self._folder / "nodes" / name / "beat").stat().st_mtime
                if beat != alive.beat:
                    alive.beat, alive.seen = beat, now
        return max(alive.heard, alive.seen, self._awake)

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
            # Whoever takes over from these instances one day has to know where they are now.
            if self._apart is not None and not self._enter_borders(self._apart):
                return
            for entry in due:
                if not self._enter(entry):
                    return
                if isinstance(entry, Instance):
                    _log.info("query %s: instance %d on node %s", entry.query, entry.number, entry.node)
        self._placement.raise_floors()
        self._changed.notify_all()

    def _enter_borders(self, apart: Mapping[str, Callable[[float], State]]) -> bool:
        begins = {stream: Mark(0, start(time.time())) for stream, start in apart.items()}
        found = self._placement.next_checkpoint(begins)
        if replace(found, number=self._placement.checkpoint.number) == self._placement.checkpoint:
            return True
        return self._enter(found)

    def _enter(self, entry: Entry) -> bool:
        if not self._ledger.enter(entry):
            # Another coordinator has written that number: what stands there counts.
            self._reload()
            return False
        self._placement.enter(entry)
        if isinstance(entry, Checkpoint):
            self._changed.notify_all()
        return True

    def admit(self, report: Report) -> None:
        """Refuse a node that is not of this cluster, or has come with another folder than its instances are in."""
        check(report, self.member, self._folder, apart=self._apart is not None)
        home = self._placement.checkpoint.homes.get(report.node, report.home)
        if home != report.home and self._placement.has(report.node):
            rule = f"node '{report.node}' keeps the state folder that its queries are in"
            remedy = "Give it its old --folder, or another --name. Others take over its queries meanwhile."
            raise InputError(rule, "another one", remedy)

    def _reload(self) -> None:
        before = self._placement
        nodes, questions = before.nodes, list(self._placement.questions.values())
        self._placement = Placement(questions, list(self._ledger.entries()), apart=self._apart is not None)
        for report in nodes.values():
            self._placement.heard(report)
        self._placement.asleep, self._placement.draining = before.asleep, before.draining
        self._placement.priorities = before.priorities

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
                there = "asleep" if name in placement.asleep else "there"
                said = "cut off" if silent > self._patience else there
                said = "draining" if name in placement.draining else said
                said = "stuck" if report.stuck else said
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
                        "failed": {name: each.why for name, each in report.failed.items()},
                        "why": "; ".join(_wrong(report)),
                    }
                )
            queries = []
            for name, (current, coming) in placement.where().items():
                host = placement.nodes.get(current.node) if current else None
                mine = host.running.get(name) if host else None
                right = mine if mine and current and mine.number == current.number else None
                down = host.down.get(name) if host and right else None
                failed = host.failed.get(name) if host else None
                queries.append(
                    {
                        "name": name,
                        "class": placement.questions[name].cls,
                        "node": current.node if current else None,
                        "instance": current.number if current else None,
                        "status": "FAILED" if down is not None else right.status if right else "INACTIVE",
                        "coming": coming,
                        "why": down if down is not None else failed.why if failed else None,
                    }
                )
            apart = self._apart is not None
            instances = {name: placement.told(name) for name in placement.questions} if apart else {}
            gone = tuple(self._gone.values())
            return Told(nodes, queries, tuple(self._told_moves()), apart, instances, gone, self.member.cluster)

    def _told_moves(self) -> Iterator[Mapping[str, Any]]:
        """The last moves, each with what has become of it; None if it is under way."""
        where = self._placement.where()
        for move in self._moves:
            if move["outcome"] is None and move["query"] in where:
                current, coming = where[move["query"]]
                if coming != move["to"]:
                    move["outcome"] = "done" if current and current.node == move["to"] else "others took over"
            yield dict(move)


def _wrong(report: Report) -> Iterator[str]:
    """What is wrong on a node, for people."""
    if report.trouble:
        yield report.trouble
    yield from (f"stream {stream}: {failure.why}" for stream, failure in report.dry.items())
    yield from (f"query {name}: {why}" for name, why in report.down.items())
    yield from (f"query {name}: {failure.why}" for name, failure in report.failed.items())

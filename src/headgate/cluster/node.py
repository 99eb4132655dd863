"""A node: an engine that runs the part of a pipeline that the coordinator wants it to.

    wanted ──▶ Node.reconcile: one thread brings the engine to where it should be, query by query
    engine ──▶ Node.report: another one says how it is, whenever that changes and now and then
    beat   ──▶ a file that a third one touches: who is cut off from the coordinator can be seen to be alive

A node that does not reach the coordinator goes on with what it has. Whatever fails is tried again, and said. One
that makes no headway for long does not beat, and reports that it is stuck: others take over its queries. One whose
Spark has ended ends.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headgate.cluster.borders import Borders, Point, Reached
from headgate.cluster.client import Client, UnreachableError
from headgate.cluster.instances import Failure, Instance, Order, Report, Running, Serial, Status, Wanted
from headgate.cluster.waiting import LostSparkError, NotYetError
from headgate.engine.moving import Boundary
from headgate.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.cluster.work import Work

_BEAT = 0.5
_WAIT = 1.0
_AGAIN = 0.5
_POLL = 0.02
_STUCK = 120.0
"""Seconds for which one order may take: a query is planned in some, and in a minute where a machine is overloaded."""
_log = logging.getLogger(__name__)

Kind = Literal["queries", "tails"]


@dataclass
class _Held:
    """An instance on this node."""

    order: Order
    status: Status
    readable: int | None = None
    boundary: Point | None = None

    @property
    def instance(self) -> Instance:
        return self.order.instance


@dataclass
class _Failed:
    """An order that could not be carried out: why, how often, and when it is tried again."""

    failure: Failure
    again: float
    order: Order = field(compare=False)


class Node:
    """Keeps an engine at what is wanted of it."""

    def __init__(
        self,
        name: str,
        work: "Work",
        connect: Callable[[], Client],
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`work` does with the engine what is to be done, and `folder` is the node's own in the cluster's."""
        self.name, self._work, self._connect, self._folder, self._clock = name, work, connect, folder, clock
        self.ended = threading.Event()
        """Set once it cannot go on, and `lost` says why."""
        self.lost: HeadgateError | None = None
        self._life = uuid.uuid4().hex
        self._held: dict[tuple[Kind, str], _Held] = {}
        self._failed: dict[tuple[Kind, str], _Failed] = {}
        self._troubles: dict[str, str] = {}
        self._worked = self._reported = clock()
        self._wanted = Wanted()
        self._version: str | None = None
        self._serial = (0, 0)
        self._reports = 0
        self._lock, self._reporting = threading.Lock(), threading.Lock()
        self._news, self._todo, self._over = threading.Event(), threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=target, name=f"headgate-node-{what}", daemon=True)
            for what, target in (
                ("hears", self._hear),
                ("reports", self._tell),
                ("works", self._reconcile),
                ("beats", self._beat),
            )
        ]

    def _turns(self, what: str, turn: Callable[[], object]) -> None:
        """Do something over and over; where it fails, that is said, and after a pause it is done again."""
        while not self._over.is_set():
            if not self._done(what, turn):
                self._over.wait(_AGAIN)

    def _done(self, what: str, act: Callable[[], object]) -> bool:
        """Do something, and take note if it fails, for whatever reason: the rest has to go on."""
        try:
            act()
        except LostSparkError as error:
            self.lost = error
            self.ended.set()
        except Exception as error:  # noqa: BLE001 - as said
            why = _said(error)
            if self._troubles.get(what) != why:
                unforeseen = not isinstance(error, HeadgateError | OSError)
                _log.warning("%s: %s; trying again", what, why, exc_info=unforeseen)
            with self._lock:
                self._troubles[what] = why
            return False
        with self._lock:
            self._troubles.pop(what, None)
        return True

    def start(self) -> None:
        """Begin to do what is wanted."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Do no more; the engine goes on until it is stopped itself."""
        self._over.set()
        self._news.set()
        self._todo.set()
        for thread in self._threads:
            thread.join()

    def leave(self) -> None:
        """Say that it has stopped, so that nobody waits to see that it is silent."""
        client = self._connect()
        try:
            client.leave(self.name, self._life, str(self.lost or "it was stopped"))
        except HeadgateError as error:
            _log.warning("%s; others take over once the node has been silent for long enough", error)
        client.close()

    # What is wanted

    def _hear(self) -> None:
        """Wait for news, all the time."""
        client, silent = self._connect(), False

        def listen() -> None:
            nonlocal silent
            report = self.report()
            try:
                said = client.report(report, self._version, _WAIT)
            except HeadgateError as error:
                if not silent:
                    _log.warning("%s; the node goes on with what it has", error)
                silent = True
                self._over.wait(_AGAIN)
                return
            if silent:
                _log.info("the coordinator at %s answers again", client.address)
            silent = False
            self.take(*said)

        self._turns("hearing the coordinator", listen)
        client.close()

    def _tell(self) -> None:
        """Report at once what has changed."""
        client = self._connect()

        def tell() -> None:
            self._news.wait()
            self._news.clear()
            # Who hears the coordinator says so if it does not answer.
            with suppress(UnreachableError):
                self.take(*client.report(self.report(), self._version))

        self._turns("reporting", tell)
        client.close()

    def take(self, serial: Serial, version: str, wanted: Wanted) -> None:
        """Hear what is wanted. Of two answers that overtake each other, the later one counts."""
        with self._lock:
            if serial <= self._serial:
                return
            self._serial = serial
            if version == self._version:
                return
            self._version, self._wanted = version, wanted
        self._todo.set()

    def report(self) -> Report:
        """How it is."""
        # One after the other, so that their numbers tell which is the later one.
        with self._reporting:
            with self._lock:
                here, failed = dict(self._held), {name: each.failure for (_, name), each in self._failed.items()}
                trouble = "; ".join(f"{what}: {why}" for what, why in self._troubles.items())
                draining = self._wanted.draining
            # Later than what is here: of an instance that has ended, all results are to be counted.
            borders = self._work.borders()
            running, tails = (
                {
                    name: Running(
                        held.instance.number,
                        held.status,
                        held.readable,
                        held.boundary,
                        _border_of(held.instance, borders),
                    )
                    for (of, name), held in here.items()
                    if of == kind
                }
                for kind in ("queries", "tails")
            )
            self._reports += 1
            made = Report(
                self.name,
                self._life,
                running,
                tails,
                {} if self._work.home else self._work.needed(),
                self._work.feeding(),
                self._work.load(),
                failed,
                self._work.down(),
                self._work.dry(),
                trouble,
                self._stuck,
                self._reports,
                self._work.member,
                self._work.home,
                self._work.marks(),
                draining,
            )
            self._reported = self._clock()
            return made

    @property
    def _stuck(self) -> bool:
        """Whether it has made no headway for so long that others should do what it does not."""
        return self._clock() - self._worked > _STUCK

    def _beat(self) -> None:
        file = self._folder / "beat"

        def beat() -> None:
            # Nor is one alive of whom nobody can hear how it is, though the coordinator were there.
            if not self._stuck and self._clock() - self._reported < _STUCK:
                file.touch()
            self._over.wait(_BEAT)

        self._turns(f"touching {file}", beat)

    # Getting there

    def _reconcile(self) -> None:
        def turn() -> None:
            leaving = any(held.status == "STOP_PREPARING" for held in self._held.values()) or self._work.waiting
            told = self._todo.wait(_POLL if leaving else _AGAIN)
            self._todo.clear()
            if self._over.is_set():
                return
            self._done("Spark", self._work.check)
            self.step()
            if not told and not leaving:
                self._work.get_ready()
            self._worked = self._clock()

        self._turns("working", turn)

    def step(self) -> None:
        """Do what is wanted now, as far as it can be done. What fails keeps nothing else from being done."""
        with self._lock:
            wanted = self._wanted
        work = self._work
        self._drop(wanted)
        self._do("beginning to read", lambda: work.hear(wanted.begins))
        self._do("letting go of tuples", lambda: work.release(wanted.floors))
        # First of all: queries that are planned meanwhile find their tuples in the log.
        self._do("feeding streams", lambda: work.feed(wanted.feeds))
        self._do("reading on", work.mend)
        self._do("priorities", lambda: work.prioritise(wanted.priorities))
        of_kind: tuple[tuple[Kind, Mapping[str, Order]], ...] = ("queries", wanted.queries), ("tails", wanted.tails)
        for kind, orders in of_kind:
            for name, order in orders.items():
                self._try(kind, name, order)
        self._do("streams of results", work.look)
        self._do("leaving", self._finish)
        self._do("forgetting", lambda: work.forget(wanted.gone))

    def _do(self, what: str, act: Callable[[], object]) -> None:
        """A part of a step: what has been tried is headway, whatever came of it."""
        self._done(what, act)
        self._worked = self._clock()

    def _drop(self, wanted: Wanted) -> None:
        """Let go of what is not wanted here any more."""
        for (kind, name), held in list(self._held.items()):
            order = (wanted.queries if kind == "queries" else wanted.tails).get(name)
            if order and order.instance.number == held.instance.number:
                continue
            try:
                if held.status in ("ACTIVE", "STOP_PREPARING"):
                    # Somebody takes over what is committed of it.
                    self._work.abandon(held.instance)
                    number, counted = wanted.counted.get(name, (0, 0))
                    if number == held.instance.number:
                        said = "query %s went on elsewhere: of instance %d here, the first %d results count"
                        _log.warning(said, name, number, counted)
                else:
                    self._work.remove(held.instance)
            except Exception as error:  # noqa: BLE001 - it is not here any more, whatever is left of it
                _log.warning("query %s: %s", name, _said(error))
            self._forget(kind, name)
            self._worked = self._clock()
        for key in list(self._failed):
            if key[1] not in (wanted.queries if key[0] == "queries" else wanted.tails):
                with self._lock:
                    self._failed.pop(key)

    def _try(self, kind: Kind, name: str, order: Order) -> None:
        failed = self._failed.get((kind, name))
        if failed and failed.order == order and self._clock() < failed.again:
            return
        try:
            self._obey(kind, name, order)
        except Exception as error:  # noqa: BLE001 - it is this query's alone
            why, number = _said(error), order.instance.number
            if failed is None or failed.failure.why != why:
                unforeseen = not isinstance(error, HeadgateError | OSError)
                _log.warning("query %s: %s", name, why, exc_info=unforeseen)
                self._news.set()
            of_this = failed and (failed.order.do, failed.failure.number) == (order.do, number)
            times = (failed.failure.times if failed and of_this else 0) + (not isinstance(error, NotYetError))
            with self._lock:
                self._failed[kind, name] = _Failed(Failure(why, times, number), self._clock() + _AGAIN, order)
        else:
            with self._lock:
                self._failed.pop((kind, name), None)
        self._worked = self._clock()

    def _obey(self, kind: Kind, name: str, order: Order) -> None:
        held = self._held.get((kind, name))
        if order.do == "prepare":
            if held is None:
                self._note(kind, name, _Held(order, "START_PREPARING"))
                try:
                    readable = self._work.prepare(order)
                except Exception:
                    self._forget(kind, name)
                    raise
                self._note(kind, name, _Held(order, "START_PENDING", readable))
            return
        if held is None or held.status in ("START_PREPARING", "START_PENDING"):
            self._work.begin(order)
            held = self._note(kind, name, _Held(order, "ACTIVE"))
        if order.do == "run" and order.until is None:
            if held.status != "ACTIVE":
                self._work.stay(order.instance)
                self._note(kind, name, _Held(order, "ACTIVE"))
        elif held.status == "ACTIVE":
            until = None if order.until is None else Boundary(**order.until)
            found = self._work.leave(order.instance, order.readable, until)
            self._note(kind, name, _Held(order, "STOP_PREPARING", boundary=found.as_json()))

    def _finish(self) -> None:
        for (kind, name), held in list(self._held.items()):
            if held.status == "STOP_PREPARING" and self._work.left(held.instance):
                self._note(kind, name, _Held(held.order, "INACTIVE", boundary=held.boundary))

    def _note(self, kind: Kind, name: str, held: _Held) -> _Held:
        with self._lock:
            self._held[kind, name] = held
        self._news.set()
        return held

    def _forget(self, kind: Kind, name: str) -> None:
        with self._lock:
            self._held.pop((kind, name), None)
        self._news.set()

    @property
    def held(self) -> Mapping[str, Any]:
        """The instances that are here, by query."""
        with self._lock:
            return {name: held.status for (_, name), held in self._held.items()}


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, HeadgateError | OSError) else f"{type(error).__name__}: {error}"


def _border_of(instance: Instance, borders: Borders) -> Reached | None:
    """The border of an instance, if it is the one that has it."""
    label, found = borders.get(instance.alias, ("", None))
    return found if label == instance.label else None

"""A node: an engine that runs the part of a pipeline that the coordinator wants it to.

    wanted ──▶ Node.reconcile: one thread brings the engine to where it should be, query by query
    engine ──▶ Node.report: another one says how it is, whenever that changes and now and then
    beat   ──▶ a file that a third one touches: who is cut off from the coordinator can be seen to be alive

A node that does not reach the coordinator goes on with what it has.
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

from headgate.cluster.client import Client, UnreachableError
from headgate.cluster.placement import Instance, Order, Point, Report, Running, Status, Wanted
from headgate.engine.moving import Boundary
from headgate.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.cluster.work import Work

_BEAT = 0.5
_WAIT = 1.0
_AGAIN = 0.5
_POLL = 0.02
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
    """An order that could not be carried out: why, and when it is tried again."""

    why: str
    again: float
    order: Order = field(compare=False)


class Node:
    """Keeps an engine at what is wanted of it."""

    def __init__(self, name: str, work: "Work", connect: Callable[[], Client], folder: Path) -> None:
        """`work` does with the engine what is to be done, and `folder` is the node's own in the cluster's."""
        self.name, self._work, self._connect, self._folder = name, work, connect, folder
        self._life = uuid.uuid4().hex
        self._held: dict[tuple[Kind, str], _Held] = {}
        self._failed: dict[tuple[Kind, str], _Failed] = {}
        self._wanted = Wanted()
        self._version: str | None = None
        self._serial = 0
        self._lock = threading.Lock()
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

    # What is wanted

    def _hear(self) -> None:
        """Wait for news, all the time."""
        client, silent = self._connect(), False
        while not self._over.is_set():
            try:
                said = client.report(self.report(), self._version, _WAIT)
            except HeadgateError as error:
                if not silent:
                    _log.warning("%s; the node goes on with what it has", error)
                silent = True
                self._over.wait(_AGAIN)
                continue
            if silent:
                _log.info("the coordinator at %s answers again", client.address)
            silent = False
            self.take(*said)
        client.close()

    def _tell(self) -> None:
        """Report at once what has changed."""
        client = self._connect()
        while not self._over.is_set():
            self._news.wait()
            self._news.clear()
            with suppress(UnreachableError):
                try:
                    self.take(*client.report(self.report(), self._version))
                except UnreachableError:
                    raise
                except HeadgateError as error:
                    _log.warning("%s", error)
        client.close()

    def take(self, serial: int, version: str, wanted: Wanted) -> None:
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
        with self._lock:
            running, tails = (
                {
                    name: Running(held.instance.number, held.status, held.readable, held.boundary)
                    for (of, name), held in self._held.items()
                    if of == kind
                }
                for kind in ("queries", "tails")
            )
            failed = {name: each.why for (_, name), each in self._failed.items()}
        return Report(
            self.name,
            self._life,
            running,
            tails,
            self._work.needed(),
            self._work.feeding(),
            self._work.load(),
            failed,
        )

    def _beat(self) -> None:
        file = self._folder / "beat"
        while not self._over.wait(_BEAT):
            try:
                file.touch()
            except OSError as error:
                _log.warning("cannot write %s: %s", file, error.strerror)

    # Getting there

    def _reconcile(self) -> None:
        while not self._over.is_set():
            leaving = any(held.status == "STOP_PREPARING" for held in self._held.values())
            told = self._todo.wait(_POLL if leaving else _AGAIN)
            self._todo.clear()
            if self._over.is_set():
                return
            self.step()
            if not told and not leaving:
                self._work.get_ready()

    def step(self) -> None:
        """Do what is wanted now, as far as it can be done."""
        with self._lock:
            wanted = self._wanted
        self._drop(wanted)
        self._work.release(wanted.floors)
        # First of all: queries that are planned meanwhile find their tuples in the log.
        self._work.feed(wanted.feeds)
        self._work.prioritise(wanted.priorities)
        of_kind: tuple[tuple[Kind, Mapping[str, Order]], ...] = ("queries", wanted.queries), ("tails", wanted.tails)
        for kind, orders in of_kind:
            for name, order in orders.items():
                self._try(kind, name, order)
        self._finish()
        self._work.forget(wanted.gone)

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
                else:
                    self._work.remove(held.instance)
            except HeadgateError as error:
                _log.warning("query %s: %s", name, error)
            self._forget(kind, name)
        for key in list(self._failed):
            if key[1] not in (wanted.queries if key[0] == "queries" else wanted.tails):
                self._failed.pop(key)

    def _try(self, kind: Kind, name: str, order: Order) -> None:
        failed = self._failed.get((kind, name))
        if failed and failed.order == order and time.monotonic() < failed.again:
            return
        try:
            self._obey(kind, name, order)
            self._failed.pop((kind, name), None)
        except HeadgateError as error:
            if failed is None or failed.why != str(error):
                _log.warning("query %s: %s", name, error)
                self._news.set()
            self._failed[kind, name] = _Failed(str(error), time.monotonic() + _AGAIN, order)

    def _obey(self, kind: Kind, name: str, order: Order) -> None:
        held = self._held.get((kind, name))
        if order.do == "prepare":
            if held is None:
                self._note(kind, name, _Held(order, "START_PREPARING"))
                try:
                    readable = self._work.prepare(order)
                except HeadgateError:
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

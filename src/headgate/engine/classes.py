"""The classes of an engine's queries: those that were named, and the labels of queries where none was."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from headgate.engine.graphs import of_target
from headgate.engine.log.stream import StreamLog
from headgate.engine.utility import Protect, Protected, protections
from headgate.errors import InputError, choose
from headgate.model.classes import DEFAULT, QueryClass
from headgate.model.qos import LatencyGraph


class Classes:
    """Classes by name."""

    def __init__(self) -> None:
        self._named: dict[str, QueryClass] = {}
        self.keeps_shed: set[str] = set()
        self.protects: dict[str, Mapping[str, Protected]] = {}
        self._graphs: dict[str, LatencyGraph] = {}

    def __bool__(self) -> bool:
        return bool(self._named)

    def name(
        self, name: str, priority: float, target: float, used: Iterable[str], graph: LatencyGraph | None = None
    ) -> None:
        """Name a class, before queries that are there use it."""
        if name in self._named or name in used:
            remedy = "Name each class once, before its queries."
            raise InputError("every class has a name of its own", f"a second '{name}'", remedy)
        self._named[name] = QueryClass(name, priority, target)
        if graph:
            self._graphs[name] = graph

    def graph(self, name: str) -> LatencyGraph | None:
        """The QoS graph of queries of a class that have none: the one that it was given, or that of its target."""
        return self._graphs.get(name) or of_target(self.of(name).delay_target)

    def prioritise(self, name: str, priority: float) -> None:
        """Give a class another priority."""
        if name not in self._named:
            raise self._unknown("a class that is named can be given another priority", name)
        self._named[name] = replace(self._named[name], priority=priority)

    def of(self, name: str) -> QueryClass:
        """The class of a query; where none is named, any word is one."""
        if name in self._named or name == DEFAULT or not self._named:
            return self._named.get(name, QueryClass(name))
        raise self._unknown("the class of a query is one of those that are named", name)

    def protect(self, name: str, given: Protect) -> None:
        """Let tuples of streams be worth more than others to a class."""
        self.protects[name] = protections(given)

    def check(self, name: str, log: StreamLog, *, scale: bool) -> None:
        """Refuse a query of a class over a stream of which the class protects tuples in a way that cannot be."""
        protected = self.protects.get(name, {}).get(log.name)
        if protected is None:
            return
        protected.check(log.name, log.schema)
        if scale:
            # Where all of some kind may be gone, nothing says how many they were.
            rule = (
                f"counts and sums are scaled where all tuples are dropped alike, which those of '{log.name}' are not"
            )
            remedy = f"Leave scale out, or let class '{name}' protect nothing of it."
            raise InputError(rule, "scale with protected tuples", remedy)

    def _unknown(self, rule: str, name: str) -> InputError:
        return InputError(rule, f"'{name}'", choose(name, self._named) if self._named else "There are none.")

    def all(self, used: Iterable[str]) -> list[QueryClass]:
        """The classes that are named, and those that queries use without."""
        return [*self._named.values(), *(QueryClass(each) for each in dict.fromkeys(used) if each not in self._named)]

    @property
    def targets(self) -> Mapping[str, float]:
        """The delay targets, where there are any."""
        return {n: each.delay_target for n, each in self._named.items() if math.isfinite(each.delay_target)}

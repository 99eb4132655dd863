"""Queries of several classes in one unit: who reads the same rows of a stream in the same way rides along.

The unit is one of the highest class among them: it runs, is charged and is shed as that. For a query that rides, all
of it is shared with the host, and nothing is left behind for its own class to run or to shed: it loses what the host
loses and no more, and its class has that much less to do. That must never be at the host's expense. A host that has
to shed goes on alone, and who rode runs with its own class until that is over.

Some do not ride: queries that keep what is shed, as that is kept by class, queries whose class never sheds with one
that may, and queries to which other tuples are worth more than to the host.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from headgate.engine.query import LiveQuery
from headgate.model.classes import QueryClass, ranked

_REST = 30.0
"""Seconds without shedding until a host is boarded again."""


class Riding:
    """Who rides with whom, among these classes; `percent` says how much hosts of a class drop now."""

    def __init__(self, classes: Sequence[QueryClass], percent: Callable[[str], int]) -> None:
        self._rank = {each.name: i for i, each in enumerate(ranked(classes))}
        self._sheds = {each.name: math.isfinite(each.delay_target) for each in classes}
        self.targets: Mapping[str, float] = {each.name: each.delay_target for each in classes}
        self._percent = percent
        self._shed_at: dict[str, float] = {}

    def suits(self, host: str, classes: frozenset[str]) -> bool:
        """Whether a unit may be one of the host class, with queries of these."""
        return all(self._rank[host] <= self._rank[each] for each in classes) and not self._percent(host)

    def open(self, host: str, now: float) -> bool:
        """Whether a class may be boarded: it has not shed anything for a while."""
        if self._percent(host):
            self._shed_at[host] = now
        return now - self._shed_at.get(host, -math.inf) > _REST

    def above(self, cls: str, host: str) -> bool:
        """Whether queries of a class may ride with those of another."""
        return self._rank[host] < self._rank[cls] and (self._sheds[cls] or not self._sheds[host])

    def guests(self, hosts: Sequence[LiveQuery], others: Sequence[LiveQuery]) -> list[LiveQuery]:
        """Those of the others who may ride: they read what a host reads."""
        # One that rides itself is no host.
        cls = hosts[0].cls
        reads = {_reads(query) for query in hosts if query.cls == cls}
        free = [q for q in others if not q.keeps_shed and q.protects == hosts[0].protects]
        return [q for q in free if self.above(q.cls, cls) and _reads(q) in reads]

    def arranged(self, groups: Sequence[Sequence[LiveQuery]]) -> list[list[LiveQuery]]:
        """Groups of queries, each of one class and all at the same tuple, with the queries moved that may ride."""
        found: list[list[LiveQuery]] = []
        left = sorted((list(group) for group in groups), key=lambda group: self._rank[group[0].cls])
        while left:
            hosts, *lower = left
            for group in lower:
                riding = self.guests(hosts, group)
                hosts += riding
                names = {query.name for query in riding}
                group[:] = [query for query in group if query.name not in names]
            found.append(hosts)
            left = [group for group in lower if group]
        return found


def _reads(query: LiveQuery) -> object:
    """What a query does with a stream up to its own columns: the rows it wants, but for constants, and its groups."""
    shape = query.compiled.shape  # type: ignore[union-attr]
    return shape.lookups, shape.where, shape.grouping.keys if shape.grouping else None

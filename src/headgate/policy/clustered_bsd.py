"""BSD at the cost of a few clusters: one pseudo priority per cluster, pruned search, clustered processing.

A cluster's priority is its pseudo priority P times the wait W of the oldest tuple that any of its queries has not
processed. With `processing="cluster"` a decision runs all its queries on that tuple, one after the other; with
"query" just one, so that there is a scheduling point after each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.bsd import BSD
from headgate.policy.clusters import KINDS
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work
from headgate.policy.pruning import SEARCHES, Candidate

FORMULA = "P·W of the cluster"


@dataclass
class ClusteredBsd:
    """BSD over `clusters` ranges of φ, of a `kind`, searched by `search`."""

    clusters: int = 12
    kind: str = "log"
    search: str = "fagin"
    processing: Literal["cluster", "query"] = "cluster"
    _units: Sequence[Unit] = field(default=(), init=False)
    _members: list[list[int]] = field(default_factory=list, init=False)
    _pseudo: Sequence[float] = field(default=(), init=False)

    def __post_init__(self) -> None:
        for what, value, known in (("kind", self.kind, KINDS), ("search", self.search, SEARCHES)):
            if value not in known:
                raise InputError(f"clustered BSD: a known {what}", f"'{value}'", f"Choose {', '.join(known)}.")

    def prepare(self, units: Sequence[Unit]) -> None:
        """Assign each unit to its cluster; inside a cluster the higher φ goes first."""
        self._units = units
        phi = [BSD.static(unit) for unit in units]
        of, self._pseudo = KINDS[self.kind](phi, self.clusters)
        self._members = [[] for _ in self._pseudo]
        for i in sorted(range(len(units)), key=lambda i: (-phi[i], i)):
            self._members[of[i]].append(i)

    def choose(self, view: View) -> Decision | None:
        """Find the best cluster and run it, or its next query, on its oldest tuple."""
        oldest = {k: self._oldest(view, k) for k in reversed(range(len(self._pseudo)))}
        candidates = [
            Candidate(k, self._pseudo[k], view.now - arrival)
            for k, arrival in oldest.items()
            if arrival < float("inf")
        ]
        if not candidates:
            return None
        best, seen, reads = SEARCHES[self.search](candidates)
        head = oldest[best.cluster]
        due = [i for i in self._members[best.cluster] if view.queues[i].oldest == head]
        runs = tuple(Run(self._units[i].id, 1) for i in (due if self.processing == "cluster" else due[:1]))
        terms = {"cluster": float(best.cluster), "P": best.P, "W": best.W, "priority": best.priority}
        return Decision(runs, Why(FORMULA, terms), Work(seen, seen - 1, reads))

    def observe(self, outcome: Outcome) -> None:
        """Priorities depend on the queues alone."""

    def _oldest(self, view: View, cluster: int) -> float:
        return min((view.queues[i].oldest for i in self._members[cluster]), default=float("inf"))

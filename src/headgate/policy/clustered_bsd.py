"""BSD at the cost of a few clusters: one pseudo priority per cluster, pruned search, clustered processing.

A cluster's priority is its pseudo priority P times the wait W of the oldest tuple that any of its queries has not
processed. With `processing="cluster"` a decision runs all its queries on that tuple, one after the other; with
"query" just one, so that there is a scheduling point after each. With trains, the queries of a cluster stand at
different tuples, and each that has any runs its own train.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.bsd import BSD
from headgate.policy.clusters import KINDS, count_for_ratio
from headgate.policy.protocol import Decision, Outcome, Run, View, Why, Work
from headgate.policy.pruning import SEARCHES, Candidate
from headgate.policy.trains import ONE, Train

Processing = Literal["cluster", "query"]
FORMULA = "P·W of the cluster"


@dataclass
class ClusteredBsd:
    """BSD over `clusters` ranges of φ, of a `kind`, searched by `search`.

    With a `ratio` there are as many logarithmic clusters as keep the priorities inside each within it.
    """

    clusters: int = 12
    kind: str = "log"
    search: str = "fagin"
    processing: Processing = "cluster"
    ratio: float | None = None
    train: Train = ONE
    _units: Sequence[Unit] = field(default=(), init=False)
    members: list[list[int]] = field(default_factory=list, init=False)
    pseudo: Sequence[float] = field(default=(), init=False)

    def __post_init__(self) -> None:
        for what, value, known in (
            ("kind", self.kind, KINDS),
            ("search", self.search, SEARCHES),
            ("processing", self.processing, get_args(Processing)),
        ):
            if value not in known:
                raise InputError(f"clustered BSD: a known {what}", f"'{value}'", f"Choose {', '.join(known)}.")
        if self.ratio is not None and not (self.ratio > 1 and self.kind == "log"):
            rule = "clustered BSD: a ratio is above 1 and goes with logarithmic clusters"
            raise InputError(rule, f"{self.ratio} with {self.kind} clusters", "Give ratio: 2.5 and kind: log.")

    def prepare(self, units: Sequence[Unit]) -> None:
        """Assign each unit to its cluster; inside a cluster the higher φ goes first."""
        self._units = units
        phi = [BSD.static(unit) for unit in units]
        m = self.clusters if self.ratio is None else count_for_ratio(phi, self.ratio)
        of, self.pseudo = KINDS[self.kind](phi, m)
        self.members = [[] for _ in self.pseudo]
        for i in sorted(range(len(units)), key=lambda i: (-phi[i], i)):
            self.members[of[i]].append(i)

    def choose(self, view: View) -> Decision | None:
        """Find the best cluster and run it, or its next query, on its oldest tuple."""
        # The oldest tuple of each cluster that has one, in the order of the pseudo priorities.
        oldest = {
            k: min((view.queues[i].oldest, view.queues[i].position) for i in ready)
            for k in reversed(range(len(self.pseudo)))
            if (ready := [i for i in self.members[k] if view.queues[i].pending])
        }
        if not oldest:
            return None
        candidates = [Candidate(k, self.pseudo[k], view.now - arrival) for k, (arrival, _) in oldest.items()]
        best, seen, reads = SEARCHES[self.search](candidates)
        due = [i for i in self.members[best.cluster] if view.queues[i].pending]
        first = [i for i in due if view.queues[i].position == oldest[best.cluster][1]]
        if self.processing == "query":
            due = first[:1]
        elif self.train.most == 1:
            due = first
        runs = tuple(Run(self._units[i].id, self.train.length(self._units[i], view.queues[i].pending)) for i in due)
        terms = {"cluster": float(best.cluster), "P": best.P, "W": best.W, "priority": best.priority}
        return Decision(runs, Why(FORMULA, terms), Work(seen, seen - 1, reads))

    def observe(self, outcome: Outcome) -> None:
        """Priorities depend on the queues alone."""

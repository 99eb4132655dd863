"""Finding the cluster with the largest P·W without looking at all of them.

There are two lists over the same clusters: L1 by pseudo priority P, which never changes, and L2 by the wait W of
the oldest tuple, which is the order of arrival. Both searches read them from the top and return what a full scan
would, since the product grows with each factor. The caller passes the clusters that have tuples, in L1's order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """A cluster that has tuples: its pseudo priority P and the wait W of its oldest tuple."""

    cluster: int
    P: float
    W: float

    @property
    def priority(self) -> float:
        """P·W."""
        return self.P * self.W


class Found(NamedTuple):
    """The best candidate, how many were looked at, and how many list entries were read."""

    best: Candidate
    seen: int
    reads: int


def scan(by_priority: Sequence[Candidate]) -> Found:
    """Look at every cluster. Of equals the first, with the higher pseudo priority, wins."""
    return Found(max(by_priority, key=_rank), len(by_priority), len(by_priority))


def fagin(by_priority: Sequence[Candidate]) -> Found:
    """Fagin's algorithm: read both lists in parallel until one cluster has come up in both."""
    by_wait = _by_wait(by_priority)
    seen: dict[int, Candidate] = {}
    first: set[int] = set()
    second: set[int] = set()
    reads = 0
    for a, b in zip(by_priority, by_wait, strict=True):
        seen[a.cluster], seen[b.cluster] = a, b
        first.add(a.cluster)
        second.add(b.cluster)
        reads += 2
        if first & second:
            break
    return Found(max(seen.values(), key=_rank), len(seen), reads)


def threshold(by_priority: Sequence[Candidate]) -> Found:
    """The threshold variant (R×W): stop when the best so far beats the product of the last entries read."""
    by_wait = _by_wait(by_priority)
    seen: dict[int, Candidate] = {}
    best = by_priority[0]
    reads = 0
    for a, b in zip(by_priority, by_wait, strict=True):
        seen[a.cluster], seen[b.cluster] = a, b
        best = max(best, a, b, key=_rank)
        reads += 2
        # Strictly more, so that a tie further down, which the full scan would prefer, is not missed.
        if best.priority > a.P * b.W:
            break
    return Found(best, len(seen), reads)


def _by_wait(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (-c.W, -c.P))


def _rank(candidate: Candidate) -> tuple[float, float, int]:
    return candidate.priority, candidate.P, -candidate.cluster


SEARCHES: dict[str, Callable[[Sequence[Candidate]], Found]] = {
    "scan": scan,
    "fagin": fagin,
    "threshold": threshold,
}

"""Copies in groups of about equal size, by a key that says who is alike. Groups are solved faster than copies."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.freshness.problem import Floats, Problem, freshness

Labels: TypeAlias = NDArray[np.int64]
"""The group of each copy."""

Key: TypeAlias = Callable[[Problem, float], Floats]


def _per_change(problem: Problem) -> Floats:
    """Accesses to a change; what never changes comes last."""
    found = np.full(len(problem), np.inf)
    np.divide(problem.p, problem.lam, out=found, where=problem.lam > 0)
    return found


KEYS: Mapping[str, Key] = {
    "p": lambda problem, _: problem.p,
    "lam": lambda problem, _: problem.lam,
    "p/lam": lambda problem, _: _per_change(problem),
    "pf": lambda problem, c: problem.p * freshness(c, problem.lam),
    "size": lambda problem, _: problem.s,
    "pfs": lambda problem, c: problem.p * freshness(c / problem.s, problem.lam),
}
"""Accesses, changes, accesses to a change, perceived freshness at c refreshes, size, and freshness at bandwidth c."""


def partition(problem: Problem, key: str, groups: int, c: float = 1.0) -> Labels:
    """Groups of copies that follow each other by a key; their sizes differ by one at most.

    `c` is how often all copies are refreshed for the sake of the key, or how much bandwidth each gets.
    """
    if key not in KEYS:
        raise InputError("a known key of groups", f"'{key}'", f"Choose {', '.join(KEYS)}.")
    n = len(problem)
    if not 1 <= groups <= n:
        raise InputError(f"there are from 1 to {n} groups of {n} copies", groups, "Choose another number of groups.")
    labels = np.empty(n, np.int64)
    labels[np.argsort(KEYS[key](problem, c), kind="stable")] = np.arange(n) * groups // n
    return labels

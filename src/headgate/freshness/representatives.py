"""The problem with one copy in place of each group, and what its solution means for the members."""

from typing import Literal

import numpy as np

from headgate.freshness.partitions import Labels
from headgate.freshness.problem import Floats, Problem
from headgate.freshness.solver import solve

Allocation = Literal["ffa", "fba"]
"""Members of a group get the same frequency, or the same bandwidth. Both spend what the group has."""


def representatives(problem: Problem, labels: Labels) -> Problem:
    """One average copy in place of each group, which counts as often as the group has copies.

    Groups are numbered from 0 without gaps.
    """
    count = np.bincount(labels, problem.w).astype(np.float64)

    def mean(values: Floats) -> Floats:
        return np.bincount(labels, problem.w * values) / count

    return Problem(mean(problem.p), mean(problem.lam), mean(problem.s), problem.B, count)


def solve_groups(problem: Problem, labels: Labels, allocation: Allocation = "ffa") -> Floats:
    """Refreshes of each copy, from the optimum of the representatives."""
    groups = representatives(problem, labels)
    f = solve(groups).f
    if allocation == "ffa":
        return f[labels]
    return (groups.s * f)[labels] / problem.s

"""Groups that are moved towards who is alike in all respects: a few rounds of k-means from given groups.

Copies are points: accesses, changes and sizes, each as a share of the total. Equal sizes are the same for all, and so
have no part in any distance.
"""

import numpy as np
from scipy.spatial import KDTree

from headgate.freshness.partitions import Labels
from headgate.freshness.problem import Floats, Problem


def _share(values: Floats) -> Floats:
    total = float(values.sum())
    return values / total if total else values


def refine(problem: Problem, labels: Labels, rounds: int) -> Labels:
    """Groups after so many rounds, or fewer if nobody moves any more; a group that loses all members is gone."""
    points = np.column_stack([_share(each) for each in (problem.p, problem.lam, problem.s)])
    for _ in range(rounds):
        count = np.bincount(labels)
        centres = np.column_stack([np.bincount(labels, along) / count for along in points.T])
        # The nearest centre of all is found without a look at most of them.
        nearest = KDTree(centres).query(points)[1]
        moved = np.unique(nearest, return_inverse=True)[1].astype(np.int64)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels

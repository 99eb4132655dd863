"""Where queries are at first, or for good."""

import numpy as np

from headgate.sim.metrics import Ints
from headgate.sim.nodes.workload import Workload


def at_random(workload: Workload, nodes: int, seed: int) -> Ints:
    """Each query on any node."""
    return np.random.default_rng([seed, 11]).integers(nodes, size=workload.queries)


def balanced(workload: Workload, nodes: int) -> Ints:
    """The largest first, each on the node that has least: even in the mean over the whole run, which it knows."""
    place = np.zeros(workload.queries, dtype=np.int64)
    loads = np.zeros(nodes)
    mean = workload.mean
    for query in np.argsort(-mean, kind="stable"):
        place[query] = int(loads.argmin())
        loads[place[query]] += mean[query]
    return place

"""The priority of a single query within its class's share: how often it comes, against the others.

    raw_i = f_class(i) · cost(i) / cost(class(i))
    Pr_i  = raw_i · max_j 1/raw_j

A class gets the share f_c/Σf whatever its queries cost, and inside it a query gets what it needs. The least Pr is 1.
"""

import math
from collections.abc import Sequence

from headgate.model.unit import Unit

LONGEST = 4096
"""The slots of a program at most, or four for each unit if those are more."""

_LEAST = 1e-3
"""A unit counts with this part of its class's mean cost at least, so that one that costs nothing has its turn too."""

_NOISE = 1e-9


def query_cost(unit: Unit) -> float:
    """Expected time per tuple of the queries that a unit carries, each counted as if it were alone."""
    return sum(s.C for s in unit.segments) or unit.cost.b or unit.cost.a


def operator_cost(unit: Unit) -> float:
    """Expected time that an operator spends on one tuple of its query's stream."""
    before = unit.basis.segments[0].before if unit.basis.segments else ()
    return math.prod(stage.s for stage in before) * (unit.cost.b or unit.cost.a)


def raw(f: Sequence[float], costs: Sequence[float], rank: Sequence[int]) -> list[float]:
    """The part of its class's frequency that each unit has by its cost; `rank` gives the class of each."""
    parts = [0.0] * len(costs)
    for k, frequency in enumerate(f):
        mine = [i for i, each in enumerate(rank) if each == k]
        least = _LEAST * sum(costs[i] for i in mine) / max(1, len(mine)) or 1.0
        counted = [max(costs[i], least) for i in mine]
        for i, cost in zip(mine, counted, strict=True):
            parts[i] = frequency * cost / sum(counted)
    return parts


def priorities(f: Sequence[float], costs: Sequence[float], rank: Sequence[int]) -> list[float]:
    """Pr of each unit. The least is 1, or less where a program would be longer than it may be."""
    parts = raw(f, costs, rank)
    if not parts:
        return []
    longest = max(LONGEST, 4 * len(parts))
    multiplier = min(1 / min(parts), longest / sum(parts))
    return [part * multiplier for part in parts]


def slots(Pr: Sequence[float]) -> tuple[list[int], list[float]]:
    """The slots of each unit in a round, and how likely it takes the first: on average it takes Pr of them."""
    count = [max(1, math.ceil(each - _NOISE)) for each in Pr]
    first = [each - n + 1 for each, n in zip(Pr, count, strict=True)]
    return count, [1.0 if share > 1 - _NOISE else share for share in first]

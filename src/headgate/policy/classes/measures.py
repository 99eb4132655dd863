"""What class scheduling is judged by: priority inversion and the weighted response time.

Classes are given most important first, by their priorities P and response times RT at some level: the mean, or a
percentile. A response time that is not a number stands for a class without results.
"""

import math
from collections.abc import Sequence


def inverted(P: Sequence[float], RT: Sequence[float]) -> list[bool]:
    """Whether each class but the last is the victim of the next: more important, and slower all the same."""
    return [P[i] > P[i + 1] and RT[i] > RT[i + 1] for i in range(len(P) - 1)]


def prir(P: Sequence[float], RT: Sequence[float]) -> list[float]:
    """The priority inversion ratio of each class but the last: `P_i/P_{i+1} · (RT_i/RT_{i+1} − 1)`, or 0 without."""
    return [
        P[i] / P[i + 1] * (RT[i] / RT[i + 1] - 1 if RT[i + 1] else math.inf) if victim else 0.0
        for i, victim in enumerate(inverted(P, RT))
    ]


def wavg(P: Sequence[float], RT: Sequence[float]) -> float:
    """The response time weighted by priority, `Σ P·RT / ΣP`, over the classes that have results."""
    seen = [(p, rt) for p, rt in zip(P, RT, strict=True) if not math.isnan(rt)]
    return sum(p * rt for p, rt in seen) / sum(p for p, _ in seen) if seen else math.nan

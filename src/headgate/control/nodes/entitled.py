"""What DILoS gives the classes of a node in the end: the fixed point of its redistribution.

Each class gets its load up to its share by priority; what others leave of theirs goes to who needs more, the highest
priority first:

    got_k = min(L_k, C·P_k/ΣP), then the rest of C from the highest P_k down
"""

from collections.abc import Mapping

Loads = Mapping[str, float]
"""By class, in seconds of work per second."""

NEAR = 1e-9
"""Differences of loads that are due to rounding."""


def served(capacity: float, priorities: Loads, loads: Loads) -> dict[str, float]:
    """What of its load each class gets."""
    total = sum(priorities[cls] for cls in loads)
    got = {cls: min(load, capacity * priorities[cls] / total) for cls, load in loads.items()}
    spare = capacity - sum(got.values())
    for cls in sorted(loads, key=lambda cls: -priorities[cls]):
        if spare <= 0:
            break
        more = min(loads[cls] - got[cls], spare)
        got[cls] += more
        spare -= more
    return got


def lost(capacity: float, priorities: Loads, loads: Loads) -> dict[str, float]:
    """What of its load each class loses; nothing where it is a matter of rounding."""
    got = served(capacity, priorities, loads)
    return {cls: short if (short := load - got[cls]) > NEAR else 0.0 for cls, load in loads.items()}

"""Where to shed, if lower classes share some of what a class reads: at what it has for itself first.

What a class drops of a stream that it shares is lost to those who share it too, and they were not asked. So the part
that is to go goes where nobody else reads, as far as that has it; the rest goes where all read.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

from headgate.shed.drops import CAP

Place = TypeVar("Place")


def unshared_first(loads: Mapping[Place, float], shared: Collection[Place], drop: float) -> dict[Place, float]:
    """The part to drop at each place, so that as much load goes as if the part `drop` went at all of them."""
    cap = CAP / 100
    own = sum(load for place, load in loads.items() if place not in shared)
    others = sum(load for place, load in loads.items() if place in shared)
    excess = drop * (own + others)
    first = min(cap, excess / own) if own else 0.0
    rest = max(0.0, excess - first * own)
    # Load that cannot be told from none is no reason to drop what others read.
    then = min(cap, rest / others) if others and rest > 1e-9 * excess else 0.0
    return {place: then if place in shared else first for place in loads}

"""Drop rates in whole percent: how one is raised, lowered and set.

Raising and lowering go by a percentage of what is admitted now, since that is the load a manager can see.
"""

import math

CAP = 99
"""The most that is ever dropped, in percent: something must come through for response times to be known."""


def add_drop(d: int, p: float, cap: int = CAP) -> int:
    """The rate that admits p percent less than d does, by at least one step."""
    wanted = _whole(100 - (100 - d) * (100 - min(p, 100)) / 100)
    return min(cap, max(wanted, d + 1))


def remove_drop(d: int, p: float) -> int:
    """The rate that admits p percent more than d does, by at least one step."""
    wanted = _whole(100 - (100 + p) * (100 - d) / 100)
    return max(0, min(wanted, d - 1))


def set_drop(share: float, cap: int = CAP) -> int:
    """The rate nearest to a share."""
    return min(cap, max(0, _whole(100 * share)))


def _whole(percent: float) -> int:
    return math.floor(percent + 0.5)

"""A part of the bandwidth that is not planned but goes to who waits: requests for copies that are likely to be stale.

A plan knows the rates that it was made with. Where one of them rises at once, requests for that copy pile up, and
what is kept back for them goes there until there is a new plan.
"""

import numpy as np
from numpy.typing import ArrayLike

from headgate.freshness.problem import Floats


class Requests:
    """Who was asked for since the last refresh, and who of them is refreshed next.

    The longest wait comes first: of all requests since the copy's refresh together, times the probability
    `1 − e^{−λ·age}` that the copy has changed, to the size of it. Only so many copies are `eligible`, those that are
    the most asked for and changing.
    """

    def __init__(self, lam: Floats, s: ArrayLike = 1.0, eligible: int = 50, now: float = 0.0) -> None:
        self.lam = lam
        self._s = np.broadcast_to(np.asarray(s, float), lam.shape)
        self._eligible = min(eligible, len(lam))
        self._count = np.zeros(len(lam))
        self._sum = np.zeros(len(lam))
        self._refreshed = np.full(len(lam), now)
        self._ever = np.zeros(len(lam))

    def request(self, copy: int, now: float) -> None:
        """A copy is asked for."""
        self._count[copy] += 1
        self._sum[copy] += now
        self._ever[copy] += 1

    def refreshed(self, copy: int, now: float) -> None:
        """A copy is refreshed, by whichever part of the bandwidth; nobody waits for it any more."""
        self._count[copy] = self._sum[copy] = 0.0
        self._refreshed[copy] = now

    def choose(self, now: float) -> int | None:
        """The copy to refresh now; none if nobody waits for a copy that can have changed."""
        hot = np.argpartition(-self._ever * self.lam, self._eligible - 1)[: self._eligible]
        waits = self._count[hot] * now - self._sum[hot]
        score = waits * -np.expm1(-self.lam[hot] * (now - self._refreshed[hot])) / self._s[hot]
        best = int(np.argmax(score))
        return int(hot[best]) if score[best] > 0 else None

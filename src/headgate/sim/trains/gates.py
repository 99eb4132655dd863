"""Gates: where tuples of a class come in, and some of them are dropped."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.shed.droppers import Dropper
from headgate.shed.protocol import Sheds
from headgate.sim.trains.train import Train


class Gate:
    """The shedder at one entry of a class: the share it drops, and the counts.

    `keys` are those of the entry's tuples by their number, for a dropper that looks at them. Tuples dropped as they
    arrive are `unpaid` until somebody reads at the entry and pays for having looked at them.
    """

    __slots__ = ("_dropper", "_keys", "at", "dropped", "rate", "unpaid")

    def __init__(self, dropper: Dropper, at: Sheds, keys: NDArray[Any] | None = None) -> None:
        self._dropper, self._keys, self.at = dropper, keys, at
        self.rate = 0.0
        self.dropped = 0
        self.unpaid = 0

    def at_read(self, train: Train, first: int) -> Train:
        """What stays of a train whose first tuple has a number."""
        return self._thin(train, first) if self.at == "read" and self.rate > 0 else train

    def at_arrival(self, train: Train, first: int) -> Train:
        """What stays of tuples that arrive, the first of which has a number."""
        return self._thin(train, first) if self.rate > 0 else train

    def pay(self) -> int:
        """The tuples dropped since the last payment."""
        n, self.unpaid = self.unpaid, 0
        return n

    def _thin(self, train: Train, first: int) -> Train:
        n = len(train.times)
        keys = None if self._keys is None else self._keys[first : first + n]
        stays = self._dropper.keep(np.arange(first, first + n), self.rate, keys)
        kept = Train(train.times[stays], train.ids[stays])
        gone = n - len(kept.times)
        self.dropped += gone
        self.unpaid += gone
        return kept

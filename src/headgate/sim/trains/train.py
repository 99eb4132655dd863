"""Tuples that go together, as arrays."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate.sim.metrics import Floats

Words: TypeAlias = NDArray[np.uint64]


class Train(NamedTuple):
    """Tuples that go together: when each arrived in the system, and who it is."""

    times: Floats
    ids: Words

    @property
    def length(self) -> int:
        """How many they are."""
        return len(self.times)


NOTHING = Train(np.empty(0), np.empty(0, np.uint64))

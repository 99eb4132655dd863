"""Which tuples a box passes on: its selectivity, realised in even steps or by chance."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from headgate.sim import draws


class Passing(Protocol):
    """Decides for the tuples of a train."""

    def places(self, box: int, sel: float, train: Sequence[int]) -> list[int]:
        """The place in the train of each tuple that is passed on; one that is multiplied has it more than once."""


class Even:
    """The n-th tuple of a box brings what it has passed on to ⌊n·sel⌋. So a window of w has a sel of 1/w."""

    def __init__(self, boxes: int) -> None:
        self._seen = [0] * boxes

    def places(self, box: int, sel: float, train: Sequence[int]) -> list[int]:
        """As many of the train as are due."""
        seen = self._seen[box]
        self._seen[box] = seen + len(train)
        found: list[int] = []
        before = _whole(seen * sel)
        for place in range(len(train)):
            after = _whole((seen + place + 1) * sel)
            found.extend([place] * (after - before))
            before = after
        return found


class Drawn:
    """Each tuple by itself, by a hash of the tuple and the box, so that every policy sees the same."""

    def __init__(self, seed: int) -> None:
        self._seed = np.uint64(seed)

    def places(self, box: int, sel: float, train: Sequence[int]) -> list[int]:
        """Those for which the draw is below the selectivity; its whole part is passed on in any case."""
        sure = int(sel)
        found: list[int] = []
        for place, item in enumerate(train):
            more = draws.draw(self._seed, np.uint64(item), np.uint64(box)) < sel - sure
            found.extend([place] * (sure + more))
        return found


def _whole(value: float) -> int:
    # 5 · 0.2 may come out a little below 1.
    return int(value + 1e-9)

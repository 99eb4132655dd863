"""Queries with a deadline: a window that moves by a stride, and results that are due a while after it has ended.

The i-th iteration of a query that was admitted at t0 reads the tuples stamped after `t0 + (i − 1)·stride` and up to a
window later. It is released when the window ends, as not all of its tuples are there before, and is due `due` after
that. Releases and deadlines keep to this grid however late an iteration is.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Iteration:
    """One execution: it reads the tuples in (start, end], and has from `release` to `due`."""

    index: int
    start: float
    end: float
    release: float
    due: float

    def reads(self, stamp: float) -> bool:
        """Whether a tuple of that time is in the window; what is stamped with the start belongs to the one before."""
        return self.start < stamp <= self.end


@dataclass(frozen=True, slots=True)
class Deadline:
    """What a query asks for: a `window` in seconds every `stride`, results `due` seconds after its end, a weight.

    Windows longer than the stride overlap, shorter ones leave gaps. The weight says what a missing result is worth;
    it gives no priority.
    """

    window: float
    stride: float
    due: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("window", self.window), ("stride", self.stride)):
            if not (value > 0 and math.isfinite(value)):
                raise InputError(f"a {name} is longer than 0 s", value, f"Give a {name} such as 10 s.")
        if not 0 < self.due <= self.stride:
            rule = f"a deadline is longer than 0 s and at most the stride of {float(self.stride):g} s"
            raise InputError(rule, self.due, "Give a shorter deadline, or a longer stride.")
        if not (self.weight > 0 and math.isfinite(self.weight)):
            raise InputError(
                "a weight is a number above 0", self.weight, "Give the most important query the greatest."
            )

    def iteration(self, index: int, origin: float) -> Iteration:
        """The iteration of that number, the first being 1, of a query admitted at `origin`."""
        start = origin + (index - 1) * self.stride
        end = start + self.window
        return Iteration(index, start, end, end, end + self.due)

    def released(self, origin: float, until: float) -> Iterator[Iteration]:
        """The iterations that are released before `until`, in their order."""
        index = 1
        while (found := self.iteration(index, origin)).release < until:
            yield found
            index += 1

    def origin(self, first: float) -> float:
        """When a query is admitted whose first release is to be at that time."""
        return first - self.window

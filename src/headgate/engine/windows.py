"""Windows of time: which windows a tuple belongs to, which panes a window has, when it closes.

All times are whole microseconds since the epoch, and windows begin at multiples of the slide. The one rule, from
which panes, joins, sessions and recovery follow: a tuple belongs to a window [start, end) if

    start <= time < end     and     before < end

where `before` is the stream's watermark just before the tuple's train was logged. A window closes when the
watermark reaches its end; the tuple is late for those that had closed when it came. This depends on the log alone,
not on when which query ran.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headgate.errors import InputError

Time = Literal["event", "arrival"]

NEVER = -(2**62)
"""The watermark of a stream that has no tuple yet."""
ENDED = 2**62
"""The watermark of a stream that has ended: every window closes."""


@dataclass(frozen=True, slots=True)
class Window:
    """Windows of `size`, one every `slide`, over event or arrival time; all in microseconds."""

    size: int
    slide: int
    time: Time = "event"

    def __post_init__(self) -> None:
        for what, length in (("size", self.size), ("slide", self.slide)):
            if length < 1:
                raise InputError(f"a window's {what} is a microsecond or more", length, "Write it like 10s.")

    @property
    def pane(self) -> int:
        """The longest stretch that every window has whole or not at all."""
        return math.gcd(self.size, self.slide)

    def first_end(self, time: int) -> int:
        """The end of the first window to close of those that begin at or before a time and end after it."""
        return ((time - self.size) // self.slide + 1) * self.slide + self.size

    def last_end(self, time: int) -> int:
        """The end of the last window that begins at or before a time."""
        return time // self.slide * self.slide + self.size

    def of(self, time: int) -> Iterator[tuple[int, int]]:
        """The windows that a time is in, the first to close first; none where windows leave gaps."""
        for end in range(self.first_end(time), self.last_end(time) + 1, self.slide):
            yield end - self.size, end

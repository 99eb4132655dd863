"""Windows of time or of rows: which windows a tuple belongs to, which panes a window has, when it closes.

All times are whole microseconds since the epoch, and windows begin at multiples of the slide. The one rule, from
which panes, joins, sessions and recovery follow: a tuple belongs to a window [start, end) if

    start <= time < end     and     before < end

where `before` is the stream's watermark just before the tuple's train was logged. A window closes when the
watermark reaches its end; the tuple is late for those that had closed when it came. This depends on the log alone,
not on when which query ran.

Over rows, the time of a tuple is its position in the stream, the watermark is how many tuples there are, and the
first window begins with the first tuple.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from headgate.errors import InputError

Clock = Literal["event", "arrival"]
Time = Literal["event", "arrival", "rows"]
"""What windows go by."""

NEVER = -(2**62)
"""The watermark of a stream that has no tuple yet."""
ENDED = 2**62
"""The watermark of a stream that has ended: every window closes."""


@dataclass(frozen=True, slots=True)
class Window:
    """Windows of `size`, one every `slide`: in microseconds of event or arrival time, or in rows."""

    size: int
    slide: int
    time: Time = "event"

    def __post_init__(self) -> None:
        for what, length in (("size", self.size), ("slide", self.slide)):
            if length < 1:
                least, such_as = ("row", "5 rows") if self.over_rows else ("microsecond", "10s")
                raise InputError(f"a window's {what} is a {least} or more", length, f"Write it like {such_as}.")

    @property
    def over_rows(self) -> bool:
        """Whether it counts rows."""
        return self.time == "rows"

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

    def ends(self, closed: int, mark: int, rows: int) -> range:
        """The ends of the windows over so many rows that a watermark has reached, behind one that has closed."""
        return range(self.first_end(closed), min(mark, self.last_end(rows - 1)) + 1, self.slide)

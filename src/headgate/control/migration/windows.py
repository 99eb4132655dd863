"""What a move has to know of a query: its windows, from the inputs to the output.

Times are whole numbers of any unit, such as microseconds, so that windows meet exactly. Streams are in order of time.
"""

from dataclasses import dataclass

from headgate.errors import InputError


def _positive(length: int, slide: int) -> None:
    if length < 1 or slide < 1:
        rule = "a window has a length and a slide of at least one unit"
        raise InputError(rule, f"{length} and {slide}", "Give both in whole units of time, or in rows.")


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Windows of a length in time, of which one begins every `slide`, counted from `origin`.

    A range window that moves with every tuple is one with a slide of one unit of time: it moves with every instant.
    """

    length: int
    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        _positive(self.length, self.slide)

    def latest(self, ts: int) -> int:
        """The start of the latest window that has begun at a time."""
        return ts - (ts - self.origin) % self.slide

    def from_on(self, ts: int) -> int:
        """The start of the first window that begins at a time or later: whoever reads from there on sees it whole."""
        return ts + (self.origin - ts) % self.slide


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Windows of so many rows, of which one begins every `slide` rows.

    With several inputs all have windows alike, and windows of the same number belong together.
    """

    length: int
    slide: int = 1

    def __post_init__(self) -> None:
        _positive(self.length, self.slide)


Window = TimeWindow | RowWindow

TUPLE = RowWindow(1)
"""What a query without windows has: each tuple is one."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A window operator of a query, and whether it joins its inputs or sums up each window."""

    window: Window
    joins: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A query: its window operators from the inputs to the output, and how many inputs there are.

    `shared` says that some operator works for other queries too.
    """

    stages: tuple[Stage, ...] = ()
    inputs: int = 1
    shared: bool = False

    def __post_init__(self) -> None:
        if self.inputs < 1:
            raise InputError("a query reads at least one stream", self.inputs, "Name the streams that it reads.")
        if any(stage.joins for stage in self.stages[1:]):
            remedy = "Move the part behind the first join as a query of its own."
            raise InputError(
                "only the first window operator of a query that moves may be a join", "a later one", remedy
            )

    @property
    def controlling(self) -> Stage:
        """The window operator closest to the output: it alone says where the query is handed over."""
        return self.stages[-1] if self.stages else Stage(TUPLE)

    @property
    def before(self) -> tuple[Stage, ...]:
        """The window operators that feed the controlling one."""
        return self.stages[:-1]

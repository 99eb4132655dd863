"""How a query is evaluated: the nouns that planning yields and the engine executes.

Every stream is a view of its own name with the user's columns, and one called `__<name>` that also has

    _arrival   TIMESTAMP   when the tuple arrived
    _time      BIGINT      its event time, or its arrival time where the window is over that, in microseconds
    _position  BIGINT      its number in the stream
    _pane      BIGINT      the start of its pane, in microseconds (only of use to panes)
    _late      BIGINT      the watermark that it came behind, if a window of its had closed by then; else NULL
    _kept      DOUBLE      the share of the tuples that is kept where it stands, 1 where none is dropped

Partial results of panes are a view `__panes` with the columns of the partial SQL and, for each window that is being
closed and that the row belongs to, window_start and window_end, TIMESTAMP.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.engine.windows import Window

HIDDEN = ("_arrival", "_time", "_position", "_pane", "_late", "_kept")


@dataclass(frozen=True, slots=True)
class Relation:
    """A stream or a table, as far as a query's text can name it: its columns, and the column with the event time."""

    columns: tuple[str, ...]
    event_time: str | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that a query may read."""

    streams: Mapping[str, Relation]
    tables: Mapping[str, Relation]


@dataclass(frozen=True, slots=True)
class PerTrain:
    """Tuple by tuple: run over each train. `stamped` is the same with a last column `_arrival` of each result."""

    stream: str
    tables: tuple[str, ...]
    sql: str
    stamped: str | None

    @property
    def streams(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.stream,)


@dataclass(frozen=True, slots=True)
class ByPanes:
    """A window aggregate that decomposes: `partial` over each train, `final` over the panes of closing windows.

    `partial` yields _pane and _late, then the keys of GROUP BY (__k0, ...) and the parts of aggregates (__p0, ...);
    `final` yields window_start, window_end and then the query's columns. `sql` is the query as given: the result has
    its columns' names and types, by position.
    """

    stream: str
    tables: tuple[str, ...]
    window: Window
    sql: str
    partial: str
    final: str

    @property
    def streams(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.stream,)


@dataclass(frozen=True, slots=True)
class PerWindow:
    """Anything else over a window: run over all tuples of one window of every stream it reads.

    `why` says what keeps it from being evaluated by panes; with `kept`, results say from which share of the tuples
    they come. first() and last() are those by time, for which `sql` reads the hidden columns of its stream. Over some
    tuples of the stream `divided` at a time, with all of the others, it has the same results in all.
    """

    streams: tuple[str, ...]
    tables: tuple[str, ...]
    window: Window
    sql: str
    why: str
    kept: bool = False
    divided: str | None = None


@dataclass(frozen=True, slots=True)
class BySession:
    """An aggregate over sessions, which end after a `gap` without a tuple of their key; in microseconds.

    `sql` yields session_start and session_end (TIMESTAMP) first, then the query's columns. With `having`, it also
    yields a last column that says which sessions satisfy HAVING: one that does not yet may do so when it has grown.
    """

    stream: str
    tables: tuple[str, ...]
    gap: int
    sql: str
    having: bool = False
    kept: bool = False

    @property
    def streams(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.stream,)


Plan = PerTrain | ByPanes | PerWindow | BySession

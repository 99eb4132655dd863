"""What the two nodes tell each other when a query moves.

Three messages move it: `Migrate`, `Ready` and `Handover`. `Done` lets the target give out what it has held back, so
that results come in order. `Cancel` ends an attempt before the handover.
"""

from dataclasses import dataclass

from headgate.control.migration.timestamps import RowCut


@dataclass(frozen=True, slots=True)
class Migrate:
    """To the target: take over this query."""

    query: str


@dataclass(frozen=True, slots=True)
class Ready:
    """To the originator: connected to all inputs, from these times on every tuple is seen, an input each."""

    query: str
    ts_starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Handover:
    """To the target: the last window here begins at `ts_mi`, take over with the next.

    By time, sources leave out what is before `activation`. By rows there is a cut, and nothing is left out by time.
    `before` has the cuts of windows of rows that feed the controlling one, so that they begin in step.
    """

    query: str
    ts_mi: int
    activation: int | None = None
    rows: RowCut | None = None
    before: tuple[RowCut, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """To the target: the last window is out, nothing more comes from here."""

    query: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """To the other node: the query stays where it is."""

    query: str
    why: str


Message = Migrate | Ready | Handover | Done | Cancel

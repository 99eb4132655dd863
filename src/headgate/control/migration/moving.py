"""A move as two state machines, one per node: events in, actions out.

Whoever drives them, a node or the simulator, hands in what has happened and carries out what comes back, in that
order. Nothing here waits, sends or computes windows.

    originator  ACTIVE ─ Ask ▶ STOP_PREPARING ─ Ready ▶ (rows are counted) ─ Finished ▶ INACTIVE
    target      INACTIVE ─ Migrate ▶ START_PREPARING ─ Connected ▶ START_PENDING ─ Handover, Done ▶ ACTIVE

The originator goes on as before until its last window is out. The target keeps what it reads until it knows where to
begin, and keeps its results until those of the originator are out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from headgate.control.migration.messages import Cancel, Done, Handover, Message, Migrate, Ready
from headgate.control.migration.timestamps import RowCut, TimeCut, common_start, row_reference
from headgate.control.migration.windows import Shape, TimeWindow
from headgate.errors import HeadgateError


class Status(Enum):
    """What a query is on a node."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    START_PREPARING = "start preparing"
    START_PENDING = "start pending"
    STOP_PREPARING = "stop preparing"


class UnexpectedError(HeadgateError):
    """An event that cannot happen in this state: the two nodes do not agree on what the move is at."""


# What happens.


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody wants the query to move to that node."""

    peer: str


@dataclass(frozen=True, slots=True)
class Got:
    """A message has come.

    With a `Ready` goes `ts_last`, the start of the latest window of which something was given out here, if any was.
    Where other windows feed the controlling one, `ts_start` is from when on the target has the same as here, see
    `measured_start`, and `before` has the cuts of those over rows.
    """

    message: Message
    ts_last: int | None = None
    ts_start: int | None = None
    before: tuple[RowCut, ...] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """The first row at or behind the reference has come on every input; so many rows went before it, see `RowCut`.

    `ts_mi` is the time of the row that is δ rows before, on the input with the most rows.
    """

    cut: RowCut
    ts_mi: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The last window of the originator is out."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The target is connected to every input, and sees all that comes from these times on."""

    ts_starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The other node is gone, or the move takes too long."""

    why: str


Event = Ask | Got | Counted | Finished | Connected | Failed


# What to do.


@dataclass(frozen=True, slots=True)
class Send:
    """Tell the other node."""

    message: Message


@dataclass(frozen=True, slots=True)
class CountRows:
    """Report `Counted` when the first row at or behind that time has come on every input, or if it has."""

    reference: int


@dataclass(frozen=True, slots=True)
class FinishThrough:
    """Give out windows up to that of the handover, none behind it, and report `Finished` when it is out, or if it is.

    A controlling join leaves out pairs whose tuples are all in windows of the target.
    """

    handover: Handover


@dataclass(frozen=True, slots=True)
class Deactivate:
    """Stop the query here, forget its state, leave its inputs."""


@dataclass(frozen=True, slots=True)
class Connect:
    """Connect to the query's inputs, keep what comes, and report `Connected`."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Run the query from the handover on, first over what was kept; keep the results if `hold`."""

    handover: Handover
    hold: bool


@dataclass(frozen=True, slots=True)
class Release:
    """Give out the results that were kept, and all others as they come."""


Action = Send | CountRows | FinishThrough | Deactivate | Connect | Begin | Release


@dataclass(frozen=True, slots=True)
class Originator:
    """The node that runs the query; `ordered` sends `Done`, so that the target's results can wait for it."""

    query: str
    shape: Shape
    status: Status = Status.ACTIVE
    ordered: bool = True
    reference: int | None = None
    before: tuple[RowCut, ...] = ()
    handover: Handover | None = None

    def step(self, event: Event) -> tuple["Originator", Sequence[Action]]:
        """What the query is after an event, and what is to be done."""
        match self.status, event:
            case Status.ACTIVE, Ask():
                return replace(self, status=Status.STOP_PREPARING), (Send(Migrate(self.query)),)
            case Status.STOP_PREPARING, Got(message=Ready() as ready) if self._waits_for_ready:
                ts_start = common_start(ready.ts_starts) if event.ts_start is None else event.ts_start
                return self._ready(ts_start, event)
            case Status.STOP_PREPARING, Counted() if self.reference is not None and self.handover is None:
                return self._handed(Handover(self.query, event.ts_mi, rows=event.cut, before=self.before))
            case Status.STOP_PREPARING, Finished() if self.handover is not None:
                told = (Send(Done(self.query)),) if self.ordered else ()
                return replace(self, status=Status.INACTIVE), (*told, Deactivate())
            case Status.STOP_PREPARING, Got(message=Cancel()) if self.handover is None:
                return replace(self, status=Status.ACTIVE, reference=None, before=()), ()
            case Status.STOP_PREPARING, Failed() if self.handover is None:
                cancelled = Send(Cancel(self.query, event.why))
                return replace(self, status=Status.ACTIVE, reference=None, before=()), (cancelled,)
            case (Status.ACTIVE, Got(message=Ready())) | (_, Failed()) | (_, Got(message=Cancel())):
                # An answer to what was cancelled, or a failure behind the point of no return: the windows that are
                # left are given out here, and who takes the query then is no question of this move.
                return self, ()
        raise _unexpected(self.query, self.status, event)

    @property
    def _waits_for_ready(self) -> bool:
        return self.reference is None and self.handover is None

    def _ready(self, ts_start: int, event: Got) -> tuple["Originator", Sequence[Action]]:
        window = self.shape.controlling.window
        last = ts_start - 1 if event.ts_last is None else event.ts_last
        if isinstance(window, TimeWindow):
            # Where no window has begun yet the grid says where the latest would have.
            cut = TimeCut.of(window, ts_start, window.latest(last))
            return self._handed(Handover(self.query, cut.ts_mi, cut.activation, before=event.before))
        reference = row_reference(ts_start, last)
        return replace(self, reference=reference, before=event.before), (CountRows(reference),)

    def _handed(self, handover: Handover) -> tuple["Originator", Sequence[Action]]:
        return replace(self, handover=handover), (Send(handover), FinishThrough(handover))

    def runs_window(self, start: int) -> bool:
        """Whether a window over time that begins then is this node's."""
        if self.status is Status.INACTIVE:
            return False
        return self.handover is None or start <= self.handover.ts_mi


@dataclass(frozen=True, slots=True)
class Target:
    """The node that takes the query over; `ordered` holds its results back until `Done`."""

    query: str
    status: Status = Status.INACTIVE
    ordered: bool = True
    handover: Handover | None = None

    def step(self, event: Event) -> tuple["Target", Sequence[Action]]:
        """What the query is after an event, and what is to be done."""
        match self.status, event:
            case Status.INACTIVE, Got(message=Migrate()):
                return replace(self, status=Status.START_PREPARING), (Connect(),)
            case Status.START_PREPARING, Connected():
                return replace(self, status=Status.START_PENDING), (Send(Ready(self.query, event.ts_starts)),)
            case Status.START_PENDING, Got(message=Handover() as handover) if self.handover is None:
                status = self.status if self.ordered else Status.ACTIVE
                return replace(self, status=status, handover=handover), (Begin(handover, hold=self.ordered),)
            case Status.START_PENDING, Got(message=Done()) if self.handover is not None:
                return replace(self, status=Status.ACTIVE), (Release(),)
            case ((Status.START_PREPARING | Status.START_PENDING), Got(message=Cancel())) if self.handover is None:
                return replace(self, status=Status.INACTIVE), (Deactivate(),)
            case ((Status.START_PREPARING | Status.START_PENDING), Failed()) if self.handover is None:
                told = Send(Cancel(self.query, event.why))
                return replace(self, status=Status.INACTIVE), (told, Deactivate())
            case Status.START_PENDING, Failed():
                # The originator is gone behind the handover: its last window may be missing, which only who has its
                # progress can tell. What is held back waits until that is settled and `Done` is said in its place.
                return self, ()
            case (Status.INACTIVE, Connected()) | (Status.INACTIVE | Status.ACTIVE, Failed() | Got(message=Cancel())):
                return self, ()
        raise _unexpected(self.query, self.status, event)

    def runs_window(self, start: int) -> bool:
        """Whether a window over time that begins then is this node's."""
        if self.handover is None or self.handover.activation is None:
            return self.status is Status.ACTIVE
        return start >= self.handover.activation


def _unexpected(query: str, status: Status, event: Event) -> UnexpectedError:
    return UnexpectedError(f"query '{query}' is {status.value} here and takes no {event}")

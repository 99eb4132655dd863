"""Streams as the manifest has them: their trains, where their sources stand, and what was counted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from headgate.engine.log.database import Database
from headgate.engine.windows import ENDED, Time


@dataclass(frozen=True, slots=True)
class StoredTrain:
    """A train of the log: its place in the stream, when it arrived, its event times, and the watermarks around it.

    Times are microseconds; `event_first` and `event_last` are None where the stream has no event time or the train
    no tuple. A train without tuples moves watermarks only: time passed since `arrived_first`, when the last tuple
    had come, or the stream ended.
    """

    seq: int
    first: int
    count: int
    bytes: int
    arrived_first: int
    arrived_last: int
    arrived_sum: float
    event_first: int | None
    event_last: int | None
    event_before: int
    event_after: int
    arrival_before: int
    arrival_after: int

    @property
    def end(self) -> int:
        """The position behind its last tuple."""
        return self.first + self.count

    @property
    def newest(self) -> int:
        """When the last tuple came, up to this train."""
        return self.arrived_last if self.count else self.arrived_first

    def before(self, time: Time) -> int:
        """The watermark before it."""
        if time == "rows":
            return self.first
        return self.event_before if time == "event" else self.arrival_before

    def after(self, time: Time) -> int:
        """The watermark behind it."""
        if time == "rows":
            return ENDED if self.arrival_after == ENDED else self.end
        return self.event_after if time == "event" else self.arrival_after

    def span(self, time: Time) -> tuple[int, int]:
        """The first and the last time of its tuples, if it has any."""
        if time == "arrival":
            return self.arrived_first, self.arrived_last
        if time == "rows":
            return self.first, self.end - 1
        return self.event_first or 0, self.event_last or 0


class Appended(NamedTuple):
    """What a train brings with it: the state of its source behind it, and what was counted on the way to it."""

    train: StoredTrain | None
    state: Mapping[str, Any] | None = None
    late: int = 0
    rejected: Mapping[str, int] = MappingProxyType({})
    ended: bool = False


class StoredStreams:
    """The streams of a manifest. Each call is one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def enter(
        self, name: str, definition: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any] | None, bool]:
        """Enter a stream if it is new. Gives its first definition, its source's state, and whether it has ended."""
        with self._db.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO stream (name, definition) VALUES (?, ?)", (name, json.dumps(definition))
            )
            found = db.execute("SELECT definition, state, ended FROM stream WHERE name = ?", (name,)).fetchone()
        return json.loads(found[0]), json.loads(found[1]) if found[1] else None, bool(found[2])

    def trains(self, stream: str) -> list[StoredTrain]:
        """The trains of a stream that are still there, oldest first."""
        rows = self._db.rows(
            "SELECT seq, first, count, bytes, arrived_first, arrived_last, arrived_sum, event_first, event_last,"
            " event_before, event_after, arrival_before, arrival_after FROM train WHERE stream = ? ORDER BY seq",
            stream,
        )
        return [StoredTrain(*row) for row in rows]

    def counted(self, stream: str) -> tuple[int, dict[str, int]]:
        """Tuples that came late, and rows that were rejected by reason."""
        with self._db.lock:
            ((late,),) = self._db.rows("SELECT late FROM stream WHERE name = ?", stream)
            return late, dict(self._db.rows("SELECT reason, count FROM rejected WHERE stream = ?", stream))

    def append(
        self,
        stream: str,
        train: StoredTrain | None,
        state: Mapping[str, Any] | None,
        *,
        late: int = 0,
        rejected: Mapping[str, int] | None = None,
        ended: bool = False,
    ) -> None:
        """Commit a train with the state of its source; both are optional."""
        self.append_many(stream, [Appended(train, state, late, rejected or {}, ended)])

    def append_many(self, stream: str, some: Sequence[Appended], before: int | None = None) -> None:
        """Commit trains together. Those that are there before a sequence number go, if there is one."""
        with self._db.transaction() as db:
            if before is not None:
                db.execute("DELETE FROM train WHERE stream = ? AND seq < ?", (stream, before))
            for train, state, late, rejected, ended in some:
                if train is not None:
                    db.execute(
                        f"INSERT INTO train VALUES ({', '.join('?' * 14)})",  # noqa: S608 - question marks only
                        (stream, *(getattr(train, name) for name in StoredTrain.__slots__)),
                    )
                if state is not None:
                    db.execute("UPDATE stream SET state = ? WHERE name = ?", (json.dumps(state), stream))
                if late or ended:
                    db.execute("UPDATE stream SET late = late + ?, ended = ? WHERE name = ?", (late, ended, stream))
                for reason, count in rejected.items():
                    db.execute(
                        "INSERT INTO rejected VALUES (?, ?, ?)"
                        " ON CONFLICT DO UPDATE SET count = count + excluded.count",
                        (stream, reason, count),
                    )

    def drop(self, stream: str, before: int) -> None:
        """Forget the trains before a sequence number."""
        self.append_many(stream, [], before)

    def forget(self, stream: str) -> None:
        """Forget the trains of a stream, where its source stands and what was counted."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM train WHERE stream = ?", (stream,))
            db.execute("DELETE FROM rejected WHERE stream = ?", (stream,))
            db.execute("UPDATE stream SET state = NULL, ended = 0, late = 0 WHERE name = ?", (stream,))

    def remove(self, stream: str) -> None:
        """Forget all of a stream, so that it can begin with other columns."""
        self.forget(stream)
        with self._db.transaction() as db:
            db.execute("DELETE FROM stream WHERE name = ?", (stream,))

"""One look at the engine for all who watch it: frames, what has changed between two of them, and a history."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headgate.engine.gentle import gently
from headgate.monitor.responses import SPAN
from headgate.record import Ran, Reduced, Refused
from headgate.web.audience import Asked, Audience
from headgate.web.frames import Columns, Frame, Part, short, text
from headgate.web.journal import Journal
from headgate.web.served import Served

if TYPE_CHECKING:
    from headgate.engine.status import Snapshot

EVERY = 0.1
"""Seconds between two looks whether there is a newer snapshot, of which an engine takes two a second at most.

By so much news may be later than they could be; a look that finds none takes some microseconds.
"""
_RESTS, _LONGEST_REST = 200, 1.5
"""There is no newer frame for so many times as long as it took to make the last one and to write what was new in it.

It is never so many seconds, since a page that has none for longer says so.
"""
PARTS = ("totals", "classes", "queries", "streams", "lanes", "tables", "refreshing", "deadlines")
LOGS = ("runs", "history", "refused")
"""What a page may ask for: of parts of a frame it gets what has changed, of logs what is new."""
_REMEMBERED, _RUNS, _RECENT = 600, 1_500, 60.0
"""Frames of which the history has figures, five minutes or more; runs that newcomers get, of so many seconds.

`pages/lanes.js` has the number of runs too: with fewer, there were no others.
"""
_FIGURES = ("response_p50", "response_p99", "recent_mean", "share", "drop", "usage", "headroom", "pending", "kept")
_log = logging.getLogger(__name__)


class Watch:
    """The latest two frames of an engine, and what happened up to them. Nobody but a thread of its own looks."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.journal = Journal()
        self.frame = Frame(0, served.recent(), None, 0, served.wirings, Columns(), {})
        self._last = self.frame
        self._past: deque[Snapshot] = deque([self.frame.snapshot])
        self._history: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self._remember(self.frame)
        self._texts: dict[tuple[str, bool], str] = {}
        self._runs: deque[tuple[int, float, str]] = deque(maxlen=_RUNS)
        self._written = 0
        self._awake = threading.Event()
        self.audience = Audience(self._awake.set)
        self.over = False
        """Whether there will be no newer frame."""
        self._deaf: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._keep_looking, name="headgate-watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._deaf = self._served.listen(self.journal.hear)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._deaf()
        self.over = True
        self._awake.set()
        self.audience.dismiss()
        if self._thread.is_alive():
            self._thread.join()

    def message(self, asked: Sequence[str], since: int | None) -> tuple[int, str]:
        """The number of the latest frame, and what somebody gets who has that of a number: JSON, on one line.

        Who has the last one but one gets what is new; everybody else gets everything.
        """
        frame, new = self.frame, since == self._last.number
        parts = [f',"{name}":{self._text(name, new)}' for name in asked]
        head = f'{{"frame":{frame.number},"time":{frame.snapshot.time:.3f},"new":{"true" if new else "false"}'
        return frame.number, "".join([head, *parts, "}"])

    def look(self) -> None:
        """Make a frame of what there is, if it is newer than the last, and hand what is new to those who watch."""
        found = self._served.recent()
        if found is self.frame.snapshot:
            return
        while len(self._past) > 1 and self._past[1].time <= found.time - SPAN:
            self._past.popleft()
        last = self._last = self.frame
        self._texts = {}
        wired = self._served.wirings
        self.frame = Frame(
            last.number + 1, found, self._past[0], self.journal.count, wired, last.columns, last.missing
        )
        # Queries are the bulk of it, and nobody compares theirs.
        self._past.append(replace(found, queries=()))
        self._remember(self.frame)
        followers = self.audience.followers(last.number)
        self.audience.hand(self._messages(followers, last.number), last.number, self.frame.number)

    def welcome(self) -> None:
        """Hand everything to those who have come."""
        if asked := self.audience.newcomers():
            self.audience.welcome(self._messages(asked, None), self.frame.number)

    def _messages(self, asked: Iterable[Asked], since: int | None) -> Mapping[Asked, bytes]:
        """Events of a stream, each written once for all who ask for the same."""
        return {each: f"data: {self.message(each, since)[1]}\n\n".encode() for each in asked}

    def _keep_looking(self) -> None:
        due = 0.0
        while not self.over:
            self._awake.wait(max(EVERY, due - time.monotonic()))
            self._awake.clear()
            try:
                if (began := time.monotonic()) >= due:
                    last, spent = self.frame, time.thread_time()
                    self.look()
                    if self.frame is not last:
                        due = began + min(_LONGEST_REST, _RESTS * (time.thread_time() - spent))
                # What newcomers get is no news: nobody else waits for what that took.
                self.welcome()
            except Exception:  # noqa: BLE001 - whoever watches sees since when there is no news; the next look tries again
                _log.exception("the dashboard has no news this time")
                time.sleep(_LONGEST_REST)

    # Messages

    def _text(self, name: str, new: bool) -> str:
        """A part of a message, written once for all who get it."""
        if (name, new) not in self._texts:
            self._texts[name, new] = self._log(name, new) if name in LOGS else self._part(name, new)
        return self._texts[name, new]

    def _log(self, name: str, new: bool) -> str:
        if name == "runs":
            return self._latest_runs(self._last.recorded if new else 0)
        if name == "refused":
            since = self._last.recorded if new else 0, self.frame.recorded
            answers: list[Refused | Reduced] = [
                *self.journal.since(Refused, *since),
                *self.journal.since(Reduced, *since),
            ]
            said = {Refused: "refused", Reduced: "taken in with less"}
            rows = [[round(each.time, 3), each.query, said[type(each)], each.why] for each in answers]
            return text(sorted(rows))
        return f"[{','.join(entry for number, entry in self._history if not new or number > self._last.number)}]"

    def _part(self, name: str, new: bool) -> str:
        """The columns in which something has changed; all of them if there are other rows."""
        part: Part = getattr(self.frame, name)
        before: Part = getattr(self._last, name) if new else {}
        same = before if part["name"] == before.get("name") else {}
        news = [f'"{column}":{values}' for column, values in part.items() if values != same.get(column)]
        return f"{{{','.join(news)}}}"

    def _latest_runs(self, after: int) -> str:
        """Runs behind a number: lane, unit, class, when, over how many tuples, with how many results, and why.

        Each is written once.
        """
        runs = self.journal.numbered(Ran, self._written, self.frame.recorded)[-_RUNS:]
        of = {query.unit: query.cls for query in reversed(self.frame.snapshot.queries)} if runs else {}
        for number, run in gently(runs):
            self._runs.append((number, run.finished, text(_run(run, of.get(run.unit)))))
        self._written = self.frame.recorded
        since = -math.inf if after else self.frame.snapshot.time - _RECENT
        return f"[{','.join(one for number, at, one in self._runs if number > after and at > since)}]"

    def _remember(self, frame: Frame) -> None:
        """Keep the figures of a frame that charts show."""
        figures = {row["name"]: [short(row[figure]) for figure in _FIGURES] for row in frame.faring}
        rates = {each.name: short(each.rate) for each in frame.snapshot.streams}
        entry = {
            "time": round(frame.snapshot.time, 3),
            **{figure: short(frame.total[figure]) for figure in ("busy", "rate", "pending", "results", "shed")},
            "classes": figures,
            "streams": rates,
        }
        self._history.append((frame.number, text(entry)))


def _run(run: Ran, cls: str | None) -> list[Any]:
    terms = {name: short(float(value)) for name, value in run.terms.items()}
    times = (round(run.started, 4), round(run.finished, 4))
    return [run.lane, run.unit, cls, *times, run.n, run.results, run.formula, terms, run.over, run.error]

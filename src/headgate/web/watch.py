"""One look at the engine for all who watch it: frames, what has changed between two of them, and a history."""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate.engine.gentle import gently
from headgate.engine.status import Snapshot
from headgate.record import Ran, Refused
from headgate.web.frames import Frame, Part
from headgate.web.journal import Journal
from headgate.web.served import Served
from headgate.web.states import SPAN

EVERY = 0.25
"""Seconds between two looks whether there is a newer snapshot, of which an engine takes two a second at most."""
PARTS = ("totals", "classes", "queries", "streams", "lanes", "tables", "refreshing", "deadlines")
LOGS = ("runs", "history", "refused")
"""What a page may ask for: of parts of a frame it gets what has changed, of logs what is new."""
_REMEMBERED = 600
"""Frames of which the history has figures: five minutes or more."""
_FIGURES = ("response_p50", "response_p99", "recent_mean", "share", "drop", "usage", "headroom", "pending", "kept")


class Watch:
    """The latest two frames of an engine, and what happened up to them. Nobody but a thread of its own looks."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.journal = Journal()
        self.frame = self._framed(0, served.recent(), None)
        self._last = self.frame
        self._past: deque[Snapshot] = deque([self.frame.snapshot])
        self._history: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self._remember(self.frame)
        self._lock = threading.Lock()
        self._texts: dict[tuple[str, bool], str] = {}
        self._over = threading.Event()
        self._deaf: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._keep_looking, name="headgate-watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._deaf = self._served.listen(self.journal.hear)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._deaf()
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def message(self, asked: Sequence[str], since: int | None) -> tuple[int, str]:
        """The number of the latest frame, and what somebody gets who has that of a number: JSON, on one line.

        Who has the last one but one gets what is new; everybody else gets everything.
        """
        with self._lock:
            frame, new = self.frame, since == self._last.number
            parts = [f',"{name}":{self._text(name, new)}' for name in asked]
        head = f'{{"frame":{frame.number},"time":{frame.snapshot.time:.3f},"new":{"true" if new else "false"}'
        return frame.number, "".join([head, *parts, "}"])

    def look(self) -> None:
        """Make a frame of what there is, if it is newer than the last."""
        found = self._served.recent()
        if found is self.frame.snapshot:
            return
        while len(self._past) > 1 and self._past[1].time <= found.time - SPAN:
            self._past.popleft()
        frame = self._framed(self.frame.number + 1, found, self._past[0])
        # Queries are the bulk of it, and nobody compares theirs.
        self._past.append(replace(found, queries=()))
        with self._lock:
            self._last, self.frame, self._texts = self.frame, frame, {}
            self._remember(frame)

    def _keep_looking(self) -> None:
        while not self._over.wait(EVERY):
            self.look()

    def _framed(self, number: int, found: Snapshot, before: Snapshot | None) -> Frame:
        return Frame(number, found, before, self.journal.count, self._served.wirings)

    # Messages

    def _text(self, name: str, new: bool) -> str:
        """A part of a message, written once for all who get it."""
        if (name, new) not in self._texts:
            self._texts[name, new] = self._log(name, new) if name in LOGS else self._part(name, new)
        return self._texts[name, new]

    def _log(self, name: str, new: bool) -> str:
        if name == "runs":
            return self._runs(self._last.recorded if new else 0)
        if name == "refused":
            refused = self.journal.since(Refused, self._last.recorded if new else 0, self.frame.recorded)
            return _text([[round(each.time, 3), each.query, each.why] for each in refused])
        return f"[{','.join(text for number, text in self._history if not new or number > self._last.number)}]"

    def _part(self, name: str, new: bool) -> str:
        part: Part = getattr(self.frame, name)
        before: Part = getattr(self._last, name) if new else Part((), {})
        rows = {key: row for key, row in part.rows.items() if before.rows.get(key) != row}
        gone = [key for key in before.rows if key not in part.rows]
        columns = _text(list(part.columns) if part.columns != before.columns else None)
        return f'{{"columns":{columns},"rows":{{{_rows(rows)}}},"gone":{_text(gone)}}}'

    def _runs(self, after: int) -> str:
        """Runs behind a number: lane, unit, class, when, over how many tuples, with how many results, and why."""
        of = {query.unit: query.cls for query in reversed(self.frame.snapshot.queries)}
        runs = self.journal.since(Ran, after, self.frame.recorded)
        return f"[{','.join(_text(_run(run, of.get(run.unit))) for run in gently(runs))}]"

    def _remember(self, frame: Frame) -> None:
        """Keep the figures of a frame that charts show."""
        totals, classes = (_records(part) for part in (frame.totals, frame.classes))
        figures = {name: [row[figure] for figure in _FIGURES] for name, row in classes.items()}
        rates = {each.name: round(each.rate, 1) for each in frame.snapshot.streams}
        (total,) = totals.values()
        entry = {
            "time": round(frame.snapshot.time, 3),
            "busy": total["busy"],
            "rate": total["rate"],
            "pending": total["pending"],
            "results": total["results"],
            "shed": total["shed"],
            "classes": figures,
            "streams": rates,
        }
        self._history.append((frame.number, _text(entry)))


def _records(part: Part) -> Mapping[str, Mapping[str, Any]]:
    return {key: dict(zip(part.columns, row, strict=True)) for key, row in part.rows.items()}


def _run(run: Ran, cls: str | None) -> list[Any]:
    terms = {name: float(f"{value:.4g}") for name, value in run.terms.items()}
    times = (round(run.started, 4), round(run.finished, 4))
    return [run.lane, run.unit, cls, *times, run.n, run.results, run.formula, terms, run.over, run.error]


def _rows(rows: Mapping[str, Any]) -> str:
    return ",".join(f"{_text(key)}:{_text(row)}" for key, row in gently(rows.items()))


_text: Callable[[Any], str] = json.JSONEncoder(separators=(",", ":"), default=dict).encode

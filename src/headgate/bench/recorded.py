"""What the record of a run says of results, as it grows: when they came, how many, how late."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BIN = 0.25
"""Seconds that are on time, or not."""


@dataclass(frozen=True, slots=True)
class Ran:
    """When a run with results ended, how many these were, and their response times, summed up and the longest."""

    at: float
    results: int
    total: float
    longest: float


@dataclass
class Growing:
    """The record of an engine that runs, from where one has last looked."""

    path: Path
    _read: int = field(default=0, init=False)
    _classes: dict[str, str] = field(default_factory=dict, init=False)
    """The class of each unit that there was."""

    def ran(self, began: float) -> dict[str, list[Ran]]:
        """The runs with results since the last look, by class; in seconds from the beginning."""
        found: dict[str, list[Ran]] = {}
        for entry in self._entries():
            if planned := entry.get("planned"):
                self._classes[planned["unit"]] = planned["cls"]
            elif (run := entry.get("ran")) and run["results"]:
                seen = Ran(run["finished"] - began, run["results"], *run["response"][:2])
                found.setdefault(self._classes[run["unit"]], []).append(seen)
        return found

    def _entries(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as file:
            file.seek(self._read)
            # The last line may be under way.
            whole = file.read().rpartition(b"\n")[0]
        self._read += len(whole) + bool(whole)
        return map(json.loads, whole.splitlines())


def within(target: float, runs: Sequence[Ran]) -> float:
    """The share of the time until the last result in which nobody waited for one that was late."""
    if not runs:
        return 0.0
    late: set[int] = set()
    for run in runs:
        if run.longest > target:
            due = max(0.0, run.at - run.longest + target)
            late.update(range(int(due / BIN), int(run.at / BIN) + 1))
    return 1 - len(late) / (int(max(run.at for run in runs) / BIN) + 1)

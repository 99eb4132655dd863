"""What the record of a run says of results, as it grows: when they came, how many, how late."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate import record
from headgate.record import Follower

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
    """The record of an engine that runs, from where one has last looked; in its state folder."""

    folder: Path
    _follower: Follower = field(init=False)
    _classes: dict[str, str] = field(default_factory=dict, init=False)
    """The class of each unit that there was."""

    def __post_init__(self) -> None:
        self._follower = Follower(self.folder)

    def ran(self, began: float) -> dict[str, list[Ran]]:
        """The runs with results since the last look, by class; in seconds from the beginning."""
        found: dict[str, list[Ran]] = {}
        for entry in self._follower.look():
            if isinstance(entry, record.Planned):
                self._classes[entry.unit] = entry.cls
            elif isinstance(entry, record.Ran) and entry.results:
                seen = Ran(entry.finished - began, entry.results, *entry.response[:2])
                found.setdefault(self._classes[entry.unit], []).append(seen)
        return found


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

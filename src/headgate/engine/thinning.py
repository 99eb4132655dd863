"""Drop rates by position: which tuples of a stream a query, or a cohort of queries, does not get to see.

The rate of a tuple is decided when a run first asks for it, and recorded before the run, with how tuples are chosen:
whoever reads the tuple again, after a crash or for the next window, drops it again. Which tuples a rate drops is a
hash of their position, and of what they are worth where a class says that.
"""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from headgate.engine.log.manifest import Manifest
from headgate.engine.log.trains import Trains
from headgate.engine.reader import JobInput, StreamInput, stays
from headgate.engine.utility import Protected
from headgate.shed.droppers import UNSHED, Drop


class Thinning:
    """What one reader of one stream drops, by the position from which it holds.

    Every position before `decided` has its rate for good. What is dropped is kept elsewhere for a class, if one is
    named. Some tuples may be `protected`: of these less is dropped.
    """

    def __init__(
        self,
        log: Trains,
        decided: int,
        steps: Sequence[tuple[int, Drop]] = (),
        keeps: str | None = None,
        protected: Protected | None = None,
    ) -> None:
        self.log, self.decided, self.keeps, self.protected = log, decided, keeps, protected
        self._steps = sorted(steps)
        self._counted = (0, 0, 0)

    @property
    def stream(self) -> str:
        """The stream."""
        return self.log.name

    def copy(self) -> "Thinning":
        """The same for another reader, which goes its own way from now on."""
        return Thinning(self.log, self.decided, self._steps, self.keeps, self.protected)

    def ahead(self, position: int) -> tuple[tuple[int, int, Drop], ...]:
        """The rates that are decided from a position on."""
        return tuple(self.parts(position, self.decided))

    def decide(self, end: int, drop: Drop) -> tuple[int, Drop] | None:
        """Give all positions before `end` that have none yet a rate; the step that is new by that, if one is."""
        if end <= self.decided:
            return None
        first, self.decided = self.decided, end
        if drop == (self._steps[-1][1] if self._steps else UNSHED):
            return None
        self._steps.append((first, drop))
        return first, drop

    def parts(self, low: int, high: int) -> list[tuple[int, int, Drop]]:
        """The positions from `low` to before `high` by rate: (from, to, what of them to drop)."""
        found = []
        at = max(0, self._behind(low) - 1)
        drop = self._steps[at][1] if self._steps and self._steps[at][0] <= low else UNSHED
        for first, following in [*self._steps[at:], (high, UNSHED)]:
            if first > low:
                end = min(first, high)
                if end > low:
                    found.append((low, end, drop))
                low = end
            drop = following
            if low >= high:
                break
        return found

    def shed(self, low: int, high: int) -> int:
        """How many tuples from one position to before another are dropped.

        The last count is kept: several ask for it, and their rates are decided for good.
        """
        if self._counted[:2] != (low, high):
            parts = [part for part in self.parts(low, high) if part[2].percent]
            self._counted = low, high, sum(self._shed(*part) for part in parts)
        return self._counted[2]

    def _shed(self, low: int, high: int, drop: Drop) -> int:
        keep, _ = stays(self.stream, np.arange(low, high), drop, lambda name: self.log.column(name, low, high))
        return high - low - int(keep.sum())

    def forget(self, before: int) -> int | None:
        """Forget rates that no position from `before` on has; gives the first step that stays, if any went."""
        at = self._behind(before) - 1
        if at <= 0:
            return None
        del self._steps[:at]
        return self._steps[0][0]

    def _behind(self, position: int) -> int:
        """The number of steps that begin at a position or before it."""
        return bisect.bisect_right(self._steps, position, key=lambda step: step[0])


def thinned(
    given: JobInput, rates: Mapping[str, Thinning], drops: Mapping[str, Drop], owner: str, manifest: Manifest
) -> JobInput:
    """The input of a job with the rate of each slice; rates that are new by it are recorded first."""
    streams = {}
    for name, stream in given.streams.items():
        rate = rates.get(name)
        if rate is None or not stream.slices:
            streams[name] = stream
            continue
        decide(
            rate,
            max(first + count for _, _, count, first, *_ in stream.slices),
            drops.get(name, UNSHED),
            owner,
            manifest,
        )
        streams[name] = _split(stream, rate)
    return replace(given, streams=streams)


def decide(rate: Thinning, end: int, drop: Drop, owner: str, manifest: Manifest) -> None:
    """Give all positions before `end` that have none yet a rate, and record it."""
    low = rate.decided
    if (step := rate.decide(end, drop)) is not None:
        manifest.rates.thin(owner, rate.stream, *step)
    if drop.percent and rate.keeps and end > low:
        manifest.rates.note_shed(rate.keeps, rate.stream, low, end, drop)


def kept(given: JobInput) -> float:
    """The share of the tuples of a job's input that is not dropped."""
    slices = [each for stream in given.streams.values() for each in stream.slices]
    total = sum(count for _, _, count, *_ in slices)
    return 1 - sum(count * drop.percent for _, _, count, _, _, drop in slices) / (100 * total) if total else 1.0


def _split(stream: StreamInput, rate: Thinning) -> StreamInput:
    slices = tuple(
        (file, offset + low - first, high - low, low, before, drop)
        for file, offset, count, first, before, _ in stream.slices
        for low, high, drop in rate.parts(first, first + count)
    )
    return replace(stream, slices=slices)

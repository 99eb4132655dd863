"""Drop rates by position: which tuples of a stream a query, or a cohort of queries, does not get to see.

The rate of a tuple is decided when a run first asks for it, and recorded before the run: whoever reads the tuple
again, after a crash or for the next window, drops it again. Which tuples a rate drops is a hash of their position.
"""

import bisect
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headgate.engine.log.manifest import Manifest
from headgate.engine.reader import JobInput, StreamInput, seed_of
from headgate.shed.droppers import Random


class Thinning:
    """The drop rates of one reader of one stream, in percent, by the position from which each holds.

    Every position before `decided` has its rate for good. What is dropped is kept elsewhere for a class, if one is
    named.
    """

    def __init__(
        self, stream: str, decided: int, steps: Sequence[tuple[int, int]] = (), keeps: str | None = None
    ) -> None:
        self.stream, self.decided, self.keeps = stream, decided, keeps
        self._steps = sorted(steps)

    def copy(self) -> "Thinning":
        """The same for another reader, which goes its own way from now on."""
        return Thinning(self.stream, self.decided, self._steps, self.keeps)

    def ahead(self, position: int) -> tuple[tuple[int, int, int], ...]:
        """The rates that are decided from a position on."""
        return tuple(self.parts(position, self.decided))

    def decide(self, end: int, percent: int) -> tuple[int, int] | None:
        """Give all positions before `end` that have none yet a rate; the step that is new by that, if one is."""
        if end <= self.decided:
            return None
        first, self.decided = self.decided, end
        if percent == (self._steps[-1][1] if self._steps else 0):
            return None
        self._steps.append((first, percent))
        return first, percent

    def parts(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """The positions from `low` to before `high` by rate: (from, to, percent)."""
        found = []
        at = max(0, bisect.bisect_right(self._steps, (low, 100)) - 1)
        percent = self._steps[at][1] if self._steps and self._steps[at][0] <= low else 0
        for first, following in [*self._steps[at:], (high, 0)]:
            if first > low:
                end = min(first, high)
                if end > low:
                    found.append((low, end, percent))
                low = end
            percent = following
            if low >= high:
                break
        return found

    def shed(self, low: int, high: int) -> int:
        """How many tuples from one position to before another are dropped."""
        dropper = Random(seed_of(self.stream))
        return sum(
            int((~dropper.keep(np.arange(first, end), percent / 100)).sum())
            for first, end, percent in self.parts(low, high)
            if percent
        )

    def forget(self, before: int) -> int | None:
        """Forget rates that no position from `before` on has; gives the first step that stays, if any went."""
        at = bisect.bisect_right(self._steps, (before, 100)) - 1
        if at <= 0:
            return None
        del self._steps[:at]
        return self._steps[0][0]


def thinned(given: JobInput, rates: dict[str, Thinning], percent: int, owner: str, manifest: Manifest) -> JobInput:
    """The input of a job with the rate of each slice; rates that are new by it are recorded first."""
    streams = {}
    for name, stream in given.streams.items():
        rate = rates.get(name)
        if rate is None or not stream.slices:
            streams[name] = stream
            continue
        decide(rate, max(first + count for _, _, count, first, *_ in stream.slices), percent, owner, manifest)
        streams[name] = _split(stream, rate)
    return replace(given, streams=streams)


def decide(rate: Thinning, end: int, percent: int, owner: str, manifest: Manifest) -> None:
    """Give all positions before `end` that have none yet a rate, and record it."""
    low = rate.decided
    if (step := rate.decide(end, percent)) is not None:
        manifest.thin(owner, rate.stream, *step)
    if percent and rate.keeps and end > low:
        manifest.note_shed(rate.keeps, rate.stream, low, end, percent)


def kept(given: JobInput) -> float:
    """The share of the tuples of a job's input that is not dropped."""
    slices = [each for stream in given.streams.values() for each in stream.slices]
    total = sum(count for _, _, count, *_ in slices)
    return 1 - sum(count * percent for _, _, count, _, _, percent in slices) / (100 * total) if total else 1.0


def _split(stream: StreamInput, rate: Thinning) -> StreamInput:
    slices = tuple(
        (file, offset + low - first, high - low, low, before, percent)
        for file, offset, count, first, before, _ in stream.slices
        for low, high, percent in rate.parts(first, first + count)
    )
    return replace(stream, slices=slices)

"""What a lane has to do until the next decision, and how that goes down in the record."""

from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

from headgate.engine.running import Done
from headgate.engine.units import LiveUnit
from headgate.monitor.responses import magnitudes
from headgate.policy.protocol import Decision
from headgate.record import Dropped, Ran


@dataclass
class Assigned:
    """What a lane has to do: the runs of a decision that are left, in their order.

    A run is a unit, its number of tuples, and since when the oldest of them waits.
    """

    decision: Decision
    decided: float
    runs: deque[tuple[LiveUnit, int, float]]
    over: str | None
    since: float = 0.0
    too_long: bool = False

    def entry(self, lane: int, unit: LiveUnit, done: Done) -> Ran:
        """One of its runs, for the record."""
        why = self.decision.why
        parts = {stream: unit.rates[stream].parts(*passed) for stream, passed in done.positions.items()}
        dropped = {
            s: tuple(Dropped(lo, hi, *drop) for lo, hi, drop in some if drop.percent) for s, some in parts.items()
        }
        times = [magnitudes(each.times) for each in done.waited]
        return Ran(
            self.decided,
            unit.name,
            done.positions,
            done.read,
            done.started,
            done.finished,
            lane,
            sum(done.results.values()),
            done.response,
            why.formula,
            dict(why.terms),
            self.over,
            done.error or (done.bad.get(unit.queries[0].name) if len(unit.queries) == 1 else None),
            done.shed,
            {stream: some for stream, some in dropped.items() if some},
            Counter(np.concatenate(times).tolist()) if times else {},
            utility=done.utility,
        )

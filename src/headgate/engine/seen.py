"""What was seen of queries with a deadline and of their streams, and what is to be expected by that."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.control.deadlines.feedback import Estimate
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.tally import Tally
from headgate.model.operator import Cost
from headgate.monitor.pace import RECENT, Pace

_BEYOND, _FAR = 8, 0.5
"""What so many iterations of late took beyond what was expected is planned for; none of them counts with more."""


@dataclass
class Seen:
    """What was seen of queries and streams, which is so whichever way deadlines are kept.

    What windows took `beyond` what was expected, how many of a suspended query were `emptied`, and which was
    `left_out` last. The `units` are there, and `alone` on their lane or not.
    """

    tallies: dict[str, Tally] = field(default_factory=dict)
    paces: dict[str, Pace] = field(default_factory=dict)
    beyond: dict[str, deque[float]] = field(default_factory=dict)
    emptied: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    units: Sequence[DeadlineUnit] = ()
    alone: bool = True
    pending: dict[str, tuple[Estimate, float]] = field(default_factory=dict)
    """Who was taken in and is not there yet, and until when it counts."""

    # What is seen

    def watch(self, streams: Mapping[str, LiveStream], now: float) -> None:
        """See how far streams are. All of them: the next query with a deadline may be the first over its streams."""
        for name, stream in list(streams.items()):
            pace = self.paces.setdefault(name, Pace())
            pace.span = max(RECENT, self._longest)
            pace.look(now, stream.log.head)

    def took(self, unit: DeadlineUnit, beyond: float) -> None:
        """Take by what part of what was expected an iteration took longer."""
        self.beyond.setdefault(unit.name, deque(maxlen=_BEYOND)).append(max(-_FAR, min(_FAR, beyond)))

    # What is expected

    def estimate(self, unit: DeadlineUnit, share: float, counts: Mapping[str, float] | None = None) -> Estimate:
        """What an iteration takes with such a share of the lane, over so many tuples or over those expected."""
        deadline = unit.deadline
        if counts is None:
            counts = self._expected(unit)
        tuples, work, least = sum(counts.values()), unit.work(counts), unit.work(counts, 0.0).seconds
        part = self.part(unit, share)
        return Estimate(
            deadline.stride,
            deadline.due,
            deadline.weight,
            tuples=tuples,
            cost=work.seconds / part,
            fixed=least / part,
            selectivity=unit.selectivity.of(counts),
            piece=work.longest / part,
            per_tuple=(work.seconds - least) / (part * tuples) if tuples else unit.cost.cost.b / part,
        )

    def part(self, unit: DeadlineUnit, share: float) -> float:
        """The part of a time that is planned for an iteration in which it is expected to run.

        What iterations of late took beyond what was expected is left out of it: what the model of their cost does not
        see, such as a commit. Shorter ones count against longer ones. What runs only vary by is not for this: over
        all iterations up to a deadline it cancels out for the most part, and the rest is what the margin is for. To
        count longer ones alone, or the longest of them, would have every query pay for it at the same time. Where
        they took less than expected nothing is added to it, as the model will see that too.
        """
        known = self.beyond.get(unit.name)
        return share / (1 + max(0.0, float(np.mean(list(known))))) if known else share

    def like(self, streams: Collection[str]) -> Cost:
        """What queries over some of these streams cost that run already, or others if there are none."""
        known = [unit for unit in list(self.units) if unit.known]
        near = [unit for unit in known if not set(streams).isdisjoint(unit.evaluation.streams)] or known
        if not near:
            return Cost()
        return Cost(float(np.median([u.cost.cost.a for u in near])), float(np.median([u.each for u in near])))

    @property
    def settled(self) -> float:
        """Seconds until every iteration that is released now is due."""
        return max((unit.deadline.due for unit in list(self.units)), default=0.0)

    def _expected(self, unit: DeadlineUnit) -> Mapping[str, float]:
        """The tuples of the next window: as many as in the one that is released already, or more.

        Over time of arrival that is at the highest of the rates over the last second, its window and the longest one:
        where tuples come in bursts, a second between two of them does not say that nothing comes. Over event time it
        is as many as in the last window, if there was one.
        """
        ahead = unit.ahead
        if unit.evaluation.plan.window.time == "event" and any(unit.counts.values()):
            return {name: max(n, ahead.get(name, 0)) for name, n in unit.counts.items()}
        window = unit.deadline.window
        spans = (window, self._longest)
        return {
            name: max(self._pace(name).greatest(spans) * window, ahead.get(name, 0))
            for name in unit.evaluation.streams
        }

    @property
    def _longest(self) -> float:
        """The longest window."""
        return max((unit.deadline.window for unit in self.units), default=RECENT)

    def _pace(self, stream: str) -> Pace:
        return self.paces.get(stream) or Pace()

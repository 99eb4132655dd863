"""A node as a fluid: what arrives, waits and is served flows, one control period after the other.

Of each class, tuples wait in the order in which they came, and are read at the class's share of the capacity; what
others leave of theirs goes to who can use it, in proportion to the shares, as a work-conserving class scheduler gives
it. A part of what is read is dropped. Both arrivals and service are even within a period, so that the response time
of what is served together is the distance of the two middles, and never less than the `turn` of the scheduler.

Load managers and shares are those of `control.dilos.Management`: only the operators beneath them are simplified.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.control.dilos import Directive, Management
from headgate.model.classes import QueryClass
from headgate.monitor.outputs import OutputMonitor
from headgate.shed.protocol import Cycle

_NOTHING = 1e-12


@dataclass(slots=True)
class _Train:
    """Tuples that came from `since` to `until`, and their work."""

    since: float
    until: float
    work: float
    tuples: float


@dataclass(frozen=True, slots=True)
class Served:
    """What became of a class in a control period: tuples that came, those read and dropped, those served and the sum
    of their response times, and the work done.

    `late` says whether the class was beyond its delay target, by what was served or, if nothing was, by what waits.
    """

    arrived: float
    dropped: float
    served: float
    response: float
    worked: float
    late: bool


@dataclass(slots=True)
class _Class:
    target: float
    monitor: OutputMonitor
    waiting: deque[_Train] = field(default_factory=deque)
    drop: float = 0.0

    def queued(self) -> float:
        return sum(train.work for train in self.waiting)

    def serve(self, start: float, rate: float, room: float, turn: float) -> tuple[float, float, float, float]:
        """Serve what waits at a rate, up to some work: work done, tuples served, dropped, and response times."""
        kept = 1 - self.drop
        done = served = dropped = response = 0.0
        while self.waiting and room - done > _NOTHING:
            train = self.waiting[0]
            part = min(1.0, (room - done) / (train.work * kept)) if train.work * kept > _NOTHING else 1.0
            work, tuples = part * train.work * kept, part * train.tuples
            arrived = train.since + part * (train.until - train.since) / 2
            left = start + (done + work / 2) / rate
            served += kept * tuples
            dropped += self.drop * tuples
            response += kept * tuples * max(turn, left - arrived)
            done += work
            if part >= 1:
                self.waiting.popleft()
            else:
                train.since += part * (train.until - train.since)
                train.work *= 1 - part
                train.tuples *= 1 - part
        return done, served, dropped, response


class FluidNode:
    """A node with a capacity in seconds of work per second, its load management, and what waits."""

    def __init__(self, management: Management, classes: tuple[QueryClass, ...], turn: float = 0.01) -> None:
        self.management, self.turn = management, turn
        self.capacity = management.capacity
        self._classes = {
            each.name: _Class(each.delay_target, OutputMonitor(each.delay_target, fewest=1)) for each in classes
        }
        self.directive: Directive | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not any(each.waiting for each in self._classes.values())

    @property
    def waiting(self) -> dict[str, float]:
        """The tuples of each class that wait."""
        return {name: sum(train.tuples for train in each.waiting) for name, each in self._classes.items()}

    def period(
        self, now: float, seconds: float, load: Mapping[str, float], rates: Mapping[str, float]
    ) -> dict[str, Served]:
        """Live through a control period in which so much load and so many tuples per second come to each class."""
        for name, each in self._classes.items():
            if load[name] > 0:
                each.waiting.append(_Train(now, now + seconds, load[name] * seconds, rates[name] * seconds))
        needs = {name: (1 - each.drop) * each.queued() for name, each in self._classes.items()}
        granted = self._granted(needs, seconds)
        shares = self.management.shares
        found: dict[str, Served] = {}
        seen: dict[str, Cycle] = {}
        end = now + seconds
        for name, each in self._classes.items():
            rate = max(granted[name], _NOTHING) / seconds
            done, served, dropped, response = each.serve(now, rate, min(needs[name], granted[name]), self.turn)
            each.monitor.add(response, served)
            output = each.monitor.close() if served > _NOTHING else each.monitor.seen
            oldest = end - each.waiting[0].since if each.waiting else 0.0
            late = response / served > each.target if served > _NOTHING else oldest > each.target
            arrived = rates[name] * seconds
            found[name] = Served(arrived, dropped, served, response, done, late)
            seen[name] = Cycle(
                seconds=seconds,
                offered=load[name],
                outputs=(output,) if output else (),
                oldest=oldest,
                arrived=round(arrived),
                admitted=round(served),
                departed=round(served),
                cost=done / served if served > _NOTHING else 0.0,
                queued=each.queued(),
                worked=done,
                granted=shares[name] * self.capacity,
            )
        self.directive = self.management.cycle(seen)
        for name, drop in self.directive.drops.items():
            self._classes[name].drop = drop
        return found

    def _granted(self, needs: Mapping[str, float], seconds: float) -> dict[str, float]:
        """The work that each class may do: its share, and its part of what others leave of theirs."""
        shares = self.management.shares
        whole = self.capacity * seconds
        given = {name: shares[name] * whole for name in needs}
        hungry = {name for name, need in needs.items() if need > given[name]}
        spare = sum(given[name] - needs[name] for name in needs if name not in hungry)
        while hungry and spare > _NOTHING:
            total = sum(shares[name] for name in hungry)
            fed = {name for name in hungry if needs[name] <= given[name] + spare * shares[name] / total}
            if not fed:
                for name in hungry:
                    given[name] += spare * shares[name] / total
                break
            for name in fed:
                spare -= needs[name] - given[name]
                given[name] = needs[name]
            hungry -= fed
        return given

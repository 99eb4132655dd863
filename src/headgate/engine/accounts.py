"""What runs have come to since a policy decides: where the time went, response times, and what results were worth."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.engine.answered import Answered
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.query import Floats
from headgate.engine.running import Done
from headgate.engine.units import LiveUnit
from headgate.monitor.responses import Punctuality
from headgate.monitor.utility import AverageQos, Worth


@dataclass
class Overhead:
    """Where the time of runs went that was not Spark's: deciding, and staging and committing.

    Of the time in which it was decided, the policy itself took what it was `choosing`.
    """

    runs: int = 0
    busy: float = 0.0
    decisions: int = 0
    choosing: float = 0.0
    deciding: float = 0.0
    around: float = 0.0

    @property
    def per_run(self) -> float:
        """Seconds per run."""
        return (self.deciding + self.around) / self.runs if self.runs else 0.0


@dataclass
class Accounts:
    """Overhead; response times by class; average QoS. In the scheduler's thread."""

    overhead: Overhead = field(default_factory=Overhead)
    responses: dict[str, Punctuality] = field(default_factory=dict)
    qos: AverageQos = field(default_factory=AverageQos)

    def take(self, unit: LiveUnit, done: Done, targets: Mapping[str, float]) -> Mapping[str, Floats]:
        """Count a run; gives the response times of its results by class, of which some have delay targets."""
        took = done.finished - done.started
        self.overhead.runs += 1
        self.overhead.busy += took
        self.overhead.around += took - done.spark
        if not done.waited:
            return {}
        answered = Answered.together(done.waited)
        answered.note()
        for query, graph, times in answered.valued():
            self.qos.queries.setdefault(query.name, Worth(graph))
            self.qos.add(query.name, times)
        responded = answered.by_class() if len(unit.classes) > 1 else {unit.cls: answered.times}
        for cls, times in responded.items() if not isinstance(unit, DeadlineUnit) else ():
            self.responses.setdefault(cls, Punctuality(targets.get(cls, math.inf))).add(times)
        return responded

"""Runs over nothing, before a query's first: Spark compiles what it needs, and the time of an empty run shows."""

import time

from headgate.engine.drafts import Draft
from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.protocol import Warm
from headgate.engine.residents import Residents

_KERNEL_RUN = 0.002
"""Seconds of a run of the kernel over nothing, until it is measured."""


def trial(name: str) -> Warm:
    """How a query is tried out."""
    return lambda prepared, given: prepared.run(given, f"{name}: warming up")


def warm(name: str, made: Evaluation) -> float:
    """Run over nothing, twice: the second time is that of an empty job."""
    execute = trial(name)
    made.warm(execute)
    began = time.perf_counter()
    made.warm(execute)
    return time.perf_counter() - began


class EmptyRuns:
    """What runs over nothing take: each query's own, or one of the kernel's."""

    def __init__(self, residents: Residents) -> None:
        self._residents = residents
        self._kernel_job: float | None = None

    def of(self, draft: Draft) -> float:
        """Seconds that a run over nothing takes: of the query's own, or of one of the kernel's."""
        if draft.compiled is None:
            return warm(draft.name, draft.evaluation)
        if self._residents.wanted:
            return _KERNEL_RUN
        if self._kernel_job is None:
            # What the kernel runs in is a job here, and one is as good as another.
            self._kernel_job = warm(draft.name, draft.evaluation)
        return self._kernel_job

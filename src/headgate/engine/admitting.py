"""Whether a query with a deadline is taken in: by what a few tuples take, and beside those that run."""

import logging
import time
from collections.abc import Collection, Sequence
from time import monotonic

from pyspark.sql import SparkSession

from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.trial import LEAST_TRIED, Trial
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.placing import Placing
from headgate.engine.query import LiveQuery
from headgate.engine.scheduler import Scheduler
from headgate.engine.timekeeper import Timekeeper
from headgate.engine.trying import try_for
from headgate.engine.warming import trial as trying
from headgate.errors import InputError
from headgate.model.operator import Cost
from headgate.record import Recorder, Reduced, Refused

_MICROS = 1_000_000
_TRYING, _ANSWERED = 0.6, 0.9
"""Seconds from a call until its trials are cut short, and until nothing more is looked for that would fit."""
_LEAST_TRYING = 0.1
"""Seconds of the first trial at least, however late it begins."""
_log = logging.getLogger(__name__)


class Admitting:
    """Tries out queries with a deadline, and asks who keeps time whether they fit."""

    def __init__(self, spark: SparkSession, scheduler: Scheduler, placing: Placing, recorder: Recorder) -> None:
        self._spark, self._scheduler, self._placing, self._recorder = spark, scheduler, placing, recorder

    def admit(self, queries: Sequence[LiveQuery], called: float) -> None:
        """Refuse queries with a deadline if those of all could not be met with them; by what a few tuples take.

        While the engine runs, whoever asks waits for no lane, and for trials and offers only so long after the call.
        """
        keeper = self._scheduler.keeper
        units: list[DeadlineUnit] = []
        for query in queries:
            evaluation = query.evaluation
            if not isinstance(evaluation, IterationEvaluation):
                continue
            trial, execute = Trial(evaluation), trying(query.name)
            if not self._scheduler.started or keeper is None:
                if evaluation.least >= LEAST_TRIED:
                    trial.run(execute, query.empty_job)
                    query.tried = trial.found(Cost())
                continue
            left = called + _TRYING - monotonic()
            if not units or left > 0:
                try_for(max(_LEAST_TRYING, left), trial, execute, self._spark, query.name)
            # Where there is no time for the trials of all, those that come later cost what the first does.
            like = units[0].cost.cost if units else keeper.seen.like(evaluation.streams)
            query.tried = trial.found(like)
            query.empty_job = query.tried.cost.a if trial.empty is None else trial.empty
            unit = self._placing.single(query)
            if isinstance(unit, DeadlineUnit):
                units.append(unit)
        if keeper and units:
            self._answer(keeper, units, called)

    def forget(self, names: Collection[str]) -> None:
        """Leave queries that come to nothing out of all plans."""
        if self._scheduler.keeper:
            self._scheduler.keeper.forget(names)

    def _answer(self, keeper: Timekeeper, units: Sequence[DeadlineUnit], called: float) -> None:
        name, found = keeper.admit(units, lambda: monotonic() < called + _ANSWERED)
        if found.kind == "refuse":
            tried = next(unit.queries[0].tried for unit in units if unit.name == name)
            cut = "" if tried and tried.whole else ", by a trial that was cut short to answer at once"
            self._recorder.append(Refused(time.time(), name, f"{found.reason}{cut}. {found.remedy}"))
            rule = "a query with a deadline fits beside those that run"
            raise InputError(rule, f"{found.reason}{cut}", found.remedy)
        if found.kind == "reduce":
            for unit in units:
                if unit.evaluation.plan.window.time == "arrival":
                    # What others have begun they have begun with more than they will have beside it.
                    unit.evaluation.begin_after(round((time.time() + keeper.seen.settled) * _MICROS))
                self._recorder.append(Reduced(time.time(), unit.name, found.reason))
                _log.warning("query %s is taken in: %s", unit.name, found.reason)

"""A trial beside what runs, for as long as somebody can wait for its answer: it needs no lane, and is cut short."""

import logging

from pyspark import InheritableThread
from pyspark.sql import SparkSession

from headgate.engine.evaluation.protocol import Warm
from headgate.engine.evaluation.trial import Trial

_log = logging.getLogger(__name__)


def try_for(seconds: float, trial: Trial, execute: Warm, spark: SparkSession, name: str) -> None:
    """Run a trial in a thread of its own; what it has not come to by then is not waited for."""
    group = f"headgate trial of {name}"
    failed: list[Exception] = []

    def run() -> None:
        spark.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
        try:
            trial.run(execute)
        except Exception as error:  # noqa: BLE001 - raised again where somebody still waits for it
            failed.append(error)

    thread = InheritableThread(target=run, name=f"headgate-trial-{name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if not thread.is_alive():
        if failed:
            raise failed[0]
        return
    trial.ended = True
    spark.sparkContext.cancelJobGroup(group)
    _log.info("query %s: its trial was cut short after %.2f s", name, seconds)

"""Running experiments: the simulations that they need, each once, on all cores."""

import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from headgate.errors import InputError
from headgate.experiments.application_aware import EXPERIMENTS as APPLICATION_AWARE
from headgate.experiments.class_scheduling import EXPERIMENTS as CLASS_SCHEDULING
from headgate.experiments.deadlines import EXPERIMENTS as DEADLINES
from headgate.experiments.freshness import EXPERIMENTS as FRESHNESS
from headgate.experiments.load_management import EXPERIMENTS as LOAD_MANAGEMENT
from headgate.experiments.query_scheduling import EXPERIMENTS as QUERY_SCHEDULING
from headgate.experiments.report import Experiment, Outcome, Scale, Task

EXPERIMENTS: Mapping[str, Experiment] = {
    e.id: e
    for e in (
        *(*QUERY_SCHEDULING, *CLASS_SCHEDULING, *LOAD_MANAGEMENT),
        *(*DEADLINES, *FRESHNESS, *APPLICATION_AWARE),
    )
}


def chosen(ids: Sequence[str]) -> list[Experiment]:
    """The experiments of the given ids; a prefix such as QRY stands for all that begin with it, nothing for all."""
    found: dict[str, Experiment] = {}
    for given in ids or [""]:
        name = given.upper()
        # QRY-E1 is that experiment and not also the beginning of QRY-E10.
        match = {
            i: e for i, e in EXPERIMENTS.items() if i == name or (name not in EXPERIMENTS and i.startswith(name))
        }
        if not match:
            known = ", ".join(EXPERIMENTS)
            raise InputError("an experiment, or the prefix of some", f"'{given}'", f"There are {known}.")
        found |= match
    return list(found.values())


def run(
    experiments: Sequence[Experiment], scale: Scale, progress: Callable[[int, int], None] | None = None
) -> list[Outcome]:
    """The outcomes, in the order of the experiments. `progress` hears how many simulations of how many are done."""
    wanted = [experiment.tasks(scale) for experiment in experiments]
    tasks: dict[Any, Task] = {key: task for each in wanted for key, task in each.items()}
    results: dict[Any, Any] = {}
    # A fresh interpreter for each worker: forking a process with threads, such as a progress display's, can hang it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=min(os.cpu_count() or 1, len(tasks)), mp_context=context) as pool:
        waiting = {pool.submit(function, *arguments): key for key, (function, arguments) in tasks.items()}
        for done in as_completed(waiting):
            results[waiting[done]] = done.result()
            if progress:
                progress(len(results), len(tasks))
    return [
        experiment.outcome(scale, {key: results[key] for key in keys})
        for experiment, keys in zip(experiments, wanted, strict=True)
    ]

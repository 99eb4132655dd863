"""Scheduling classes of continuous queries: experiments CLS-E1 to CLS-E31."""

from headgate.experiments.class_scheduling import (
    changing,
    comparison,
    cores,
    dual_core,
    inversion,
    scaling,
    single_core,
)
from headgate.experiments.class_scheduling.program import E31
from headgate.experiments.class_scheduling.together import E29
from headgate.experiments.report import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *single_core.EXPERIMENTS,
    *dual_core.EXPERIMENTS,
    *comparison.EXPERIMENTS,
    *scaling.EXPERIMENTS,
    *inversion.EXPERIMENTS,
    *changing.EXPERIMENTS,
    cores.E28,
    E29,
    cores.E30,
    E31,
)

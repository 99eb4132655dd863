"""Scheduling by applications: experiments APP-E12 to APP-E32 and APP-EX8 to APP-EX12."""

from headgate.experiments.application_aware.batching import E14, E17, E18
from headgate.experiments.application_aware.buckets import E24, E27
from headgate.experiments.application_aware.examples import E19, E23, E25, E28, E32
from headgate.experiments.application_aware.execution import E12
from headgate.experiments.application_aware.future import EX8, EX9, EX10, EX11, EX12
from headgate.experiments.application_aware.loads import E20, E21, E22, E26
from headgate.experiments.application_aware.overload import E29, E30
from headgate.experiments.application_aware.topology import E31
from headgate.experiments.application_aware.traversals import E13, E15, E16

EXPERIMENTS = (
    *(E12, E13, E14, E15, E16, E17, E18),
    *(E19, E20, E21, E22, E23, E24, E25, E26, E27),
    *(E28, E29, E30, E31, E32),
    *(EX8, EX9, EX10, EX11, EX12),
)

"""Load management and its union with scheduling, DILoS: experiments DILOS-E0 to E25, LSRM and ARM."""

from headgate.experiments.load_management.batching import E1, E2
from headgate.experiments.load_management.bursts import E6, E8, E10, E11, E12
from headgate.experiments.load_management.changing import E18, E19, E20
from headgate.experiments.load_management.environment import E5, E7, E9, E14
from headgate.experiments.load_management.examples import E0, E25
from headgate.experiments.load_management.extreme import E13
from headgate.experiments.load_management.headroom import E3, E4
from headgate.experiments.load_management.matrix import E24
from headgate.experiments.load_management.migration import E21, E22, E23
from headgate.experiments.load_management.nodes import ARM
from headgate.experiments.load_management.placement import LSRM
from headgate.experiments.load_management.synergy import E15, E16, E17

EXPERIMENTS = (
    *(E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14),
    *(E15, E16, E17, E18, E19, E20, E21, E22, E23, E24, E25, LSRM, ARM),
)

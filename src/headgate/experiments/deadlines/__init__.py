"""Window queries with deadlines: experiments RT-E0 to RT-E11."""

from headgate.experiments.deadlines.motivating import E0
from headgate.experiments.deadlines.policies import E6, E7
from headgate.experiments.deadlines.population import E5, E8
from headgate.experiments.deadlines.reductions import E9
from headgate.experiments.deadlines.rising import E3
from headgate.experiments.deadlines.steady import E1, E2
from headgate.experiments.deadlines.trains import E11
from headgate.experiments.deadlines.variants import E10
from headgate.experiments.deadlines.wandering import E4

EXPERIMENTS = (E0, E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11)

"""Freshening by profiles: APP-E1 to APP-E11, and APP-EX1 to APP-EX5, for which there are no published figures."""

from headgate.experiments.freshness.accesses import E3
from headgate.experiments.freshness.events import E11
from headgate.experiments.freshness.extensions import EX1, EX2, EX5
from headgate.experiments.freshness.five import E1, E2
from headgate.experiments.freshness.groups import E4, E5
from headgate.experiments.freshness.learned import EX3, EX4
from headgate.experiments.freshness.many import E6, E7, E8
from headgate.experiments.freshness.sizes import E9, E10

EXPERIMENTS = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, EX1, EX2, EX3, EX4, EX5)

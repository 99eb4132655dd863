"""Scheduling many continuous queries for slowdown: experiments QRY-E1 to QRY-E11."""

from headgate.experiments.query_scheduling.clusters import E8, E9
from headgate.experiments.query_scheduling.example import E11
from headgate.experiments.query_scheduling.joins import E7
from headgate.experiments.query_scheduling.sharing import E10
from headgate.experiments.query_scheduling.single import E1, E2, E3, E4, E5, E6

EXPERIMENTS = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11)

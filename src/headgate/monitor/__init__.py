"""Observations in, statistics out: what units cost and yield, measured while they run."""

from headgate.monitor.statistics import Measured

__all__ = ["Measured"]

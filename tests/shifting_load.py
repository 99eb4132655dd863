"""A small load that shifts between streams, and what every run of several nodes over it has to account for."""

import pytest

from headgate.sim.nodes.workload import Day, shifting

near = pytest.approx


def small(load=2.5, end=60.0, seed=1, **more):
    return shifting(load, Day(end, **more), seed, queries=40, streams=8, phase=20.0)


class Scripted:
    """Orders what it is told to, at the times it is told to."""

    def __init__(self, orders):
        self.orders = orders
        self.reports = []

    def decide(self, now, reports):
        self.reports.append((now, reports))
        due = [order for time, order in self.orders if time <= now]
        self.orders = [(time, order) for time, order in self.orders if time > now]
        return tuple(due)


def check_nothing_is_lost_or_doubled(work, report):
    """Every tuple of every query came to one node, and was dropped, served, or waits there."""
    seconds = work.period
    for k, each in enumerate(work.classes):
        figures = report.classes[each.name]
        came = sum(work.rates[:, stream].sum() * seconds for stream in work.stream[work.cls == k])
        assert figures.offered == near(came)
        assert figures.waiting >= -1e-6 * came
        assert figures.waiting <= 0.05 * came

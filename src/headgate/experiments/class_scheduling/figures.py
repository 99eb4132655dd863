"""Figures that these experiments have in common: response times by class, and over time."""

from collections.abc import Mapping

from headgate.experiments.class_scheduling.cases import WIDTH, Seen
from headgate.experiments.class_scheduling.workloads import Workload
from headgate.experiments.report import Figure, Line

_MEAN = "mean response time (ms)"


def mean_by_class(title: str, found: Mapping[str, Seen], workload: Workload, *, log_y: bool = False) -> Figure:
    """The response times of the classes of a workload, one line for each name."""
    lines = tuple(Line(name, (), [1e3 * rt for rt in seen.mean]) for name, seen in found.items())
    return Figure(title, "class", _MEAN, lines, tuple(each.name for each in workload.classes), log_y=log_y)


def mean_over_time(title: str, seen: Seen) -> Figure:
    """The response times of the classes in each span of time but the last, which is not whole."""
    lines = (
        Line(f"class {k}", [WIDTH * i for i in range(len(line) - 1)], [1e3 * rt for rt in line[:-1]])
        for k, line in enumerate(seen.over_time, 1)
    )
    return Figure(title, "time (s)", _MEAN, tuple(lines))

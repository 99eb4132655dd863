"""How a class or a query fares, in a word."""

from dataclasses import dataclass
from typing import Literal

from headgate.engine.status import ClassStatus, QueryStatus

State = Literal["on time", "slipping", "late", "quiet", "running", "trying", "paused", "failed", "waiting"]

SPAN = 10.0
"""Seconds over which 'now' is."""
_SLIPPING, _LATE = 0.01, 0.1
"""A class is slipping, or late, if more than this part of its results of late were later than the target."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A class of late: its results, their mean response, and the part of them that was later than the target."""

    results: int
    mean: float | None
    late: float | None


def recent(before: ClassStatus | None, now: ClassStatus) -> Recent:
    """What has come since an earlier look; figures that began anew in between are all recent."""
    if before is None or before.results > now.results:
        return Recent(now.results, now.response_mean, now.late)
    results = now.results - before.results
    if not results:
        return Recent(0, None, None)

    def part(of: float | None, was: float | None) -> float | None:
        return None if of is None else max(0.0, of * now.results - (was or 0.0) * before.results) / results

    return Recent(results, part(now.response_mean, before.response_mean), part(now.late, before.late))


def of_class(status: ClassStatus, seen: Recent, oldest: float) -> State:
    """How a class fares: by the results of late, and by what waits longest for one of its queries.

    Windows wait for their end, so what waits says something only where nothing came out.
    """
    if status.delay_target is None:
        return "running" if seen.results else "quiet"
    if not seen.results:
        return "late" if oldest > max(SPAN, status.delay_target) else "quiet"
    late = seen.late or 0.0
    return "late" if late > _LATE else "slipping" if late > _SLIPPING else "on time"


def of_query(query: QueryStatus, target: float | None) -> State:
    """How a query fares; one that runs although its last run failed is trying again."""
    if query.status != "running":
        return "paused" if query.status == "paused" else "failed"
    if query.reason:
        return "trying"
    if target is None or query.response_p99 is None:
        return "running" if query.results else "waiting"
    return "on time" if query.response_p99 <= target else "late"

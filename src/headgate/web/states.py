"""How a class or a query fares, in a word."""

from dataclasses import dataclass
from typing import Literal

from headgate.engine.sql.plan import PerTrain
from headgate.engine.status import ClassStatus, DeadlineStatus, QueryStatus
from headgate.monitor.responses import SPAN

State = Literal["on time", "slipping", "late", "quiet", "running", "trying", "paused", "failed", "waiting"]

_ONE_BY_ONE = PerTrain.__name__
_SLIPPING, _LATE = 0.01, 0.1
"""A class is slipping, or late, if more than this part of its results of late were later than the target."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A class of late: its results, their mean response, and the part of them that was later than the target.

    Of the tuples that it passed, this part was `dropped`.
    """

    results: int
    mean: float | None
    late: float | None
    dropped: float = 0.0


def recent(before: ClassStatus | None, now: ClassStatus) -> Recent:
    """What has come since an earlier look; figures that began anew in between are all recent."""
    if before is None or before.results > now.results:
        return Recent(now.results, now.response_mean, now.late, _dropped(now.shed, now.processed))
    dropped = _dropped(now.shed - before.shed, now.processed - before.processed)
    results = now.results - before.results
    if not results:
        return Recent(0, None, None, dropped)

    def part(of: float | None, was: float | None) -> float | None:
        return None if of is None else max(0.0, of * now.results - (was or 0.0) * before.results) / results

    return Recent(results, part(now.response_mean, before.response_mean), part(now.late, before.late), dropped)


def _dropped(shed: int, processed: int) -> float:
    return shed / (shed + processed) if shed > 0 else 0.0


def of_class(status: ClassStatus, seen: Recent) -> State:
    """How a class fares: by the results of late, and by what waits longest for one of its queries.

    Windows wait for their end, so what waits says something only where nothing came out.
    """
    if status.delay_target is None:
        return "running" if seen.results else "quiet"
    if not seen.results:
        return "late" if status.oldest_wait > max(SPAN, status.delay_target) else "quiet"
    late = seen.late or 0.0
    return "late" if late > _LATE else "slipping" if late > _SLIPPING else "on time"


def missing(before: DeadlineStatus | None, now: DeadlineStatus, last: float | None = None) -> float | None:
    """The part of the windows since an earlier look that missed their deadline; the last known one if none ended."""
    if before is None or before.iterations > now.iterations:
        done, missed = now.iterations, now.missed
    else:
        done, missed = now.iterations - before.iterations, now.missed - before.missed
    return missed / done if done else last


def of_deadline(missed: float | None) -> State:
    """How a query with a deadline fares, by the part of its windows of late that missed it."""
    if missed is None:
        return "waiting"
    return "late" if missed > _LATE else "slipping" if missed > _SLIPPING else "on time"


def of_query(query: QueryStatus, target: float | None, due: State | None = None) -> State:
    """How a query fares: as its deadline says, or by its target and its results of late.

    One that runs although its last run failed is trying again. Windows wait for their end, but where tuples are
    looked at one by one and wait for long, what has come before says nothing.
    """
    if query.status != "running":
        return "paused" if query.status == "paused" else "failed"
    if query.reason:
        return "trying"
    if due is not None:
        return due
    if target is None:
        return "running" if query.results else "waiting"
    # Most wait for less: that is looked at first, since there may be very many queries.
    if query.oldest_wait > SPAN and query.oldest_wait > target and query.kind == _ONE_BY_ONE:
        return "late"
    if query.recent_p99 is None:
        return "running" if query.results else "waiting"
    # The bounds are those of a class: what is later than the 99th percentile is 1 %, than the 90th is 10 %.
    if query.recent_p99 <= target:
        return "on time"
    return "late" if query.recent_p90 is None or query.recent_p90 > target else "slipping"

"""What running boxes takes beside the work on tuples: the worker, the storage manager, the scheduler."""

from dataclasses import dataclass, replace

from headgate.policy.protocol import Work

MICRO = 1000
"""Nanoseconds."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """Times in nanoseconds.

    A call of a box takes `worker`; a run, which is one call or a superbox, takes `storage` once. A scheduling point
    takes `invocation`, and by what the scheduler counts: `scan` for each box looked at, `runnable` for each that is
    sorted, `priority` for each dynamic priority, `assigned` for each box that is put into a bucket, `cell` for each
    bucket swept.
    """

    worker: int = 0
    storage: int = 0
    invocation: int = 0
    scan: int = 0
    runnable: int = 0
    priority: int = 0
    assigned: int = 0
    cell: int = 0

    @property
    def bucketing(self) -> "Overhead":
        """The same for bucketing, whose computations are boxes put into buckets, and whose reads are buckets."""
        return replace(self, priority=self.assigned, scan=self.cell)

    def over(self, boxes: float) -> "Overhead":
        """The same where looking at a unit is looking at so many boxes, on average."""
        return replace(self, scan=round(self.scan * boxes))

    def scheduling(self, work: Work) -> int:
        """Nanoseconds of a scheduling point whose scheduler has counted this."""
        return (
            self.invocation
            + self.priority * work.computations
            + self.runnable * work.comparisons
            + self.scan * work.reads
        )


NONE = Overhead()
SMALL = Overhead(10 * MICRO, 40 * MICRO, 80 * MICRO, 200, 3 * MICRO, 7 * MICRO, 1 * MICRO, 50)
"""About a hundred boxes that work for 100 µs."""
LARGE = Overhead(14 * MICRO, 15 * MICRO, 80 * MICRO, 0, 10 * MICRO, 25 * MICRO, 4 * MICRO, 20)
"""Ten thousand boxes that work for 5 µs."""

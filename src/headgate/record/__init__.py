"""The record of a live run: what arrived, what the units cost, every decision and its outcome.

It is a folder of segments in the run's state folder, and a workload of the simulator. A segment is a file of JSON
lines, one entry per line under the name of its kind, that begins with what holds then, so that it can be read by
itself. A line is written whole or torn at the end of its segment, where a crash cut it off. Old segments go.
"""

from headgate.record.entries import (
    NAME,
    Arrived,
    Began,
    Changed,
    Classed,
    Dropped,
    Entry,
    Iterated,
    Managed,
    Opened,
    Planned,
    Ran,
    Reason,
    Reduced,
    Refused,
)
from headgate.record.follower import Follower
from headgate.record.recorded import Life, Logged, Recorded, begun, late, read
from headgate.record.recorder import Recorder

__all__ = [
    "NAME",
    "Arrived",
    "Began",
    "Changed",
    "Classed",
    "Dropped",
    "Entry",
    "Follower",
    "Iterated",
    "Life",
    "Logged",
    "Managed",
    "Opened",
    "Planned",
    "Ran",
    "Reason",
    "Recorded",
    "Recorder",
    "Reduced",
    "Refused",
    "begun",
    "late",
    "read",
]

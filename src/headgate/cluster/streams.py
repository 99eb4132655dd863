"""Streams of a cluster: who feeds each, before which tuple nobody needs it, where nodes apart begin to read it."""

from collections.abc import Callable, Collection, Iterable, Mapping

from headgate.cluster.borders import Checkpoint, Marks
from headgate.cluster.instances import Report
from headgate.engine.log.mark import Mark

TRIES = 5
"""So many failures in a row, and somebody else has to do it."""


class Streams:
    """What is known of the streams by what nodes report, and by the ledger."""

    def __init__(self) -> None:
        self.floors: dict[str, int] = {}
        """The positions before which no node needs a stream."""
        self._feeders: dict[str, str] = {}
        self._marks = Marks()

    def heard(self, report: Report) -> None:
        """A node has reported."""
        for stream in report.feeding:
            self._feeders.setdefault(stream, report.node)
        for stream, mark in report.marks.items():
            self._marks.note(stream, mark)

    def lost(self, node: str) -> None:
        """A node is gone."""
        self._feeders = {stream: other for stream, other in self._feeders.items() if other != node}

    def restore(self, found: Checkpoint) -> None:
        """Something of nodes apart stands in the ledger."""
        self.floors |= found.floors
        for stream, mark in found.begins.items():
            self._marks.begin(stream, mark)

    def feeder(self, stream: str, users: Callable[[str], Collection[str]], nodes: Mapping[str, Report]) -> str | None:
        """The node that runs the source of a stream: the one that does so, or one of its `users`.

        Where it has failed time and again it is the turn of the next one, by name.
        """
        feeder = self._feeders.get(stream)
        report = nodes.get(feeder or "")
        failed = report.dry.get(stream) if report else None
        if report is None or (failed and failed.times >= TRIES and stream in report.feeding):
            there = users(stream)
            later = [node for node in there if node > (feeder or "")]
            feeder = min(later or there, default=feeder)
            if feeder:
                self._feeders[stream] = feeder
        return feeder

    def release(self, stream: str, needed: Iterable[int]) -> None:
        """Let go of what nobody needs, if that is known: nodes read a stream from these positions on."""
        if known := [*needed]:
            self.floors[stream] = max(self.floors.get(stream, 0), min(known))

    def come(self, streams: Iterable[str]) -> dict[str, int]:
        """How far any node has come with these."""
        return {stream: self._marks.newest(stream) for stream in streams}

    def begins(self, floors: Mapping[str, int], new: Mapping[str, Mark]) -> dict[str, Mark]:
        """Where nodes begin to read, so that they have all from these positions on; streams that are new as given."""
        return {stream: self._marks.base(stream, floors.get(stream, 0)) or mark for stream, mark in new.items()}

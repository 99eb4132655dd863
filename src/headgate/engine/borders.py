"""How far queries have come for readers: what they give out behind that may be lost with this machine.

A border is taken from the manifest, and counts once the sink shows all the results up to it. It is what another
engine has to know to go on without anything of this one's.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Progress
from headgate.engine.log.trains import Trains
from headgate.engine.moving import Boundary, given_out
from headgate.engine.query import LiveQuery
from headgate.engine.sink.protocol import Shows
from headgate.engine.sink.shared import Shared


@dataclass(frozen=True, slots=True)
class Border:
    """Where an instance is: behind what another one goes on, and how many results it has shown up to there.

    That one needs the tuples of each stream from a position on (`needed`). `last` says that nothing is committed
    behind it.
    """

    instance: str
    at: Boundary
    results: int
    needed: Mapping[str, int]
    last: bool


class Borders:
    """Looks for the borders of queries; any thread may."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Progress] = {}
        self._seen: dict[tuple[str, str], Border] = {}

    def look(self, queries: Mapping[str, LiveQuery], logs: Mapping[str, Trains]) -> dict[str, Border]:
        """The border of each query, once it has one."""
        with self._lock:
            known, found = self._manifest.committed(), {}
            # Later than what is committed: whoever is there by then has the progress that was read, or none of it.
            for name, query in list(queries.items()):
                if name not in known or isinstance(query.sink, Shared):
                    continue
                instance, newest = known[name]
                self._look((name, instance), query, newest, logs)
                if border := self._seen.get((name, instance)):
                    found[name] = border
            kept = {(name, instance) for name, (instance, _) in known.items()}
            self._waiting = {key: each for key, each in self._waiting.items() if key in kept}
            self._seen = {key: each for key, each in self._seen.items() if key in kept}
        return found

    def _look(self, key: tuple[str, str], query: LiveQuery, newest: Progress, logs: Mapping[str, Trains]) -> None:
        waiting = self._waiting.setdefault(key, newest)
        for progress in (newest, waiting):
            if progress.receipt is None or not isinstance(query.sink, Shows) or query.sink.shows(progress.receipt):
                at = given_out(query.evaluation, progress)
                begins = at.begin(query.evaluation, logs)
                needed = {stream: query.evaluation.needed(begins, stream) for stream in query.evaluation.streams}
                last = progress is newest
                self._seen[key] = Border(key[1], at, progress.results, needed, last)
                if last:
                    del self._waiting[key]
                else:
                    # The next one to wait for.
                    self._waiting[key] = newest
                return
        if key in self._seen and self._seen[key].last:
            old = self._seen[key]
            self._seen[key] = Border(old.instance, old.at, old.results, old.needed, False)

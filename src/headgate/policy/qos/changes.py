"""Which queues are not as they were when a scheduler looked at them last."""

from collections.abc import Collection, Sequence
from itertools import compress
from operator import ne

from headgate.model.unit import Unit
from headgate.policy.protocol import View


class Changes:
    """What has been seen of the queues of some units, where a backend may say which of them have changed."""

    def __init__(self, units: Sequence[Unit], *, carries: bool) -> None:
        """With `carries`, a unit is also concerned by what waits behind it."""
        self._pending, self._first = [-1] * len(units), [-1] * len(units)
        self._told = self._trusted = False
        self._before: dict[int, list[int]] = {}
        for i, unit in enumerate(units if carries else ()):
            for k in unit.behind:
                self._before.setdefault(k, []).append(i)

    @property
    def alone(self) -> bool:
        """Whether no unit is concerned by what waits at another."""
        return not self._before

    def look(self, view: View) -> Collection[int]:
        """The units that are concerned by what has changed, each once; the next look begins here."""
        found, pending, first = self._found(view), self._pending, self._first
        for i in found:
            queue = view.queues[i]
            pending[i] = queue.pending
            if queue.pending:
                first[i] = queue.position
        if not self._before:
            return dict.fromkeys(found)
        return dict.fromkeys(i for k in found for i in (k, *self._before.get(k, ())))

    def trust(self, view: View) -> Collection[int]:
        """The same, and what is said to have changed and has not, for whom that makes no difference."""
        if view.changed is None or not self._told or self._before:
            return self.look(view)
        self._trusted = True
        return view.changed

    def _found(self, view: View) -> Collection[int]:
        if self._trusted:
            # What has changed since was not noted.
            self._pending[:], self._trusted = [-1] * len(self._pending), False
        queues, pending, first = view.queues, self._pending, self._first
        if view.changed is not None and self._told:
            told = ((i, queues[i].pending) for i in view.changed)
            return [i for i, n in told if n != pending[i] or (n and queues[i].position != first[i])]
        self._told = True
        found = [*compress(range(len(queues)), map(ne, [queue.pending for queue in queues], pending))]
        # As many tuples may wait as before, and yet be others.
        waited = (i for i, n in enumerate(pending) if n > 0)
        return found + [i for i in waited if queues[i].pending == pending[i] and queues[i].position != first[i]]

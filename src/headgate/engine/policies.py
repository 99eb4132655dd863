"""What decides for the lanes of each kind: what one of them can run is nothing to the other."""

from collections.abc import Callable, Mapping, Sequence

from headgate.engine.query import Floats
from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import ByClass
from headgate.policy.deadlines import DeadlinesFirst
from headgate.policy.protocol import Outcome, Policy


class Policies:
    """A policy by kind of lane, made when it is asked for first; `shares` says what share of the time a class has."""

    def __init__(self, make: Callable[[], Policy], shares: Callable[[], Mapping[str, float]] | None) -> None:
        self._make, self._shares = make, shares
        self._made: dict[str, Policy] = {}

    def of(self, kind: str, models: Sequence[Unit]) -> Policy:
        """What decides for lanes of a kind, over units as measured."""
        if kind not in self._made:
            made = self._made[kind] = self._make()
            made.prepare(models)
            if self._shares and (by_class := _by_class(made)):
                by_class.share(self._shares())
        return self._made[kind]

    def __contains__(self, kind: str) -> bool:
        return kind in self._made

    def prepare(self, models: Sequence[Unit]) -> None:
        """Tell of units as measured."""
        for policy in self._made.values():
            policy.prepare(models)

    def share(self, shares: Mapping[str, float]) -> None:
        """Give each class this share of the time from now on."""
        for policy in self._made.values():
            if by_class := _by_class(policy):
                by_class.share(shares)

    def observe(self, kind: str, outcome: Outcome, responded: Mapping[str, Floats]) -> None:
        """Tell what decides for a kind of lane how a run went, and how long results of each class took."""
        if policy := self._made.get(kind):
            policy.observe(outcome)
            if by_class := _by_class(policy):
                for cls, times in responded.items():
                    by_class.responded(cls, times)


def _by_class(policy: Policy) -> ByClass | None:
    """The class scheduler among what decides, if it is one."""
    inner = policy.inner if isinstance(policy, DeadlinesFirst) else policy
    return inner if isinstance(inner, ByClass) else None

"""One query as it is placed: its instances by number, which of them are there, and up to where each goes."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headgate.cluster.borders import Point, Reached
from headgate.cluster.instances import Instance, Question
from headgate.engine.windows import NEVER


@dataclass
class Placed:
    """A query: its instances on nodes, how far they are, and where it is on its way to."""

    asks: Question
    instances: dict[int, Instance] = field(default_factory=dict)
    current: Instance | None = None
    next_number: int = 1
    at: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of those that each node has or had, ascending. There may be many: nobody looks through all."""
    taken: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The last of each node that another has inherited, and how many of its results count, apart."""
    unended: list[int] = field(default_factory=list)
    """The others of `over`."""
    over: set[int] = field(default_factory=set)
    """Instances that have reached their boundary or were inherited."""
    counted: dict[int, int] = field(default_factory=dict)
    """How many results of those count, apart."""
    reached: dict[int, Reached] = field(default_factory=dict)
    """The last borders of the others, apart."""
    come: Mapping[str, int] = field(default_factory=dict)
    """How far streams had come when somebody began to prepare it, apart."""
    coming: str | None = None
    copied: bool = False
    """Whether it stops and takes its state along, instead of going on until the other one has begun."""
    fetched: Point | None = None
    """The boundary that the current instance has named, before the next is in the ledger."""
    before: int = 0
    """How often whoever is coming had failed before it was told to."""
    unfit: set[str] = field(default_factory=set)
    """Nodes that have failed to begin it since it ran last."""
    unable: set[str] = field(default_factory=set)
    """Nodes that have failed to do what is left of an old instance of it."""
    refused: set[str] = field(default_factory=set)
    """Nodes that have failed to prepare it where it is."""

    def add(self, instance: Instance) -> None:
        """One stands in the ledger; those before it do."""
        number = instance.number
        self.instances[number] = instance
        self.next_number = max(self.next_number, number + 1)
        self.at.setdefault(instance.node, []).append(number)
        self.unended.append(number)
        if instance.until is None:
            self.current = instance
        if instance.inherits is not None:
            node = self.instances[instance.inherits].node
            if instance.results is not None:
                self.taken[node] = max(self.taken.get(node, (0, 0)), (instance.inherits, instance.results))
            self.end(instance.inherits, instance.results)

    def end(self, number: int, results: int | None) -> None:
        """One has reached its boundary, or was inherited."""
        self.over.add(number)
        self.reached.pop(number, None)
        if number in self.unended:
            self.unended.remove(number)
        if not any(self.unfinished()):
            self.unable.clear()
        if results is not None:
            self.counted[number] = results

    def unfinished(self) -> Iterator[Instance]:
        """Old instances and tails that have not reached their boundary."""
        current = self.current
        found = (self.instances[number] for number in list(self.unended))
        yield from (each for each in found if each is not current)

    def there(self) -> Iterator[Instance]:
        """The current instance, and the unfinished ones."""
        if current := self.current:
            yield current
        yield from self.unfinished()

    def inherited(self, instance: Instance) -> tuple[Instance, ...]:
        """The instances whose place one takes, the last one first."""
        found: list[Instance] = []
        while instance.inherits is not None:
            instance = self.instances[instance.inherits]
            found.append(instance)
        return tuple(found)

    def complete(self, number: int) -> bool:
        """Whether an instance apart has shown all that is its own: its border is its boundary."""
        found, end = self.reached.get(number), self.boundary_of(number)
        if found is None or end is None:
            return False
        return (
            bool(found.at["closed"] >= end["closed"])
            if end["closed"] > NEVER and not end["positions"]
            else found.at == end
        )

    def boundary_of(self, number: int) -> Point | None:
        """Up to where an instance goes: where the next one begins, or its own if it is a tail."""
        own = self.instances[number]
        if own.until is not None:
            return own.until
        later = [each for each in self.instances.values() if each.number > number and each.until is None]
        following = min(later, key=lambda each: each.number, default=None)
        return following.since if following else None

    def told(self, sure: Mapping[int, Reached]) -> list[dict[str, Any]]:
        """All instances, and how many results of each count by borders that are in the ledger, apart."""
        shown = []
        for number, each in sorted(self.instances.items()):
            border = sure.get(number)
            results = self.counted.get(number, border.results if border else 0)
            shown.append({**asdict(each), "results": results, "over": number in self.over})
        return shown

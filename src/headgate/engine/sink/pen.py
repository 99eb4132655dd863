"""Who appends to a stream of results whose log engines share: one instance of the query after the other.

The *pen* is in the state that goes with every train. So to take it, to hand it on or to take it away from somebody is
to append a train, and of two who do so at the same time one learns that its number is taken, and looks again.

    take        an instance begins: it is the first, or inherits from whoever had the pen last, or begins at the
                boundary that has been reached
    run         a train of results, with the number of the run
    hand on     an instance has come to its boundary, and all that it had to give is in the log
    take away   an instance is dead, or asleep: whatever it wants to append later has a number that is taken

So results stand in the log in the order of the instances, and nothing else has to be in it to say what is.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

Point = Mapping[str, Any]
"""A boundary, as JSON."""


@dataclass(frozen=True, slots=True)
class Heir:
    """An instance, by what it comes after.

    It takes the place of instances `before` it, or begins where others have reached the boundary `since`; the first
    one has neither. Its `line` is that of the instance up to whose boundary it goes: its own number, or for a tail
    that of the instance whose rest it does. In the log lines only rise.
    """

    number: int
    line: int
    since: Point | None = None
    before: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Pen:
    """Who has the pen, or had it last; 0 if nobody ever did.

    Its last run in the log is `run`. Where it has handed the pen on, it had `reached` a boundary. An instance that is
    `fenced` never gets it again.
    """

    holder: int = 0
    line: int = 0
    held: bool = False
    run: int = 0
    reached: Point | None = None
    fenced: tuple[int, ...] = ()

    @classmethod
    def of(cls, state: Mapping[str, Any] | None) -> Self:
        """As it stands with a train; nobody has it before there is one."""
        return cls(**{**state, "fenced": tuple(state["fenced"])}) if state else cls()

    def as_json(self) -> dict[str, Any]:
        """As it stands with a train."""
        return asdict(self)

    def is_of(self, heir: Heir) -> bool:
        """Whether an instance has the pen."""
        return self.held and self.holder == heir.number

    def may_go_to(self, heir: Heir) -> bool:
        """Whether it is an instance's turn."""
        if self.held or heir.number in self.fenced:
            return False
        if self.holder in heir.before or self.holder == heir.number:
            return True
        return heir.since is None if not self.holder else heir.since is not None and self.reached == heir.since

    def taken(self, heir: Heir) -> Self:
        """It is an instance's now."""
        run = self.run if self.holder == heir.number else 0
        return replace(self, holder=heir.number, line=heir.line, held=True, run=run, reached=None)

    def handed_on(self, until: Point) -> Self:
        """Whoever has it has reached its boundary."""
        return replace(self, held=False, reached=until)

    def taken_from(self, number: int) -> Self:
        """An instance does not have it any more, and never gets it again."""
        return replace(self, held=self.held and self.holder != number, fenced=(*self.fenced, number))

    def is_beyond(self, heir: Heir, until: Point) -> bool:
        """Whether all that an instance had to give up to its boundary is in the log, or there is nothing of it."""
        reached = self.line == heir.line and not self.held and self.reached == until
        return self.line > heir.line or reached or until == heir.since

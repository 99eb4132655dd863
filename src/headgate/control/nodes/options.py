"""How the coordinator decides, in numbers."""

from dataclasses import dataclass
from typing import Literal, get_args

from headgate.errors import InputError

Rule = Literal["minimal", "weighed"]
"""The minimal rule moves one query for each class that loses on a node; the weighed one goes by what DILoS would make
of each move, and makes several."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the coordinator decides.

    A round has `reports` reports of each node. A class loses on a node if it dropped more than `loss` in at least
    `spikes` of them. A target keeps the part `reserve` of its capacity free, and takes in at most `intake` queries in
    a round. A query that has moved stays for `rest` rounds, and an order that nothing came of is forgotten after
    `patience`. The priority of a class on a node is raised to at most `raised` times its own.

    A node is drained and sleeps after `sleeps` rounds in which all that are awake use less than `idle` of their
    capacity together, as long as `awake` of them are left. Nodes are woken after `wakes` rounds of loss, or by the
    load of `ahead` seconds later: until then a node that is woken has to start, and to get its queries.
    """

    rule: Rule = "weighed"
    reports: int = 10
    spikes: int = 8
    loss: float = 0.01
    reserve: float = 0.05
    intake: int = 4
    rest: int = 10
    patience: int = 4
    raised: float = 2.0
    idle: float = 0.4
    sleeps: int = 10
    wakes: int = 2
    awake: int = 1
    ahead: float = 30.0

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise InputError("a known rule of balancing", f"'{self.rule}'", f"Choose {', '.join(get_args(Rule))}.")
        for name in ("reports", "spikes", "intake", "rest", "patience", "sleeps", "wakes", "awake"):
            if not getattr(self, name) >= 1:
                raise InputError(f"balancing: {name} is 1 or more", getattr(self, name), f"Give {name} a count.")
        if self.spikes > self.reports:
            rule = f"balancing: spikes are at most the {self.reports} reports of a round"
            raise InputError(rule, self.spikes, "Give fewer, such as 8 of 10.")
        for name in ("loss", "reserve", "idle"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"balancing: {name} is from 0 to below 1", getattr(self, name), "Give such as 0.05.")
        if not 0 <= self.ahead < float("inf"):
            raise InputError("balancing: ahead is 0 s or more", self.ahead, "Give such as 30.")
        if not 1 <= self.raised < float("inf"):
            raise InputError("balancing: raised is a factor of 1 or more", self.raised, "Give such as 2.")


WEIGHED = Options()
MINIMAL = Options(rule="minimal", wakes=10)
"""The policy in its simplest form."""

"""CQC: weighted round robin over the classes with credit, and a policy of its own inside each class.

A round has K seconds on each lane, of which class k has `T_k = K·s_k`. A visit may use the class's credit; as no run
is interrupted, it may use more. After a visit of `tu` seconds on a credit `cr`

    cr = T                    if tu <= cr: what is left over is lost, and the next class has it
    cr = T − (tu − cr)        otherwise: the excess is owed

and a class without credit is passed over and gets T until it has some. The `literal` update, `T − (tu − T)`, is the
printed one, which rewards an excess on a credit that was small already.

Inside the class, units are ordered by their oldest tuple and run on all that waits; with a bound on trains, the
policy inside has that bound too, and orders units by what such trains are worth. The sources of a class are read only
when nothing else of it waits, and then all at once; when that has twice brought nothing to work on, or there is
nothing to read, the class yields. With a bound on `readings` it also yields when it would read them more often than
that in a visit: a class that is not busy then leaves its time to others, and waits for a longer batch itself.

Lanes share a visit. What a run takes is charged when it has ended, to the visit of its class that is on or was last.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from headgate.errors import InputError
from headgate.model.unit import Unit
from headgate.policy.classes.scheduler import WHOLE, ByClass
from headgate.policy.protocol import Decision, Outcome, Policy, Run, View, Why, Work
from headgate.policy.registry import create

FORMULA = "the class has credit"

_POLLS = 2
"""Readings of its sources that may bring a class nothing to work on before it yields."""


@dataclass
class _Account:
    """The time of a class: its credit, and the visit that is on or was last."""

    credit: float
    budget: float = 0.0
    used: float = 0.0


@dataclass
class _Inside:
    """The units of a class: sources, and the others, numbered anew for the policy that orders them."""

    policy: Policy
    whole: bool
    sources: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    number: dict[int, int] = field(default_factory=dict)

    def choose(self, view: View) -> Decision | None:
        """What the policy runs next, by the numbers of all units."""
        if not self.others:
            return None
        queues = [view.queues[i] for i in self.others]
        decision = self.policy.choose(View(view.now, queues, view.lane, view.lanes))
        if decision is None:
            return None
        runs = tuple(
            Run(self.others[run.unit], queues[run.unit].pending if self.whole else run.train) for run in decision.runs
        )
        over = None if decision.why.over is None else self.others[decision.why.over]
        return Decision(runs, replace(decision.why, over=over), decision.work)


@dataclass
class Cqc(ByClass):
    """Weighted round robin over classes in rounds of `period` seconds, with the policy `inner` inside a class."""

    period: float = 0.001
    inner: str = "hr"
    literal: bool = False
    readings: ClassVar[float] = math.inf
    """How often a visit may read the sources of its class."""
    _accounts: dict[str, _Account] = field(default_factory=dict, init=False)
    _inside: dict[str, _Inside] = field(default_factory=dict, init=False)
    _lanes: int = field(default=1, init=False)
    _at: int = field(default=-1, init=False)
    _visited: str | None = field(default=None, init=False)
    _polls: int = field(default=0, init=False)
    _read: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.period) and self.period > 0):
            raise InputError("cqc: a round is longer than 0 s", self.period, "Give its seconds, such as 0.001.")
        whole = self.train == WHOLE
        for each in self.order:
            self._inside[each.name] = _Inside(create(self.inner, {} if whole else {"train": self.train}), whole)
            self._accounts[each.name] = _Account(self.T(each.name))

    def T(self, name: str) -> float:
        """The time of a class in a round, on all lanes together."""
        return self.period * self.shares[name] * self._lanes

    @property
    def credit(self) -> Mapping[str, float]:
        """What each class may use when it is visited next."""
        return {name: account.credit for name, account in self._accounts.items()}

    def prepare(self, units: Sequence[Unit]) -> None:
        """Give the policy of each class its units."""
        super().prepare(units)
        for each, members in zip(self.order, self.members, strict=True):
            inside = self._inside[each.name]
            inside.sources = [i for i in members if units[i].source]
            inside.others = [i for i in members if not units[i].source]
            inside.number = {i: k for k, i in enumerate(inside.others)}
            if inside.others:
                inside.policy.prepare([replace(units[i], id=k) for i, k in inside.number.items()])

    def choose(self, view: View) -> Decision | None:
        """Go on with the visit while it has time and work, else visit the next class that has both."""
        if view.lanes != self._lanes:
            self._lanes = view.lanes
            self._reshared()
        if self._visited is not None:
            account = self._accounts[self._visited]
            if account.used < account.budget and (decision := self._within(view, self._visited)):
                return decision
            self._leave(self._visited)
        ready = [each.name for each, mine in zip(self.order, self.members, strict=True) if _any(view, mine)]
        if not ready:
            return None
        self._pass_rounds(ready)
        while True:
            self._at = (self._at + 1) % len(self.order)
            name = self.order[self._at].name
            account = self._accounts[name]
            if account.credit <= 0:
                account.credit += self.T(name)
                continue
            account.budget, account.used = account.credit, 0.0
            self._visited, self._polls, self._read = name, 0, 0
            if decision := self._within(view, name):
                return decision
            self._leave(name)

    def observe(self, outcome: Outcome) -> None:
        """Charge the run to its class, and tell the policy inside."""
        i = outcome.run.unit
        name = self.units[i].cls
        account, took = self._accounts[name], outcome.finished - outcome.started
        if self._visited == name:
            account.used += took
        else:
            before = self._settled(name)
            account.used += took
            account.credit += self._settled(name) - before
        inside = self._inside[name]
        if not self.units[i].source:
            inside.policy.observe(replace(outcome, run=Run(inside.number[i], outcome.run.train)))

    def _reshared(self) -> None:
        for name, account in self._accounts.items():
            account.credit = min(account.credit, self.T(name))

    def _within(self, view: View, name: str) -> Decision | None:
        """What the class that is visited runs next."""
        inside, account = self._inside[name], self._accounts[name]
        place = next(k for k, each in enumerate(self.order, 1) if each.name == name)
        terms = {"class": float(place), "credit": account.budget - account.used, "slice": self.T(name)}
        if decision := inside.choose(view):
            self._polls = 0
            why = decision.why
            terms = terms | dict(why.terms) | {"n": float(decision.runs[0].train)}
            why = Why(f"{FORMULA}; inside {why.formula}", terms, why.over)
            return Decision(decision.runs, why, decision.work)
        due = [i for i in inside.sources if view.queues[i].pending]
        if not due or self._polls == _POLLS or self._read >= self.readings:
            return None
        self._polls += 1
        self._read += 1
        runs = tuple(Run(i, self.train.length(self.units[i], view.queues[i].pending)) for i in due)
        return Decision(runs, Why(f"{FORMULA}; its sources are read", terms), Work(reads=len(inside.sources)))

    def _leave(self, name: str) -> None:
        self._visited = None
        self._accounts[name].credit = self._settled(name)

    def _settled(self, name: str) -> float:
        """The credit of a class after its visit."""
        account, T = self._accounts[name], self.T(name)
        if account.used <= account.budget:
            return T
        return T - (account.used - (T if self.literal else account.budget))

    def _pass_rounds(self, ready: Sequence[str]) -> None:
        """Let those rounds go by at once in which every class that has work only pays what it owes."""
        rounds = min(self._owed(name) for name in ready) - 1
        if rounds <= 0:
            return
        for name, account in self._accounts.items():
            if account.credit <= 0:
                account.credit += self.T(name) * min(rounds, self._owed(name))
            else:
                account.credit = self.T(name)

    def _owed(self, name: str) -> int:
        """The rounds in which a class is passed over before it has credit again."""
        credit = self._accounts[name].credit
        return 0 if credit > 0 else math.floor(-credit / self.T(name)) + 1


def _any(view: View, members: Sequence[int]) -> bool:
    return any(view.queues[i].pending for i in members)

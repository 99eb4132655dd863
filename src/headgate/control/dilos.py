"""DILoS: load managers and the class scheduler, each told what the other one knows.

A virtual system is what one load manager looks after: a class, or in the mode `common` all classes. Its manager
learns the capacity that the class really has and sheds what exceeds it. From the usage of that capacity the classes
get new shares, and the managers the hint that their capacity has become as many times larger as the share:

    u_k = mean over the redistribution cycle of offered load / headroom
    H_k ← H_k · s′_k / s_k

By the published rule a class that has lent too much sheds until the cycle ends. Prompt management differs in two
ways. A class that is about to shed while it has less than its original share gets back what it needs of that at once,
and drops what is still too much, `d′ = 1 − (1 − d)·s′/s`. And a class lends by its highest usage in the cycle, not by
the mean: what it needs from time to time is not lent in between.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal, get_args

from headgate.control.redistribution import Parts, floored, original
from headgate.control.registry import RELATIVE, Redistribution
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.policy.protocol import Why
from headgate.shed.drops import CAP
from headgate.shed.none import NoManager
from headgate.shed.protocol import Cycle, LoadManager, Order, Sheds

Mode = Literal["none", "common", "separate", "dilos", "dilos+sharing"]
"""No load manager, one for all classes, one per class, or one per class that the shares follow.

With sharing, queries of several classes also share work; who manages them needs not know that.
"""

_NEAR = 1e-6
"""A share that is by so much below the original one is that one."""

Factory = Callable[[float, float], LoadManager]
"""Makes a load manager from its headroom and its delay target."""


@dataclass(frozen=True, slots=True)
class Directive:
    """What holds from now on, by class: the order of its load manager, its share, and the usage that led to it.

    `usage` is the mean since the last redistribution, or the highest. `why` is of the shares; each order has its own.
    """

    orders: Mapping[str, Order]
    shares: Parts
    usage: Parts
    changed: bool
    why: Why

    @property
    def drops(self) -> dict[str, float]:
        """The part of its tuples that each class drops."""
        return {name: order.drop for name, order in self.orders.items()}


@dataclass
class _System:
    """A virtual system: classes under one load manager, and their usage since the last redistribution."""

    names: tuple[str, ...]
    manager: LoadManager
    used: list[float] = field(default_factory=list)

    def cycle(self, seen: Mapping[str, Cycle]) -> Order:
        cycle = together([seen[name] for name in self.names])
        order = self.manager.cycle(cycle)
        self.used.append(cycle.offered / order.headroom)
        return order


class Management:
    """Load management and shares of classes, one control period after the other.

    At first each class has its original share of the `capacity`, in seconds of work per second, as its headroom. A
    class without a delay target is never shed; it takes part in the shares like the others. Shares move in the mode
    `dilos` only, once in `every` control periods.
    """

    def __init__(
        self,
        classes: Sequence[QueryClass],
        mode: Mode,
        manager: Factory,
        redistribution: Redistribution = RELATIVE,
        *,
        every: int = 10,
        capacity: float = 1.0,
        prompt: bool = False,
    ) -> None:
        if mode not in get_args(Mode):
            raise InputError("a known mode of load management", f"'{mode}'", f"Choose {', '.join(get_args(Mode))}.")
        if every < 1:
            raise InputError(
                "a redistribution cycle has one control period or more", every, "Give such as every: 10."
            )
        if not (math.isfinite(capacity) and capacity > 0):
            raise InputError("a capacity is a number above 0", capacity, "Give the number of lanes.")
        self.mode, self.manager, self.redistribution = mode, manager, redistribution
        self.every, self.capacity, self.prompt = every, capacity, prompt
        self._classes: dict[str, QueryClass] = {}
        self._shares: dict[str, float] = {}
        self._systems: list[_System] = []
        for each in classes:
            self._enrol(each)
        if not classes:
            raise InputError("there is at least one class", "none", "Add a class.")
        self._reshare(original(classes))

    @property
    def shares(self) -> Parts:
        """The share of each class."""
        return dict(self._shares)

    @property
    def _follow(self) -> bool:
        """Whether shares follow usage."""
        return self.mode in ("dilos", "dilos+sharing")

    @property
    def sheds(self) -> Sheds:
        """Where drop rates apply."""
        managers = [system.manager for system in self._systems]
        return next((m.sheds for m in managers if not isinstance(m, NoManager)), "read")

    def cycle(self, seen: Mapping[str, Cycle]) -> Directive:
        """Take one control period of every class, and say what holds for the next."""
        orders: dict[str, Order] = {}
        for system in self._systems:
            orders |= dict.fromkeys(system.names, system.cycle(seen))
        used = max if self.prompt else fmean
        usage = {name: used(system.used) for system in self._systems for name in system.names}
        cycles = len(self._systems[0].used)
        ended, claims = cycles == self.every, self._claims(orders)
        if ended or claims:
            for system in self._systems:
                system.used.clear()
        if not self._follow or not (ended or claims):
            why = Why("shares as they were", {"cycles": float(cycles)})
            return Directive(orders, self.shares, usage, changed=False, why=why)
        before = self._shares
        terms = {f"{x} of {name}": part[name] for name in usage for x, part in (("s", before), ("u", usage))}
        # Before the cycle has ended nobody lends, and only who claims its share asks for more.
        changed = self._redistribute(usage if ended else {n: usage[n] if n in claims else 1.0 for n in usage})
        if self.prompt:
            orders = {name: _shared(order, self._shares[name] / before[name]) for name, order in orders.items()}
        return Directive(orders, self.shares, usage, changed, Why(self.redistribution.formula, terms))

    def add(self, newcomer: QueryClass) -> None:
        """Take a class in with its original share. The others pay in proportion to theirs, so that loans stay."""
        share = original([*self._classes.values(), newcomer])[newcomer.name]
        self._enrol(newcomer)
        self._reshare({name: s * (1 - share) for name, s in self._shares.items()} | {newcomer.name: share})

    def remove(self, name: str) -> None:
        """Let a class go. The others divide its share in proportion to theirs."""
        if name not in self._classes:
            raise self._unmanaged(name)
        if len(self._classes) == 1:
            raise InputError("there is at least one class", f"'{name}' to be removed", "Add another class first.")
        del self._classes[name]
        left = 1 - self._shares[name]
        self._reshare({other: self._shares[other] / left for other in self._classes})

    def prioritise(self, name: str, priority: float) -> None:
        """Give a class another priority. Every share follows its original one, so that loans stay in proportion."""
        if name not in self._classes:
            raise self._unmanaged(name)
        before = original(list(self._classes.values()))
        self._classes[name] = replace(self._classes[name], priority=priority)
        after = original(list(self._classes.values()))
        parts = {each: share * after[each] / before[each] for each, share in self._shares.items()}
        total = sum(parts.values())
        self._reshare({each: part / total for each, part in parts.items()})

    def _unmanaged(self, name: str) -> InputError:
        return InputError("a class that is managed", f"'{name}'", f"There are {', '.join(self._classes)}.")

    def _enrol(self, newcomer: QueryClass) -> None:
        if newcomer.name in self._classes:
            raise InputError("every class has a name of its own", f"'{newcomer.name}' twice", "Rename one of them.")
        self._classes[newcomer.name] = newcomer

    def _claims(self, orders: Mapping[str, Order]) -> set[str]:
        """Who is about to shed while it has less than its original share, and may have that at once."""
        if not self._follow or not self.prompt:
            return set()
        own = original(list(self._classes.values()))
        return {name for name, order in orders.items() if order.drop and self._shares[name] < own[name] * (1 - _NEAR)}

    def _redistribute(self, usage: Parts) -> bool:
        """Give each class its new share, and its manager the hint; whether anything has changed."""
        new = self.redistribution(list(self._classes.values()), self._shares, usage)
        ratios = {name: new[name] / share for name, share in self._shares.items()}
        # What differs by rounding alone is no news, and a manager that is hinted begins its trials anew.
        moved = {name for name, ratio in ratios.items() if not math.isclose(ratio, 1.0, rel_tol=1e-9)}
        if moved:
            self._shares = {name: new[name] for name in self._shares}
        for system in self._systems:
            [name] = system.names
            if name in moved:
                system.manager.rescale(ratios[name])
        return bool(moved)

    def _reshare(self, shares: Parts) -> None:
        """Set shares of another set of classes, and begin a redistribution cycle.

        A manager stays with its classes, and is hinted; in the mode `common` another set of classes has a new one.
        """
        before, self._shares = self._shares, floored(shares)
        managers = {system.names: system.manager for system in self._systems}
        self._systems = []
        for names in self._groups():
            share = sum(self._shares[name] for name in names)
            if names in managers:
                managers[names].rescale(share / sum(before[name] for name in names))
            else:
                managers[names] = self._manager(names, self.capacity * share)
            self._systems.append(_System(names, managers[names]))

    def _groups(self) -> list[tuple[str, ...]]:
        shed = tuple(name for name, each in self._classes.items() if math.isfinite(each.delay_target))
        if self.mode == "common" and shed:
            return [shed, *((name,) for name in self._classes if name not in shed)]
        return [(name,) for name in self._classes]

    def _manager(self, names: tuple[str, ...], headroom: float) -> LoadManager:
        target = min(self._classes[name].delay_target for name in names)
        if self.mode == "none" or target == math.inf:
            return NoManager(headroom)
        return self.manager(headroom, target)


def _shared(order: Order, ratio: float) -> Order:
    """The order of a load manager that sheds, where the capacity has become so many times what it was."""
    if not order.drop or ratio == 1:
        return order
    return replace(order, drop=min(CAP / 100, max(0.0, 1 - (1 - order.drop) * ratio)))


def together(cycles: Sequence[Cycle]) -> Cycle:
    """What a control period has shown of several classes as one; every output keeps its own target."""
    if len(cycles) == 1:
        return cycles[0]
    admitted = [each.admitted for each in cycles]
    return Cycle(
        seconds=max(each.seconds for each in cycles),
        offered=math.fsum(each.offered for each in cycles),
        outputs=tuple(output for each in cycles for output in each.outputs),
        oldest=max(each.oldest for each in cycles),
        arrived=sum(each.arrived for each in cycles),
        admitted=sum(admitted),
        departed=sum(each.departed for each in cycles),
        cost=fmean([each.cost for each in cycles], admitted if any(admitted) else None),
        queued=math.fsum(each.queued for each in cycles),
        worked=math.fsum(each.worked for each in cycles),
        granted=math.fsum(each.granted for each in cycles),
        fixed=math.fsum(each.fixed for each in cycles),
    )

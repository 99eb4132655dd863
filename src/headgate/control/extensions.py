"""Other ways of redistribution than the relative one, for those who read priorities differently."""

from collections.abc import Sequence

from headgate.control.redistribution import FLOOR, Parts, Terms, original, relative
from headgate.model.classes import QueryClass, ranked
from headgate.model.classes import shares as by_priority


def absolute(classes: Sequence[QueryClass], shares: Parts, usage: Parts, terms: Terms) -> dict[str, float]:
    """Each class takes what it uses and its reserve, `u·s / (1 − reserve)`, before any lower class gets anything.

    What nobody takes is split by priority.
    """
    left = sum(shares.values())
    new: dict[str, float] = {}
    below = len(shares)
    for each in ranked(classes):
        below -= 1
        new[each.name] = min(_taken(each.name, shares, usage, terms), left - below * FLOOR)
        left -= new[each.name]
    return {name: new[name] + left * part for name, part in by_priority(classes).items()}


def hybrid(classes: Sequence[QueryClass], shares: Parts, usage: Parts, terms: Terms) -> dict[str, float]:
    """The top class takes what it uses and its reserve; the others share the rest, relatively by priority."""
    top, *others = ranked(classes)
    if not others:
        return dict(shares)
    total = sum(shares.values())
    taken = min(_taken(top.name, shares, usage, terms), total - len(others) * FLOOR)
    o = original(others, total - taken)
    rest = relative(others, o, {name: usage[name] * shares[name] / o[name] for name in o}, terms)
    return {top.name: taken, **rest}


def relative_workload(classes: Sequence[QueryClass], shares: Parts, usage: Parts, terms: Terms) -> dict[str, float]:
    """Relative, and no class loses a greater part of its load than a class of lower priority.

    The relative rule alone promises that only where the higher class has no more load than the lower. As little is
    moved as makes the two losses equal, the lowest class paying first; a class at the floor pays nothing.
    """
    new = relative(classes, shares, usage, terms)
    load = {name: usage[name] * shares[name] for name in shares}
    down = ranked(classes)
    for i, j in ((high.name, low.name) for high in down for low in reversed(down) if low.priority < high.priority):
        if load[i] > new[i]:
            evens = (new[j] * load[i] - new[i] * load[j]) / (load[i] + load[j])
            moved = max(0.0, min(load[i] - new[i], evens, new[j] - FLOOR))
            new[i] += moved
            new[j] -= moved
    return new


def _taken(name: str, shares: Parts, usage: Parts, terms: Terms) -> float:
    return max(FLOOR, usage[name] * shares[name] / (1 - terms.reserve_of(name)))

"""What to do when a class is slower than the next, less important one: the running frequencies move by one.

The slower class is the victim, the next one the violator. Four modules:

    dvp     decrease the violator's frequency
    ivp     increase the victim's
    dsp     decrease the whole side from the violator downwards
    isp     increase the whole side from the victim upwards

Each takes the frequencies f, who is a victim, and the priorities P, all in the order of the classes. Where P says
that a class matters more, its frequency stays the greater one: `fix_ties` raises it where a move has taken that away.
"""

from collections.abc import Callable, Mapping, Sequence

Module = Callable[[Sequence[int], Sequence[bool], Sequence[float]], list[int]]

CAP = 64
"""Frequencies grow to so many times the greatest they began with; a module that wants more is exhausted."""


def fix_ties(f: Sequence[int], P: Sequence[float]) -> list[int]:
    """Frequencies in which a class of higher priority comes before the next; upwards, so that one pass is enough."""
    g = list(f)
    for i in reversed(range(len(g) - 1)):
        if P[i] > P[i + 1] and g[i] <= g[i + 1]:
            g[i] = g[i + 1] + 1
    return g


def nudge(f: Sequence[int], victim: Sequence[bool]) -> list[int]:
    """Take one from each violator, or where it has one only, give one to the victim."""
    g = list(f)
    for i, hurt in enumerate(victim):
        if hurt and g[i + 1] > 1:
            g[i + 1] -= 1
        elif hurt:
            g[i] += 1
    return g


def dvp(f: Sequence[int], victim: Sequence[bool], P: Sequence[float]) -> list[int]:
    """Decrease the violators. Where the order leaves no room, there is some between doubled frequencies."""
    g = fix_ties(nudge(f, victim), P)
    if g != list(f) or not any(victim):
        return g
    return dvp([2 * n for n in f], victim, P)


def ivp(f: Sequence[int], victim: Sequence[bool], P: Sequence[float]) -> list[int]:
    """Increase the victims."""
    return fix_ties([n + hurt for n, hurt in zip(f, (*victim, False), strict=True)], P)


def dsp(f: Sequence[int], victim: Sequence[bool], P: Sequence[float]) -> list[int]:
    """Decrease all below each victim. Where nothing can go down, all go up by one first."""
    below = [sum(victim[:i]) for i in range(len(f))]
    g = fix_ties([max(1, n - d) for n, d in zip(f, below, strict=True)], P)
    if g != list(f) or not any(victim):
        return g
    return dsp([n + 1 for n in f], victim, P)


def isp(f: Sequence[int], victim: Sequence[bool], P: Sequence[float]) -> list[int]:  # noqa: ARG001 - order stays
    """Increase each victim and all above it."""
    return [n + sum(victim[i:]) for i, n in enumerate(f)]


MODULES: Mapping[str, Module] = {"dvp": dvp, "ivp": ivp, "dsp": dsp, "isp": isp}


def moved(
    module: str, f: Sequence[int], victim: Sequence[bool], P: Sequence[float], begun: Sequence[int]
) -> list[int] | None:
    """The frequencies after a module's move, or None if it is exhausted, given those that all began with."""
    g = MODULES[module](f, victim, P)
    return g if max(g) <= CAP * max(begun) else None

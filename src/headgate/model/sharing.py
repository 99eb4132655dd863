"""The priority of a shared operator: by its best segment (Max), all of them (Sum), or a defining subset (PDT).

An operator with cost c_x is shared by N segments. Segment i brings the benefit a_i (S/T under HNR, S/T² under
BSD) and costs r_i beyond the operator itself, so that a set P of segments run together is worth

    V(P) = (a_0 + Σ_{i∈P} a_i) / (c_x + Σ_{i∈P} r_i)

Max takes the best set of one, Sum the whole group, PDT a set that grows while V grows. a_0 is the benefit of queries
that end at the operator itself, which are served whatever runs behind it; mostly there are none.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Branch(NamedTuple):
    """One segment behind a shared operator: its benefit a and its cost r beyond the operator."""

    a: float
    r: float


class Share(NamedTuple):
    """A set of branches, by their numbers in the order in which they were taken, and its value V."""

    chosen: tuple[int, ...]
    value: float


def value(branches: Sequence[Branch], chosen: Sequence[int], c: float, base: float = 0.0) -> float:
    """V of a set of branches behind a shared operator of cost c, whose own queries bring the benefit `base`."""
    return _rate(base + sum(branches[i].a for i in chosen), c + sum(branches[i].r for i in chosen))


def _rate(benefit: float, time: float) -> float:
    return benefit / time if time > 0 else math.inf


def best_single(branches: Sequence[Branch], c: float, base: float = 0.0) -> Share:
    """Max: the best branch alone, or none where the operator's own queries are worth more."""
    sets = [(i,) for i in range(len(branches))] + ([()] if base > 0 else [])
    best = max(sets, key=lambda chosen: value(branches, chosen, c, base))
    return Share(best, value(branches, best, c, base))


def whole_group(branches: Sequence[Branch], c: float, base: float = 0.0) -> Share:
    """Sum: every branch, the shared cost counted once. (Adding up the single priorities would overstate it.)"""
    everything = tuple(range(len(branches)))
    return Share(everything, value(branches, everything, c, base))


def pdt(branches: Sequence[Branch], c: float, base: float = 0.0) -> Share:
    """The priority-defining tree as published: best branch first, stop at the first that does not help."""
    return _grow(branches, c, base, sorted(range(len(branches)), key=lambda i: -value(branches, [i], c)))


def pdt_opt(branches: Sequence[Branch], c: float, base: float = 0.0) -> Share:
    """The best set there is: a branch helps exactly while a/r exceeds V, so the optimum is a prefix by a/r."""
    order = sorted(range(len(branches)), key=lambda i: -_rate(*branches[i]))
    return _grow(branches, c, base, order)


def _grow(branches: Sequence[Branch], c: float, base: float, order: Sequence[int]) -> Share:
    chosen: list[int] = []
    num, den = base, c
    best = _rate(base, c) if base > 0 else 0.0
    for i in order:
        v = _rate(num + branches[i].a, den + branches[i].r)
        if (chosen or base > 0) and v <= best:
            break
        num, den, best = num + branches[i].a, den + branches[i].r, v
        chosen.append(i)
    return Share(tuple(chosen), best)


STRATEGIES: dict[str, Callable[[Sequence[Branch], float, float], Share]] = {
    "max": best_single,
    "sum": whole_group,
    "pdt": pdt,
    "pdt-opt": pdt_opt,
}

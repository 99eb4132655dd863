"""The priority of a shared operator: by its best segment (Max), all of them (Sum), or a defining subset (PDT).

An operator with cost c_x is shared by N segments. Segment i brings the benefit a_i (S/T under HNR, S/T² under
BSD) and costs r_i beyond the operator itself, so that a set P of segments run together is worth

    V(P) = Σ_{i∈P} a_i / (c_x + Σ_{i∈P} r_i)

Max takes the best set of one, Sum the whole group, PDT a set that grows while V grows.
"""

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


def value(branches: Sequence[Branch], chosen: Sequence[int], c: float) -> float:
    """V of a set of branches behind a shared operator of cost c."""
    return sum(branches[i].a for i in chosen) / (c + sum(branches[i].r for i in chosen))


def best_single(branches: Sequence[Branch], c: float) -> Share:
    """Max: the best branch alone."""
    best = max(range(len(branches)), key=lambda i: (value(branches, [i], c), -i))
    return Share((best,), value(branches, [best], c))


def whole_group(branches: Sequence[Branch], c: float) -> Share:
    """Sum: every branch, the shared cost counted once. (Adding up the single priorities would overstate it.)"""
    everything = tuple(range(len(branches)))
    return Share(everything, value(branches, everything, c))


def pdt(branches: Sequence[Branch], c: float) -> Share:
    """The priority-defining tree as published: best branch first, stop at the first that does not help."""
    return _grow(branches, c, sorted(range(len(branches)), key=lambda i: -value(branches, [i], c)))


def pdt_opt(branches: Sequence[Branch], c: float) -> Share:
    """The best set there is: a branch helps exactly while a/r exceeds V, so the optimum is a prefix by a/r."""

    def rate(i: int) -> float:
        return branches[i].a / branches[i].r if branches[i].r > 0 else float("inf")

    return _grow(branches, c, sorted(range(len(branches)), key=lambda i: -rate(i)))


def _grow(branches: Sequence[Branch], c: float, order: Sequence[int]) -> Share:
    chosen: list[int] = []
    num, den, best = 0.0, c, 0.0
    for i in order:
        v = (num + branches[i].a) / (den + branches[i].r)
        if chosen and v <= best:
            break
        num, den, best = num + branches[i].a, den + branches[i].r, v
        chosen.append(i)
    return Share(tuple(chosen), best)


STRATEGIES: dict[str, Callable[[Sequence[Branch], float], Share]] = {
    "max": best_single,
    "sum": whole_group,
    "pdt": pdt,
    "pdt-opt": pdt_opt,
}

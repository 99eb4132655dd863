"""The freshening problem: copies that go stale, accesses that care, and bandwidth that does not suffice for all.

A copy changes at its source λ times in a period, as a Poisson process, and is refreshed f times in it, at equal
intervals. The share of time in which it is fresh, and what one more refresh would add to that, are

    F̄(f, λ) = (1 − e^{−r})/r,     ∂F̄/∂f = g(r)/λ,     r = λ/f,     g(r) = 1 − (1 + r)·e^{−r}

What an access sees is `Σ w·p·F̄` over all copies, of which p is how often each is accessed: the perceived freshness.
It is concave in every f, so what equalises the marginal benefit of a unit of bandwidth is the optimum.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc

from headgate.errors import InputError

Floats: TypeAlias = NDArray[np.float64]

SHAPE = 2.0
"""g is the distribution function of a gamma variable with this shape and scale 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Copies and the bandwidth for them, one array element for each copy.

    `p` is how often a copy is accessed among all accesses, `lam` how often it changes in a period, `s` what one
    refresh of it takes of the budget `B` of a period. `w` is for how many equal copies an element stands.
    """

    p: Floats
    lam: Floats
    s: Floats
    B: float
    w: Floats

    def __post_init__(self) -> None:
        if not self.p.ndim == 1 <= len(self.p):
            raise InputError("there is a copy to refresh", f"shape {self.p.shape}", "Give a list of copies.")
        shapes = {name: getattr(self, name).shape for name in ("p", "lam", "s", "w")}
        if len(set(shapes.values())) > 1:
            raise InputError("every copy has p, lam, s and w", shapes, "Give lists of the same length.")
        _refuse("access frequency of a copy is a number of 0 or more", self.p, self.p < 0)
        _refuse("change rate of a copy is a number of 0 or more", self.lam, self.lam < 0)
        _refuse("size of a copy is a number above 0", self.s, self.s <= 0)
        _refuse("count of equal copies is a number above 0", self.w, self.w <= 0)
        if not 0 <= self.B < np.inf:
            raise InputError("a budget is a number of 0 or more", self.B, "Give the bandwidth of a period.")

    @classmethod
    def of(cls, p: ArrayLike, lam: ArrayLike, B: float, s: ArrayLike = 1.0, w: ArrayLike = 1.0) -> "Problem":
        """A problem of plain numbers; sizes and counts are 1 unless they are given."""
        p = np.asarray(p, float)
        lam = np.asarray(lam, float)
        return cls(p, lam, _each(s, p), float(B), _each(w, p))

    def __len__(self) -> int:
        return len(self.p)


def _refuse(rule: str, given: Floats, wrong: NDArray[np.bool_]) -> None:
    wrong = wrong | ~np.isfinite(given)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InputError(f"the {rule}", f"{given[i]:g} for copy {i}", "Give one that is, or leave the copy out.")


def _each(value: ArrayLike, like: Floats) -> Floats:
    array = np.asarray(value, float)
    return np.full(like.shape, array) if array.ndim == 0 else array


def freshness(f: ArrayLike, lam: ArrayLike) -> Floats:
    """The share of time in which copies are fresh, F̄: 1 for what never changes, 0 for what is never refreshed."""
    f, lam = np.asarray(f, float), np.asarray(lam, float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r = lam / f
        # A copy that is refreshed much more often than it changes is fresh; the quotient would be 0/0.
        return np.where(r > 0, -np.expm1(-r) / r, 1.0)


def gain(r: ArrayLike) -> Floats:
    """What one more refresh is worth beside what it could be worth at most, g(r)."""
    return np.asarray(gammainc(SHAPE, np.asarray(r, np.float64)))


def marginal(f: ArrayLike, lam: ArrayLike) -> Floats:
    """What one more refresh would add to the freshness of copies, ∂F̄/∂f."""
    f, lam = np.asarray(f, float), np.asarray(lam, float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(lam > 0, gain(lam / f) / lam, 0.0)


def perceived(problem: Problem, f: ArrayLike) -> float:
    """The perceived freshness PF: the share of accesses that find their copy fresh."""
    return float(np.sum(problem.w * problem.p * freshness(f, problem.lam)))


def spent(problem: Problem, f: ArrayLike) -> float:
    """What the refreshes of a period take of the budget."""
    return float(np.sum(problem.w * problem.s * np.asarray(f, float)))

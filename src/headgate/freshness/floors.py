"""Copies that have to be fresh for a share of time at least, or never older than an age, whoever accesses them.

Without floors a copy that is hardly ever accessed, or changes too often to be worth it, is never refreshed again.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import lambertw

from headgate.errors import InputError
from headgate.freshness.problem import Floats, Problem, spent
from headgate.freshness.solver import ROUNDING


def for_freshness(lam: ArrayLike, phi: ArrayLike) -> Floats:
    """The fewest refreshes of a period with which copies are fresh for a share φ < 1 of time, F̄(f, λ) = φ."""
    lam, phi = np.broadcast_arrays(np.asarray(lam, np.float64), np.asarray(phi, np.float64))
    wrong = ~((phi >= 0) & (phi < 1))
    if wrong.any():
        raise InputError("a floor is a share of time from 0 to below 1", phi[wrong][0], "Ask for less freshness.")
    asked = phi > 0
    inverse: Floats = 1 / np.where(asked, phi, 1.0)
    # 1 − e^{−r} = φ·r is solved by r = 1/φ + W(−e^{−1/φ}/φ).
    r = inverse + np.real(lambertw(-inverse * np.exp(-inverse)))  # type: ignore[call-overload]
    found = np.zeros(lam.shape)
    np.divide(lam, r, out=found, where=asked)
    return found


def for_age(age: ArrayLike, period: float = 1.0) -> Floats:
    """The fewest refreshes of a period with which no copy is older than an age."""
    return period / np.asarray(age, float)


def affordable(problem: Problem, phi: Floats) -> Floats:
    """The floors, or the same share of each that the budget just allows."""

    def excess(share: float) -> float:
        return spent(problem, for_freshness(problem.lam, share * phi)) - problem.B

    if excess(1.0) <= 0:
        return phi
    return float(brentq(excess, 0.0, 1.0, xtol=1e-14)) * phi


def allowed(problem: Problem, least: Floats) -> float:
    """The share of so many refreshes of each copy that the budget allows: 1 if it is all of them.

    Where copies are refreshed for their ages, these are longer by the inverse of it.
    """
    needed = spent(problem, least)
    return problem.B / needed if needed > problem.B * (1 + ROUNDING) else 1.0


def above(problem: Problem, least: Floats, f: Floats) -> Floats:
    """At least so many refreshes of each copy, and above that as large a share of f as the budget then allows."""

    def excess(share: float) -> float:
        return spent(problem, np.maximum(least, share * f)) - problem.B

    if excess(1.0) <= ROUNDING * problem.B:
        return np.maximum(least, f)
    return np.maximum(least, brentq(excess, 0.0, 1.0, xtol=1e-14) * f) if excess(0.0) < 0 else least

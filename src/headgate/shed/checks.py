"""The rules that options of load managers have in common, and what is said when one is broken."""

import math
from typing import TypeGuard

from headgate.errors import InputError

LEAST_HEADROOM = 0.01


def positive(manager: str, **options: object) -> None:
    """Refuse options that are not finite numbers above 0."""
    for name, got in options.items():
        if not (_number(got) and 0 < got < math.inf):
            rule = f"load manager '{manager}': {name} is a number above 0"
            raise InputError(rule, got, f"Give {name} a positive number.")


def within(manager: str, least: float, most: float, **options: object) -> None:
    """Refuse options that are not numbers from `least` to `most`."""
    for name, got in options.items():
        if not (_number(got) and least <= got <= most):
            rule = f"load manager '{manager}': {name} is a number from {least:g} to {most:g}"
            raise InputError(rule, got, f"Give {name} a number in that range.")


def whole(manager: str, least: int, most: float, **options: object) -> None:
    """Refuse options that are not whole numbers from `least` to `most`."""
    for name, got in options.items():
        if isinstance(got, bool) or not isinstance(got, int) or not least <= got <= most:
            rule = f"load manager '{manager}': {name} is a whole number from {least} to {most:g}"
            raise InputError(rule, got, f"Give {name} a whole number in that range.")


def bounded(headroom: float, cores: float) -> float:
    """A headroom that so many cores could have: more than all of them is an error of measurement."""
    return min(max(headroom, LEAST_HEADROOM), 1.2 * cores)


def _number(got: object) -> TypeGuard[int | float]:
    return isinstance(got, int | float) and not isinstance(got, bool)

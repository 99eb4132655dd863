"""The ways of redistribution by name: how scenarios, the engine and the documentation find them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from headgate.control.extensions import absolute, hybrid, relative_workload
from headgate.control.redistribution import Parts, Rule, Terms, relative
from headgate.errors import InputError
from headgate.model.classes import QueryClass

_ALL = tuple(f.name for f in fields(Terms))


@dataclass(frozen=True, slots=True)
class Redistribution:
    """A rule with its terms, its formula, and the options that it listens to."""

    name: str
    formula: str
    rule: Rule
    options: tuple[str, ...] = _ALL
    terms: Terms = Terms()

    def __call__(self, classes: Sequence[QueryClass], shares: Parts, usage: Parts) -> dict[str, float]:
        """The new shares."""
        return self.rule(classes, shares, usage, self.terms)


RELATIVE = Redistribution("relative", "demand (u − 1)·s, supply (1 − u)·s − reserve·o", relative)

REDISTRIBUTIONS: Mapping[str, Redistribution] = {
    each.name: each
    for each in (
        RELATIVE,
        Redistribution("absolute", "u·s / (1 − reserve), the highest first", absolute, ("reserve", "reserves")),
        Redistribution("hybrid", "u·s / (1 − reserve) for the top class, then relative", hybrid),
        Redistribution("relative+workload", "relative, then loss ≤ that of lower classes", relative_workload),
    )
}


def create(name: str, options: Mapping[str, Any] | None = None) -> Redistribution:
    """A redistribution made from its name and options, as a scenario or pipeline file gives them."""
    if name not in REDISTRIBUTIONS:
        raise InputError("a known redistribution", f"'{name}'", f"Choose one of {', '.join(REDISTRIBUTIONS)}.")
    found = REDISTRIBUTIONS[name]
    for option in options or {}:
        if option not in found.options:
            rule = f"redistribution '{name}': a known option"
            raise InputError(rule, f"'{option}'", f"It takes {', '.join(found.options)}.")
    return replace(found, terms=Terms(**(options or {})))

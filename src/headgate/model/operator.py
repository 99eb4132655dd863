"""Operators: what one box of a query network does to a tuple, and what that costs."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from headgate.errors import InputError


class Kind(StrEnum):
    """What an operator does. The kind fixes how many inputs it has and which selectivities make sense."""

    SOURCE = "source"
    SELECT = "select"
    PROJECT = "project"
    MAP = "map"
    JOIN = "join"
    WINDOW_JOIN = "window_join"
    AGGREGATE = "aggregate"
    UNION = "union"
    OUTPUT = "output"


@dataclass(frozen=True)
class _Rule:
    """The limits of one kind: inputs it takes, and the selectivities `0 < s <= most`, or exactly 1."""

    fewest_inputs: int
    most_inputs: float
    most: float
    exactly_one: bool = False


_RULES = {
    Kind.SOURCE: _Rule(0, 0, 1, exactly_one=True),
    Kind.SELECT: _Rule(1, 1, 1),
    Kind.PROJECT: _Rule(1, 1, 1, exactly_one=True),
    Kind.MAP: _Rule(1, 1, math.inf),
    Kind.JOIN: _Rule(1, 2, math.inf),
    Kind.WINDOW_JOIN: _Rule(2, 2, 1),
    Kind.AGGREGATE: _Rule(1, 1, 1),
    Kind.UNION: _Rule(2, math.inf, 1, exactly_one=True),
    Kind.OUTPUT: _Rule(1, 1, 1, exactly_one=True),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The time of a train of n tuples, `a + b·n`: `a` is paid once a train, `b` for each tuple."""

    a: float = 0.0
    b: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if not (math.isfinite(value) and value >= 0):
                rule = f"a cost is a finite number of seconds, zero or more ({name} in a + b·n)"
                raise InputError(rule, value, "Give the time one tuple takes, such as 0.002.")

    def of(self, n: float) -> float:
        """Time of one train of n tuples."""
        return self.a + self.b * n

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.a + other.a, self.b + other.b)

    def scaled(self, k: float) -> "Cost":
        """The same cost on a machine k times slower."""
        return Cost(self.a * k, self.b * k)


FREE = Cost()


@dataclass(frozen=True, slots=True)
class Operator:
    """One box of a query network.

    `selectivity` is the number of outputs per input tuple, by whichever input it comes. For a window join it is the
    probability that a pair within `window` seconds matches, and its first input is the left side.
    """

    name: str
    kind: Kind
    inputs: tuple[str, ...] = ()
    cost: Cost = FREE
    selectivity: float = 1.0
    window: float | None = None

    def __post_init__(self) -> None:
        rule = _RULES[self.kind]
        self._check_selectivity(rule)
        if not rule.fewest_inputs <= len(self.inputs) <= rule.most_inputs:
            raise InputError(
                f"operator '{self.name}': a {self.kind} takes {_inputs(rule)}",
                f"{len(self.inputs)} ({', '.join(self.inputs) or 'none'})",
                "Name as many input operators as that.",
            )
        if self.kind is Kind.WINDOW_JOIN:
            if self.window is None or not (math.isfinite(self.window) and self.window > 0):
                raise InputError(
                    f"operator '{self.name}': a window join needs a window longer than 0 seconds",
                    self.window,
                    "Give the window in seconds, such as window: 10.",
                )
        elif self.window is not None:
            raise InputError(
                f"operator '{self.name}': only a window join has a window",
                f"window {self.window} on a {self.kind}",
                "Remove the window, or make it a window_join of two inputs.",
            )

    def _check_selectivity(self, rule: _Rule) -> None:
        s = self.selectivity
        if rule.exactly_one:
            if s != 1:
                raise InputError(
                    f"operator '{self.name}': the selectivity of a {self.kind} is 1, it passes every tuple on",
                    s,
                    "Leave the selectivity out, or use a select or a map.",
                )
        elif not (0 < s <= rule.most and math.isfinite(s)):
            limit = f"above 0 and at most {rule.most:g}" if math.isfinite(rule.most) else "above 0 and finite"
            raise InputError(
                f"operator '{self.name}': the selectivity of a {self.kind} is {limit}",
                s,
                "Give the number of output tuples per input tuple.",
            )

    def scaled(self, k: float) -> "Operator":
        """The same operator on a machine k times slower."""
        return replace(self, cost=self.cost.scaled(k))


def _inputs(rule: _Rule) -> str:
    if rule.fewest_inputs == 0:
        return "no input"
    if rule.fewest_inputs == rule.most_inputs:
        return f"exactly {rule.fewest_inputs} input" + ("s" if rule.fewest_inputs > 1 else "")
    if math.isfinite(rule.most_inputs):
        return f"{rule.fewest_inputs} to {rule.most_inputs:g} inputs"
    return f"{rule.fewest_inputs} inputs or more"

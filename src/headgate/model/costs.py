"""What one iteration of a window query costs: the time of each operator from the tuples that it reads.

An operator reads `n` tuples and puts out `s` for each of them; a tuple is read, worked on and, if it is a result,
written. A tree is evaluated from its streams to its root, each operator fed with what the ones before it put out:
`F(w)` is the sum of their times for windows of `w` tuples. Shedding keeps the fraction k of every window, so the
fraction that fits a time E' is the root of `F(k·w) = E'`.

The matches of a join are given in one of two ways. By tuple, `s` stays as it is while windows shrink, so F is linear
in k. By pair, each pair matches with the probability p and results go with k², as in a real join.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from headgate.errors import InputError

Kind = Literal["select", "project", "aggregate", "group", "join"]

Window = Mapping[str, float]
"""Tuples in the window of each stream."""

_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds per tuple of each elementary piece of work; `drop` is what a tuple costs that is shed."""

    read: float = 1e-6
    write: float = 1e-6
    compare: float = 2.5e-6
    project: float = 2e-6
    compute: float = 3e-6
    probe: float = 3e-6
    hash: float = 2.5e-6
    drop: float = 0.0

    def per_tuple(self, kind: Kind) -> float:
        """Reading a tuple and working on it, without writing."""
        work = {
            "select": self.compare,
            "project": self.project,
            "aggregate": self.compute,
            "group": self.compute,
            "join": self.probe + self.hash,
        }
        return self.read + work[kind]


@dataclass(frozen=True, slots=True)
class Step:
    """An operator over streams, by name, or over other steps. Of a join, `pairs` goes before `selectivity`."""

    kind: Kind
    inputs: "tuple[Step | str, ...]"
    selectivity: float = 1.0
    pairs: float | None = None

    def __post_init__(self) -> None:
        if self.selectivity < 0 or (self.pairs is not None and not 0 <= self.pairs <= 1):
            got = self.selectivity if self.pairs is None else self.pairs
            raise InputError(f"{self.kind}: a selectivity is 0 or more, that of pairs at most 1", got, "Give 0.5.")

    def outputs(self, inputs: list[float]) -> float:
        """The tuples that come out of those that go in."""
        if self.kind == "join":
            left, right = inputs
            if self.pairs is not None:
                return self.pairs * left * right
            # A selectivity by tuple cannot promise more than all pairs.
            return min(self.selectivity * (left + right), left * right)
        (n,) = inputs
        if self.kind == "aggregate":
            return 1.0 if n > 0 else 0.0
        return n if self.kind == "project" else self.selectivity * n

    def leaves(self) -> Iterator[str]:
        """The streams that are read, once for each time that one is."""
        for each in self.inputs:
            if isinstance(each, str):
                yield each
            else:
                yield from each.leaves()


Source = Step | str
"""What a step reads."""


def select(source: Source, selectivity: float) -> Step:
    """Keeps a part of the tuples."""
    return Step("select", (source,), selectivity)


def project(source: Source) -> Step:
    """Keeps some columns of each tuple."""
    return Step("project", (source,))


def aggregate(source: Source) -> Step:
    """One value of all tuples."""
    return Step("aggregate", (source,))


def group(source: Source, selectivity: float) -> Step:
    """One value for each group; there are `selectivity` groups per tuple."""
    return Step("group", (source,), selectivity)


def join(left: Source, right: Source, selectivity: float = 1.0, pairs: float | None = None) -> Step:
    """A symmetric hash join of two windows."""
    return Step("join", (left, right), selectivity, pairs)


@dataclass(frozen=True)
class Tree:
    """The operators of a query, and what they cost. `fixed` is what an iteration costs beside its tuples."""

    root: Step
    costs: Costs = Costs()
    fixed: float = 0.0

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """The streams that it reads, each once."""
        return tuple(dict.fromkeys(self.root.leaves()))

    @cached_property
    def linear(self) -> bool:
        """Whether its time grows evenly with what is kept: no join goes by pairs."""
        return _linear(self.root)

    def evaluate(self, window: Window) -> tuple[float, float]:
        """The time of an iteration and its results."""
        time, results = self._evaluate(self.root, window)
        return self.fixed + time, results

    def cost(self, window: Window) -> float:
        """The time of an iteration over that many tuples."""
        return self.evaluate(window)[0]

    def outputs(self, window: Window) -> float:
        """The results of an iteration over that many tuples."""
        return self.evaluate(window)[1]

    def thinned(self, window: Window, left: Window) -> float:
        """The time of an iteration over what is left of a window, with what it takes to drop the rest."""
        return self.cost(left) + self.costs.drop * (self.sources(window) - self.sources(left))

    def emptied(self, window: Window) -> float:
        """The time of an iteration that drops its whole window, c0: shedding cannot go below it."""
        return self.thinned(window, part(window, 0.0))

    def sources(self, window: Window) -> float:
        """The tuples that an iteration reads from streams."""
        return sum(window[stream] for stream in self.root.leaves())

    def selectivity(self, window: Window) -> float:
        """Results per tuple that is read from a stream; 0 for an empty window."""
        n = self.sources(window)
        return self.outputs(window) / n if n > 0 else 0.0

    def per_tuple(self, window: Window) -> float:
        """The time of one more tuple, on average; 0 for an empty window."""
        n = self.sources(window)
        return (self.cost(window) - self.emptied(window)) / n if n > 0 else 0.0

    def fraction(self, window: Window, budget: float) -> float:
        """The part of every stream's window that can be processed in a time: the root of F(k·w) = budget."""
        whole, least = self.cost(window), self.emptied(window)
        if budget >= whole:
            return 1.0
        if budget <= least:
            return 0.0
        k = (budget - least) / (whole - least)
        if abs(self.thinned(window, part(window, k)) - budget) <= 1e-12 * whole:
            return k
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = self.thinned(window, part(window, middle)) <= budget
            low, high = (middle, high) if fits else (low, middle)
        return low

    def by_pairs(self, window: Window) -> "Tree":
        """The same tree with joins whose pairs match with the probability that they have in that window."""
        return replace(self, root=self._by_pairs(self.root, window))

    def _evaluate(self, step: Step, window: Window) -> tuple[float, float]:
        time, inputs = 0.0, []
        for each in step.inputs:
            if isinstance(each, str):
                inputs.append(float(window[each]))
            else:
                before, n = self._evaluate(each, window)
                time += before
                inputs.append(n)
        results = step.outputs(inputs)
        # An aggregate writes its value also where nothing came in.
        written = 1.0 if step.kind == "aggregate" else results
        return time + sum(inputs) * self.costs.per_tuple(step.kind) + written * self.costs.write, results

    def _by_pairs(self, step: Step, window: Window) -> Step:
        inputs = tuple(each if isinstance(each, str) else self._by_pairs(each, window) for each in step.inputs)
        if step.kind != "join":
            return replace(step, inputs=inputs)
        left, right = (
            window[each] if isinstance(each, str) else self._evaluate(each, window)[1] for each in step.inputs
        )
        pairs = step.outputs([left, right]) / (left * right) if left * right > 0 else 0.0
        return replace(step, inputs=inputs, pairs=pairs)


def _linear(step: Step) -> bool:
    return step.pairs is None and all(_linear(each) for each in step.inputs if isinstance(each, Step))


def part(window: Window, k: float) -> dict[str, float]:
    """The fraction k of every window."""
    return {stream: k * n for stream, n in window.items()}

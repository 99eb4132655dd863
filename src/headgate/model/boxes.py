"""Boxes: operators as Aurora's schedulers see them, with a cost, a selectivity and a queue of tuples of one size.

Boxes are numbered from 0 and know their inputs; they may be shared, but there is no loop. Where each feeds at most
one other they are trees, and the way from a box to its output is

    D(b)            b, the box that it feeds, … , the output
    o_sel(b)        Π sel over D(b)             results per tuple that waits at b
    output_cost(b)  Σ cost(k)/o_sel(k)          time to get one result from what waits at b
    mem_rr(b)       tsize·(1 − sel)/cost        memory released per second
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from headgate.errors import InputError
from headgate.model.parameters import Stage, output_cost, selectivity


@dataclass(frozen=True, slots=True)
class Box:
    """One operator: `cost` seconds and `sel` outputs per input tuple, which has `tsize` bytes."""

    inputs: tuple[int, ...] = ()
    cost: float = 1.0
    sel: float = 1.0
    tsize: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("cost", self.cost), ("selectivity", self.sel), ("tuple size", self.tsize)):
            if not (value > 0 and math.isfinite(value)):
                raise InputError(f"the {name} of a box is above 0", value, "Give a positive number.")


@dataclass(frozen=True)
class Boxes:
    """A network of boxes; a box's number is its place."""

    boxes: tuple[Box, ...]

    def __post_init__(self) -> None:
        for b, box in enumerate(self.boxes):
            for i in box.inputs:
                if not 0 <= i < len(self.boxes):
                    raise InputError(f"box {b}: inputs are boxes", i, f"There are 0 to {len(self.boxes) - 1}.")
        if len(tuple(self.upstream(*self.outputs))) < len(self.boxes):
            raise InputError("boxes feed each other without a loop", "a loop", "Let every box lead to an output.")

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, b: int) -> Box:
        return self.boxes[b]

    @cached_property
    def feeds(self) -> tuple[tuple[int, ...], ...]:
        """The boxes that read what each box puts out."""
        found: list[list[int]] = [[] for _ in self.boxes]
        for b, box in enumerate(self.boxes):
            for i in box.inputs:
                found[i].append(b)
        return tuple(map(tuple, found))

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The boxes whose results leave the system."""
        return tuple(b for b, fed in enumerate(self.feeds) if not fed)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The boxes that streams come in at."""
        return tuple(b for b, box in enumerate(self.boxes) if not box.inputs)

    @cached_property
    def _ways(self) -> dict[int, tuple[int, ...]]:
        ways: dict[int, tuple[int, ...]] = {}
        for b in self.breadth_first(*self.outputs):
            if len(self.feeds[b]) > 1:
                raise InputError(
                    "in a tree a box feeds one other", f"box {b} feeds {self.feeds[b]}", "Take it apart."
                )
            ways[b] = (b, *(ways[self.feeds[b][0]] if self.feeds[b] else ()))
        return ways

    def D(self, b: int) -> tuple[int, ...]:
        """The way from a box of a tree to its output, itself first."""
        return self._ways[b]

    def path(self, b: int) -> tuple[Stage, ...]:
        """The same as stages."""
        return tuple(Stage(self.boxes[k].cost, self.boxes[k].sel) for k in self._ways[b])

    def o_sel(self, b: int) -> float:
        """Results per tuple that waits at the box."""
        return selectivity(self.path(b))

    def output_cost(self, b: int) -> float:
        """Time to get one result from what waits at the box."""
        return output_cost(self.path(b))

    def mem_rr(self, b: int) -> float:
        """Memory that the box releases per second."""
        box = self.boxes[b]
        return box.tsize * (1 - box.sel) / box.cost

    def breadth_first(self, *roots: int) -> tuple[int, ...]:
        """What leads to the roots, level by level, inputs from left to right."""
        found = dict.fromkeys(roots)
        level: Iterable[int] = roots
        while level := [i for b in level for i in self.boxes[b].inputs if i not in found]:
            level = list(dict.fromkeys(level))
            found.update(dict.fromkeys(level))
        return tuple(found)

    def upstream(self, *roots: int) -> Iterator[int]:
        """What leads to the roots, each box after its inputs and once."""
        done: set[int] = set()
        # By hand and not by recursion: chains may be longer than the stack is deep.
        stack = [(root, iter(self.boxes[root].inputs)) for root in reversed(roots)]
        open_ = set()
        while stack:
            b, rest = stack[-1]
            open_.add(b)
            following = next((i for i in rest if i not in done), None)
            if following is None:
                stack.pop()
                if b not in done:
                    done.add(b)
                    yield b
            elif following in open_:
                raise InputError("boxes feed each other without a loop", f"a loop over box {following}", "Cut it.")
            else:
                stack.append((following, iter(self.boxes[following].inputs)))


def complete(fanout: int, depth: int, box: Box | None = None) -> Boxes:
    """A tree in which every box but the leaves has `fanout` inputs, on `depth` levels; the output is box 0."""
    sizes = [fanout**level for level in range(depth)]
    inner = sum(sizes[:-1])
    like = box or Box()
    return Boxes(
        tuple(
            replace(like, inputs=tuple(range(fanout * b + 1, fanout * b + 1 + fanout)) if b < inner else ())
            for b in range(sum(sizes))
        )
    )

"""Ways to move a query: UniMiCo, and what it is compared with. Each says what it cannot move, and what a move takes.

* UniMiCo: both nodes run for the length of a window; nothing is copied, nothing stops, upstream does not know.
* WRP, the Window Recreation Protocol: the same border, but announced by the upstream nodes, which send the tuples of
  the overlap to both. It is for one window operator over time.
* Stop and copy: the query stops, its state is sent, it goes on elsewhere; tuples wait meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from headgate.control.migration.windows import Shape, TimeWindow
from headgate.errors import InputError

Name = Literal["unimico", "wrp", "stop-and-copy"]


@dataclass(frozen=True, slots=True)
class Link:
    """What is between the nodes: the time of a message on its way, and bytes per second."""

    latency: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Course:
    """What a move takes: messages, seconds in which the query stands still, bytes of state that are sent."""

    messages: int
    paused: float = 0.0
    copied: int = 0
    upstream: bool = False


class Method(Protocol):
    """A way to move queries."""

    @property
    def name(self) -> Name:
        """Its name."""
        ...

    def refusal(self, shape: Shape) -> str | None:
        """Why it cannot move such a query; None if it can."""
        ...

    def course(self, shape: Shape, state: int, link: Link) -> Course:
        """What it takes to move a query with so many bytes of state."""
        ...


@dataclass(frozen=True, slots=True)
class UniMiCo:
    """Moves whole queries of any windows."""

    ordered: bool = True
    name: Name = "unimico"

    def refusal(self, shape: Shape) -> str | None:
        """Operators that others use too stay; the query needs its own."""
        return "it shares operators with other queries" if shape.shared else None

    def course(self, shape: Shape, state: int, link: Link) -> Course:  # noqa: ARG002 - of any shape and state
        """Migrate, Ready and Handover, and Done where results are to be in order."""
        return Course(4 if self.ordered else 3)


@dataclass(frozen=True, slots=True)
class WRP:
    """Moves queries with one window operator over time, with the help of those who send the tuples."""

    ordered: bool = True
    name: Name = "wrp"

    def refusal(self, shape: Shape) -> str | None:
        """More than one window operator, or windows of rows."""
        if shape.shared:
            return "it shares operators with other queries"
        if len(shape.stages) > 1:
            return f"it has {len(shape.stages)} window operators, and WRP moves one"
        if shape.stages and not isinstance(shape.controlling.window, TimeWindow):
            return "its window is over rows, and WRP knows windows over time"
        return None

    def course(self, shape: Shape, state: int, link: Link) -> Course:  # noqa: ARG002 - of any state
        """Each upstream is asked, answers with its time and tells both nodes the border; the end too, for order."""
        return Course(4 * shape.inputs + self.ordered, upstream=True)


@dataclass(frozen=True, slots=True)
class StopAndCopy:
    """Moves anything, and stops it for that."""

    name: Name = "stop-and-copy"

    def refusal(self, shape: Shape) -> str | None:
        """Shared operators cannot stop for one query."""
        return "it shares operators with other queries" if shape.shared else None

    def course(self, shape: Shape, state: int, link: Link) -> Course:  # noqa: ARG002 - of any shape
        """The state is sent, and its arrival is told."""
        return Course(2, paused=link.latency + state / link.bandwidth, copied=state)


METHODS: Mapping[Name, Method] = {each.name: each for each in (UniMiCo(), WRP(), StopAndCopy())}


def check(method: Method, query: str, shape: Shape) -> None:
    """Refuse to move a query by a method that cannot."""
    why = method.refusal(shape)
    if why is None:
        return
    able = [each.name for each in METHODS.values() if each.refusal(shape) is None]
    remedy = f"Move it by {' or '.join(able)}." if able else "Give the query operators of its own first."
    raise InputError(f"{method.name} cannot move query '{query}'", why, remedy)

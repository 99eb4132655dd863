"""The terms on which a query is registered, as its user writes them."""

from dataclasses import dataclass
from typing import Literal

from headgate.engine.graphs import Latencies, Losses
from headgate.engine.moving import Boundary, Inherited
from headgate.engine.spans import seconds, windows
from headgate.engine.windows import Clock, Window
from headgate.errors import InputError
from headgate.model.classes import DEFAULT
from headgate.model.deadlines import Deadline

_MICROS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What `Engine.query` is told of a query beside its text and its sink."""

    window: str | float | None = None
    slide: str | float | None = None
    time: Clock | None = None
    cls: str = DEFAULT
    qos: Latencies | None = None
    loss: Losses | None = None
    deadline: str | float | None = None
    weight: float = 1.0
    scale: bool = False
    limit: str | float = 60.0
    start: Literal["now", "earliest"] | Boundary | Inherited = "now"
    instance: str = ""
    of: str = ""
    until: Boundary | None = None

    @property
    def shape(self) -> Window | None:
        """Its windows."""
        return windows(self.window, self.slide, self.time)

    def due(self, shape: Window | None) -> Deadline | None:
        """The deadline of the results of its windows."""
        if self.deadline is None:
            if self.weight != 1.0:
                raise InputError("a weight belongs to a deadline", f"{self.weight} without one", "Add deadline='2s'.")
            return None
        due = seconds(self.deadline, "a deadline", above=0)
        if shape is None:
            remedy = "Give the query a window, as in window='10s', slide='2s'."
            raise InputError("a deadline is for the results of windows", "no window", remedy)
        if shape.over_rows:
            remedy = "Give the query a window of time, as in window='10s', slide='2s', or a QoS graph."
            raise InputError("a deadline is for windows of time: the next one is known then", "one over rows", remedy)
        return Deadline(shape.size / _MICROS, shape.slide / _MICROS, due, self.weight)

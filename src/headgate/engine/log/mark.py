"""A place in a stream at which somebody else can begin to read it, where its source gives the same to everybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.engine.windows import NEVER


@dataclass(frozen=True, slots=True)
class Mark:
    """A position, the state of the source there, and the watermarks of what has come before.

    Whoever begins there numbers the tuples as all others do.
    """

    position: int
    state: Mapping[str, Any]
    event: int = NEVER
    arrival: int = NEVER

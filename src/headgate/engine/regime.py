"""The regime of an engine: which policy decides, what bounds a run, what is fused, and how load is managed."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control import regime as chosen
from headgate.control.dilos import Mode
from headgate.control.regime import AUTO, Given, Regime
from headgate.engine.log.stream import StreamLog
from headgate.engine.served import Deadlines
from headgate.engine.shedding import Shed, Shedding
from headgate.policy.trains import Train

__all__ = ["AUTO", "Given", "Regime", "Wish", "managed", "regime", "shed_as"]


@dataclass(frozen=True, slots=True)
class Wish:
    """A regime as it is asked for; what is not said, the engine chooses."""

    policy: str = AUTO
    train: Train | Mapping[str, float] | None = None
    fuse: bool | None = None
    shed: Shed | Mode | None = None
    deadlines: Deadlines = Deadlines()
    options: Mapping[str, Any] = field(default_factory=dict)


def regime(wish: Wish, given: Given) -> Regime:
    """The regime that a wish comes to. A mistake in the wish is told here, before anything has changed."""
    return chosen.regime(wish.policy, given, wish.train, wish.options, fuse=wish.fuse)


def shed_as(wish: Wish, given: Given) -> Shed:
    """How load is managed: as it is asked for, or by DILoS if a class has a delay target."""
    wanted = wish.shed
    if wanted is None:
        wanted = "dilos" if any(math.isfinite(each.delay_target) for each in given.classes) else "none"
    return wanted if isinstance(wanted, Shed) else Shed(wanted)


def managed(wish: Wish, given: Given, logs: Mapping[str, StreamLog]) -> Shedding | None:
    """The load management that a wish comes to; None if nothing is shed."""
    shed = shed_as(wish, given)
    return None if shed.mode == "none" else Shedding(shed, given.classes, logs, given.lanes, time.time())

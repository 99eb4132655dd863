"""Quality of service for continuous queries: one control plane, driven by a simulator and by Apache Spark."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.engine import sink, source, table
    from headgate.engine.engine import Engine
    from headgate.engine.served import Deadlines
    from headgate.engine.shedding import Shed
    from headgate.errors import HeadgateError, InputError
    from headgate.model.qos import LatencyGraph, LossGraph, ValueGraph
    from headgate.policy.trains import Train

__version__ = "0.1.0"
__all__ = [
    "Deadlines",
    "Engine",
    "HeadgateError",
    "InputError",
    "LatencyGraph",
    "LossGraph",
    "Shed",
    "Train",
    "ValueGraph",
    "sink",
    "source",
    "table",
]

_PLACES = {
    "Deadlines": "headgate.engine.served",
    "Engine": "headgate.engine.engine",
    "HeadgateError": "headgate.errors",
    "InputError": "headgate.errors",
    "LatencyGraph": "headgate.model.qos",
    "LossGraph": "headgate.model.qos",
    "Shed": "headgate.engine.shedding",
    "Train": "headgate.policy.trains",
    "ValueGraph": "headgate.model.qos",
}


def __getattr__(name: str) -> object:
    """The public names, imported when they are used: the simulator does not wait for Spark."""
    if name in ("sink", "source", "table"):
        return import_module(f"headgate.engine.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    message = f"module 'headgate' has no attribute '{name}'"
    raise AttributeError(message)

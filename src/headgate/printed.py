"""What every command does when it prints: tables as wide as they need to be, and JSON without what JSON has not."""

import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console

WIDE = 160
"""Columns for output that goes to a file or a pipe, which has no width of its own."""


def stdout() -> Console:
    """Standard output."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    return console


def finite(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value with null for numbers that are none."""
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Numbers as people read them: 12.3k, 340 ms, 1.2 MB. Whatever is not known is a dash."""

import math
from collections.abc import Sequence

_UNKNOWN = "–"
_COUNTS = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"))
_TIMES = ((1e-6, " µs"), (1e-3, " ms"), (1.0, " s"))
_SIZES = ((1.0, " B"), (1e3, " kB"), (1e6, " MB"), (1e9, " GB"), (1e12, " TB"))
_MANY = 10
_MOST_SECONDS, _MOST_MINUTES, _MOST_HOURS = 99.5, 100, 100


def count(value: float | None) -> str:
    """How many."""
    return _scaled(value, _COUNTS)


def size(value: float | None) -> str:
    """Bytes."""
    return _scaled(value, _SIZES)


def share(value: float | None) -> str:
    """A part of the whole."""
    return _UNKNOWN if value is None or not math.isfinite(value) else f"{100 * value:.0f} %"


def times(value: float | None) -> str:
    """A part of the whole that may be many times as much: 171 %, 569×."""
    return f"{count(value)}×" if value is not None and _MANY <= value < math.inf else share(value)


def span(seconds: float | None) -> str:
    """A time."""
    if seconds is None or not math.isfinite(seconds):
        return _UNKNOWN
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds == 0:
        return "0 s"
    if seconds < _MOST_SECONDS:
        return _scaled(seconds, _TIMES)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < _MOST_MINUTES:
        return f"{minutes}m {rest:02}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours < _MOST_HOURS else f"{count(hours // 24)} d"


def _scaled(value: float | None, units: Sequence[tuple[float, str]]) -> str:
    if value is None or not math.isfinite(value):
        return _UNKNOWN
    # What rounds to 1000 of a unit is 1 of the next.
    size, name = next((unit for unit in reversed(units) if abs(value) >= 0.9995 * unit[0]), units[0])
    scaled = value / size
    whole = abs(scaled) >= 99.95 or (size == 1.0 and scaled == round(scaled))
    return f"{scaled:.0f}{name}" if whole else f"{scaled:.1f}{name}"

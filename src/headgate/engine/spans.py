"""Times and windows as a user writes them: 50ms, 1.5s, a number of seconds, 5 rows."""

from pydantic_core import PydanticCustomError

from headgate import fields
from headgate.engine.windows import Clock, Window
from headgate.errors import InputError

_MICROS = 1_000_000


def seconds(value: str | float, what: str, *, above: float | None = None) -> float:
    """The seconds of a time. `what` is what a message calls it."""
    try:
        return fields.seconds(above=above)(value)
    except PydanticCustomError as error:
        said = error.context or {}
        raise InputError(f"{what} {said['rule']}", said["got"], said["remedy"]) from None


def windows(size: str | float | None, slide: str | float | None, time: Clock | None) -> Window | None:
    """The windows of a query, of time or of rows, if it has any."""
    if size is None:
        if slide is not None or time is not None:
            got = "a slide" if slide is not None else "a time"
            raise InputError("a slide and a time belong to a window", f"{got} without one", "Add window='10s'.")
        return None
    if time not in ("event", "arrival", None):
        raise InputError("a window is over event or arrival time", f"'{time}'", "Write time='arrival'.")
    rows, step = fields.rows(size), fields.rows(slide)
    if rows is not None:
        return _over_rows(rows, slide, step, time)
    if step is not None:
        rule, remedy = "a window's slide is of what its size is", "Write window='5 rows', slide='1 row'."
        raise InputError(rule, f"window '{size}' and slide '{slide}'", remedy)
    length = round(seconds(size, "a window's size", above=0) * _MICROS)
    every = length if slide is None else round(seconds(slide, "a window's slide", above=0) * _MICROS)
    return Window(length, every, time or "event")


def _over_rows(rows: int, slide: str | float | None, step: int | None, time: Clock | None) -> Window:
    if time is not None:
        rule = "windows over rows go by the order of arrival, not by a time"
        raise InputError(rule, f"time '{time}'", "Leave it out.")
    if slide is not None and step is None:
        rule, remedy = "a window's slide is of what its size is", "Write slide='1 row'."
        raise InputError(rule, f"window '{rows} rows' and slide '{slide}'", remedy)
    return Window(rows, rows if step is None else step, "rows")

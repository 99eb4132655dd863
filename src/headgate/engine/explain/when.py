"""The moment that a user means: a clock time, seconds since the start of a run, or before its end."""

from datetime import datetime

from headgate.engine.spans import seconds
from headgate.errors import InputError
from headgate.record import Recorded


def moment(text: str | None, recorded: Recorded) -> float:
    """The time of a moment that is written like 12.5s, -5s, 14:03:22 or 2026-05-01T14:03:22; its end without one."""
    began, ended = recorded.began.time, recorded.ended
    if text is None:
        return ended
    found = _clock(text.strip(), began)
    if found is None:
        back = text.strip().startswith("-")
        span = seconds(_number(text.strip().removeprefix("-")), "--at")
        found = ended - span if back else began + span
    # A clock that people read has whole seconds.
    if not began - 1 <= found <= ended + 1:
        got = f"'{text}', {found - began:+.1f} s from its start"
        raise InputError(f"a moment of a run of {ended - began:.1f} s", got, "Write 12.5s after its start, or -5s.")
    return min(max(found, began), ended)


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _clock(text: str, began: float) -> float | None:
    """A time of the day on which the run began, or a date with a time; both by the clock of this machine."""
    if ":" not in text:
        return None
    day = datetime.fromtimestamp(began).astimezone().date()
    try:
        return datetime.fromisoformat(text if "-" in text else f"{day}T{text}").astimezone().timestamp()
    except ValueError:
        return None

"""The moment that a user means: a clock time, seconds since the start of a run, or before its end."""

from datetime import datetime

from headgate.engine.spans import seconds
from headgate.errors import InputError
from headgate.record import Recorded

_REMEDY = "Write 12.5s after its start, -5s before its end, or 14:03:22 by the clock."


def meant(text: str, recorded: Recorded) -> float:
    """The time of a moment that is written like 12.5s, -5s, 14:03:22 or 2026-05-01T14:03:22."""
    began, ended = recorded.began.time, recorded.ended
    found = _clock(text.strip(), recorded)
    if found is None:
        back = text.strip().startswith("-")
        try:
            span = seconds(_number(text.strip().removeprefix("-")), "--at")
        except InputError:
            raise InputError("--at is a moment of the run", f"'{text}'", _REMEDY) from None
        found = ended - span if back else began + span
    return found


def within(time: float, recorded: Recorded) -> bool:
    """Whether the record has a moment, give or take that a clock that people read has whole seconds."""
    return recorded.since - 1 <= time <= recorded.ended + 1


def checked(text: str, time: float, recorded: Recorded) -> float:
    """The time that was meant by a text, if the run has it."""
    if not within(time, recorded):
        began, since, ended = recorded.began.time, recorded.since, recorded.ended
        got = f"'{text}', {time - began:+.1f} s from its start"
        kept = f" whose first {since - began:.1f} s are not kept" if since > began else ""
        raise InputError(f"a moment of a run of {ended - began:.1f} s{kept}", got, _REMEDY)
    return min(max(time, recorded.since), recorded.ended)


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _clock(text: str, recorded: Recorded) -> float | None:
    """A time of the last day on which the run has it, or a date with a time; both by the clock of this machine."""
    if ":" not in text:
        return None
    began, ended = (datetime.fromtimestamp(time).astimezone() for time in (recorded.began.time, recorded.ended))
    try:
        if "-" in text:
            return datetime.fromisoformat(text).astimezone().timestamp()
        days = (datetime.fromisoformat(f"{day.date()}T{text}").astimezone().timestamp() for day in (ended, began))
        last, first = days
    except ValueError:
        return None
    return last if last <= recorded.ended + 1 else first

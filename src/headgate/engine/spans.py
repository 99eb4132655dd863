"""Times as a user writes them: 50ms, 1.5s, or a number of seconds."""

from pydantic_core import PydanticCustomError

from headgate import fields
from headgate.errors import InputError


def seconds(value: str | float, what: str, *, above: float | None = None) -> float:
    """The seconds of a time. `what` is what a message calls it."""
    try:
        return fields.seconds(above=above)(value)
    except PydanticCustomError as error:
        said = error.context or {}
        raise InputError(f"{what} {said['rule']}", said["got"], said["remedy"]) from None

"""What a user asks of a recorded run: a moment, and on wish a tuple and a query."""

from pathlib import Path

from headgate.engine.explain.lost import Query, Tuple, of_query, of_tuple
from headgate.engine.explain.moment import Moment, Moments
from headgate.engine.explain.when import checked, meant, within
from headgate.errors import InputError
from headgate.record import Recorded, begun, read


def around(path: Path, at: str) -> tuple[Recorded, float]:
    """What a record has around the moment that a user means, of its last run or one before, and that moment."""
    recorded = read(path)
    time = meant(at, recorded)
    if not within(time, recorded):
        earlier = begun(path, time)
        recorded = earlier if within(time, earlier) else recorded
    return recorded, checked(at, time, recorded)


def of_run(
    recorded: Recorded, time: float | None = None, tuple_: str | None = None, query: str | None = None
) -> dict[str, Moment | Tuple | Query]:
    """A moment, that of its end without one, unless it is a tuple or a query that is asked for; then these."""
    moments, at = Moments(recorded), recorded.ended if time is None else time
    found: dict[str, Moment | Tuple | Query] = {}
    if time is not None or (tuple_ is None and query is None):
        found["moment"] = moments.at(at)
    if tuple_ is not None:
        found["tuple"] = of_tuple(moments, *_numbered(tuple_))
    if query is not None:
        found["query"] = of_query(moments, query, at)
    return found


def _numbered(text: str) -> tuple[str, int]:
    stream, _, number = text.rpartition(":")
    if not stream or not number.isdecimal():
        raise InputError("a tuple is named by its stream and number", f"'{text}'", "Write it like ticks:1200.")
    return stream, int(number)

"""What a user asks of a recorded run: a moment, and on wish a tuple and a query."""

from headgate.engine.explain.lost import Query, Tuple, of_query, of_tuple
from headgate.engine.explain.moment import Moment, Moments
from headgate.engine.explain.when import moment
from headgate.errors import InputError
from headgate.record import Recorded


def of_run(
    recorded: Recorded, at: str | None = None, tuple_: str | None = None, query: str | None = None
) -> dict[str, Moment | Tuple | Query]:
    """A moment, unless it is a tuple or a query that is asked for without one; then these."""
    moments, time = Moments(recorded), moment(at, recorded)
    found: dict[str, Moment | Tuple | Query] = {}
    if at is not None or (tuple_ is None and query is None):
        found["moment"] = moments.at(time)
    if tuple_ is not None:
        found["tuple"] = of_tuple(moments, *_numbered(tuple_))
    if query is not None:
        found["query"] = of_query(moments, query, time)
    return found


def _numbered(text: str) -> tuple[str, int]:
    stream, _, number = text.rpartition(":")
    if not stream or not number.isdecimal():
        raise InputError("a tuple is named by its stream and number", f"'{text}'", "Write it like ticks:1200.")
    return stream, int(number)

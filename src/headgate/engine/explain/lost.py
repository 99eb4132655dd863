"""What became of a tuple, or of a query, in a recorded run: who read it, who dropped it, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headgate.engine.explain.moment import Force, Moments
from headgate.engine.reader import stays, utility_of
from headgate.errors import InputError, choose
from headgate.record import Dropped, Iterated, Life, Ran, Reduced, Refused
from headgate.shed.droppers import Drop


@dataclass(frozen=True, slots=True)
class Read:
    """What a unit did with a tuple: when it read it, how many percent of the tuples there it dropped, and this one.

    It is not known whether it was dropped where that goes by what is in the tuple, nor in a `window` with a deadline:
    then the first one that closed after the tuple had come is told of. `force` is what held for the class then.
    A unit that has not read it has `decided` nothing.
    """

    unit: str
    cls: str
    decided: float | None
    finished: float | None
    percent: int
    how: str
    dropped: bool | None
    force: Force | None
    window: bool = False


@dataclass(frozen=True, slots=True)
class Tuple:
    """A tuple of a stream: when it arrived, and what each unit did with it."""

    stream: str
    number: int
    arrived: float
    readers: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What a unit did until a moment, as far back as the record goes: its runs, tuples, and how many were shed.

    Its results took `response` seconds on average, the `longest` of them so many; `own` is the part of that for which
    the run went on that they came from. Both are None without results.
    """

    seconds: float
    runs: int
    tuples: int
    shed: int
    results: int
    response: float | None
    longest: float | None
    own: float | None


@dataclass(frozen=True, slots=True)
class Query:
    """A query at a moment: the unit that ran it, with how many others, or why by itself; what its class drops then.

    `work` is what its unit did until then. Of those with a deadline: the last window before, how many there were and
    were late, over which share of their tuples they were; why it was taken in with less (`reduced`), or `refused`.
    """

    name: str
    time: float
    cls: str | None
    unit: str | None
    others: int
    alone: str | None
    force: Force | None
    iterated: Iterated | None
    iterations: int
    missed: int
    refused: Refused | None
    reduced: Reduced | None = None
    work: Work | None = None
    kept: float | None = None


def of_tuple(moments: Moments, stream: str, number: int) -> Tuple:
    """What became of a tuple, by its number in its stream."""
    streams = moments.recorded.streams
    if stream not in streams:
        raise InputError("a stream that a unit of the run reads", f"'{stream}'", f"Choose {', '.join(streams)}.")
    logged = streams[stream]
    place = int(np.searchsorted(logged.numbers, number))
    if place == len(logged.numbers) or logged.numbers[place] != number:
        known = f"{logged.numbers[0]} to {logged.numbers[-1]}" if len(logged.numbers) else "none"
        raise InputError(f"a tuple of '{stream}' that the record has", number, f"It has {known}.")
    readers = [life for life in moments.recorded.lives if stream in life.latest.reads]
    arrived = float(logged.at[place])
    due = {each.query for each in moments.recorded.iterated}
    found = tuple(
        read
        for life in readers
        for read in (
            _of_window(moments, life, arrived)
            if due.intersection(life.latest.queries)
            else _reads(moments, life, stream, number)
        )
    )
    return Tuple(stream, number, arrived, found)


def _of_window(moments: Moments, life: Life, arrived: float) -> Iterator[Read]:
    """What became of the first window of a query with a deadline that closed after a tuple had come."""
    latest = life.latest
    closed = (each for each in moments.recorded.iterated if each.query in latest.queries and each.release >= arrived)
    window = min(closed, key=lambda each: each.release, default=None)
    if window is None:
        yield Read(latest.unit, latest.cls, None, None, 0, "", dropped=False, force=None, window=True)
        return
    dropped = {1.0: False, 0.0: True}.get(window.kept)
    percent = round(100 * (1 - window.kept))
    yield Read(latest.unit, latest.cls, window.begin, window.finish, percent, "", dropped, force=None, window=True)


def _reads(moments: Moments, life: Life, stream: str, number: int) -> Iterator[Read]:
    latest = life.latest
    for ran in life.ran:
        low, high = ran.positions.get(stream, (0, 0))
        if ran.error is None and low <= number < high:
            percent, how, dropped = _dropped(ran, stream, number)
            force = moments.force(latest.cls, ran.time)
            yield Read(latest.unit, latest.cls, ran.time, ran.finished, percent, how, dropped, force)
            return
    if not life.removed and life.stands[stream] <= number:
        yield Read(latest.unit, latest.cls, None, None, 0, "", False, None)


def _dropped(ran: Ran, stream: str, number: int) -> tuple[int, str, bool | None]:
    part = next((each for each in ran.dropped.get(stream, ()) if each.lo <= number < each.hi), Dropped(0, 0, 0))
    drop = Drop(part.percent, part.how)
    if drop.percent and utility_of(drop.how):
        return part.percent, part.how, None
    keep, _ = stays(stream, np.array([number]), drop, lambda name: name)
    return part.percent, part.how, not bool(keep[0])


def of_query(moments: Moments, name: str, time: float) -> Query:
    """A query at a moment, by the clock."""
    recorded = moments.recorded
    lives = [life for life in recorded.lives if any(name in plan.queries for plan in life.planned)]
    refused = next((each for each in reversed(recorded.refused) if each.query == name), None)
    reduced = next((each for each in reversed(recorded.reduced) if each.query == name), None)
    if not lives and refused is None:
        known = list(dict.fromkeys(query for life in recorded.lives for query in life.latest.queries))
        raise InputError("a query of the run", f"'{name}'", choose(name, known) if known else "It has none.")
    plans = [(plan, life) for life in lives for plan in life.planned if name in plan.queries]
    plan, life = max(
        (each for each in plans if each[0].time <= time),
        key=lambda each: each[0].time,
        default=plans[0] if plans else (None, None),
    )
    done = [each for each in recorded.iterated if each.query == name and each.finish <= time]
    return Query(
        name,
        time,
        plan.cls if plan else None,
        plan.unit if plan else None,
        len(plan.queries) - 1 if plan else 0,
        plan.alone if plan else None,
        moments.force(plan.cls, time) if plan else None,
        done[-1] if done else None,
        len(done),
        sum(each.missed for each in done),
        refused,
        reduced,
        _work(life, recorded.since, time) if life else None,
        _kept(done),
    )


def _work(life: Life, since: float, time: float) -> Work:
    """What a unit did until a moment."""
    ran = [each for each in life.ran if each.error is None and each.finished <= time]
    results = sum(each.results for each in ran)
    return Work(
        max(0.0, time - since),
        len(ran),
        sum(each.n for each in ran),
        sum(each.shed for each in ran),
        results,
        sum(each.response.total for each in ran) / results if results else None,
        max(each.response.longest for each in ran) if results else None,
        sum(each.results * (each.finished - each.started) for each in ran) / results if results else None,
    )


def _kept(done: Sequence[Iterated]) -> float | None:
    """The share of the tuples of windows with a deadline that was read."""
    tuples = sum(each.tuples for each in done)
    return sum(each.kept * each.tuples for each in done) / tuples if tuples else None

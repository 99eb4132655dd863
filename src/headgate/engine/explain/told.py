"""A moment of a run, a tuple or a query, as people read it."""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from headgate.engine.explain.lost import Query, Read, Tuple, Work
from headgate.engine.explain.moment import Force, Lane, Moment, Waits
from headgate.engine.explain.shown import headed, table
from headgate.engine.readable import count, share, span, times
from headgate.engine.reader import utility_of
from headgate.record import Reason

_MOST_TERMS = 12


def moment(found: Moment) -> Iterator[RenderableType]:
    """A moment: lanes and why they ran what they did, who else waits, what holds for each class."""
    yield Text(f"{_clock(found.time)}, {span(found.at)} after the start, policy {found.policy}", style="bold")
    for lane in found.lanes:
        yield from _lane(lane, found)
    if found.waiting:
        yield from headed("who waits at this moment", _waiting(found.waiting))
    if found.classes:
        rows = [(f.cls, share(f.share), times(f.usage), _drop(f, found.time)) for f in found.classes]
        yield from headed("what holds for each class", table(("class", "share of the time", "load", "drops"), rows))
        for force in found.classes:
            if force.order:
                yield Text(f"{force.cls}: {_reason(force.order)}")
        if found.shares:
            yield Text(f"shares: {_reason(found.shares)}")


def _lane(lane: Lane, at: Moment) -> Iterator[RenderableType]:
    state = "runs" if lane.running else f"is idle since {span(at.time - lane.finished)}, and ran"
    yield Text()
    words = Text.assemble((f"lane {lane.lane + 1}", "bold"), f" ({lane.kind}) {state} ", (lane.unit, "bold"))
    yield words.append(f" of class {lane.cls} for {span(lane.finished - lane.started)}")
    dropped = f", {count(lane.shed)} of them dropped" if lane.shed else ""
    yield Text(f"over {count(lane.n)} tuples{dropped}; decided {span(at.time - lane.decided)} before")
    ahead = f", ahead of {lane.over}" if lane.over else ""
    yield Text(f"because {_reason(Reason(lane.formula, lane.terms))}{ahead}")
    if lane.error:
        yield Text(f"it failed: {lane.error}", style="red")
    if lane.others:
        yield from headed("who else waited as that was decided", _waiting(lane.others))


def _waiting(found: tuple[Waits, ...]) -> RenderableType:
    rows = [
        (each.unit, each.cls, count(each.pending), span(each.wait), _number(each.priority), _note(each))
        for each in found
    ]
    return table(("unit", "class", "tuples", "oldest", "priority", ""), rows)


def _note(each: Waits) -> str:
    return "" if each.ripe else "waits for more to come: a run would be mostly overhead"


def tuple_(found: Tuple) -> Iterator[RenderableType]:
    """A tuple: who read it, and who dropped it and why."""
    yield Text(f"tuple {found.number:,} of {found.stream}, arrived at {_clock(found.arrived)}", style="bold")
    if not found.readers:
        yield Text("whoever reads the stream had read it before this run began")
    for read in found.readers:
        yield Text.assemble((read.unit, "bold"), f" of class {read.cls}: {_read(read, found.arrived)}")
        if read.percent and read.force and read.force.order:
            yield Text(f"  {_reason(read.force.order)}")


def _read(read: Read, arrived: float) -> str:
    if read.decided is None or read.finished is None:
        return "has not read it yet"
    when = f"{span(read.finished - arrived)} after it arrived"
    if read.window:
        # Of such windows the record does not say which tuples were read.
        said = "was left out" if read.dropped else f"was done {when}, over {100 - read.percent} % of its tuples"
        return f"its windows have a deadline, and the first that closed after it {said}"
    if not read.percent:
        return f"read it, done {when}; nothing was dropped there"
    chosen = f", {_how(read.how)}" if read.how else ""
    fate = {True: "dropped it", False: "kept it", None: "dropped or kept it by what it holds"}[read.dropped]
    since = read.force.since if read.force else read.decided
    held = max(0.0, read.decided - since)
    return (
        f"{fate}: {read.percent} % of the tuples there were dropped{chosen}; its class had done so for {span(held)}"
    )


def _how(how: str) -> str:
    utility = utility_of(how)
    if utility is None:
        return "exactly so many of every hundred"
    values = ", ".join(map(str, utility.values))
    return f"{utility.low} % of them, but {utility.high} % of those whose {utility.column} is one of {values}"


def query(found: Query) -> Iterator[RenderableType]:
    """A query: with whom it runs, what its class drops, and its deadlines."""
    of = f" of class {found.cls}" if found.cls else ""
    yield Text(f"query {found.name}{of}", style="bold")
    if found.refused:
        yield Text(f"refused at {_clock(found.refused.time)}: {found.refused.why}")
    if found.reduced:
        yield Text(f"taken in with less at {_clock(found.reduced.time)}: {found.reduced.why}")
    if found.unit:
        many = f"{found.others} other{'s' if found.others > 1 else ''}"
        others = f"together with {many}" if found.others else "by itself"
        yield Text(f"runs in unit {found.unit}, {others}{f': {found.alone}' if found.alone else ''}")
    # Of a class whose load nobody manages there is nothing to say.
    if found.force and math.isfinite(found.force.share):
        yield Text(f"at that moment its class drops {_drop(found.force, found.time)}")
        if found.force.drop and found.force.order:
            yield Text(f"  {_reason(found.force.order)}")
    if found.work and found.work.runs:
        yield from _work(found.work, found)
    if found.iterated:
        last = found.iterated
        kept = f"{share(found.kept)} of their tuples were read"
        yield Text(f"{found.missed} of {found.iterations} windows were late; {kept}")
        if last.missed and last.finish <= last.due:
            yield Text(f"the last one was {last.why}")
            return
        state = last.why if last.missed else "in time"
        spare = f"{span(last.finish - last.release)} after its release, due after {span(last.due - last.release)}"
        yield Text(f"the last one, over {share(last.kept)} of its tuples, was done {spare}: {state}")


def _work(work: Work, found: Query) -> Iterator[RenderableType]:
    """What became of the tuples and results of a unit, and how much of their time results waited."""
    shed = (
        f", {count(work.shed)} of them ({share(work.shed / work.tuples)}) dropped" if work.shed else ", none dropped"
    )
    who = f"unit {found.unit}" if found.others else "it"
    runs = f"{count(work.runs)} run{'s' if work.runs > 1 else ''} over {count(work.tuples)} tuples"
    # What is not read of windows with a deadline comes below.
    yield Text(f"in the {span(work.seconds)} before, {who} had {runs}{'' if found.iterated else shed}")
    if work.response is not None and work.own is not None:
        waited = max(0.0, work.response - work.own)
        took = f"{span(work.response)} on average, {span(work.longest)} at most"
        yield Text(
            f"{count(work.results)} results took {took}: {span(waited)} of waiting, {span(work.own)} of their run"
        )


def _drop(force: Force, time: float) -> str:
    if not force.drop:
        return "nothing"
    return f"{share(force.drop)} of the tuples, since {span(max(0.0, time - force.since))}"


def _reason(reason: Reason) -> str:
    terms = list(reason.terms.items())
    more = ", …" if len(terms) > _MOST_TERMS else ""
    numbers = ", ".join(f"{name} = {_number(value)}" for name, value in terms[:_MOST_TERMS])
    return f"{reason.formula}: {numbers}{more}" if numbers else reason.formula


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def _clock(time: float) -> str:
    return datetime.fromtimestamp(time).astimezone().isoformat(" ", "milliseconds")


Parts = Mapping[str, Moment | Tuple | Query]


def told(parts: Parts) -> Iterator[RenderableType]:
    """What was asked for, one after the other."""
    for i, part in enumerate(parts.values()):
        if i:
            yield Text()
        match part:
            case Moment():
                yield from moment(part)
            case Tuple():
                yield from tuple_(part)
            case Query():
                yield from query(part)

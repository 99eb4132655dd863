"""Snapshots of engines that never ran."""

from dataclasses import asdict, fields

from headgate.engine.status import (
    Accounting,
    ClassStatus,
    DeadlineStatus,
    LaneStatus,
    QueryStatus,
    Snapshot,
    StreamStatus,
    TableStatus,
)

NOW = 1_000_000.0


def stream(name="ticks", **given):
    known = {
        "status": "running",
        "tuples": 0,
        "rate": 0.0,
        "late": 0,
        "rejected": {},
        "trains": 0,
        "pending": 0,
        "bytes": 0,
    }
    return _made(StreamStatus, name=name, **{**known, **given})


def query(name="big", **given):
    known = {"cls": "default", "status": "running", "unit": name, "pending": 0, "oldest_wait": 0.0, "results": 0}
    return _made(QueryStatus, name=name, **{**known, "runs": 0, "a": 0.05, "b": 1e-6, **given})


def query_class(name, **given):
    known = {"priority": 1.0, "drop": 0.0, "offered": 0, "processed": 0, "shed": 0, "pending": 0, "results": 0}
    known |= {"oldest_wait": 0.0, "queries": 0}
    return _made(ClassStatus, name=name, **{**known, **given})


def deadline(name, **given):
    known = {"window": 10.0, "stride": 2.0, "deadline": 2.0, "weight": 1.0, "iterations": 0, "missed": 0, "useful": 0}
    return _made(DeadlineStatus, name=name, **{**known, **given})


def table(name, problem=None):
    return TableStatus(name, problem)


def snapshot(streams=(), queries=(), tables=(), lanes=(("lane-1", None),), classes=None, deadlines=(), **accounting):
    known = {"tuples": 0, "rejected": 0, "late": 0, "results": 0, "runs": 0, "utilisation": 0.0}
    done = _made(Accounting, **{**known, "overhead_per_run": 0.0, **_sums(queries), **accounting})
    busy = tuple(LaneStatus(*lane) for lane in lanes)
    of = [query_class(name) for name in dict.fromkeys(each.cls for each in queries)] if classes is None else classes
    parts = (tuple(each) for each in (streams, tables, of, queries, deadlines))
    return asdict(Snapshot(NOW, 12.0, "bsd", *parts, busy, done))


def _sums(queries):
    oldest = max((each.oldest_wait for each in queries), default=0.0)
    return {"pending": sum(each.pending for each in queries), "oldest_wait": oldest, "queries": len(queries)}


def _made(kind, **known):
    """Fields that nobody has asked for are None."""
    return kind(**{**{field.name: None for field in fields(kind)}, **known})

"""Snapshots of engines that never ran."""

from dataclasses import asdict, fields

from headgate.engine.status import Accounting, LaneStatus, QueryStatus, Snapshot, StreamStatus, TableStatus

NOW = 1_000_000.0


def stream(name="ticks", **given):
    known = {"status": "running", "tuples": 0, "rate": 0.0, "late": 0, "rejected": {}, "trains": 0, "bytes": 0}
    return _made(StreamStatus, name=name, **{**known, **given})


def query(name="big", **given):
    known = {"group": "default", "status": "running", "unit": name, "pending": 0, "oldest_wait": 0.0, "results": 0}
    return _made(QueryStatus, name=name, **{**known, "runs": 0, "a": 0.05, "b": 1e-6, **given})


def table(name, problem=None):
    return TableStatus(name, problem)


def snapshot(streams=(), queries=(), tables=(), lanes=(("lane-1", None),), **accounting):
    known = {"tuples": 0, "rejected": 0, "late": 0, "results": 0, "runs": 0, "utilisation": 0.0}
    done = _made(Accounting, **{**known, "overhead_per_run": 0.0, **accounting})
    busy = tuple(LaneStatus(*lane) for lane in lanes)
    return asdict(Snapshot(NOW, 12.0, "bsd", tuple(streams), tuple(tables), tuple(queries), busy, done))


def _made(kind, **known):
    """Fields that nobody has asked for are None."""
    return kind(**{**{field.name: None for field in fields(kind)}, **known})

"""What one sees of an engine from outside: its status, and the files of its sinks."""

import pyarrow.parquet as pq

from engine.live import caught_up, until

ALL = "SELECT v FROM s"


def query(engine, name):
    """The status of a query."""
    return next(each for each in engine.status().queries if each.name == name)


def stream(engine, name="s"):
    """The status of a stream."""
    return next(each for each in engine.status().streams if each.name == name)


def fuse(engine, fed, name):
    """Feed tuple by tuple until a query runs together with others."""

    def fused():
        caught_up(engine, name, position=fed.given)
        fed.feed(1)
        return query(engine, name).unit != name

    until(fused)


def values(folder, column="v"):
    """A column of a Parquet sink, sorted."""
    parts = folder.glob("part-*.parquet")
    return sorted(value for part in parts for value in pq.read_table(part).column(column).to_pylist())

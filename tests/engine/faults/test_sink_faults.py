"""A sink that cannot be written to stops its own query alone, and once it can, nothing is missing or twice."""

import errno
import os

import pyarrow.parquet as pq
import pytest

from engine.faults.found import ALL, fuse, query, values
from engine.live import caught_up, until
from headgate import sink
from headgate.engine.sink import parquet_folder


class FullDisk:
    """A folder on a disk that has no room, until there is."""

    remedy = "No space left on device. Make room on the disk"

    def __init__(self, folder, monkeypatch):
        self._full, self._folder = True, folder
        write = pq.write_table

        def written(rows, path):
            if self._full and path.is_relative_to(folder):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(rows, path)

        monkeypatch.setattr(parquet_folder.pq, "write_table", written)

    def mend(self):
        self._full = False


class InTheWay:
    """A file where a folder was."""

    remedy = "Not a directory. Name a place below a folder"

    def __init__(self, folder, monkeypatch):
        self._place, self._kept = folder / "_staged", folder / "_kept"
        self._place.rename(self._kept)
        self._place.touch()

    def mend(self):
        self._place.unlink()
        self._kept.rename(self._place)


class Taken:
    """A folder with the name of the file that is to be published next: the run is committed, and cannot be shown."""

    remedy = "Is a directory. Name a file"

    def __init__(self, folder, monkeypatch):
        self._place = folder / "part-000000000001.parquet"
        self._place.mkdir()

    def mend(self):
        self._place.rmdir()


@pytest.mark.parametrize("more", [0, 2], ids=["nothing comes any more", "more comes"])
@pytest.mark.parametrize("fault", [FullDisk, InTheWay, Taken])
def test_a_query_whose_sink_fails_stops_alone_and_misses_nothing_once_it_is_resumed(
    fault, more, engine, fed, tmp_path, monkeypatch
):
    ill, well = tmp_path / "ill", tmp_path / "well"
    engine.query("ill", ALL, sink=sink.parquet(ill, every=0))
    engine.query("well", ALL, sink=sink.parquet(well, every=0))
    broken = fault(ill, monkeypatch)
    engine.start("fcfs", train={"most": 100})
    fed.feed(5)
    until(lambda: query(engine, "ill").status == "failed")
    caught_up(engine, "well", position=5)
    assert query(engine, "ill").reason.startswith(f"query 'ill' cannot write to {ill}: {broken.remedy}")
    assert query(engine, "well").status == "running"
    broken.mend()
    engine.resume("ill")
    if more:
        fed.feed(more)
    fed.end()
    assert engine.wait(300)
    assert query(engine, "ill").reason is None
    assert values(ill) == values(well) == list(range(5 + more))
    assert not list((ill / "_staged").iterdir())


def test_of_fused_queries_only_the_one_whose_sink_fails_stops(engine, fed, tmp_path):
    names = ("a", "b", "c")
    for name in names:
        engine.query(name, ALL, sink=sink.parquet(tmp_path / name, every=0))
    engine.start("fcfs", fuse=True)
    fuse(engine, fed, "b")
    caught_up(engine, *names, position=fed.given)
    broken = InTheWay(tmp_path / "b", None)
    fed.feed(3)
    until(lambda: query(engine, "b").status == "failed")
    caught_up(engine, "a", "c", position=fed.given)
    assert [query(engine, name).status for name in names] == ["running", "failed", "running"]
    broken.mend()
    engine.resume("b")
    fed.end()
    assert engine.wait(300)
    for name in names:
        assert values(tmp_path / name) == list(range(fed.given)), name

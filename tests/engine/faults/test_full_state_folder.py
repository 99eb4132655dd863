"""No room for the state folder itself: everything that has to write stops with a reason, and goes on afterwards."""

import resource
from contextlib import contextmanager

from engine.faults.found import query, stream, values
from engine.live import Fed, until
from headgate import sink


@contextmanager
def files_of_at_most(size):
    """Let no file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_when_there_is_room_again_everything_is_there_once(engine, tmp_path):
    big = Fed()
    engine.stream("big", big)
    engine.query("each", "SELECT v FROM big", sink=sink.parquet(tmp_path / "each"))
    engine.query("some", "SELECT v FROM big WHERE v % 10 = 0", sink=sink.parquet(tmp_path / "some"))
    engine.start("fcfs", train={"most": 3000})
    big.feed(*[1000] * 60)
    until(lambda: query(engine, "each").runs > 2)
    with files_of_at_most(4_000):
        big.feed(*[1000] * 40)
        until(lambda: stream(engine, "big").status == "failed")
        until(lambda: query(engine, "each").reason or not query(engine, "each").pending)
        assert "then resume" in stream(engine, "big").reason
        lost = query(engine, "each")
    assert lost.reason is None or "File too large" in lost.reason or "disk" in lost.reason
    engine.resume("big")
    for name in ("each", "some"):
        engine.resume(name)
    big.end()
    engine.pause("s")
    until(lambda: stream(engine, "big").status == "ended")
    until(lambda: not any(query(engine, name).pending for name in ("each", "some")))
    engine.stop()
    assert values(tmp_path / "each") == list(range(100_000))
    assert values(tmp_path / "some") == list(range(0, 100_000, 10))

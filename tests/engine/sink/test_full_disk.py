"""A disk that takes no more: a clear error, nothing left behind, and the same run works once there is room."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import headgate

SCRIPT = """
import resource, sys
import pyarrow as pa
from headgate.engine import sink
from headgate.engine.sink.protocol import Opening
from headgate.errors import HeadgateError

writer = getattr(sink, sys.argv[1])(sys.argv[2])
small = pa.table({"x": pa.array(range(10))})
large = pa.table({"x": pa.array(range(200_000))})
writer.open(Opening("big", small.schema, None, None))
writer.publish(writer.stage(1, small))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
for attempt in range(2):
    try:
        writer.stage(2, large)
    except HeadgateError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
if sys.argv[3] == "crash":
    sys.exit()
writer.publish(writer.stage(2, large))
writer.close()
"""


def attempt(kind, path, then):
    source = Path(headgate.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(path), then],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_run_that_did_not_fit_leaves_nothing_and_works_later(kind, tmp_path):
    path = tmp_path / "out"
    said = f"query 'big' cannot write to {path}: "
    lines = attempt(kind, path, "crash")
    assert len(lines) == 2
    for line in lines:
        assert line.startswith(said)
        assert "File too large" in line
        assert "Raise the limit on the size of files" in line
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert 0 < sum(file.stat().st_size for file in files) < 5_000

    other = tmp_path / "other"
    assert len(attempt(kind, other, "go on")) == 2
    assert rows(kind, other) == [*range(10), *range(200_000)]


def rows(kind, path):
    if kind == "jsonl":
        return [json.loads(line)["x"] for line in path.read_text().splitlines()]
    return [x for part in sorted(path.glob("part-*")) for x in pq.read_table(part)["x"].to_pylist()]

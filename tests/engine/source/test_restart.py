"""Whatever append a process ends at, the next one goes on behind it: nothing is lost, nothing comes twice."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.source.intake import crashed, fed
from headgate.engine import source
from headgate.engine.source import files, pump

ROWS = [{"n": n, "s": float(n // 2 + 7 * n % 5)} for n in range(90)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pump, "MOST_ROWS", 16)
    monkeypatch.setattr(files, "_PIECE_ROWS", 7)
    monkeypatch.setattr(files, "_PIECE_BYTES", 150)


@pytest.fixture
def path(tmp_path):
    """A folder with a file of each form, the text ones with lines that are no tuples."""
    table = pa.Table.from_pylist(ROWS[:40])
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=9)
    lines = ["n,s", *(f"{row['n']},{row['s']}" for row in ROWS[40:70])]
    lines[10:10] = ["x,1.0", "", "7", "8,9,10"]
    (tmp_path / "b.csv").write_text("\n".join(lines))
    lines = [json.dumps(row) for row in ROWS[70:]]
    lines[5:5] = ["[]", "{}"]
    (tmp_path / "c.jsonl").write_text("\n".join([*lines, "the end\n"]))
    (tmp_path / "d.parquet").write_bytes((tmp_path / "a.parquet").read_bytes())
    pq.write_table(table.rename_columns(["m", "s"]), tmp_path / "e.parquet", row_group_size=9)
    for i, name in enumerate("abcde"):
        (file,) = tmp_path.glob(f"{name}.*")
        os.utime(file, (1000 + i, 1000 + i))
    return tmp_path


SOURCES = {
    "replay by time": lambda path: source.replay(path, time="s", speed=2, every="20s"),
    "replay by rate": lambda path: source.replay(path, speed=10, every="700ms"),
    "replay at once": lambda path: source.replay(path, speed="max"),
    "replay twice": lambda path: source.replay(path, time="s", repeat=2, every="5s"),
    "replay with arrivals": lambda path: source.replay(path, arrivals=np.linspace(0, 20, 300), every="1s"),
    "folder": source.folder,
    "ticks": lambda path: source.ticks(count=200, rate=100, disorder="1s", every="300ms"),
    "persons": lambda path: source.nexmark("persons", count=5000, rate=1000, every="200ms"),
    "auctions": lambda path: source.nexmark("auctions", count=2000, rate=1000, every="200ms"),
    "bids": lambda path: source.nexmark("bids", count=300, rate=100, rates=[(1, 50), (1, 200)], every="200ms"),
    "rows": lambda path: source.rows([pa.table({"n": [k, k + 1]}) for k in range(5)]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_restart_at_any_append_gives_the_same_stream(name, path):
    made = SOURCES[name](path)
    how = {"stop_at_pause": name == "folder"}
    whole = fed(made, **how)
    assert len(whole.trains) > 4
    assert whole.rows.num_rows > 0
    for crash in range(1, len(whole.trains) + 1):
        again = crashed(made, crash, **how)
        assert again.rows.equals(whole.rows)
        assert again.rejected == whole.rejected
        if name not in {"folder", "rows", "replay at once"}:
            np.testing.assert_array_equal(again.times, whole.times)


@pytest.mark.parametrize("name", ["replay by time", "replay by rate", "replay at once", "folder"])
def test_every_row_of_every_file_is_a_tuple_or_refused(name, path):
    found = fed(SOURCES[name](path), stop_at_pause=name == "folder")
    assert found.rows.to_pylist() == [*ROWS, *ROWS[:40]]
    places = [row.place.removeprefix(f"{path}/") for row in found.rejected]
    assert places == ["b.csv:11", "b.csv:13", "b.csv:14", "c.jsonl:6", "c.jsonl:7", "c.jsonl:23", *["e.parquet"] * 40]

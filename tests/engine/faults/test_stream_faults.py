"""A stream whose source or log fails stops alone, with a reason, and goes on where it was."""

import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.faults.found import ALL, query, stream
from engine.live import Fed, column, train, until
from headgate import Engine, InputError, source

TRAINS = [train(2 * k, 2) for k in range(40)]


def test_a_stream_whose_log_cannot_be_written_stops_alone_and_goes_on_once_it_can(engine, fed):
    other = Fed()
    engine.stream("other", other)
    engine.query("mine", ALL)
    engine.query("others", "SELECT v FROM other")
    engine.start("fcfs")
    other.feed(*[2] * 10)
    until(lambda: stream(engine, "other").tuples == 20)
    folder = engine.state / "streams" / "other"
    folder.rename(folder.with_name("kept"))
    folder.touch()
    other.feed(*[2] * 10)
    until(lambda: stream(engine, "other").status == "failed")
    reason = stream(engine, "other").reason
    assert reason.startswith(f"cannot write {folder}")
    assert reason.endswith("Not a directory. Make room or mend the folder, then resume.")
    fed.feed(5)
    until(lambda: len(column(engine, "mine")) == 5)
    assert stream(engine).status == "running"
    folder.unlink()
    folder.with_name("kept").rename(folder)
    # What was asked of the log in between has failed too.
    engine.resume("others")
    engine.resume("other")
    other.end()
    fed.end()
    assert engine.wait(300)
    assert stream(engine, "other").reason is None
    assert sorted(column(engine, "others")) == list(range(40))


def test_a_train_that_is_gone_from_the_log_stops_the_queries_that_need_it(engine, fed):
    engine.query("each", ALL)
    engine.query("joined", "SELECT a.v FROM s a JOIN s b ON a.v = b.v", window="4s")
    engine.stream("other", source.rows(TRAINS))
    engine.query("others", "SELECT v FROM other")
    engine.pause("each")
    engine.pause("joined")
    engine.start("fcfs")
    fed.feed(3, 3, 3)
    until(lambda: stream(engine).tuples == 9)
    (engine.state / "streams" / "s" / "000000000000.arrow").unlink()
    engine.resume("each")
    engine.resume("joined")
    for name in ("each", "joined"):
        until(lambda name=name: query(engine, name).status == "failed")
        assert "000000000000.arrow" in query(engine, name).reason
    until(lambda: len(column(engine, "others")) == 80)
    assert query(engine, "others").status == "running"


def put(folder, name, **columns):
    """Put a file into a folder, whole."""
    made = folder / f".{name}"
    pq.write_table(pa.table(columns), made)
    made.rename(folder / name)


def test_a_file_that_cannot_be_read_stops_its_stream_alone_and_is_left_out_once_it_is_gone(engine, fed, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    put(folder, "1.parquet", v=[1, 2])
    engine.stream("files", source.folder(folder, every=0.05))
    engine.query("mine", ALL)
    engine.query("of_files", "SELECT v FROM files")
    engine.start("fcfs")
    until(lambda: stream(engine, "files").tuples == 2)
    (folder / "2.parquet").write_bytes(b"PAR1 is how it begins, and that is all")
    until(lambda: stream(engine, "files").status == "failed")
    assert str(folder / "2.parquet") in stream(engine, "files").reason
    assert "Mend the file or take it away" in stream(engine, "files").reason
    fed.feed(3)
    until(lambda: len(column(engine, "mine")) == 3)
    (folder / "2.parquet").unlink()
    put(folder, "3.parquet", v=[3])
    engine.resume("files")
    until(lambda: sorted(column(engine, "of_files")) == [1, 2, 3])


class Halting:
    """A source that stands still after every train until it is let go, and can be stopped there."""

    def __init__(self, source):
        self._source, self._go = source, threading.Event()

    def schema(self, spark):
        return self._source.schema(spark)

    def run(self, intake):
        self._source.run(Halted(intake, self._go))

    def let_go(self):
        self._go.set()


class Halted:
    """What such a source appends to."""

    def __init__(self, intake, go):
        self._intake, self._go = intake, go

    def append(self, *given, **more):
        self._intake.append(*given, **more)
        while not self._go.is_set() and not self._intake.wait(0.01):
            pass

    def __getattr__(self, name):
        return getattr(self._intake, name)


def test_a_replay_whose_file_vanishes_stops_and_goes_on_once_it_is_back(engine, tmp_path):
    file = tmp_path / "replayed.parquet"
    pq.write_table(pa.table({"v": range(200)}), file)
    again = Halting(source.replay(file, speed=100, repeat=2, every=0.02))
    engine.stream("again", again)
    engine.query("replayed", "SELECT v FROM again")
    engine.start("fcfs")
    until(lambda: stream(engine, "again").tuples)
    engine.pause("again")
    file.rename(tmp_path / "elsewhere.parquet")
    again.let_go()
    engine.resume("again")
    until(lambda: stream(engine, "again").status == "failed")
    assert str(file) in stream(engine, "again").reason
    (tmp_path / "elsewhere.parquet").rename(file)
    engine.resume("again")
    until(lambda: sorted(column(engine, "replayed")) == sorted([*range(200)] * 2))


LINES = {
    "jsonl": ['{"v": 1, "w": 0.5}', '{"v": 2, "w"', '{"v": "two", "w": 1}', "[]", '{"v": 3, "w": null}'],
    "csv": ["v,w", "1,0.5", "2", "two,1", '"3,1', "3,"],
}


@pytest.mark.parametrize("form", LINES)
def test_rows_that_are_no_tuples_are_dead_letters_and_the_others_flow(form, engine, tmp_path):
    file = tmp_path / f"rows.{form}"
    file.write_text("\n".join(LINES[form][:-1] if form == "csv" else LINES[form]) + "\n")
    engine.stream("rows", source.replay(file, speed="max", schema="v BIGINT, w DOUBLE"))
    engine.query("good", "SELECT v, w FROM rows")
    engine.start("fcfs")
    until(lambda: stream(engine, "rows").status == "ended")
    until(lambda: engine.results("good").num_rows == (2 if form == "jsonl" else 1))
    assert engine.results("good").to_pylist()[0] == {"v": 1, "w": 0.5}
    counted = stream(engine, "rows").rejected
    assert sum(counted.values()) == 3
    assert engine.status().accounting.rejected == 3
    files = sorted((engine.state / "dead" / "rows").glob("*.jsonl"))
    letters = [json.loads(line) for each in files for line in each.read_text().splitlines()]
    assert [letter["row"] for letter in letters] == [line for line in LINES[form] if line in BAD[form]]
    assert {letter["reason"] for letter in letters} == set(counted)
    assert all(letter["place"].startswith(f"{file}:") for letter in letters)


BAD = {"jsonl": LINES["jsonl"][1:4], "csv": LINES["csv"][2:5]}


def test_a_file_whose_columns_drifted_is_refused_row_by_row_and_the_next_one_flows(engine, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    put(folder, "1.parquet", v=[1, 2], w=["a", "b"])
    engine.stream("files", source.folder(folder, every=0.05))
    engine.query("good", "SELECT v, w FROM files")
    engine.start("fcfs")
    until(lambda: stream(engine, "files").tuples == 2)
    for n, drifted in enumerate([{"v": [3]}, {"v": ["three", "four"], "w": ["c", "d"]}]):
        put(folder, f"2{n}.parquet", **drifted)
        until(lambda n=n: sum(stream(engine, "files").rejected.values()) == (1, 3)[n])
    put(folder, "3.parquet", v=[5], w=["e"], more=[True])
    until(lambda: engine.results("good").num_rows == 3)
    assert sorted(column(engine, "good")) == [1, 2, 5]
    reasons = sorted(stream(engine, "files").rejected)
    assert reasons == [
        "column 'v' is BIGINT, got string",
        "column 'w' is STRING, got a table where it is missing",
    ]


def test_a_stream_with_other_columns_than_its_state_folder_knows_is_refused(spark, tmp_path):
    state = tmp_path / "state"
    for given, refused in [
        ({"v": [1]}, None),
        ({"v": [1.5]}, "another schema"),
        ({"v": [1], "w": [2]}, "another schema"),
    ]:
        with Engine(spark, state) as engine:
            if refused:
                with pytest.raises(InputError, match=refused):
                    engine.stream("s", source.rows(pa.table(given)))
            else:
                engine.stream("s", source.rows(pa.table(given)))

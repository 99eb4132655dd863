"""A reference table that vanishes: the last snapshot stays in use, and only queries that need it can fail."""

import shutil

import pytest

from engine.faults.found import ALL, query
from engine.live import caught_up, column, until
from headgate import InputError

JOINED = "SELECT s.v, d.name FROM s JOIN d ON s.k = d.k"


@pytest.fixture
def names(tmp_path):
    file = tmp_path / "names.csv"
    file.write_text("k,name\n0,zero\n1,one\n")
    return file


def test_a_table_that_is_not_there_is_refused_with_its_name(engine, tmp_path):
    missing = tmp_path / "missing.csv"
    with pytest.raises(InputError, match=f"table 'd' can be read; got '{missing}'. See that it exists"):
        engine.table("d", missing)
    with pytest.raises(InputError, match="'d'"):
        engine.query("joined", JOINED)
    engine.query("all", ALL)


def test_a_table_that_cannot_be_read_again_stays_as_it_was_and_says_so(engine, fed, names):
    engine.table("d", names)
    engine.query("joined", JOINED)
    engine.start("fcfs")
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    names.unlink()
    engine.table("d", names)
    (shown,) = engine.status().tables
    assert shown.problem == f"'{names}'"
    fed.feed(3)
    caught_up(engine, "joined", position=6)
    names.write_text("k,name\n2,two\n")
    engine.table("d", names)
    assert engine.status().tables[0].problem is None
    fed.feed(3)
    fed.end()
    assert engine.wait(300)
    assert sorted(engine.results("joined").to_pylist(), key=lambda row: row["v"]) == [
        {"v": v, "name": name} for v, name in [(0, "zero"), (1, "one"), (3, "zero"), (4, "one"), (8, "two")]
    ]


def test_a_snapshot_that_is_deleted_stops_only_queries_that_read_it_anew_until_the_table_is_read_again(
    engine, fed, names
):
    counted = "SELECT d.name, count(s.v) AS n FROM d LEFT JOIN s ON d.k = s.k GROUP BY d.name"
    engine.table("d", names)
    engine.query("joined", JOINED)
    engine.query("counted", counted, window="3s")
    engine.start("fcfs")
    engine.pause("counted")
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    shutil.rmtree(engine.state / "tables" / "d")
    engine.resume("counted")
    fed.feed(4)
    until(lambda: query(engine, "counted").status == "failed")
    assert str(engine.state / "tables" / "d") in query(engine, "counted").reason
    assert "\n" not in query(engine, "counted").reason
    caught_up(engine, "joined", position=7)
    assert sorted(column(engine, "joined")) == [0, 1, 3, 4, 6]
    assert query(engine, "joined").status == "running"
    engine.table("d", names)
    engine.resume("counted")
    fed.end()
    assert engine.wait(300)
    found = [(row["name"], row["n"]) for row in engine.results("counted").to_pylist()]
    assert sorted(found) == sorted([("one", 1), ("zero", 1)] * 2 + [("one", 0), ("zero", 1)])


def test_a_snapshot_that_nobody_has_read_yet_stops_its_queries_until_the_table_is_read_again(engine, fed, names):
    engine.table("d", names)
    engine.query("joined", JOINED)
    engine.query("all", ALL)
    shutil.rmtree(engine.state / "tables" / "d")
    engine.start("fcfs")
    fed.feed(7)
    until(lambda: query(engine, "joined").status == "failed")
    assert str(engine.state / "tables" / "d") in query(engine, "joined").reason
    caught_up(engine, "all", position=7)
    engine.table("d", names)
    engine.resume("joined")
    fed.end()
    assert engine.wait(300)
    assert sorted(column(engine, "joined")) == [0, 1, 3, 4, 6]
    assert engine.queries["joined"].why_not is None

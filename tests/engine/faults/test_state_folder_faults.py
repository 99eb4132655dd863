"""A state folder that is not this engine's to use is refused, and left as it is."""

import sqlite3

import pytest

from engine.live import Fed
from headgate import Engine, InputError


def test_a_second_engine_on_the_same_folder_is_refused(engine, spark):
    with pytest.raises(InputError, match=r"a state folder has one engine at a time.*Stop the other one"):
        Engine(spark, engine.state)


def test_another_query_under_an_old_name_is_refused(spark, tmp_path):
    for sql in ("SELECT v FROM s", "SELECT k FROM s"):
        with Engine(spark, tmp_path) as engine:
            engine.stream("s", Fed(), event_time="t")
            if sql == "SELECT v FROM s":
                engine.query("q", sql)
                continue
            with pytest.raises(InputError, match="query 'q' is the one that its state folder knows; got another sql"):
                engine.query("q", sql)
            engine.remove("q")
            engine.query("q", sql)


@pytest.mark.parametrize("script", ["CREATE TABLE mine (x)", "CREATE TABLE meta (x)", "CREATE TABLE train (x)"])
def test_a_database_of_somebody_else_is_refused_and_left_alone(script, spark, tmp_path):
    file = tmp_path / "manifest.db"
    with sqlite3.connect(file) as theirs:
        theirs.execute(script)
    theirs.close()
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"a state folder has a manifest of Headgate's; got .*manifest.db"):
        Engine(spark, tmp_path)
    assert file.read_bytes() == before


def test_a_manifest_that_is_no_database_is_refused(spark, tmp_path):
    (tmp_path / "manifest.db").write_text("not a database, but long enough to be looked at " * 100)
    with pytest.raises(InputError, match=r"a state folder has a manifest of Headgate's; got .*manifest.db"):
        Engine(spark, tmp_path)

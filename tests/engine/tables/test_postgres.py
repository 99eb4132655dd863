"""Tables of a real PostgreSQL: what joins see of them after refreshes, by part and by version."""

import pytest

from engine.live import caught_up, until
from engine.tables.conftest import JOINED
from engine.tables.test_refreshes import pairs, shown
from headgate import InputError, table
from headgate.bench import postgres

pytestmark = pytest.mark.skipif(bool(postgres.missing()), reason=f"needs {postgres.missing()}")

PRICES = "CREATE TABLE d (k bigint PRIMARY KEY, version bigint, region text, changed bigint DEFAULT 0)"


@pytest.fixture(scope="module")
def database():
    with postgres.running() as made:
        yield made


@pytest.fixture
def prices(database):
    database.sql("DROP TABLE IF EXISTS d")
    database.sql(PRICES)
    database.sql("INSERT INTO d VALUES (0, 0, 'eu'), (1, 0, 'us'), (2, 0, NULL)")
    return database


def test_a_join_sees_updates_inserts_and_deletes_after_a_refresh(engine, fed, prices):
    engine.table("d", table.jdbc(prices.url, "d", prices.properties))
    engine.query("joined", JOINED)
    assert engine.queries["joined"].why_not is None
    engine.refreshing(100, per="1s")
    engine.start("fcfs")
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    prices.sql("UPDATE d SET version = 7 WHERE k = 1; DELETE FROM d WHERE k = 2; INSERT INTO d VALUES (3, 9, 'eu')")
    until(lambda: shown(engine).changed == 1)
    fed.feed(3)
    caught_up(engine, "joined", position=6)
    assert pairs(engine, "joined") == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 7)]


def test_parts_of_a_table_are_read_with_a_condition_that_the_database_looks_at(engine, prices):
    engine.table("d", table.jdbc(prices.url, "d", prices.properties), parts=table.values("region", "eu", "us"))
    assert shown(engine).parts == 3
    prices.sql("ALTER SYSTEM SET log_statement = 'all'")
    prices.sql("SELECT pg_reload_conf()")
    prices.sql("UPDATE d SET version = version + 1")
    assert engine._tables.refresh("d", engine._tables.kept["d"], 1, engine.spark).changed
    rows = engine.spark.read.parquet(engine._tables.reads(["d"])["d"]).collect()
    assert {row["k"]: row["version"] for row in rows} == {0: 0, 1: 1, 2: 0}
    assert """"region" = 'us'""" in (prices.folder / "log").read_text()


def test_a_version_query_spares_reading_the_table(engine, prices):
    marked = table.jdbc(prices.url, "d", prices.properties, version="SELECT max(changed), count(*) FROM d")
    engine.table("d", marked)
    engine.refreshing(100, per="1s")
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes > 5)
    assert engine.status().refreshing.used < shown(engine).refreshes / 2
    prices.sql("UPDATE d SET version = 4, changed = 1 WHERE k = 0")
    until(lambda: shown(engine).changed == 1)


def test_a_database_that_stops_and_comes_back_is_read_again(engine, fed, prices):
    engine.table("d", table.jdbc(prices.url, "d", prices.properties))
    engine.query("joined", JOINED)
    engine.refreshing(100, per="1s")
    engine.start("fcfs")
    prices.stop()
    try:
        until(lambda: shown(engine).failures > 0)
        assert "connect" in shown(engine).problem
        fed.feed(3)
        caught_up(engine, "joined", position=3)
    finally:
        prices.start()
    prices.sql("UPDATE d SET version = 7 WHERE k = 1")
    until(lambda: shown(engine).changed == 1)
    assert shown(engine).problem is None
    fed.feed(3)
    caught_up(engine, "joined", position=6)
    assert pairs(engine, "joined") == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 7), (5, 0)]


def test_a_database_that_does_not_answer_is_given_up_after_a_while(engine, prices):
    assert table.jdbc(prices.url, "d", prices.properties).options["socketTimeout"] == "60"
    slow = "(SELECT 1 AS k FROM pg_sleep(9)) AS slow"
    with pytest.raises(InputError, match="table 'slow' can be read"):
        engine.table("slow", table.jdbc(prices.url, slow, {**prices.properties, "socketTimeout": "1"}))


def test_a_database_that_is_gone_leaves_the_last_snapshot_in_use(engine, fed, prices):
    engine.table("d", table.jdbc(prices.url, "d", prices.properties))
    engine.query("joined", JOINED)
    engine.refreshing(100, per="1s")
    engine.start("fcfs")
    prices.sql("ALTER TABLE d RENAME TO gone")
    until(lambda: shown(engine).failures > 0)
    assert 'relation "d" does not exist' in shown(engine).problem
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    prices.sql("ALTER TABLE gone RENAME TO d")
    until(lambda: shown(engine).problem is None)
    assert pairs(engine, "joined") == [(0, 0), (1, 0), (2, 0)]


def test_a_table_that_is_not_there_is_refused_with_what_the_database_says(engine, prices):
    with pytest.raises(InputError, match='relation "nothing" does not exist'):
        engine.table("d", table.jdbc(prices.url, "nothing", prices.properties))

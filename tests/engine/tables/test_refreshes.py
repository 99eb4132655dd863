"""Tables that change elsewhere: joins see what was refreshed, within the budget, and failures take nothing along."""

import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.live import caught_up, until
from engine.tables.conftest import JOINED, SPARKS, Elsewhere
from headgate import InputError, table
from headgate.engine.table import refresher
from headgate.freshness.refreshing import SAVED

OFTEN = {"refreshes": 100, "per": "1s"}


def shown(engine, name="d"):
    return next(each for each in engine.status().tables if each.name == name)


def pairs(engine, query, column="version"):
    rows = engine.results(query).to_pylist()
    return sorted((row["v"], row[column]) for row in rows)


def snapshots(engine, name="d"):
    return sorted(each.name for each in (engine.state / "tables" / name).glob("[0-9]*"))


@pytest.mark.parametrize("sql", [JOINED, SPARKS], ids=["kernel", "spark"])
def test_a_join_sees_what_has_changed_elsewhere_once_it_is_refreshed(engine, fed, elsewhere, sql):
    engine.table("d", elsewhere)
    engine.query("joined", sql)
    assert (engine.queries["joined"].why_not is None) == (sql == JOINED)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    elsewhere.change()
    until(lambda: shown(engine).changed == 1)
    fed.feed(3)
    caught_up(engine, "joined", position=6)
    assert pairs(engine, "joined") == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]
    until(lambda: len(snapshots(engine)) == 1)


def test_a_table_that_is_not_to_be_refreshed_is_not(engine, fed, elsewhere):
    engine.table("d", elsewhere, refresh=False)
    other = Elsewhere()
    engine.table("e", other)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    until(lambda: shown(engine, "e").refreshes > 5)
    assert elsewhere.reads == 1
    assert shown(engine).refreshes == 0


def test_what_has_not_changed_makes_no_snapshot_and_no_query_is_disturbed(engine, fed, elsewhere):
    engine.table("d", elsewhere)
    engine.query("joined", JOINED)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes > 5)
    assert (shown(engine).changed, engine.status().refreshing.swaps) == (0, 0)
    assert snapshots(engine) == ["000000"]


def test_rows_in_another_order_are_no_change(engine, elsewhere):
    engine.table("d", elsewhere)
    elsewhere.versions = dict(reversed(elsewhere.versions.items()))
    engine.table("d", elsewhere)
    assert snapshots(engine) == ["000000"]


def test_a_version_spares_reading_what_has_not_changed(engine, elsewhere):
    engine.table("d", elsewhere, version=elsewhere.version)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes > 20)
    assert elsewhere.reads == 1
    assert engine.status().refreshing.used < shown(engine).refreshes / 5
    elsewhere.change(1)
    until(lambda: shown(engine).changed == 1)
    assert elsewhere.reads == 2


def test_there_are_no_more_refreshes_than_the_budget_allows(engine, elsewhere):
    engine.table("d", elsewhere)
    engine.refreshing(3, per="1s")
    began = time.time()
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes >= 8)
    refreshes = shown(engine).refreshes
    assert refreshes <= 3 * (time.time() - began) + SAVED


def test_a_budget_in_bytes_is_spent_by_size(engine, elsewhere):
    engine.table("d", elsewhere)
    engine.refreshing(bytes=1e6, per="1s")
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes >= 3)
    seen, budget = shown(engine), engine.status().refreshing
    assert budget.unit == "bytes"
    assert budget.used >= seen.refreshes * seen.bytes > 0


def test_a_refresh_that_fails_leaves_the_last_snapshot_in_use_and_is_told_and_counted(engine, fed, elsewhere):
    engine.table("d", elsewhere)
    engine.query("joined", JOINED)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    elsewhere.broken = RuntimeError("no such host")
    until(lambda: shown(engine).failures >= 2)
    assert shown(engine).problem == "no such host"
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    elsewhere.broken = None
    elsewhere.change()
    until(lambda: shown(engine).changed == 1)
    assert shown(engine).problem is None
    fed.feed(3)
    caught_up(engine, "joined", position=6)
    assert pairs(engine, "joined")[-1] == (5, 1)


def test_a_table_whose_columns_have_changed_stays_as_it_was_until_it_is_taken_anew(engine, fed):
    columns, rows = ["k long, version long"], [(0, 0)]

    def made(spark):
        return spark.createDataFrame(rows, columns[0])

    engine.table("d", made)
    engine.query("joined", JOINED)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    rows[:], columns[:] = [(0, 5, "x")], ["k long, version long, more string"]
    until(lambda: shown(engine).problem is not None)
    assert "more string" in shown(engine).problem
    fed.feed(1)
    caught_up(engine, "joined", position=1)
    engine.table("d", made)
    assert shown(engine).problem is None
    fed.feed(3)
    caught_up(engine, "joined", position=4)
    assert pairs(engine, "joined") == [(0, 0), (3, 5)]


def test_a_slow_source_keeps_no_query_from_running(engine, fed, elsewhere):
    engine.table("d", elsewhere)
    engine.query("joined", JOINED)
    engine.query("sparks", SPARKS)
    engine.refreshing(**OFTEN)
    elsewhere.gate.clear()
    engine.start("fcfs")
    for n in (3, 6, 9):
        fed.feed(3)
        caught_up(engine, "joined", "sparks", position=n)
    assert shown(engine).refreshes == 0
    elsewhere.gate.set()
    until(lambda: shown(engine).refreshes > 0)


def test_an_engine_stops_also_while_a_source_does_not_answer(engine, fed, elsewhere, caplog, monkeypatch):
    monkeypatch.setattr(refresher, "_PATIENCE", 0.2)
    engine.table("d", elsewhere)
    engine.query("joined", JOINED)
    engine.refreshing(**OFTEN)
    elsewhere.gate.clear()
    engine.start("fcfs")
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    until(lambda: elsewhere.asked > 1)
    engine.stop()
    assert "a table's source has not answered" in caplog.text
    elsewhere.gate.set()


def test_a_refresh_that_ends_with_the_engine_is_no_failure_of_the_table(engine, elsewhere):
    engine.table("d", elsewhere)
    engine.refreshing(**OFTEN)
    elsewhere.gate.clear()
    engine.start("fcfs")
    until(lambda: elsewhere.asked > 1)
    elsewhere.broken = RuntimeError("cancelled")

    def answer():
        engine._refresher._ending.wait(60)
        elsewhere.gate.set()

    answers = threading.Thread(target=answer)
    answers.start()
    engine.stop()
    answers.join()
    assert (shown(engine).failures, shown(engine).problem) == (0, None)


def test_a_parquet_file_that_is_replaced_is_read_again_and_one_that_is_not_is_not(engine, fed, tmp_path):
    file = tmp_path / "d.parquet"
    pq.write_table(pa.table({"k": [0, 1, 2], "version": [0, 0, 0]}), file)
    engine.table("d", file)
    engine.query("joined", JOINED)
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes > 5)
    assert shown(engine).changed == 0
    fresh = tmp_path / "fresh.parquet"
    pq.write_table(pa.table({"k": [0, 1, 2], "version": [7, 8, 9]}), fresh)
    fresh.rename(file)
    until(lambda: shown(engine).changed == 1)
    fed.feed(3)
    caught_up(engine, "joined", position=3)
    assert pairs(engine, "joined") == [(0, 7), (1, 8), (2, 9)]


def test_parts_are_read_alone_and_the_others_stay_as_they_were(engine, fed):
    elsewhere = Elsewhere(6)
    engine.table("d", elsewhere, parts=table.ranges("k", 2, 4))
    engine.query("joined", "SELECT s.v, d.version FROM s JOIN d ON s.v % 6 = d.k")
    engine.start("fcfs")
    assert shown(engine).parts == 3
    elsewhere.change()
    read = engine._tables.refresh("d", engine._tables.kept["d"], 1, engine.spark)
    assert read.changed
    fed.feed(6)
    until(lambda: engine.queries["joined"].draft.reads["d"].endswith("000001"))
    fed.feed(6)
    caught_up(engine, "joined", position=12)
    assert pairs(engine, "joined")[6:] == [(6, 0), (7, 0), (8, 1), (9, 1), (10, 0), (11, 0)]


def test_a_table_that_is_taken_with_other_parts_during_a_refresh_is_refreshed_by_these(engine, elsewhere):
    engine.table("d", elsewhere, parts=table.ranges("k", 1, 2))
    engine.refreshing(**OFTEN)
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes > 3)
    for parts in (None, table.ranges("k", 2), table.values("k", 0, 1)):
        # A refresh is under way, or waits for the table.
        with engine._tables._lock:
            time.sleep(0.1)
            engine.table("d", elsewhere, parts=parts)
        before = shown(engine).refreshes
        until(lambda n=before: shown(engine).refreshes > n + 3)
    engine.table("d", elsewhere, refresh=False)
    engine.table("e", other := Elsewhere())
    other.change()
    until(lambda: shown(engine, "e").changed == 1)
    assert shown(engine).refreshes == 0


def test_a_part_is_not_read_once_its_table_is_kept_otherwise(engine, elsewhere):
    engine.table("d", elsewhere, parts=table.ranges("k", 1, 2))
    before = engine._tables.kept["d"]
    engine.table("d", elsewhere)
    assert engine._tables.refresh("d", before, 2, engine.spark) is None


def test_what_goes_wrong_outside_of_a_refresh_ends_no_refreshing(engine, elsewhere, monkeypatch):
    engine.table("d", elsewhere)
    engine.refreshing(**OFTEN)
    failed = []

    def tidy(name):
        failed.append(name)
        raise OSError("a disk that is full")

    monkeypatch.setattr(type(engine._tables), "tidy", lambda _, name: tidy(name))
    engine._refresher._tidied = -1
    engine.start("fcfs")
    until(lambda: failed and shown(engine).refreshes > 3)


def test_a_new_budget_makes_no_table_younger(engine, elsewhere):
    engine.table("d", elsewhere)
    time.sleep(0.5)
    engine.refreshing(1e6, per="3600s")
    assert shown(engine).age >= 0.5


def test_a_table_that_cannot_be_read_again_is_as_old_as_it_was(engine, elsewhere):
    engine.table("d", elsewhere)
    time.sleep(0.5)
    elsewhere.broken = OSError("gone")
    engine.table("d", elsewhere)
    assert shown(engine).age >= 0.5


def test_every_row_is_in_exactly_one_part(engine, spark):
    rows = [("eu", 1), ("us", 2), ("asia", 3), (None, 4)]

    def made(session):
        return session.createDataFrame(rows, "region string, n int")

    engine.table("d", made, parts=table.values("region", "eu", "us"))
    assert shown(engine).parts == 3
    found = spark.read.parquet(str(engine.state / "tables" / "d" / "000000")).collect()
    assert sorted(row["n"] for row in found) == [1, 2, 3, 4]


def test_parts_that_queries_look_up_more_often_are_refreshed_more_often(engine, fed):
    elsewhere = Elsewhere(8)
    engine.table("d", elsewhere, parts=table.ranges("k", 2, 4, 6))
    engine.query("joined", "SELECT s.v, d.version FROM s JOIN d ON s.v % 2 = d.k")
    engine.refreshing(20, per="1s")
    engine.start("fcfs")

    def seen(part):
        return engine._refresher.estimates(time.time())["d", part]

    fed.feed(50)
    caught_up(engine, "joined", position=50)
    # What a run has looked up is noted after its results are there.
    until(lambda: seen("< 2").share == 1)
    assert [seen(part).share for part in ("2 to 4", "4 to 6", "≥ 6")] == [0, 0, 0]
    # The plan follows with the next refresh.
    until(lambda: 3 * seen("< 2").every < seen("≥ 6").every)


@pytest.mark.parametrize(
    ("on", "shares"),
    [("s.k = d.k", [2 / 3, 1 / 3, 0, 0]), ("s.k <= d.k AND s.k >= d.k", [1 / 4] * 4)],
    ids=["by a column", "not to be told"],
)
def test_what_queries_on_spark_look_up_is_told_by_the_columns_that_they_join_on(engine, fed, on, shares):
    engine.table("d", Elsewhere(8), parts=table.ranges("k", 2, 4, 6))
    engine.query("joined", f"SELECT named_struct('v', s.v) AS v, d.version FROM s JOIN d ON {on}")
    assert engine.queries["joined"].why_not
    engine.start("fcfs")
    fed.feed(30)
    caught_up(engine, "joined", position=30)
    until(lambda: engine._refresher._refreshing._accesses.profile.frequencies)

    def found():
        return [each.share for each in engine._refresher.estimates(time.time()).values()]

    # Lookups are counted after the run, or after each of several if the train was taken in pieces.
    until(lambda: found() == pytest.approx(shares))


def test_the_status_says_how_fresh_a_table_is_and_what_of_the_budget_was_used(engine, fed, elsewhere):
    engine.table("d", elsewhere)
    engine.query("joined", JOINED)
    engine.refreshing(50, per="1s", policy="uniform")
    engine.start("fcfs")
    fed.feed(3)
    until(lambda: shown(engine).refreshes > 3)
    seen, budget = shown(engine), engine.status().refreshing
    assert 0 <= seen.age < 60
    assert 0 < seen.freshness <= 1
    assert 0 < budget.perceived <= 1
    assert seen.accesses == 1
    assert seen.change_rate > 0
    assert (budget.policy, budget.budget, budget.period) == ("uniform", 50, 1.0)
    assert 0 < budget.used <= budget.allowed + SAVED


def test_a_table_that_nobody_looks_up_is_read_again_before_it_is_too_old(engine, elsewhere):
    engine.table("d", elsewhere, max_age="1s")
    engine.table("e", Elsewhere())
    with pytest.raises(InputError, match=r"'d'\. Give one of 60 refreshes in 60 s or more"):
        engine.start("fcfs")
    with pytest.raises(
        InputError, match=r"every max_age; got 60 for 'd' of 59 refreshes in 60 s\. Give 60 refreshes"
    ):
        engine.refreshing(59)
    engine.refreshing(60)
    engine.start("fcfs")
    until(lambda: shown(engine).refreshes > 3)
    seen = shown(engine)
    assert (seen.max_age, seen.allowed_age) == (1.0, None)
    assert seen.every <= 1
    with pytest.raises(InputError, match=r"got 60 for 'd', 0\.5 for 'e' of 60 refreshes in 60 s\. Give 61 refreshes"):
        engine.table("e", Elsewhere(), max_age="2min")
    assert shown(engine, "e").max_age is None


def test_where_a_table_has_grown_its_status_and_a_warning_say_how_old_it_becomes(engine, elsewhere, caplog):
    engine.table("d", elsewhere, max_age="1s")
    engine.refreshing(bytes=1.5 * shown(engine).bytes, per="1s")
    elsewhere.versions = {key: key * 10**12 for key in range(1000)}
    engine.start("fcfs")
    until(lambda: shown(engine).allowed_age)
    assert shown(engine).allowed_age > shown(engine).max_age
    until(lambda: "times as old as their max_age (d)" in caplog.text)
    assert engine.status().refreshing.gain is not None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda e: e.table("d", Elsewhere(), max_age="soon"), "a max_age is a finite time above 0"),
        (lambda e: e.table("d", Elsewhere(), max_age=5, refresh=False), "a max_age is refreshed; got refresh=False"),
        (lambda e: e.refreshing(), "in refreshes or in bytes; got none"),
        (lambda e: e.refreshing(1, bytes=1), "in refreshes or in bytes; got both"),
        (lambda e: e.refreshing(0), "a refresh budget is a number above 0"),
        (lambda e: e.refreshing(1, policy="often"), "a known way to refresh; got 'often'"),
        (lambda e: e.refreshing(1, per="soon"), "the period of a refresh budget"),
        (lambda e: e.table("d", Elsewhere(), parts=table.values("region", "eu")), "got 'region'"),
        (lambda e: table.ranges("k", 3, 2), "bounds of parts rise; got 3, 2"),
        (lambda e: table.values("k"), "divided by values of a column; got none"),
        (lambda e: table.values("k", 1, 1), "values of parts differ; got 1, 1"),
        (lambda e: table.jdbc("postgres://x", "t"), "named by a JDBC address; got 'postgres://x'"),
    ],
)
def test_mistakes_say_what_is_wrong(engine, wrong, said):
    with pytest.raises(InputError, match=said):
        wrong(engine)


def test_a_database_without_its_driver_is_refused_with_what_to_do(engine):
    with pytest.raises(InputError, match=r"table 'd' can be read; got no driver for mysql\. Start Spark with the"):
        engine.table("d", table.jdbc("jdbc:mysql://127.0.0.1:1/shop", "prices"))

"""Queries that are added half-way, with what was before or without it."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from engine.results.batch import Batch
from engine.results.corpus import CORPUS
from engine.results.data import TIMES
from engine.results.runs import Feed, parts
from engine.results.same import difference

ADDED = ["nulls", "left_joined", "vwap", "gaps", "q17", "top_three", "q8", "bursts", "q11", "last_five"]


@pytest.fixture(scope="module")
def halfway(spark, tmp_path_factory):
    """The results of queries added half-way, the log of each stream, and how long it was then."""
    feed = Feed.of(spark, tmp_path_factory.mktemp("state"))
    with feed.engine as engine:
        for name in ("counts", "everything", "q0"):
            feed.add(CORPUS[name])
        engine.start("auto", train={"most": 200})
        trains = parts(10)
        feed.hand(trains[:5], stepwise=True)
        position = dict(feed.handed)
        for name in ADDED:
            entry = CORPUS[name]
            feed.add(entry)
            engine.query(f"all_of_{name}", entry.sql, **entry.options, start="earliest")
        feed.hand(trains[5:], stepwise=True)
        feed.end()
        results = {query.name: engine.results(query.name) for query in engine.status().queries}
        return results, feed.logs(), position


@pytest.mark.parametrize("name", ADDED)
def test_a_query_that_starts_at_the_earliest_gives_what_one_from_the_beginning_does(halfway, answer, name):
    results, _, _ = halfway
    assert not difference(results[f"all_of_{name}"], answer(CORPUS[name]))


@pytest.mark.parametrize("name", ADDED)
def test_a_query_that_starts_now_takes_what_comes_behind_all_that_has_come(spark, halfway, answer, name):
    results, logs, position = halfway
    of_all = answer(CORPUS[name])
    expected = _from_then(spark, CORPUS[name], of_all, logs, position)
    assert 0 < len(expected) < len(of_all)
    assert not difference(results[name], expected)


@pytest.mark.parametrize("name", ["counts", "everything", "q0"])
def test_queries_from_the_beginning_do_not_notice(halfway, answer, name):
    results, _, _ = halfway
    assert not difference(results[name], answer(CORPUS[name]))


def _from_then(spark, entry, of_all, logs, position):
    """Tuples from a position on; windows and sessions from the first time that no tuple before it has reached."""
    newest = {name: pc.max(log[TIMES[name][0]].slice(0, position[name])) for name, log in logs.items()}
    if entry.over_rows:
        return of_all.filter(pc.greater_equal(of_all["window_start"], position["ticks"]))
    if entry.window:
        last = max(newest[name].as_py() for name in Batch.streams(entry))
        return of_all.filter(pc.greater(of_all["window_start"], pa.scalar(last, of_all["window_start"].type)))
    if "session_start" in of_all.column_names:
        later = {name: log.filter(pc.greater(log[TIMES[name][0]], newest[name])) for name, log in logs.items()}
    else:
        later = {name: log.slice(position[name]) for name, log in logs.items()}
    return Batch(spark, later).answer(entry)

"""Windows over rows: of any cut of a stream, those that begin with the first row and every slide behind it."""

import json
import time
from dataclasses import replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.evaluation.driven import walk
from engine.in_process import InProcess
from engine.log.logs import SCHEMA, feed, opened
from headgate.engine.compiled import compiled
from headgate.engine.drafts import Draft
from headgate.engine.evaluation import Setting
from headgate.engine.evaluation.by_panes import PaneEvaluation
from headgate.engine.evaluation.closed import ClosedWindows
from headgate.engine.fused import KernelUnit
from headgate.engine.query import LiveQuery
from headgate.engine.reader import JobInput, tuples
from headgate.engine.running import run
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening
from headgate.engine.sql.plan import ByPanes, Catalog, PerWindow, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.windows import Window
from headgate.errors import InputError

BY_PANES = "SELECT k, count(*) AS n, sum(v) AS total, last(v) AS newest FROM s GROUP BY k"
PER_WINDOW = "SELECT count(DISTINCT k) AS kinds, sum(v) AS total, last(v) AS newest FROM s"
KINDS = {"panes": (BY_PANES, ByPanes), "windows": (PER_WINDOW, PerWindow)}

lengths = st.integers(1, 12)
cuts = st.lists(st.integers(1, 7), max_size=6)


def spans(rows, size, slide, since=0):
    """The windows over so many rows that begin at a position or behind it."""
    return [(at, at + size) for at in range(0, rows, slide) if at >= since]


def expected(kind, rows, size, slide, since=0):
    """Values are the positions, and keys go round."""
    found = []
    for start, end in spans(rows, size, slide, since):
        vs = range(start, min(end, rows))
        if kind == "windows":
            found.append((start, end, len({v % 3 for v in vs}), sum(vs), vs[-1]))
        else:
            by_key = {k: [v for v in vs if v % 3 == k] for k in range(3)}
            found += [(start, end, k, len(some), sum(some), max(some)) for k, some in by_key.items() if some]
    return sorted(found)


@given(cuts, lengths, lengths, st.data())
def test_windows_close_with_their_last_row_and_at_the_end_with_what_there_is(counts, size, slide, data):
    since = data.draw(st.sampled_from([0, *accumulate(counts)]))
    window, found = Window(size, slide, "rows"), []
    with TemporaryDirectory() as folder:
        log = opened(Path(folder))
        windows = ClosedWindows({"s": log}, window)
        progress = windows.begin({"s": 0}) if since == 0 else None
        for count in [*counts, None]:
            feed(log, [[0] * count]) if count else log.end()
            if progress is None and log.head == since:
                progress = windows.begin({"s": since})
            while progress and (closed := windows.next(progress)):
                named = json.loads(JobInput(windows.inputs(closed), bounds=(closed.start, closed.end)).text())
                read = [row["v"] for part in tuples(named, "s", ["v"]) for row in part.to_pylist()]
                assert windows.needed(progress, "s") <= closed.start
                assert closed.end <= log.head or log.ended
                assert read == list(range(closed.start, min(closed.end, log.head)))
                found.append((closed.start, closed.end))
                progress, _ = windows.passed(progress, closed)
            assert not log.ended or progress.late == 0
        rows = log.head
        log.manifest.close()
    assert found == spans(rows, size, slide, since)


@pytest.fixture(scope="module")
def once(views):
    """Planned and compiled once, for windows of any length."""
    setting = Setting("q", {"s": SimpleNamespace(schema=SCHEMA)}, views, Path())
    planned = plan(BY_PANES, Catalog({"s": Relation(tuple(SCHEMA.names))}, {}), Window(2, 1, "rows"))
    prepare = cache(setting.prepare)
    first = PaneEvaluation(planned, SimpleNamespace(logs=setting.logs, prepare=prepare, folder=Path()))
    return SimpleNamespace(plan=planned, prepare=prepare, compiled=compiled(first))


@settings(max_examples=40, deadline=None)
@given(counts=cuts, size=lengths, slide=lengths, most=st.integers(1, 9), live=st.booleans())
def test_the_kernel_gives_of_panes_what_the_rule_says(once, views, counts, size, slide, most, live):
    window = Window(size, slide, "rows")
    with TemporaryDirectory() as folder:
        log = opened(Path(folder), event_time=None)
        panes = SimpleNamespace(logs={"s": log}, prepare=once.prepare, folder=Path(folder) / "panes")
        made = PaneEvaluation(replace(once.plan, window=window), panes)
        progress = log.manifest.enter("q", {}, made.begin({"s": 0}))
        sink = MemoryTables()
        sink.open(Opening("q", made.schema, views.spark, None))
        draft = Draft("q", BY_PANES, window, made.plan, made, replace(once.compiled, window=window), None)
        unit = KernelUnit([LiveQuery(draft, "default", sink, 60.0, progress, {"s": log})], log, log.manifest)
        lane = InProcess()
        for count in [*counts, None]:
            feed(log, [[0] * count]) if count else log.end()
            while (live or log.ended) and unit.waiting(time.time()).pending:
                assert run(unit, most, lane, log.manifest).error is None
                made.tidy(unit.queries[0].progress, unit.queries[0].durable)
        unit.commit(log.manifest)
        rows, progress = log.head, unit.queries[0].progress
        log.manifest.close()
    found = sorted(tuple(row.values()) for row in sink.table().to_pylist())
    assert found == expected("panes", rows, size, slide)
    assert (progress.panes, progress.fresh, progress.late, progress.tuples) == ({}, (), 0, rows)


CASES = [
    # size, slide, n, live
    (5, 1, 7, True),
    (4, 4, 1000, True),
    (6, 4, 3, False),
    (2, 5, 1000, False),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("size", "slide", "n", "live"), CASES)
def test_spark_gives_what_the_rule_says_whatever_the_steps(driven, kind, size, slide, n, live):
    sql, planned = KINDS[kind]
    trains = walk(size + slide, trains=3)
    query = driven(sql, Window(size, slide, "rows")).register()
    assert isinstance(query.plan, planned)
    assert query.over(trains, n, live=live) == expected(kind, sum(map(len, trains)), size, slide)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_over_rows_outlive_a_restart_and_begin_behind_what_came_before(driven, kind):
    query = driven(KINDS[kind][0], Window(5, 2, "rows"))
    feed(query.log, [[0] * 3])
    query.register()
    for times in ([0] * 4, [0] * 3, [0] * 4):
        feed(query.log, [times])
        query.query.evaluation.step(query.query.progress, 2, lambda prepared, given: prepared.run(given, "test"))
        query.restart()
        query.settle(3)
    query.log.end()
    query.settle(3)
    assert query.rows() == expected(kind, 14, 5, 2, since=3)


def test_many_windows_are_closed_some_at_a_time(driven, monkeypatch):
    monkeypatch.setattr("headgate.engine.evaluation.by_panes._WINDOWS", 4)
    query = driven(BY_PANES, Window(3, 1, "rows")).register()
    assert query.over([[0] * 11], 1000, live=True) == expected("panes", 11, 3, 1)


def test_windows_over_rows_of_several_streams_are_refused():
    both = {name: Relation(tuple(SCHEMA.names), "t") for name in ("s", "r")}
    with pytest.raises(InputError, match="a window over rows is one of a single stream; got a query over s and r"):
        plan("SELECT s.v FROM s JOIN r ON s.k = r.k", Catalog(both, {}), Window(5, 1, "rows"))

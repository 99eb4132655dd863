import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.log.manifest import Manifest
from headgate.engine.log.peeking import peek
from headgate.engine.log.progress import Moved, Passed, Progress
from headgate.engine.log.stored import StoredTrain
from headgate.engine.windows import ENDED, NEVER
from headgate.errors import InputError
from headgate.shed.droppers import Drop

TRAIN = StoredTrain(0, 0, 3, 100, 10, 12, 33e-6, 5, 9, NEVER, 9, NEVER, 12)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "manifest.db"


@pytest.fixture
def manifest(path):
    made = Manifest(path)
    made.streams.enter("s", {"schema": "x"})
    yield made
    made.close()


def again(manifest, path):
    manifest.close()
    return Manifest(path)


marks = st.integers(NEVER, ENDED)
progresses = st.builds(
    Progress,
    run=st.integers(1, 99),
    cursors=st.fixed_dictionaries({"s": st.integers(0, 2**40), "r": st.integers(0, 2**40)}),
    closed=marks,
    low=marks,
    panes=st.dictionaries(st.integers(1, 9), st.lists(marks, min_size=1, max_size=4).map(tuple), max_size=4),
    receipt=st.none() | st.dictionaries(st.text(), st.integers() | st.text(), max_size=3),
    results=st.integers(0, 2**40),
    tuples=st.integers(0, 2**40),
    late=st.integers(0, 2**40),
)


@given(st.lists(progresses, min_size=1, max_size=5))
def test_progress_is_read_as_it_was_committed(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("state") / "manifest.db"
    made = Manifest(path)
    # Panes keep what they were written with: a run is written once.
    stands = made.enter("q", {}, Progress(cursors={"s": 1, "r": 2}, closed=3, low=4))
    assert stands == Progress(cursors={"s": 1, "r": 2}, closed=3, low=4)
    for number, step in enumerate(steps):
        panes = {10 * number + run: starts for run, starts in step.panes.items()}
        kept = dict(list(stands.panes.items())[::2])
        new = replace(step, panes={**kept, **panes})
        made.commit([("q", stands, new)])
        stands = made.progress("q")
        assert stands == new
    made = again(made, path)
    assert made.enter("q", {}, Progress(cursors={"s": 0, "r": 0})) == stands
    made.close()


def test_runs_of_several_queries_are_committed_together_or_not_at_all(manifest):
    begin = Progress(cursors={"s": 0})
    old = {name: manifest.enter(name, {}, begin) for name in ("p", "q")}
    good = replace(begin, run=1, cursors={"s": 5}, panes={1: (0,)}, receipt={"run": 1}, tuples=5)
    bad = replace(good, receipt={"run": object()})
    with pytest.raises(TypeError):
        manifest.commit([("p", old["p"], good), ("q", old["q"], bad)])
    assert {name: manifest.progress(name) for name in old} == old
    manifest.commit([("p", old["p"], good), ("q", old["q"], good)])
    assert manifest.progress("p") == manifest.progress("q") == good


def test_a_train_its_counts_and_its_source_state_are_committed_together_or_not_at_all(manifest, path):
    with pytest.raises(TypeError):
        manifest.streams.append("s", TRAIN, {"at": object()}, late=2, rejected={"odd": 1})
    assert manifest.streams.trains("s") == []
    assert manifest.streams.counted("s") == (0, {})
    manifest.streams.append("s", TRAIN, {"at": 3}, late=2, rejected={"odd": 1})
    with pytest.raises(sqlite3.IntegrityError):
        manifest.streams.append("s", TRAIN, {"at": 6}, late=9, rejected={"odd": 9})
    fresh = again(manifest, path)
    assert fresh.streams.trains("s") == [TRAIN]
    assert fresh.streams.enter("s", {})[1:] == ({"at": 3}, False)
    assert fresh.streams.counted("s") == (2, {"odd": 1})
    fresh.close()


def test_counts_add_up_and_trains_are_given_in_their_order(manifest):
    for seq in (0, 1, 2):
        train = replace(TRAIN, seq=seq, first=3 * seq)
        manifest.streams.append("s", train, None, late=seq, rejected={"odd": 1, "new": seq})
    manifest.streams.append("s", None, {"at": 9}, ended=True)
    assert manifest.streams.counted("s") == (3, {"odd": 3, "new": 3})
    manifest.streams.drop("s", 1)
    assert [train.seq for train in manifest.streams.trains("s")] == [1, 2]
    assert manifest.streams.enter("s", {}) == ({"schema": "x"}, {"at": 9}, True)


def test_a_removed_query_leaves_nothing_and_begins_anew(manifest):
    for name in ("p", "q"):
        begin = manifest.enter(name, {"sql": name}, Progress(cursors={"s": 0}))
        manifest.commit([(name, begin, replace(begin, run=1, cursors={"s": 7}, panes={1: (0, 10)}))])
    manifest.remove("q")
    assert manifest.names() == {"p"}
    assert (manifest.definition("p"), manifest.definition("q")) == ({"sql": "p"}, None)
    assert manifest.progress("p").panes == {1: (0, 10)}
    assert manifest.enter("q", {}, Progress(cursors={"s": 3})) == Progress(cursors={"s": 3})


def test_a_manifest_of_a_later_version_is_refused_and_let_go_of(path):
    Manifest(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99'")
    db.close()
    with pytest.raises(InputError, match="format of version 5 or before; got version 99") as refused:
        Manifest(path)
    db = sqlite3.connect(path, timeout=0)
    db.execute("UPDATE meta SET value = '5'")
    db.commit()
    db.close()
    Manifest(path).close()
    assert refused.value.remedy


def test_a_file_that_is_no_manifest_is_refused_and_left_as_it_is(path):
    path.write_bytes(b"something else, and rather longer than a header of a database would be" * 20)
    before = path.read_bytes()
    with pytest.raises(InputError, match="a state folder has a manifest of Headgate's"):
        Manifest(path)
    assert path.read_bytes() == before


def test_a_second_opener_is_refused_while_the_first_works_on(manifest, path):
    with pytest.raises(InputError, match="one engine at a time") as refused:
        Manifest(path)
    assert "Stop the other one" in refused.value.remedy
    manifest.streams.append("s", TRAIN, None)
    assert manifest.streams.trains("s") == [TRAIN]


@pytest.mark.parametrize(("sync", "mode"), [(False, 1), (True, 2)])
def test_a_commit_waits_for_the_disk_where_that_is_wanted(path, sync, mode):
    made = Manifest(path, sync=sync)
    assert made._db.rows("PRAGMA synchronous") == [(mode,)]
    assert made._db.rows("PRAGMA journal_mode") == [("wal",)]
    made.close()


# Cohorts.

BEGIN = Progress(cursors={"s": 4})


def entered(manifest, *names, begin=BEGIN):
    manifest.enter_many([(name, {}, begin) for name in names])
    return names


def test_members_are_where_their_cohort_is_and_only_those_with_results_are_touched(manifest, path):
    entered(manifest, "p", "q", "r")
    cohort = manifest.cohorts.join("s", 4, ["p", "q"])
    new = replace(BEGIN, run=1, cursors={"s": 9}, receipt={"n": 1}, results=2, tuples=77)
    only_results = replace(BEGIN, run=3, receipt={"path": 'it\'s 1 "x"'}, results=5)
    manifest.commit([("q", BEGIN, new), ("p", BEGIN, only_results)], Moved(cohort, 9, Passed(5)))
    manifest.commit([], Moved(cohort, 12, Passed(3)), counted={"p": 4})
    fresh = again(manifest, path)
    assert fresh.progress_of(["p", "q", "r"]) == {
        "p": replace(only_results, run=4, results=9, cursors={"s": 12}, tuples=8),
        "q": replace(new, cursors={"s": 12}, tuples=8),
        "r": BEGIN,
    }
    assert fresh.cohorts.members() == {cohort: ["p", "q"]}
    fresh.close()


def test_who_leaves_a_cohort_goes_on_from_there_and_who_joins_later_reads_from_then_on(manifest):
    entered(manifest, "p", "q")
    entered(manifest, "late", begin=Progress(cursors={"s": 10}, tuples=0))
    cohort = manifest.cohorts.join("s", 4, ["p", "q"])
    manifest.commit([], Moved(cohort, 10, Passed(6)))
    manifest.cohorts.leave(["p"])
    assert manifest.cohorts.join("s", 10, ["late"], cohort) == cohort
    manifest.commit([], Moved(cohort, 11, Passed(1)))
    stands = manifest.progress("p")
    assert (stands.cursors, stands.tuples) == ({"s": 10}, 6)
    manifest.commit([("p", stands, replace(stands, cursors={"s": 30}, tuples=26))])
    found = manifest.progress_of(["p", "q", "late"])
    assert {name: (each.cursors["s"], each.tuples) for name, each in found.items()} == {
        "p": (30, 26),
        "q": (11, 7),
        "late": (11, 1),
    }


def test_who_joins_another_cohort_takes_along_what_it_has_read_and_an_empty_cohort_goes(manifest):
    entered(manifest, "p", "q")
    first = manifest.cohorts.join("s", 4, ["p"])
    manifest.commit([], Moved(first, 8, Passed(4)))
    second = manifest.cohorts.join("s", 4, ["q"])
    manifest.commit([], Moved(second, 8, Passed(3)))
    assert manifest.cohorts.join("s", 8, ["p"], second) == second
    manifest.commit([], Moved(second, 9, Passed(1)))
    assert manifest.cohorts.members() == {second: ["p", "q"]}
    assert {name: each.tuples for name, each in manifest.progress_of(["p", "q"]).items()} == {"p": 5, "q": 4}
    with pytest.raises(LookupError):
        manifest.commit([], Moved(first, 9, Passed(1)))
    manifest.remove("p")
    manifest.cohorts.leave(["q"])
    assert manifest.cohorts.members() == {}
    with pytest.raises(LookupError):
        manifest.commit([], Moved(second, 10, Passed(1)))


@pytest.mark.parametrize(
    ("stream", "position", "queries"), [("s", 5, ["p"]), ("r", 4, ["p"]), ("s", 4, ["p", "q"]), ("s", 4, ["nobody"])]
)
def test_queries_that_are_not_all_at_one_position_cannot_move_along_together(manifest, stream, position, queries):
    entered(manifest, "p")
    entered(manifest, "q", begin=Progress(cursors={"s": 5}))
    with pytest.raises(ValueError, match=f"at {position} of stream {stream}"):
        manifest.cohorts.join(stream, position, queries)
    assert manifest.cohorts.members() == {}


def test_a_commit_moves_a_cohort_its_queries_and_shared_sinks_or_nothing(manifest):
    entered(manifest, "p")
    cohort = manifest.cohorts.join("s", 4, ["p"])
    run = ("p", BEGIN, replace(BEGIN, run=1, results=1))
    for broken in (
        ([run], Moved(cohort, 9, Passed(5)), {"out": object()}),
        ([run], Moved(cohort + 1, 9, Passed(5)), {"out": {"n": 1}}),
    ):
        with pytest.raises((TypeError, LookupError)):
            manifest.commit(*broken)
        assert (manifest.progress("p"), manifest.shared("out")) == (BEGIN, None)
    manifest.commit([run], Moved(cohort, 9, Passed(5)), {"out": {"n": 1}})
    manifest.commit([], shared={"out": {"n": 2}})
    assert manifest.progress("p") == replace(BEGIN, run=1, results=1, cursors={"s": 9}, tuples=5)
    assert manifest.shared("out") == {"n": 2}


steps = st.lists(
    st.one_of(
        st.tuples(st.just("join"), st.sets(st.sampled_from("abcd"), min_size=1)),
        st.tuples(st.just("leave"), st.sets(st.sampled_from("abcd"), min_size=1)),
        st.tuples(st.just("together"), st.integers(0, 9)),
        st.tuples(st.just("alone"), st.sampled_from("abcd"), st.integers(0, 9)),
    ),
    max_size=20,
)


@given(steps)
def test_whatever_joins_and_leaves_every_query_has_its_own_position_and_count(tmp_path_factory, steps):
    made = Manifest(tmp_path_factory.mktemp("state") / "manifest.db")
    entered(made, *"abcd", begin=Progress(cursors={"s": 0}))
    at, read, member = dict.fromkeys("abcd", 0), dict.fromkeys("abcd", 0), {}
    for step in steps:
        if step[0] == "join":
            place = at[min(step[1])]
            joining = sorted(name for name in step[1] if at[name] == place)
            with_it = next((c for n, c in member.items() if at[n] == place and n not in joining), None)
            joined = made.cohorts.join("s", place, joining, with_it)
            member |= dict.fromkeys(joining, joined)
        elif step[0] == "leave":
            made.cohorts.leave(sorted(step[1]))
            member = {name: cohort for name, cohort in member.items() if name not in step[1]}
        elif step[0] == "together":
            for cohort in set(member.values()):
                moved = [name for name in member if member[name] == cohort]
                for name in moved:
                    at[name], read[name] = at[name] + step[1], read[name] + step[1]
                made.commit([], Moved(cohort, at[moved[0]], Passed(step[1])))
        elif step[1] not in member:
            old, (_, name, n) = made.progress(step[1]), step
            at[name], read[name] = at[name] + n, read[name] + n
            made.commit([(name, old, replace(old, cursors={"s": at[name]}, tuples=read[name]))])
    found = made.progress_of(list("abcd"))
    assert {name: (p.cursors["s"], p.tuples) for name, p in found.items()} == {n: (at[n], read[n]) for n in "abcd"}
    assert sorted(n for names in made.cohorts.members().values() for n in names) == sorted(member)
    made.close()


# Manifests that others may look into.


def test_somebody_else_sees_all_of_the_queries_at_any_time(path):
    made = Manifest(path, alone=False)
    begin = Progress(2, {"s": 4}, 7, 8, {}, {"part": 1}, 30, 40, 5, 6)
    made.enter_many([("q", {"sql": "x"}, begin), ("p", {}, Progress(cursors={"s": 4}))], {"q": "3"})
    made.rates.thin("q", "s", 4, Drop(25))
    made.open_iteration("q", 99, 0.5)
    made.commit([], shared={"board": {"run": 3}})
    seen = peek(path)
    assert seen.progress == {"q": begin, "p": Progress(cursors={"s": 4})}
    assert seen.instances == {"q": "3", "p": ""}
    assert seen.rates == {"q": {"s": [(4, Drop(25))]}}
    assert (seen.iterations, seen.shared) == ({"q": (99, 0.5)}, {"board": {"run": 3}})
    with made._db.transaction() as db:
        db.execute("DELETE FROM query")
        # As it was committed, whatever is under way.
        assert peek(path) == seen
        db.execute("INSERT INTO query (name, definition, closed, low) VALUES ('x', '{}', 0, 0)")
        assert peek(path) == seen
    assert set(peek(path).progress) == {"x"}
    made.close()
    assert set(peek(path).progress) == {"x"}
    Manifest(path).close()


def test_a_folder_that_others_may_look_into_has_one_engine_all_the_same(path):
    made = Manifest(path, alone=False)
    with pytest.raises(InputError, match=r"one engine at a time; got .*, which is taken\. Stop the other one"):
        Manifest(path, alone=False)
    made.close()
    Manifest(path, alone=False).close()


def test_what_is_locked_is_read_from_a_copy(path):
    made = Manifest(path)
    made.enter("q", {}, Progress(cursors={"s": 4}))
    # Its owner wants it alone, so nobody else gets in.
    assert set(peek(path).progress) == {"q"}
    made.close()


@pytest.mark.parametrize("text", [None, "something else"])
def test_what_is_no_manifest_cannot_be_looked_into(path, text):
    if text:
        path.write_text(text * 100)
    with pytest.raises(InputError, match="a manifest of an engine"):
        peek(path)


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_the_last_commit_is_seen_of_who_sleeps_in_the_middle_of_one_or_is_dead(path, how):
    program = f"""
import pathlib, time
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Progress
made = Manifest(pathlib.Path({str(path)!r}), alone=False)
made.enter("q", {{}}, Progress(cursors={{"s": 4}}))
with made._db.transaction() as db:
    db.execute("DELETE FROM query")
    print("now", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            process.send_signal(how)
            if how == signal.SIGKILL:
                process.wait()
            assert peek(path).progress == {"q": Progress(cursors={"s": 4})}
            if how == signal.SIGSTOP:
                with pytest.raises(InputError, match="which is taken"):
                    Manifest(path, alone=False)
        finally:
            process.kill()
    made = Manifest(path, alone=False)
    assert made.names() == {"q"}
    made.close()


# Older versions.

FIRST_VERSION = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
INSERT INTO meta VALUES ('version', 1);
CREATE TABLE query (
    name TEXT PRIMARY KEY, definition TEXT, run INTEGER NOT NULL DEFAULT 0,
    closed INTEGER NOT NULL, low INTEGER NOT NULL, receipt TEXT,
    results INTEGER NOT NULL DEFAULT 0, tuples INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO query VALUES ('q', '{"sql": "q"}', 3, 4, 5, '{"part": 3, "rows": 1}', 6, 7, 8);
CREATE TABLE cursor (query TEXT, stream TEXT, position INTEGER, PRIMARY KEY (query, stream)) WITHOUT ROWID;
INSERT INTO cursor VALUES ('q', 's', 9);
CREATE TABLE pane (query TEXT, run INTEGER, starts TEXT, PRIMARY KEY (query, run)) WITHOUT ROWID;
INSERT INTO pane VALUES ('q', 2, '[0, 10]');
PRAGMA application_id = 1212629332;
"""


def test_rates_of_the_third_version_drop_by_chance_as_they_did(path):
    Manifest(path).close()
    db = sqlite3.connect(path)
    db.executescript("""
        DROP TABLE thinned; DROP TABLE letter; ALTER TABLE query DROP COLUMN instance;
        CREATE TABLE thinned (
            owner TEXT, stream TEXT, first INTEGER, percent INTEGER, PRIMARY KEY (owner, stream, first)
        ) WITHOUT ROWID;
        CREATE TABLE letter (class TEXT, stream TEXT, low INTEGER, high INTEGER, percent INTEGER);
        INSERT INTO thinned VALUES ('q', 's', 7, 40);
        INSERT INTO letter VALUES ('boards', 's', 7, 9, 40);
        UPDATE meta SET value = '3' WHERE key = 'version';
    """)
    db.close()
    made = Manifest(path)
    made.enter("q", {}, Progress(cursors={"s": 7}))
    assert made.rates.thinned(["q"]) == {"q": {"s": [(7, Drop(40))]}}
    assert made.rates.shed_before("s", 8) == [("boards", 7, 9, Drop(40))]
    made.close()


def test_a_manifest_of_the_first_version_goes_on_as_one_of_this(path):
    db = sqlite3.connect(path)
    db.executescript(FIRST_VERSION)
    db.close()
    stands = Progress(3, {"s": 9}, 4, 5, {2: (0, 10)}, {"part": 3, "rows": 1}, 6, 7, 8)
    for _ in range(2):
        made = Manifest(path)
        assert made.progress("q") == stands
        assert made.definition("q") == {"sql": "q"}
        cohort = made.cohorts.join("s", 9, ["q"])
        made.commit([], Moved(cohort, 9, Passed(0)))
        made.cohorts.leave(["q"])
        made.close()

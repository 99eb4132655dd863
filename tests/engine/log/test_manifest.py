import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.log.manifest import Manifest, Progress, StoredTrain
from headgate.engine.windows import ENDED, NEVER
from headgate.errors import InputError

TRAIN = StoredTrain(0, 0, 3, 100, 10, 12, 33e-6, 5, 9, NEVER, 9, NEVER, 12)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "manifest.db"


@pytest.fixture
def manifest(path):
    made = Manifest(path)
    made.stream("s", {"schema": "x"})
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
        manifest.append("s", TRAIN, {"at": object()}, late=2, rejected={"odd": 1})
    assert manifest.trains("s") == []
    assert manifest.counted("s") == (0, {})
    manifest.append("s", TRAIN, {"at": 3}, late=2, rejected={"odd": 1})
    with pytest.raises(sqlite3.IntegrityError):
        manifest.append("s", TRAIN, {"at": 6}, late=9, rejected={"odd": 9})
    fresh = again(manifest, path)
    assert fresh.trains("s") == [TRAIN]
    assert fresh.stream("s", {})[1:] == ({"at": 3}, False)
    assert fresh.counted("s") == (2, {"odd": 1})
    fresh.close()


def test_counts_add_up_and_trains_are_given_in_their_order(manifest):
    for seq in (0, 1, 2):
        manifest.append("s", replace(TRAIN, seq=seq, first=3 * seq), None, late=seq, rejected={"odd": 1, "new": seq})
    manifest.append("s", None, {"at": 9}, ended=True)
    assert manifest.counted("s") == (3, {"odd": 3, "new": 3})
    manifest.drop_trains("s", 1)
    assert [train.seq for train in manifest.trains("s")] == [1, 2]
    assert manifest.stream("s", {}) == ({"schema": "x"}, {"at": 9}, True)


def test_a_removed_query_leaves_nothing_and_begins_anew(manifest):
    for name in ("p", "q"):
        begin = manifest.enter(name, {"sql": name}, Progress(cursors={"s": 0}))
        manifest.commit([(name, begin, replace(begin, run=1, cursors={"s": 7}, panes={1: (0, 10)}))])
    manifest.remove("q")
    assert manifest.queries() == {"p": {"sql": "p"}}
    assert manifest.progress("p").panes == {1: (0, 10)}
    assert manifest.enter("q", {}, Progress(cursors={"s": 3})) == Progress(cursors={"s": 3})


def test_a_manifest_of_another_version_is_refused_and_let_go_of(path):
    Manifest(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99'")
    db.close()
    with pytest.raises(InputError, match="format of version 1; got version 99") as refused:
        Manifest(path)
    db = sqlite3.connect(path, timeout=0)
    db.execute("UPDATE meta SET value = '1'")
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
    manifest.append("s", TRAIN, None)
    assert manifest.trains("s") == [TRAIN]

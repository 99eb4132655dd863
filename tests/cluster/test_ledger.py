"""The ledger: what is entered is on the disk, with its name, before anybody acts on it."""

import os
from pathlib import Path

import pytest

from headgate.cluster.borders import Checkpoint
from headgate.cluster.instances import Instance, Over
from headgate.cluster.ledger import Ledger
from headgate.engine.log import synced
from headgate.errors import HeadgateError


@pytest.fixture
def synced_paths(monkeypatch):
    """What has been synced, in this order."""
    found = []

    def fsync(descriptor):
        found.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="which file is synced is read from /proc")
@pytest.mark.parametrize(
    ("entry", "folder"),
    [(Instance("q", 1, "a"), "queries/q"), (Over("q", 1), "queries/q"), (Checkpoint(1), "borders")],
)
def test_an_entry_its_name_and_its_folder_are_on_the_disk(tmp_path, synced_paths, entry, folder):
    ledger, place = Ledger(tmp_path), tmp_path / folder
    synced_paths.clear()
    assert ledger.enter(entry)
    of_folder, of_file, of_name = synced_paths
    assert (of_folder, of_file.parent, of_file.suffix, of_name) == (place.parent, place, ".tmp", place)
    assert not ledger.enter(entry)
    assert [file.suffix for file in place.iterdir()] in ([".json"], [".over"])


def test_a_name_is_claimed_by_the_first_and_by_nobody_else(tmp_path):
    one, other, name = tmp_path / "one", tmp_path / "other", tmp_path / "name"
    one.write_text("1")
    other.write_text("2")
    assert synced.claim(one, name)
    assert not synced.claim(other, name)
    assert (name.read_text(), sorted(tmp_path.iterdir())) == ("1", [name])


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("000002.json", "", "it is not whole"),
        ("000002.json", '{"query": "q", "number": 2, "no', "it is not whole"),
        ("000001.over", "{", "it is not whole"),
        ("000001.json", None, "it is not there"),
    ],
)
def test_a_ledger_that_is_damaged_is_not_read_past_that(tmp_path, name, text, why):
    ledger = Ledger(tmp_path)
    for entry in (Instance("p", 1, "a"), Instance("q", 1, "a"), Over("q", 1), Instance("q", 2, "b"), Checkpoint(1)):
        assert ledger.enter(entry)
    assert len(list(ledger.entries())) == 5
    file = tmp_path / "queries" / "q" / name
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    with pytest.raises(HeadgateError, match=f"{name} of the ledger: {why}. Bring it back from a copy"):
        list(Ledger(tmp_path).entries())

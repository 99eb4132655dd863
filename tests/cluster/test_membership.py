"""Who is let in as a node, and what those are told who are not."""

from dataclasses import replace

import pytest

from headgate.cluster.coordinator import Coordinator
from headgate.cluster.instances import Membership, Question, Report
from headgate.cluster.membership import digest
from headgate.cluster.storage import storage
from headgate.engine.pipeline import load
from headgate.errors import InputError

PIPELINE = """
streams: {s: {source: {replay: {path: here/s.csv, speed: 2}}}}
classes: {gold: {priority: 2}}
queries: {q: {sql: SELECT * FROM s, class: gold, sink: {parquet: here/out}}}
"""


def coordinator(folder, *, apart=False):
    begins = {} if apart else None
    return Coordinator(folder, [Question("q", "gold", ("s",))], apart=begins, pipeline="as agreed")


def digested(folder, text):
    for name in ("here", "there"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "s.csv").write_text("a\n1\n")
    file = folder / "pipeline.yaml"
    file.write_text(text)
    return digest(load(file))


def test_a_node_with_the_folder_of_its_coordinator_is_let_in(tmp_path):
    made = coordinator(tmp_path)
    assert storage(tmp_path, "", apart=False).cluster == made.member.cluster
    made.admit(Report("a", "1", member=made.member))
    assert coordinator(tmp_path).member == made.member


@pytest.mark.parametrize("others", [True, False])
def test_a_node_with_another_folder_is_told_which(tmp_path, others):
    made, there = coordinator(tmp_path / "here"), tmp_path / "there"
    there.mkdir()
    if others:
        coordinator(there)
    member = Membership(storage(there, "", apart=False).cluster, "as agreed")
    with pytest.raises(InputError, match=f"Start it with --folder {tmp_path / 'here'}"):
        made.report(Report("a", "1", member=member), None, 0.0)


def test_apart_the_folder_of_a_node_is_of_the_cluster_that_it_joined_first(tmp_path):
    made, other = (coordinator(tmp_path / name, apart=True) for name in ("one", "other"))
    own = tmp_path / "own"
    own.mkdir()
    kept = storage(own, made.member.cluster, apart=True)
    report = Report("a", "1", member=Membership(kept.cluster, "as agreed"), home=kept.home)
    made.admit(report)
    again = storage(own, other.member.cluster, apart=True)
    assert again.cluster == made.member.cluster
    with pytest.raises(InputError, match=r"that of another. Give it another --folder"):
        other.admit(report)


def test_a_node_with_another_pipeline_is_refused(tmp_path):
    made = coordinator(tmp_path)
    report = Report("a", "1", member=replace(made.member, pipeline="another"))
    with pytest.raises(InputError, match=r"node 'a' with others. Start it with the same pipeline file"):
        made.report(report, None, 0.0)


@pytest.mark.parametrize("name", ["../../etc", "", "a/b", ".hidden", "a b"])
def test_a_node_whose_name_is_no_folder_is_refused(tmp_path, name):
    made = coordinator(tmp_path)
    with pytest.raises(InputError, match="a node has a plain name"):
        made.report(Report(name, "1", member=made.member), None, 0.0)
    assert not made.told().nodes


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("here/s.csv", "there/s.csv", True),
        ("{parquet: here/out}", "{jsonl: out.jsonl}", True),
        ("SELECT * FROM s", "SELECT  1 FROM s", False),
        ("speed: 2", "speed: 3", False),
        ("priority: 2", "priority: 3", False),
        ("{parquet: here/out}", "{stream: r}", False),
    ],
)
def test_pipelines_are_the_same_if_streams_queries_and_classes_are_wherever_files_are(tmp_path, old, new, same):
    assert old in PIPELINE
    assert (digested(tmp_path, PIPELINE) == digested(tmp_path, PIPELINE.replace(old, new))) == same

"""Nodes that share no storage: which pipelines they can run, what is refused, and how their results are read."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.world import Cluster
from headgate.cluster.apart import beginnings
from headgate.cluster.borders import Checkpoint, Marks, Reached
from headgate.cluster.gathered import gathered
from headgate.cluster.instances import Report
from headgate.cluster.ledger import Ledger
from headgate.engine.log.mark import Mark
from headgate.engine.pipeline import load
from headgate.errors import InputError


def loaded(folder, streams):
    file = folder / "pipeline.yaml"
    file.write_text(f"streams: {{{streams}}}\nqueries:\n  q: {{sql: SELECT * FROM s}}\n")
    return load(file)


def test_sources_that_give_the_same_to_all_begin_at_a_time_that_all_are_told(tmp_path):
    begins = beginnings(loaded(tmp_path, "s: {source: {ticks: {seed: 1}}}, t: {source: {nexmark: bids}}"))
    assert {name: begin(7.0) for name, begin in begins.items()} == {"s": {"origin": 7.0}}


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        ("{source: {socket: {port: 9, schema: 'a INT'}}}", "a port that one of them listens on"),
        ("{source: {folder: {path: ., schema: 'a INT'}}}", "the order in which it happens to find them"),
        ("{source: {ticks: {seed: 1}}, event_time: ts, idle: 5s}", "goes on with the clock"),
    ],
)
def test_streams_that_nodes_would_not_read_alike_are_refused_with_the_reason_and_the_place(tmp_path, stream, why):
    with pytest.raises(InputError, match=why) as refused:
        beginnings(loaded(tmp_path, f"s: {stream}"))
    assert "'s'" in str(refused.value)
    assert "pipeline.yaml" in str(refused.value)


def test_results_that_are_a_stream_are_refused(tmp_path):
    file = tmp_path / "pipeline.yaml"
    file.write_text("streams: {s: {source: ticks}}\nqueries:\n  q: {sql: SELECT * FROM s, sink: {stream: t}}\n")
    with pytest.raises(InputError, match="a stream of results, 't'"):
        beginnings(load(file))


def test_a_stream_that_no_query_reads_may_be_any(tmp_path):
    streams = "s: {source: {ticks: {seed: 1}}}, other: {source: {socket: {port: 9, schema: 'a INT'}}}"
    assert set(beginnings(loaded(tmp_path, streams))) == {"s"}


# Who is let in.


def test_a_node_that_comes_with_another_folder_is_let_in_once_others_have_its_queries(tmp_path):
    cluster = Cluster(tmp_path, [True], 2, apart=True)
    cluster.calm()
    (name,) = [each["node"] for each in cluster.coordinator.told().queries]
    stranger = Report(name, "another life", member=cluster.coordinator.member, home="another folder")
    cluster.kill(name)
    with pytest.raises(InputError, match="keeps the state folder"):
        cluster.coordinator.report(stranger, None, 0.0)
    cluster.lapse(8)
    cluster.coordinator.report(stranger, None, 0.0)
    assert name in {each["name"] for each in cluster.coordinator.told().nodes}


@pytest.mark.parametrize("apart", [True, False])
def test_a_node_of_the_other_kind_is_refused(tmp_path, apart):
    cluster = Cluster(tmp_path, [True], 1, apart=apart)
    with pytest.raises(InputError, match="nodes of this coordinator"):
        cluster.coordinator.report(Report("n7", "life", home="" if apart else "folder of n7"), None, 0.0)


# What a lost node leaves.


def test_what_a_lost_node_gave_out_behind_its_last_report_does_not_count_and_comes_again(tmp_path):
    cluster = Cluster(tmp_path, [True], 2, apart=True)
    cluster.calm()
    (lost,) = [each["node"] for each in cluster.coordinator.told().queries]
    cluster.shared.head = 10
    cluster.work_on(lost, 5)
    cluster.work_on(lost, 2)
    cluster.lapse(3)
    assert cluster.gathered("q0") == list(range(5))
    cluster.work_on(lost, 5)
    cluster.work_on(lost, 2)
    cluster.kill(lost)
    cluster.calm()
    assert cluster.shared.parts["q0", 1] == list(range(10))
    assert cluster.counted() == {("q0", 1): 5, ("q0", 2): 5}
    assert cluster.gathered("q0") == list(range(10))
    cluster.join(lost)
    cluster.talk(lost)
    assert cluster.coordinator.report(cluster.nodes[lost].report(), None, 0.0)[2]["counted"] == {"q0": (1, 5)}


def test_a_node_that_is_cut_off_goes_on_and_is_told_what_counts_when_it_returns(tmp_path, caplog):
    cluster = Cluster(tmp_path, [True], 2, apart=True)
    cluster.calm()
    (name,) = [each["node"] for each in cluster.coordinator.told().queries]
    cluster.shared.head = 4
    cluster.cut.add(name)
    cluster.lapse(8)
    cluster.work_on(name, 5)
    cluster.work_on(name, 2)
    assert cluster.nodes[name].held == {"q0": "ACTIVE"}
    assert cluster.shared.parts["q0", 1] == list(range(4))
    cluster.calm()
    assert cluster.nodes[name].held == {}
    assert "of instance 1 here, the first 0 results count" in caplog.text
    assert cluster.counted() == {("q0", 1): 0, ("q0", 2): 4}


def test_a_report_that_is_overtaken_by_a_later_one_is_not_taken_for_news(tmp_path):
    cluster = Cluster(tmp_path, [True], 1, apart=True)
    cluster.calm()
    early = cluster.nodes["n0"].report()
    cluster.shared.head = 3
    cluster.calm()
    cluster.coordinator.report(early, None, 0.0)
    cluster.kill("n0")
    cluster.join("n1")
    cluster.calm()
    assert cluster.counted() == {("q0", 1): 3, ("q0", 2): 0}


def test_so_it_is_with_one_that_a_later_coordinator_is_the_first_to_hear(tmp_path):
    cluster = Cluster(tmp_path, [True], 1, apart=True)
    cluster.calm()
    early = cluster.nodes["n0"].report()
    cluster.shared.head = 3
    cluster.calm()
    cluster.restart()
    cluster.coordinator.report(early, None, 0.0)
    cluster.now += 3.0
    cluster.coordinator.look()
    assert cluster.counted() == {("q0", 1): 3}


# What the ledger keeps.


def test_a_coordinator_that_hung_cannot_put_older_borders_in_the_place_of_newer_ones(tmp_path):
    ledger = Ledger(tmp_path)
    border = Reached({"closed": 1, "positions": {}, "low": 0}, 3, {"s": 4})
    for number in range(1, 6):
        found = Checkpoint(number, {"q": {1: border}}, {"s": 4}, {"s": Mark(number, {"origin": 1.5})}, {"a": "x"})
        assert ledger.enter(found)
    assert not ledger.enter(Checkpoint(5))
    assert not ledger.enter(Checkpoint(2))
    assert list(Ledger(tmp_path).entries()) == [found]


def test_of_many_marks_one_is_kept_that_is_not_behind_what_is_needed():
    marks = Marks()
    marks.note("s", Mark(5, {}))
    assert marks.base("s", 9) is None
    marks.begin("s", Mark(0, {}))
    for position in range(10, 5000, 10):
        marks.note("s", Mark(position, {}))
    assert marks.newest("s") == 4990
    assert marks.base("s", 4990).position == 4990
    assert 1000 <= marks.base("s", 2000).position <= 2000
    marks.begin("s", marks.base("s", 2000))
    assert marks.base("s", 0).position >= 1000


# Reading.


def part(folder, name, values):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"v": values}), folder / name)


def test_results_are_read_from_all_places_as_far_as_they_count(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    part(a, "part-000001-000000000001.parquet", [1, 2])
    part(a, "part-000001-000000000009.parquet", [3, 99])
    part(b, "part-000002-000000000001.parquet", [4])
    part(b, "part-000003-000000000001.parquet", [98])
    instances = [{"number": n, "node": "a", "results": count} for n, count in ((1, 3), (2, 1), (3, 0))]
    assert gathered("q", instances, [a, b, a])["v"].to_pylist() == [1, 2, 3, 4]
    with pytest.raises(InputError, match="0 of 1 of instance 2"):
        gathered("q", instances, [a])


def test_results_in_files_of_json_lines_are_read_as_far_as_they_count(tmp_path):
    for number, values in ((1, [1, 2, 99]), (2, [3])):
        lines = "".join(json.dumps({"v": value}) + "\n" for value in values)
        (tmp_path / f"out.{number:06d}.jsonl").write_text(lines)
    instances = [{"number": n, "node": "a", "results": count} for n, count in ((1, 2), (2, 1))]
    assert gathered("q", instances, [tmp_path / "out.jsonl"])["v"].to_pylist() == [1, 2, 3]

"""The commands of a cluster: what they print, and what they say to those who ask for something else."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner

from engine.live import until
from headgate.cli import app
from headgate.cluster import command, mounts, start
from headgate.cluster.coordinator import Coordinator
from headgate.cluster.instances import Failure, Question, Report, Running
from headgate.cluster.messages import report as reported
from headgate.cluster.server import CoordinatorServer
from headgate.cluster.waiting import LostSparkError
from headgate.errors import HeadgateError

TOKEN = "a-token"
PIPELINE = """
streams: {s: {source: {ticks: {seed: 1}}}}
queries: {q: {sql: SELECT * FROM s, sink: {parquet: out}}}
"""


@pytest.fixture(autouse=True)
def printed(monkeypatch):
    """What is logged goes where it goes anyway."""
    monkeypatch.setattr(command, "_logged", lambda: Console(stderr=True, width=500))


@pytest.fixture
def pipeline(tmp_path):
    file = tmp_path / "pipeline.yaml"
    file.write_text(PIPELINE)
    return file


class World:
    """A coordinator on a port, and what its nodes report."""

    def __init__(self, folder, *, apart=False):
        self.now = 0.0
        begins = {"s": lambda at: {"origin": at}} if apart else None
        self.coordinator = Coordinator(folder, [Question("q", "gold", ("s",))], clock=lambda: self.now, apart=begins)
        self.server = CoordinatorServer(self.coordinator, token=TOKEN)
        self.home = "x" if apart else ""

    def report(self, name, *, runs=None, **more):
        running = {"q": Running(runs, "ACTIVE")} if runs else {}
        made = Report(name, "1", running, member=self.coordinator.member, home=self.home and name, **more)
        self.coordinator.report(made, None, 0.0)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "cluster")
    with made.server:
        yield made


def ran(*given, token=TOKEN):
    environment = {"HEADGATE_TOKEN": token, "COLUMNS": "200"}
    return CliRunner().invoke(app, [str(each) for each in given], env=environment)


def asked(world, *given, token=TOKEN):
    return ran(*given, "--at", world.server.address, token=token)


def test_nodes_shows_who_is_there_who_is_gone_what_is_wrong_and_what_has_moved(world):
    world.report("a", runs=1)
    world.report("b")
    world.report("c")
    world.coordinator.move("q", "b", "there is room")
    world.coordinator.move("q", "a")
    for now in (2.0, 4.0):
        world.now = now
        world.coordinator.look()
    world.report("a", runs=1, dry={"s": Failure("no such file [x]")}, down={"q": "no room"}, feeding=("s",))
    world.report("b", failed={"q": Failure("it cannot")})
    world.now = 6.0
    world.coordinator.look()
    found = [" ".join(line.split()) for line in asked(world, "nodes").output.splitlines()]
    assert found == [
        "node status queries feeds dashboard why",
        "a there 1 s stream s: no such file [x]; query q: no room",
        "b there 0 query q: it cannot",
        "c gone 0 nothing heard for 5 s, 0 s ago",
        "query class node status moves to why",
        "q gold a FAILED no room",
        "moved query from to because what became of it",
        "0 s ago q a b there is room it stays on a, as asked for",
    ]
    told = json.loads(asked(world, "nodes", "--json").output)
    assert {"nodes", "queries", "moves", "gone", "apart", "instances"} <= set(told)


def test_a_move_is_asked_for_and_called_off(world):
    world.report("a", runs=1)
    world.report("b")
    assert asked(world, "migrate", "q", "--to", "b", "--no-wait").exit_code == 0
    assert world.coordinator.told().queries[0]["coming"] == "b"
    result = asked(world, "migrate", "q", "--to", "a")
    assert (result.exit_code, "q runs on a" in result.output) == (0, True)
    assert world.coordinator.told().queries[0]["coming"] is None


@contextmanager
def once_it_leaves(world, happens):
    """Have something happen as soon as the coordinator has been told to move the query to b."""

    def wait():
        until(lambda: world.coordinator.told().queries[0]["coming"] == "b")
        happens()

    with ThreadPoolExecutor() as pool:
        soon = pool.submit(wait)
        yield
        soon.result()


def test_a_drained_node_gives_its_queries_away_and_the_command_ends_once_it_has_none(world):
    world.report("a", runs=1)
    world.report("b")

    def lose():
        world.coordinator.look()
        world.coordinator.leave("a", "1")
        world.report("b", runs=2)

    with once_it_leaves(world, lose):
        result = asked(world, "drain", "a")
    assert (result.exit_code, "a has no queries after" in result.output) == (0, True)
    assert world.coordinator.told().moves[0]["why"] == "the node that it is on is drained"


def test_a_move_that_is_called_off_while_one_waits_for_it_ends_with_the_reason(world):
    world.report("a", runs=1)
    world.report("b")
    with once_it_leaves(world, lambda: world.report("b", failed={"q": Failure("no such table", 5)})):
        result = asked(world, "migrate", "q", "--to", "b")
    assert result.exit_code == 2
    assert "q does not move to b: no such table" in result.output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("migrate", "q", "--to", "x"), "a node that is there; got 'x'. There are: a."),
        (("migrate", "x", "--to", "a"), "a query of the pipeline; got 'x'. There are: q."),
        (("migrate", "q", "--to", "a"), "which is on 'a'"),
        (("gather", "q", "out", "--into", "x"), "nodes that share a folder write into the same place"),
        (("nodes", "--at", "https://x"), "a coordinator has an address"),
        (("nodes", "--at", "http://127.0.0.1:1"), "Start headgate coordinator, or say with --at where it is."),
        (("drain", "x"), "a node that is there; got 'x'"),
        (("drain", "a"), "Start another node first"),
        (("migrate", "q"), "Missing option"),
        (("gather", "q", "--into", "x"), "Missing argument"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(world, given, said):
    world.report("a", runs=1)
    result = ran(*given) if "--at" in given else asked(world, *given)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("given", [("nodes",), ("migrate", "q", "--to", "a"), ("gather", "q", "o", "--into", "x")])
def test_who_has_no_token_or_another_one_is_told_so(world, given):
    assert "the token is not that of this coordinator" in asked(world, *given, token="another").output
    assert "a coordinator is asked with its token; got none" in asked(world, *given, token=None).output


@pytest.mark.parametrize("body", ["{}", "[]", "null", '{"queries": 3}', "hello", '{"serial": "x", "nodes": []}'])
@pytest.mark.parametrize("given", [("nodes",), ("migrate", "q", "--to", "a"), ("gather", "q", "o", "--into", "x")])
def test_a_server_that_is_no_coordinator_is_called_so(body, given):
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *given):
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            result = ran(*given, "--at", f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()
    assert result.exit_code == 2
    assert "coordinator" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--patience", "0s"), "--patience"),
        (("--port", "99999"), "--port"),
        (("--nodes", "0"), "--nodes"),
        (("--token", "a b"), "a token is letters"),
        (("--host", "192.0.2.1"), "a server has an address"),
        (("--folder", "pipeline.yaml"), "a cluster has a folder that can be written to"),
        (("--folder", "/proc/cluster"), "a cluster has a folder that can be written to"),
    ],
)
def test_a_coordinator_that_cannot_begin_says_why(pipeline, monkeypatch, given, said):
    monkeypatch.chdir(pipeline.parent)
    result = ran("coordinator", pipeline, *given)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_coordinator_says_where_it_is_and_its_token_if_it_was_given_none(pipeline, monkeypatch):
    monkeypatch.setattr(command, "_until_told", lambda told: None)
    result = ran("coordinator", pipeline, "--port", free(), token=None)
    assert result.exit_code == 0
    assert "coordinator of 1 queries at http://127.0.0.1:" in result.output
    assert "nodes need its token: HEADGATE_TOKEN=" in result.output


def test_a_folder_that_other_machines_have_too_is_warned_of(pipeline, monkeypatch):
    monkeypatch.setattr(command, "_until_told", lambda told: None)
    monkeypatch.setattr(mounts, "between_machines", lambda folder: "nfs4")
    assert "is on nfs4: nodes that share" in ran("coordinator", pipeline, "--port", free()).output
    assert "is on nfs4" not in ran("coordinator", pipeline, "--apart", "--port", free()).output


def free():
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--name", "../x"), "a node has a plain name; got '../x'"),
        (("--name", "a", "--at", "nowhere:x"), "a coordinator has an address"),
        (("--name", "a", "--folder", "elsewhere"), "with one of none. Start it with --folder"),
    ],
)
def test_a_node_that_may_not_join_is_told_so_before_it_starts_spark(world, pipeline, monkeypatch, given, said):
    monkeypatch.chdir(pipeline.parent)
    monkeypatch.setattr(start, "engine_of", lambda *given: pytest.fail("it was started"))
    at = () if "--at" in given else ("--at", world.server.address)
    result = ran("node", pipeline, *given, *at)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


@pytest.fixture
def apart(tmp_path):
    made = World(tmp_path / "cluster", apart=True)
    with made.server:
        made.report("a")
        border = {"at": {"closed": 3, "positions": {}}, "results": 2, "needed": {"s": 0}}
        running = {"q": {"number": 1, "status": "ACTIVE", "reached": border}}
        text = {"node": "a", "life": "1", "running": running, "home": "a", "serial": 2}
        text["member"] = {"cluster": made.coordinator.member.cluster}
        made.coordinator.report(reported(json.dumps(text).encode()), None, 0.0)
        made.now = 3.0
        made.coordinator.look()
        yield made


def part(folder):
    folder.mkdir()
    pq.write_table(pa.table({"v": [1, 2, 3]}), folder / "part-000001-000000000001.parquet")
    return folder


def test_results_that_count_are_gathered_into_a_file(apart, tmp_path):
    out = part(tmp_path / "out")
    result = asked(apart, "gather", "q", out, "--into", tmp_path / "q.parquet")
    assert (result.exit_code, "2 results of q" in result.output) == (0, True)
    assert pq.read_table(tmp_path / "q.parquet")["v"].to_pylist() == [1, 2]


def test_what_cannot_be_gathered_is_said_in_one_line(apart, tmp_path):
    out = part(tmp_path / "out")
    for given, said in (
        (("x", out, "--into", tmp_path / "q"), "a query of nodes that are apart; got 'x'"),
        (("q", tmp_path, "--into", tmp_path / "q"), "0 of 2 of instance 1"),
        (("q", out, "--into", tmp_path / "no" / "q"), "results are written into a file"),
    ):
        result = asked(apart, "gather", *given)
        assert (result.exit_code, said in " ".join(result.output.split())) == (2, True), result.output
    (file,) = out.iterdir()
    file.write_bytes(file.read_bytes()[:50])
    result = asked(apart, "gather", "q", out, "--into", tmp_path / "q")
    assert (result.exit_code, "results are in whole files" in " ".join(result.output.split())) == (2, True)


def test_a_full_disk_is_said_to_whoever_asks_for_something(world, monkeypatch):
    world.report("a", runs=1)
    world.report("b")
    monkeypatch.setattr("os.fsync", no_room)
    world.coordinator.move("q", "b")
    leaves = {"q": Running(1, "STOP_PREPARING", boundary={"closed": 4, "positions": {}})}
    report = Report("a", "1", leaves, member=world.coordinator.member)
    with pytest.raises(HeadgateError, match=r"No space left on device. Make room"):
        world.coordinator.report(report, None, 0.0)
    assert asked(world, "nodes").exit_code == 0


def no_room(descriptor):
    raise OSError(28, "No space left on device")


class NoEngine:
    """The work of a node without an engine: its Spark has ended."""

    home, waiting, address = "", False, None

    def __init__(self, member):
        self.member = member

    def __getattr__(self, name):
        return lambda *given: {}

    def feeding(self):
        return ()

    def check(self):
        raise LostSparkError("the Spark of this node has ended")


def test_a_node_whose_spark_has_ended_ends_with_an_error(world, pipeline, monkeypatch):
    class EndedError(Exception):
        pass

    def end(code):
        raise EndedError(code)

    monkeypatch.setattr("os._exit", end)
    monkeypatch.setattr(start, "engine_of", lambda loaded, kept, name, member: NoEngine(member))
    monkeypatch.setattr("headgate.cluster.membership.digest", lambda loaded: "")
    folder = pipeline.parent / "cluster"
    given = ("node", pipeline, "--name", "a", "--folder", folder, "--no-ui", "--at", world.server.address)
    result = ran(*given)
    assert isinstance(result.exception, EndedError)
    assert result.exception.args == (1,)
    assert "the Spark of this node has ended; others take over" in result.output
    assert [each["why"] for each in world.coordinator.told().gone] == ["the Spark of this node has ended"]

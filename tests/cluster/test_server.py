"""The coordinator on a port: who is answered, and what is said to those who ask for something else."""

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest

from headgate.cluster.client import Client, UnreachableError
from headgate.cluster.coordinator import Coordinator
from headgate.cluster.instances import Question, Report, Running, Wanted
from headgate.cluster.ledger import Ledger
from headgate.cluster.messages import written
from headgate.cluster.node import Node
from headgate.cluster.server import CoordinatorServer
from headgate.errors import HeadgateError, InputError
from headgate.web.guard import TOKEN

SECRET = "a secret"
PATIENCE = 120


def serving(folder):
    # However slow the tests are, a node that has reported is there.
    made = Coordinator(folder, [Question("q", "gold", ("ticks",))], patience=3600.0)
    return CoordinatorServer(made, token=SECRET)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("cluster")) as server:
        yield server


def said(server, *given):
    """What a node of the cluster reports."""
    return Report(*given, member=server.coordinator.member)


def asked(server, method, path, body=b"", token=SECRET):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request(method, path, body, {TOKEN: token})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def test_a_node_reports_and_hears_what_is_wanted(server):
    client = Client(server.address, SECRET)
    _, version, wanted = client.report(said(server, "a", "life"))
    assert wanted.queries["q"].instance.node == "a"
    assert client.report(said(server, "a", "life"), version)[1] == version
    assert "a" in [each["name"] for each in client.status()["nodes"]]
    client.close()


def test_a_client_that_gave_up_waiting_has_moved_its_query_all_the_same(server):
    client = Client(server.address, SECRET)
    client.report(said(server, "a", "1", {"q": Running(1, "ACTIVE")}))
    with pytest.raises(HeadgateError, match="a node that is there; got 'b'"):
        client.migrate("q", "b")
    client.report(said(server, "b", "1"))
    with pytest.raises(HeadgateError, match="q does not run on b after 0"):
        client.migrate("q", "b", longest=0)
    client.report(
        said(server, "a", "1", {"q": Running(1, "STOP_PREPARING", boundary={"closed": 4, "positions": {}})})
    )
    client.report(said(server, "b", "1", {"q": Running(2, "ACTIVE")}))
    (found,) = client.status()["queries"]
    assert (found["node"], found["status"]) == ("b", "ACTIVE")
    with pytest.raises(HeadgateError, match="which is on 'b'"):
        client.migrate("q", "b")
    client.close()


@pytest.mark.parametrize(("method", "path"), [("POST", "/report"), ("POST", "/move"), ("GET", "/status")])
def test_nobody_is_answered_without_the_token(server, method, path):
    for token in ("", "another", SECRET[:-1]):
        status, answer = asked(server, method, path, token=token)
        assert status == 403
        assert answer["error"].startswith("the token is not that of this coordinator")


@pytest.mark.parametrize("host", ["coordinator.example", "coordinator.example:4060", "10.1.2.3", "[::1]:9"])
def test_nodes_ask_by_whatever_name_they_know_the_coordinator(server, host):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", "/status", headers={TOKEN: SECRET, "Host": host})
    assert connection.getresponse().status == 200
    connection.close()


def test_a_coordinator_on_all_addresses_says_one_by_which_it_can_be_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "rack-7")
    server = CoordinatorServer(Coordinator(tmp_path, []), "0.0.0.0", token=SECRET)
    assert server.address == f"http://rack-7:{server.port}"
    server.close()


def test_what_is_sent_without_the_token_is_not_read(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        head = "POST /report HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
        connection.sendall(head.encode())
        # The answer is there before a byte of what was announced.
        assert b" 403 " in connection.recv(100)


def test_a_message_that_is_too_long_is_refused(server, monkeypatch):
    monkeypatch.setattr("headgate.cluster.server._LARGEST", 100)
    status, answer = asked(server, "POST", "/report", b" " * 101)
    assert status == 400
    assert "at most 100 bytes" in answer["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"node": 5, "life": ""}', b"[" * 5000])
@pytest.mark.parametrize("path", ["/report", "/move"])
def test_what_is_no_message_is_refused_with_the_reason(server, path, body):
    status, answer = asked(server, "POST", path, body)
    assert status == 400
    assert "; got " in answer["error"]


def test_fields_that_are_not_known_are_left_out(server):
    body = {**written(said(server, "a", "1")), "colour": "blue"}
    assert asked(server, "POST", "/report?wait=long", json.dumps(body))[0] == 200


def test_what_is_not_served_is_said_in_json(server):
    assert asked(server, "GET", "/nothing")[0] == 404
    status, answer = asked(server, "GET", "/move")
    assert (status, "not to GET /move" in answer["error"]) == (405, True)


def test_one_who_leaves_in_the_middle_of_a_message_does_no_harm(tmp_path, caplog):
    with serving(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            head = f"POST /report HTTP/1.1\r\nHost: localhost\r\n{TOKEN}: {SECRET}\r\nContent-Length: 9\r\n\r\n{{"
            connection.sendall(head.encode())
        assert asked(server, "GET", "/status")[0] == 200
    assert not caplog.records


@pytest.mark.parametrize("address", ["http://127.0.0.1:many", "http://[::1", "https://here:4060", "ftp://x", ""])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InputError, match="a coordinator has an address"):
        Client(address, SECRET)


def test_a_server_that_is_no_coordinator_is_called_so():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = Client(f"127.0.0.1:{listening.getsockname()[1]}", SECRET)
        connection = None

        def answer():
            nonlocal connection
            connection, _ = listening.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

        thread = Thread(target=answer)
        thread.start()
        with pytest.raises(UnreachableError, match="is no coordinator"):
            client.status()
        thread.join()
        connection.close()


def test_nodes_hear_a_coordinator_that_is_started_again_on_a_clock_that_went_back(tmp_path, monkeypatch):
    heard = []
    for now in (2e9, 1e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        monkeypatch.setattr(time, "time_ns", lambda now=now: int(now * 1e9))
        made = Coordinator(tmp_path, [Question("q", "gold", ("ticks",))])
        heard += [made.report(Report("a", "1", member=made.member), None, 0.0)[0] for _ in range(2)]
    assert heard == sorted(set(heard))
    node = Node("a", None, None, tmp_path)
    for serial in heard:
        node.take(serial, f"version {serial}", Wanted(floors={"s": serial[1]}))
        assert node._version == f"version {serial}"
    node.take(heard[1], "overtaken", Wanted())
    assert node._version == f"version {heard[-1]}"


def test_coordinators_that_begin_at_the_same_time_have_numbers_of_their_own(tmp_path):
    ledgers = [Ledger(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda ledger: [ledger.begin() for _ in range(5)], ledgers))
    assert sorted(number for each in numbers for number in each) == list(range(1, 21))

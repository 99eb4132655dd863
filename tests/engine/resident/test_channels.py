"""Both kinds of channel, within this process: what they carry, and whom they let in."""

import contextlib
import pickle
import queue
import socket
import threading
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import flight as arrow_flight

from headgate.engine.resident import flight, unix
from headgate.engine.resident.process import Process

KINDS = ("unix", "flight")
TOKEN = "a" * 64


class Pair:
    """A listener, and what has come to it."""

    def __init__(self, kind):
        self.came = queue.SimpleQueue()
        took = lambda channel, process: self.came.put((channel, process))  # noqa: E731
        if kind == "unix":
            self.listener = unix.UnixListener(TOKEN, took)
        else:
            self.listener = flight.FlightListener(TOKEN, took, "127.0.0.1", "127.0.0.1")
        self.connect = (unix if kind == "unix" else flight).connect

    def both(self):
        there = self.connect(self.listener.address, TOKEN)
        here, process = self.came.get(timeout=10)
        return here, there, process


@pytest.fixture(params=KINDS)
def pair(request):
    made = Pair(request.param)
    yield made
    made.listener.close()


@pytest.fixture
def ends(pair):
    here, there, _ = pair.both()
    yield here, there
    there.close()
    here.close()


def test_the_worker_says_which_process_it_is(pair):
    here, there, process = pair.both()
    assert process == Process.this()
    there.close()
    here.close()


@pytest.mark.parametrize("size", [None, 1, 1000, 5_000_000])
def test_messages_arrive_as_they_were_sent_both_ways(ends, size):
    here, there = ends
    body = None if size is None else pa.py_buffer(bytes(range(256)) * (size // 256 + 1))[:size]
    for sender, receiver in ((here, there), (there, here)):
        # Neither end can hold a large message for the other.
        sending = threading.Thread(target=sender.send, args=({"n": [1, None]}, body))
        sending.start()
        value, got = receiver.receive()
        sending.join()
        assert value == {"n": [1, None]}
        assert got == body


def test_messages_keep_their_order(ends):
    here, there = ends
    for i in range(20):
        there.send(i)
    assert [here.receive(5)[0] for _ in range(20)] == list(range(20))


def test_the_driver_waits_only_as_long_as_it_wants(ends):
    here, there = ends
    for timeout in (0.0, 0.02):
        with pytest.raises(TimeoutError):
            here.receive(timeout)
    there.send("now")
    assert here.receive(5)[0] == "now"


def keep_sending(channel):
    """One message may still go into the network's buffers, or be what the other end hangs up at."""
    for _ in range(100):
        channel.send("anybody?", pa.py_buffer(bytes(1_000_000)))


def test_who_is_left_alone_is_told(pair):
    here, there, _ = pair.both()
    there.close()
    with pytest.raises(ConnectionError):
        here.receive(10)
    with pytest.raises(ConnectionError):
        keep_sending(here)
    here.close()


def test_a_worker_whose_driver_hangs_up_is_told(pair):
    here, there, _ = pair.both()
    here.close()
    with pytest.raises(ConnectionError):
        keep_sending(there)
    there.close()


def refused(pair, token):
    """Whether at once or with the first word: a worker does not get in."""
    with (
        pytest.raises((OSError, arrow_flight.FlightError)),
        closing(pair.connect(pair.listener.address, token)) as end,
    ):
        end.receive()


def test_a_wrong_token_gets_nowhere_and_keeps_nobody_out(pair):
    refused(pair, "b" * 64)
    assert pair.came.empty()
    here, there, _ = pair.both()
    there.send("in")
    assert here.receive(5)[0] == "in"
    there.close()
    here.close()


def test_a_second_worker_is_refused(pair):
    here, there, _ = pair.both()
    refused(pair, TOKEN)
    assert pair.came.empty()
    there.close()
    here.close()


class Bomb:
    """Goes off when it is unpickled."""

    gone_off = False

    def __reduce__(self):
        return setattr, (Bomb, "gone_off", True)


def test_nothing_of_a_stranger_is_unpickled():
    pair = Pair("unix")
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(pair.listener.address)
        said = pickle.dumps(Bomb())
        stranger.sendall(b"b" * 64 + len(said).to_bytes(4, "little") + said)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
    assert not Bomb.gone_off
    pair.listener.close()


def test_the_folder_of_a_socket_is_its_owners_and_does_not_stay():
    pair = Pair("unix")
    folder = Path(pair.listener.address).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    pair.listener.close()
    assert not folder.exists()

"""Lines over real sockets: several clients at once, bad lines, lines too long, and connections that break off."""

import json
import socket
import time
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from engine.source.intake import Live, running, until_taken
from headgate.engine import source
from headgate.engine.source.tcp import LONGEST_LINE
from headgate.errors import InputError

SCHEMA = pa.schema([("who", pa.string()), ("n", pa.int64())])


@contextmanager
def serving(**how):
    made = source.socket(0, schema=SCHEMA, every="20ms", **how)
    assert made.port > 0
    with running(made) as intake:
        yield made, intake


def line(who, n):
    return json.dumps({"who": who, "n": n}).encode() + b"\n"


def test_two_clients_at_once_are_both_heard_in_their_order():
    with serving() as (made, intake):
        began = time.time()
        one, two = (socket.create_connection(("127.0.0.1", made.port)) for _ in range(2))
        with one, two:
            for client, who in ((one, "one"), (two, "two")):
                client.sendall(line(who, 0))
            # Both are heard before either has ended.
            until_taken(intake, 2)
            assert {row["who"] for row in intake.rows.to_pylist()} == {"one", "two"}
            for n in range(1, 500):
                one.sendall(line("one", n))
                two.sendall(line("two", n)[:7])
                two.sendall(line("two", n)[7:])
            until_taken(intake, 1000)
    rows = intake.rows.to_pylist()
    for who in ("one", "two"):
        assert [row["n"] for row in rows if row["who"] == who] == list(range(500))
    arrived = np.concatenate(intake.arrived)
    assert (np.diff(arrived) >= 0).all()
    assert began <= arrived[0]
    assert arrived[-1] <= time.time()
    assert intake.state == {"lines": 1000}


def test_bad_lines_are_refused_with_reason_and_place_and_the_others_taken():
    with serving() as (made, intake), socket.create_connection(("127.0.0.1", made.port)) as client:
        name = ":".join(map(str, client.getsockname()))
        client.sendall(line("a", 1) + b"hello\n\n" + b'{"who":"a"}\n' + line("a", "x") + line("a", 2))
        until_taken(intake, 5)
    assert intake.rows["n"].to_pylist() == [1, 2]
    assert [(row.reason, row.place) for row in intake.rejected] == [
        ("not JSON: Expecting value at character 1", f"{name} line 2"),
        ("column 'n' is missing", f"{name} line 4"),
        ("column 'n' is BIGINT, got \"x\"", f"{name} line 5"),
    ]


def test_a_line_too_long_is_refused_once_and_the_next_is_taken():
    longest = line("a" * (LONGEST_LINE - len(line("", 1)) + 1), 1)
    assert len(longest) == LONGEST_LINE + 1
    with serving() as (made, intake), socket.create_connection(("127.0.0.1", made.port)) as client:
        client.sendall(b"x" * (3 * LONGEST_LINE) + b"\n" + longest + b" " + longest + line("b", 2))
        until_taken(intake, 4)
    assert [row.reason for row in intake.rejected] == [f"longer than {LONGEST_LINE} bytes"] * 2
    assert intake.rows["n"].to_pylist() == [1, 2]


def test_a_line_broken_off_is_refused_and_one_without_an_end_taken():
    with serving() as (made, intake):
        for text in (line("a", 1)[:-5], line("b", 2)[:-1]):
            with socket.create_connection(("127.0.0.1", made.port)) as client:
                client.sendall(text)
        until_taken(intake, 2)
    assert intake.rows.to_pylist() == [{"who": "b", "n": 2}]
    assert [row.reason[:8] for row in intake.rejected] == ["not JSON"]


def test_what_was_received_before_the_stop_is_appended():
    with serving() as (made, intake), socket.create_connection(("127.0.0.1", made.port)) as client:
        client.sendall(line("a", 1))
        until_taken(intake, 1)
        client.sendall(line("a", 2))
        until_taken(intake, 2)
    assert intake.rows.num_rows == 2


def test_a_source_can_run_again_on_its_port():
    made = source.socket(0, schema=SCHEMA)
    port = made.port
    for _ in range(2):
        intake = Live(SCHEMA)
        intake.stopping.set()
        made.run(intake)
        assert made.port == port


def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as other:
        made = source.socket(other.getsockname()[1], schema=SCHEMA)
        with pytest.raises(InputError, match="address is free"):
            made.run(Live(SCHEMA))


@pytest.mark.parametrize("how", [{"port": -1}, {"port": 65536}, {"port": 0, "every": "0ms"}])
def test_what_cannot_be_served_is_refused(how):
    with pytest.raises(InputError):
        source.socket(schema=SCHEMA, **how)


def test_a_column_that_json_cannot_hold_is_refused():
    with pytest.raises(InputError, match="BINARY"):
        source.socket(0, schema=pa.schema([("raw", pa.binary())])).schema(None)

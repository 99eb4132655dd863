"""What if and why, asked on a page: for whoever has the token, one at a time, with the commands' own words."""

import asyncio
import json

import pytest
from starlette.testclient import TestClient

from headgate.errors import InputError
from headgate.monitor.figures import Response
from headgate.record import Arrived, Began, Planned, Ran, Recorder
from headgate.web.guard import TOKEN
from headgate.web.oracle import Oracle
from web.conftest import TOKEN as RIGHT
from web.conftest import Shown

HOST = "http://127.0.0.1:4050"


@pytest.fixture
def state(tmp_path):
    """The folder of a run in which a unit ran twice."""
    recorder = Recorder(tmp_path)
    recorder.append(Began(0.0, "fcfs", {}, 1))
    recorder.append(Planned(0.0, "big", ("big",), "default", {"s": 0}, 0.1, 0.001, 0.5))
    for k in range(2):
        first, at = 100 * k, 10.0 * k
        recorder.append(Arrived("s", first, 100, at, at + 1))
        response = Response(50 * 0.7, 50 * 0.5, 1.2)
        more = {"lane": 0, "results": 50, "response": response, "formula": "W", "terms": {"W": 1.0}}
        recorder.append(Ran(at + 1, "big", {"s": (first, first + 100)}, 100, at + 1, at + 1.2, **more))
    recorder.close()
    return tmp_path


@pytest.fixture
def client(state):
    return TestClient(Shown(state=state).app, base_url=HOST)


def test_a_run_is_predicted_as_the_command_does(client):
    answer = client.post("/api/whatif", data={"rate": "2x"}, headers={TOKEN: RIGHT})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["whatif"]["rate"] == 2
    assert found["predicted"]["rate"] == 1
    assert found["measured"]["classes"].keys() == found["whatif"]["classes"].keys() == {"default"}


def test_a_query_more_is_predicted_and_has_a_name(client):
    asked = {"name": "big: 2", "like": "big", "class": "default"}
    answer = client.post("/api/whatif", data=asked, headers={TOKEN: RIGHT})
    assert answer.status_code == 200, answer.text
    assert answer.json()["whatif"]["added"] == 1
    refused = client.post("/api/whatif", data={"like": "big"}, headers={TOKEN: RIGHT})
    assert refused.status_code == 400
    assert "has a name" in refused.json()["error"]


def test_what_may_be_chosen_is_offered_by_name(client):
    found = client.get("/api/choices").json()
    assert {"fcfs", "bsd", "cqc"} <= set(found["policy"])
    assert {"none", "dilos:aloma"} <= set(found["shed"])
    assert found["class"] == ["alerts", "boards", "reports"]
    assert "board_0001" in found["like"]


def test_a_moment_a_tuple_and_a_query_are_explained_as_the_command_does(client):
    asked = {"at": "1.1s", "tuple": "s:120", "query": "big"}
    answer = client.post("/api/explain", data=asked, headers={TOKEN: RIGHT})
    assert answer.status_code == 200, answer.text
    text = answer.json()["text"]
    assert "lane 1 (jobs) runs big of class default" in text
    assert "because W: W = 1" in text
    assert "tuple 120 of s" in text
    assert "query big of class default" in text


@pytest.mark.parametrize("path", ["/api/whatif", "/api/explain"])
def test_nobody_makes_this_machine_work_without_the_token(client, path):
    assert client.post(path, data={"rate": "2x", "at": "1s"}).status_code == 403
    assert client.get(path).status_code == 405


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"policy": "fastest"}, "fastest"), ({"rate": "much"}, "--rate"), ({"lanes": "--help"}, "lanes")],
)
def test_mistakes_are_told_in_the_words_of_the_command(client, asked, said):
    answer = client.post("/api/whatif", data=asked, headers={TOKEN: RIGHT})
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_a_moment_that_is_not_in_the_run_is_told_in_the_words_of_the_command(client):
    answer = client.post("/api/explain", data={"at": "99s"}, headers={TOKEN: RIGHT})
    assert answer.status_code == 400
    assert "a moment of a run of" in answer.json()["error"]


def test_one_question_at_a_time(state):
    async def both():
        oracle = Oracle(state)
        return await asyncio.gather(oracle.predict({}), oracle.predict({}), return_exceptions=True)

    found = asyncio.run(both())
    assert json.dumps(found[0])
    assert isinstance(found[1], InputError)

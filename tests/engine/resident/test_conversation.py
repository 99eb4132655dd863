from dataclasses import asdict

import pytest

from engine.resident.programs import program
from headgate.engine.kernel.program import Answer
from headgate.engine.reader import JobInput, StreamInput
from headgate.engine.resident import conversation
from headgate.engine.resident.conversation import Conversation, StoppedError
from headgate.engine.resident.messages import Answered, Beat


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


class Scripted:
    """A channel whose other end says what is written; nothing takes as long as one waits for it."""

    def __init__(self, clock, *says):
        self.sent, self._clock, self._says = [], clock, list(says)

    def send(self, message):
        self.sent.append(message)

    def receive(self, timeout):
        if self._says:
            return self._says.pop(0), None
        self._clock.now += timeout
        raise TimeoutError


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(conversation, "time", made)
    return made


def talk(clock, *says, silence=3.0):
    channel = Scripted(clock, *says)
    return Conversation(channel, silence, None), channel


def test_a_worker_that_stays_silent_is_lost(clock):
    spoken, _ = talk(clock)
    with pytest.raises(ConnectionError, match=r"silent for 3\.\d s"):
        spoken.answer(program(1), JobInput(), lambda: False)
    assert 3.0 <= clock.now < 4.0


def for_ever(spoken, clock):
    for _ in range(1000):
        spoken.listen()
        clock.now += 0.25


def test_time_in_which_nobody_listened_is_not_held_against_the_worker(clock):
    spoken, _ = talk(clock)
    clock.now = 100.0
    spoken.listen()
    for _ in range(8):
        clock.now += 0.25
        spoken.listen()
    clock.now += 100.0
    with pytest.raises(ConnectionError):
        for_ever(spoken, clock)
    assert 202.0 < clock.now < 204.0


def test_answers_to_what_was_asked_before_are_passed_over(clock):
    spoken, _ = talk(clock, Beat(), Answered(7, [], {0: "old"}), Answered(1, [], {1: "this"}))
    assert spoken.answer(program(1), JobInput(), lambda: False) == Answer((), {1: "this"})


def test_who_need_not_wait_any_longer_does_not(clock):
    spoken, _ = talk(clock, Beat())
    with pytest.raises(StoppedError):
        spoken.answer(program(1), JobInput(), lambda: clock.now > 1.0)
    assert clock.now < 2.0


def test_a_worker_gets_what_a_job_would_get(clock):
    given = JobInput({"s": StreamInput((("file", 0, 1, 0, 0, 0),), "_arrival")}, window=(4, 2))
    spoken, channel = talk(clock, Answered(1, [], {}))
    spoken.answer(program(1), given, lambda: False)
    assert channel.sent[0].given == asdict(given)

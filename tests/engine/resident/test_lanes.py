"""Lanes on real Spark: what they answer, how they come back, what they leave behind."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from engine.resident.programs import Asked, above, ask, begun, direct, expected, pairs, program, train
from headgate.engine.kernel.program import Remove
from headgate.engine.lanes import JobLane
from headgate.engine.reader import JobInput, StreamInput
from headgate.engine.resident.conversation import ProgramError, StoppedError
from headgate.engine.resident.lane import LaneLostError, ResidentLane
from headgate.shed.droppers import UNSHED

CHANNELS = ("unix", "flight")
PATIENCE = 60.0
"""Seconds for everything that happens in any case; for so long may a worker be silent that is only slow."""
LARGE = 1000

resident = pytest.mark.parametrize("lane", CHANNELS, indirect=True)


def opened(kind, spark, folder, name="r", **options):
    lane = ResidentLane(name, spark, folder, channel=kind, silence=PATIENCE, large=LARGE, **options)
    assert lane.ready(PATIENCE), lane.trouble
    return lane


@pytest.fixture(scope="module", params=[*CHANNELS, "jobs"])
def lane(request, spark, tmp_path_factory):
    """A lane of each kind. A test that takes its worker leaves it with another one."""
    folder = tmp_path_factory.mktemp("lanes")
    made = JobLane("jobs", spark) if request.param == "jobs" else opened(request.param, spark, folder)
    yield made
    made.close()


@pytest.fixture
def given(tmp_path):
    return train(tmp_path)


def worker(lane):
    assert lane.ready(PATIENCE), lane.trouble
    return lane._task and lane._task._process


def gone(process):
    limit = time.monotonic() + PATIENCE
    while Path(f"/proc/{process.pid}").exists() and time.monotonic() < limit:
        time.sleep(0.01)
    return not Path(f"/proc/{process.pid}").exists()


def test_a_lane_answers_as_a_kernel_does(lane, given):
    asked = program(990, 995, 2000)
    found, wanted = ask(lane, asked, given), direct(asked, given)
    assert pairs(found) == pairs(wanted) == expected([990, 995, 2000])
    assert [part.schema for part in found.parts] == [part.schema for part in wanted.parts]


def test_a_program_over_nothing_answers_nothing(lane):
    assert ask(lane, program(1), JobInput()).parts == ()


def test_changes_of_a_program_hold_from_the_next_run_on(lane, given):
    asked = program(998)
    assert pairs(ask(lane, asked, given)) == [(0, 999)]
    asked.changes.append(above(997, first=1))
    assert pairs(ask(lane, asked, given)) == [(0, 999), (1, 998), (1, 999)]
    asked.changes.append(Remove([0]))
    assert pairs(ask(lane, asked, given)) == [(1, 998), (1, 999)]


def test_what_cannot_be_read_fails_with_its_reason_and_the_lane_goes_on(lane, given, tmp_path):
    missing = JobInput({"s": StreamInput(((str(tmp_path / "missing"), 0, 1, 0, 0, UNSHED),), None)})
    asked = program(998)
    with pytest.raises(Exception, match="missing"):
        ask(lane, asked, missing)
    assert pairs(ask(lane, asked, given)) == [(0, 999)]


@resident
def test_a_resident_lane_says_that_it_runs_no_plans(lane):
    with pytest.raises(TypeError, match="no plans"):
        Asked(lane, lambda executor: executor(None, JobInput())).result()


@resident
def test_a_program_is_sent_once_and_then_only_its_changes(lane, given, monkeypatch):
    sent = []
    channel, before = lane._task._channel, worker(lane)
    send = channel.send
    monkeypatch.setattr(channel, "send", lambda message: (sent.append(message), send(message)))
    asked, other = program(997, 998), program(999)
    for _ in range(2):
        ask(lane, asked, given)
    asked.changes.append(above(996, first=2))
    ask(lane, asked, given)
    ask(lane, other, given)
    forgotten = asked.id
    del asked
    ask(lane, other, given)
    assert [len(run.changes) for run in sent] == [1, 0, 1, 1, 0]
    assert forgotten in sent[-1].forget
    assert worker(lane) == before


@resident
def test_large_answers_come_by_files_that_are_gone_when_they_are_read(lane, given):
    found = ask(lane, program(-1, -1), given)
    assert pairs(found) == expected([-1, -1])
    assert sum(part.nbytes for part in found.parts) > LARGE
    assert list(lane._folder.iterdir()) == []


@resident
def test_a_worker_that_dies_idle_is_replaced(lane, given):
    asked = program(998)
    ask(lane, asked, given)
    before = worker(lane)
    os.kill(before.pid, signal.SIGKILL)
    limit = time.monotonic() + PATIENCE
    while worker(lane) == before and time.monotonic() < limit:
        time.sleep(0.01)
    assert pairs(ask(lane, asked, given)) == [(0, 999)]


@resident
def test_a_run_whose_worker_dies_is_lost_and_may_be_tried_again(lane, given):
    asked, before = program(998), worker(lane)
    # It cannot answer before it is killed.
    os.kill(before.pid, signal.SIGSTOP)
    run = begun(lane, asked, given)
    os.kill(before.pid, signal.SIGKILL)
    with pytest.raises(LaneLostError):
        run.result()
    assert pairs(ask(lane, asked, given)) == [(0, 999)]


@resident
def test_a_worker_that_hangs_is_killed_and_its_run_lost(lane, given, monkeypatch):
    asked, before = program(998), worker(lane)
    monkeypatch.setattr(lane._task.talk, "_silence", 1.0)
    os.kill(before.pid, signal.SIGSTOP)
    with pytest.raises(LaneLostError, match="silent"):
        ask(lane, asked, given)
    assert gone(before)
    assert pairs(ask(lane, asked, given)) == [(0, 999)]


@resident
def test_a_run_that_is_cancelled_is_stopped_and_the_lane_goes_on(lane, given):
    asked, before = program(998), worker(lane)
    os.kill(before.pid, signal.SIGSTOP)
    run = begun(lane, asked, given)
    lane.cancel()
    with pytest.raises(StoppedError):
        run.result()
    assert gone(before)
    assert pairs(ask(lane, asked, given)) == [(0, 999)]


@resident
def test_cancelling_an_idle_lane_changes_nothing(lane, given):
    before = worker(lane)
    lane.cancel()
    assert pairs(ask(lane, program(998), given)) == [(0, 999)]
    assert worker(lane) == before


def test_a_worker_may_not_allocate_more_than_its_limit(spark, given, tmp_path):
    lane = opened("unix", spark, tmp_path / "lanes", memory=256 << 20)
    # Each number 100,000 times is more than that.
    with pytest.raises((LaneLostError, ProgramError)):
        ask(lane, program(*[-1] * 100_000), given)
    assert pairs(ask(lane, program(998), given)) == [(0, 999)]
    lane.close()


@pytest.mark.parametrize("kind", CHANNELS)
def test_closing_leaves_no_process_no_thread_and_no_file_also_of_an_earlier_engine(spark, kind, given, tmp_path):
    folder = tmp_path / "lanes"
    left = folder / "closed" / "7-1.arrow"
    left.parent.mkdir(parents=True)
    left.touch()
    lane = opened(kind, spark, folder, name="closed")
    assert not left.exists()
    ask(lane, program(998), given)
    process = worker(lane)
    lane.close()
    assert gone(process)
    limit = time.monotonic() + PATIENCE
    while (
        threads := [t.name for t in threading.enumerate() if "headgate-closed" in t.name]
    ) and time.monotonic() < limit:
        time.sleep(0.01)
    assert threads == []
    assert list(folder.iterdir()) == []
    assert not lane.up


def test_two_lanes_answer_at_a_time_and_a_third_says_that_there_is_no_slot(spark, given, tmp_path):
    slots = spark.sparkContext.defaultParallelism
    lanes = [ResidentLane(f"r-{i}", spark, tmp_path, silence=PATIENCE) for i in range(slots)]
    assert all(lane.ready(PATIENCE) for lane in lanes)
    runs = [
        Asked(lane, lambda executor, i=i: executor.answer(program(990 + i), given)) for i, lane in enumerate(lanes)
    ]
    assert [pairs(run.result()) for run in runs] == [expected([990 + i]) for i in range(slots)]
    extra = ResidentLane("r-extra", spark, tmp_path)
    assert not extra.ready(0.5)
    assert "no free slot" in extra.trouble
    for lane in (*lanes, extra):
        lane.close()

"""Where tuples wait: what is in sight when, who holds a queue up, and when synchronised inputs let go."""

import math
from dataclasses import replace

import numpy as np
import pytest

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.registry import create
from headgate.policy.trains import Train as Bound
from headgate.sim.events import Agenda
from headgate.sim.trains.channels import Channel, Port, Stream
from headgate.sim.trains.cores import Team
from headgate.sim.trains.lines import Line, Lines
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.train import Train
from sim.trains.beds import ONE_CLASS, by_operator, by_query, chain, in_turn, left, network, run


def train(*times):
    return Train(np.array(times, float), np.arange(len(times), dtype=np.uint64))


def reading(channel):
    port = Port(channel)
    channel.readers.append(port)
    return port


def test_tuples_of_a_stream_are_there_when_they_arrive():
    stream = Stream(0, np.array([1.0, 2.0, 2.0, 5.0]))
    assert [stream.upto(now) for now in (0.5, 1.0, 2.0, 4.9, 5.0)] == [0, 1, 3, 3, 4]
    assert stream.next(5.0) == math.inf
    assert Stream(0, np.array([1.0, 2.0])).next(1.0) == 2.0


def test_what_a_run_makes_is_in_sight_when_it_has_ended():
    channel = Channel()
    port = reading(channel)
    channel.write(train(1.0, 2.0))
    assert port.waiting(9.0) == 0
    channel.publish(2.0)
    assert port.waiting(9.0) == 2
    assert port.take(1).times.tolist() == [1.0]
    assert port.oldest(9.0) == 2.0


def test_a_slice_that_was_taken_stays_what_it_was_however_much_comes_later():
    channel = Channel()
    port = reading(channel)
    slices = []
    for k in range(3000):
        channel.write(train(k, k + 0.5))
        channel.publish(k)
        slices.append(port.take(2))
    assert [each.times.tolist() for each in slices] == [[k, k + 0.5] for k in range(3000)]


def test_a_channel_is_full_when_its_slowest_reader_lags_by_the_capacity():
    channel = Channel(capacity=3)
    slow, fast = reading(channel), reading(channel)
    channel.write(train(1, 2, 3))
    channel.publish(3.0)
    fast.take(3)
    assert channel.room == 0
    slow.take(2)
    assert channel.room == 2


def test_a_unit_with_a_full_queue_behind_it_has_nothing_to_run():
    bed = network(chain((0.0, 0.1, 1.0), (100.0, 0.0, 1.0)))
    teams = [
        Team(in_turn(), lambda n: [unit for unit in by_operator()(n) if unit.id == 0]),
        Team(in_turn(), lambda n: [replace(unit, id=0) for unit in by_operator()(n) if unit.id == 1]),
    ]
    report = Simulation(bed, ONE_CLASS, {"s": np.zeros(50)}, teams, Machine(queue=4), until=50.0).run()
    # One train of four is under way in the second operator and four wait before it; the rest waits outside.
    [account] = report.accounts
    assert (account.processed, account.waiting) == (8, 42)
    assert report.unfinished == {"default": 8}


def branches(slow):
    """An operator that a quick and a slow query share."""
    ops = (
        Operator("s", Kind.SOURCE),
        Operator("shared", Kind.MAP, ("s",), Cost(0.0, 0.1)),
        Operator("quick", Kind.MAP, ("shared",), Cost(0.0, 0.1)),
        Operator("slow", Kind.MAP, ("shared",), Cost(0.0, slow)),
    )
    return Network(ops, (Query("quick", "quick"), Query("slow", "slow")))


@pytest.mark.parametrize(("room", "out"), [(math.inf, 30), (5, 6)])
def test_the_slow_reader_of_a_shared_queue_stalls_the_quick_one(room, out):
    machine = Machine(queues={"shared": room})
    policy = create("rr", {"over": "units", "train": Bound(1)})
    report = run(branches(1000.0), np.zeros(30), policy, units=by_operator(), machine=machine, cores=3, until=900.0)
    assert report.departures["quick"].count == out
    assert report.departures["slow"].count == 0


def test_without_bounds_all_queues_take_what_comes():
    report = run(branches(0.5), np.zeros(30), units=by_operator())
    assert report.departures["quick"].count == report.departures["slow"].count == 30


def two_streams(left_times, right_times):
    return [Port(Stream(k, np.array(times, float))) for k, times in enumerate((left_times, right_times))]


def at(now):
    agenda = Agenda()
    agenda.now = now
    return agenda


@pytest.mark.parametrize(
    ("now", "ready"),
    [
        (1.0, [0, 0]),  # nothing has come on the right
        (2.5, [2, 0]),  # the left has come to 2, the right to 2.5
        (3.0, [2, 1]),  # the left has come to its end, the right to 2.5
        (4.0, [3, 2]),  # both have come to their ends
    ],
)
def test_a_synchronised_input_gives_what_the_other_has_come_to(now, ready):
    lines = Lines(at(now), two_streams([1, 2, 3], [2.5, 4]), (), math.inf, [[0, 1]])
    assert lines.pending == sum(ready)
    assert [each.length for each in lines.take(99).trains] == ready


def test_inputs_that_are_not_synchronised_give_what_has_come():
    lines = Lines(at(2.5), two_streams([1, 2, 3], [2.5, 4]), (), math.inf, [])
    assert [each.length for each in lines.take(99).trains] == [2, 1]


def test_of_several_inputs_the_oldest_tuples_are_taken_first():
    lines = Lines(at(9.0), two_streams([1, 4, 5], [2, 3, 6]), (), math.inf, [])
    assert (lines.pending, lines.oldest, lines.arrived(4)) == (6, 1.0, 10.0)
    assert [each.times.tolist() for each in lines.take(4).trains] == [[1, 4], [2, 3]]
    assert (lines.pending, lines.oldest) == (2, 5.0)


def test_a_line_looks_empty_while_its_unit_runs():
    line = Line(at(9.0), two_streams([1, 2], [])[:1], (), math.inf)
    assert (line.pending, line.oldest, line.position, line.arrived(2)) == (2, 1.0, 0, 3.0)
    line.running = True
    assert line.pending == 0


def joined():
    ops = (
        Operator("l", Kind.SOURCE),
        Operator("r", Kind.SOURCE),
        Operator("left", Kind.SELECT, ("l",), Cost(0.0, 0.01)),
        Operator("right", Kind.SELECT, ("r",), Cost(0.0, 0.01)),
        Operator("join", Kind.JOIN, ("left", "right"), Cost(0.0, 0.01)),
    )
    return Network(ops, (Query("q", "join"),))


@pytest.mark.parametrize("units", [by_query(), by_operator()])
def test_a_synchronised_join_waits_for_the_slower_stream(units):
    arrivals = {"l": [1.0, 2.0, 3.0, 20.0], "r": [2.5, 10.0, 20.0]}
    report = run(joined(), arrivals, units=units, machine=Machine(synchronised=True))
    arrived, out = left(report)
    assert arrived == [1.0, 2.0, 2.5, 3.0, 10.0, 20.0, 20.0]
    # The left side is let go by 2.5 and 10 on the right; 2.5 itself by 3 on the left.
    assert [math.floor(time * 10) / 10 for time in out] == [2.5, 2.5, 3.0, 10.0, 20.0, 20.0, 20.0]


@pytest.mark.parametrize("units", [by_query(), by_operator()])
def test_a_join_that_is_not_synchronised_waits_for_nobody(units):
    report = run(joined(), {"l": [1.0, 2.0, 3.0], "r": [2.5, 10.0]}, units=units)
    arrived, out = left(report)
    assert [b - a < 0.1 for a, b in zip(arrived, out, strict=True)] == [True] * 5


def test_a_filter_that_lets_nothing_through_does_not_hold_the_other_side_up():
    ops = (
        Operator("l", Kind.SOURCE),
        Operator("r", Kind.SOURCE),
        Operator("none", Kind.SELECT, ("r",), Cost(0.0, 0.01), 1e-9),
        Operator("behind", Kind.PROJECT, ("none",), Cost(0.0, 0.01)),
        Operator("join", Kind.JOIN, ("l", "behind"), Cost(0.0, 0.01)),
    )
    bed = Network(ops, (Query("q", "join"),))
    report = run(bed, {"l": [1.0, 2.0], "r": [1.5, 5.0]}, units=by_operator(), machine=Machine(synchronised=True))
    assert left(report)[1] == pytest.approx([1.52, 5.02])

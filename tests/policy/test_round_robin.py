"""Round robin: turns of one run, of several, until empty, or of a quantum of time."""

import math

import pytest

from headgate.errors import InputError
from headgate.policy.protocol import Outcome
from headgate.policy.round_robin import RoundRobin
from headgate.policy.trains import Train
from headgate.sim.run import Setting
from helpers import Waiting, chains, join_network, on_events, prepared, unit, units_of, view

UNITS = [unit((1.0, 1.0, 1.0), number=k) for k in range(3)]


def visits(policy, pending, steps, time=1.0):
    """The units that a policy runs one after the other, each run taking a unit of time per tuple."""
    queues = [Waiting([0.0] * n) for n in pending]
    order, now = [], 0.0
    for _ in range(steps):
        decision = policy.choose(view(now, *queues))
        if decision is None:
            break
        [run] = decision.runs
        del queues[run.unit].arrivals[: run.train]
        policy.observe(Outcome(run, now, now + time * run.train))
        now += time * run.train
        order.append(run.unit)
    return order


def test_one_run_a_visit_goes_round():
    assert visits(prepared("rr", UNITS), [3, 3, 3], 9) == [0, 1, 2] * 3


def test_a_unit_without_tuples_is_passed_over():
    policy = prepared("rr", UNITS)
    assert visits(policy, [2, 0, 2], 4) == [0, 2, 0, 2]


def test_several_runs_a_visit():
    assert visits(prepared("rr", UNITS, runs=2), [3, 3, 3], 9) == [0, 0, 1, 1, 2, 2, 0, 1, 2]


def test_a_visit_without_bounds_empties_the_queue():
    assert visits(prepared("rr", UNITS, runs=math.inf), [3, 2, 1], 6) == [0, 0, 0, 1, 1, 2]


def test_a_quantum_lasts_until_the_time_is_used_and_the_last_run_is_finished():
    policy = prepared("rr", UNITS, runs=math.inf, quantum=2.5)
    assert visits(policy, [4, 4, 0], 8) == [0, 0, 0, 1, 1, 1, 0, 1]


def test_whichever_bound_comes_first_ends_the_visit():
    assert visits(prepared("rr", UNITS, runs=2, quantum=99.0), [3, 3, 0], 4) == [0, 0, 1, 1]
    assert visits(prepared("rr", UNITS, runs=9, quantum=1.0), [3, 3, 0], 4) == [0, 1, 0, 1]


def test_what_is_left_of_a_visit_is_lost_when_the_queue_runs_empty():
    assert visits(prepared("rr", UNITS, runs=3), [1, 4, 1], 6) == [0, 1, 1, 1, 2, 1]


def test_what_is_left_of_a_visit_is_lost_when_everything_runs_empty():
    policy = prepared("rr", UNITS, runs=math.inf)
    assert visits(policy, [2, 0, 0], 9) == [0, 0]
    assert visits(policy, [1, 1, 1], 9) == [1, 2, 0]


def test_a_train_is_one_run():
    policy = prepared("rr", UNITS, train=Train(4))
    queues = view(0.0, [0.0] * 9, [0.0] * 2, [])
    assert policy.choose(queues).runs[0] == (0, 4)


def test_a_query_is_one_turn_however_many_units_it_has_and_runs_them_by_rate():
    left, right = units_of(join_network(left=5.0, right=1.0, selectivities=(0.1, 1.0, 1.0)))
    policy = prepared("rr", [left, right])
    assert policy.choose(view(0.0, [0.0], [0.0])).runs[0].unit == right.id


def test_over_units_gives_each_side_of_a_join_a_turn():
    units = units_of(join_network(left=5.0, right=1.0, selectivities=(0.1, 1.0, 1.0)))
    assert visits(prepared("rr", units, over="units"), [2, 2], 4) == [0, 1, 0, 1]
    assert visits(prepared("rr", units, runs=2), [2, 2], 4) == [1, 1, 0, 0]


def test_at_operator_level_a_tuple_goes_all_the_way_before_the_turn_passes_on():
    network = chains([(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], [(10.0, 1.0), (20.0, 1.0)])
    departures, _ = on_events(network, [0.0, 0.0], Setting("rr", {"runs": 1}, "operator"))
    assert departures == [(0, 0, 6.0), (1, 0, 36.0), (0, 1, 42.0), (1, 1, 72.0)]


def test_at_operator_level_a_visit_counts_tuples_and_not_operators():
    network = chains([(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], [(10.0, 1.0), (20.0, 1.0)])
    departures, _ = on_events(network, [0.0, 0.0, 0.0], Setting("rr", {"runs": 2}, "operator"))
    assert [(query, item) for query, item, _ in departures] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]


def test_a_reason_says_whose_turn_it_is_and_how_many_were_passed_over():
    policy = prepared("rr", UNITS)
    decision = policy.choose(view(7.0, [], [], [3.0]))
    assert decision.why.terms == {"turn": 2.0, "skipped": 2.0, "W": 4.0}
    assert decision.work == (0, 0, 3)


def test_preparing_fewer_units_keeps_the_turn_within_them():
    policy = prepared("rr", UNITS)
    assert visits(policy, [1, 1, 1], 3) == [0, 1, 2]
    policy.prepare(UNITS[:2])
    assert visits(policy, [1, 1], 2) == [0, 1]


@pytest.mark.parametrize("name", ["runs", "quantum"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_a_visit_without_length_is_refused(name, value):
    with pytest.raises(InputError) as caught:
        RoundRobin(**{name: value})
    assert caught.value.rule == f"round robin: {name} of a visit is above 0"
    assert caught.value.remedy == "Give a positive number."

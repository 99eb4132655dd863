"""Cases whose answer is known without a simulation."""

import numpy as np
import pytest

from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.policy.classes.mbd import Mbd
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.sim.trains.machine import Machine, Overheads
from headgate.sim.trains.timeline import Timeline
from sim.trains.beds import (
    US,
    aggregate_query,
    by_operator,
    by_query,
    chain,
    join_query,
    left,
    network,
    poisson,
    run,
    select_query,
)

ONE_AT_A_TIME = {"train": Train(1)}


def test_a_deterministic_server_gives_the_wait_of_m_d_1():
    rho, service = 0.6, 0.001
    times = poisson(rho / service, 40_000, seed=3)
    report = run(network(chain((0.0, service, 1.0))), times, create("fcfs", ONE_AT_A_TIME))
    expected = service * (1 + rho / (2 * (1 - rho)))
    assert report.responses().mean == pytest.approx(expected, rel=0.03)


def test_a_train_takes_its_set_up_once_and_leaves_together():
    report = run(network(chain((1.0, 0.5, 1.0))), [0.0, 0.1, 0.2, 5.0])
    # The first tuple goes alone; those that came meanwhile go together.
    assert left(report) == ([0.0, 0.1, 0.2, 5.0], [1.5, 3.5, 3.5, 6.5])


def test_each_operator_of_a_query_is_set_up_in_every_run_whether_it_gets_a_tuple_or_not():
    report = run(network(chain((1.0, 0.0, 1e-9), (2.0, 0.0, 1.0))), [0.0])
    assert (report.ended, report.work) == (3.0, 3.0)
    assert report.responses().results == 0


def test_cycle_of_queries_in_turn_and_the_response_time_that_follows():
    """R = N·S/(1 − ρ) for N queries with set-up S; a tuple waits R/2 and then for its train.

    Arrivals are evenly spaced: with others some cycles are longer and hold more tuples, which the formula leaves out.
    """
    queries, rate = 20, 1875.0
    bed = network(*(aggregate_query(f"q{k}") for k in range(queries)))
    arrivals = {name: (np.arange(6000) + k / queries) / rate for k, name in enumerate(bed.streams)}
    set_up, per_tuple = 4 * 8.25 * US, 24.0 * US
    rho = queries * rate * per_tuple
    cycle = queries * set_up / (1 - rho)
    report = run(bed, arrivals, until=3.0, warm=0.3)
    visits = report.runs / queries
    assert 3.0 / visits == pytest.approx(cycle, rel=0.03)
    train = set_up + cycle * rate * per_tuple
    assert report.responses().mean == pytest.approx(cycle / 2 + train, rel=0.03)


@pytest.mark.parametrize(
    ("query", "a", "b"),
    [(select_query("q"), 24.75, 7 + 0.5 * 11.8), (aggregate_query("q"), 33.0, 24.0), (join_query("q"), 41.25, 16.8)],
)
def test_a_run_of_a_query_costs_what_its_operators_do(query, a, b):
    bed = network(query)
    n = 4000
    # All tuples are there at once, so one run takes them all.
    report = run(bed, np.zeros(n), units=by_query(rate=1000.0))
    read = n * len(bed.streams)
    assert report.runs == 1
    assert report.work == pytest.approx((a + b * read) * US, rel=0.02)


def test_capacity_slows_the_clock_and_not_the_work():
    bed = network(chain((0.0, 0.5, 1.0)))
    report = run(bed, [0.0, 10.0], machine=Machine(capacity=Timeline(((0.0, 1.0), (5.0, 0.25)))))
    assert left(report) == ([0.0, 10.0], [0.5, 12.0])
    assert report.work == 1.0
    assert report.busy == [[2.5]]


def test_overheads_are_charged_where_they_are_due():
    bed = network(chain((0.0, 1.0, 1.0), name="q0", streams="s0"), chain((0.0, 1.0, 1.0), name="q1", streams="s1"))
    overheads = Overheads(decision=0.1, dispatch=0.02, poll=0.003)
    report = run(bed, {"s0": [0.0, 0.0], "s1": [7.0]}, machine=Machine(overheads=overheads))
    # q0 has its turn, and then q1: nothing was looked at in vain.
    assert left(report, "q0")[1] == pytest.approx([2.12, 2.12])
    assert left(report, "q1")[1] == pytest.approx([8.12])
    report = run(bed, {"s0": [0.0, 3.0], "s1": []}, machine=Machine(overheads=overheads))
    # The second turn of q0 comes after a look at q1.
    assert left(report, "q0")[1] == pytest.approx([1.12, 4.123])
    assert report.overhead == pytest.approx(0.243)


def test_priorities_that_are_computed_are_charged_by_the_operation():
    bed = network(*(chain((0.0, 1.0, 1.0), (0.0, k, 1.0), name=f"q{k}", streams=f"s{k}") for k in (1, 2)))
    report = run(bed, [0.0], create("bsd", ONE_AT_A_TIME), machine=Machine(overheads=Overheads(operation=0.1)))
    # First two priorities and their comparison, then one.
    assert report.overhead == pytest.approx(0.4)


def test_noise_varies_each_turn_within_its_bounds():
    bed = network(chain((0.0, 1.0, 1.0)))
    report = run(bed, np.arange(400) * 10.0, machine=Machine(noise=0.1))
    took = np.subtract(*reversed(left(report)))
    assert took.min() >= 0.9
    assert took.max() <= 1.1
    assert took.mean() == pytest.approx(1.0, abs=0.01)
    assert len(np.unique(took)) > 300


def test_a_turn_reads_a_batch_at_most():
    report = run(network(chain((1.0, 0.0, 1.0))), np.zeros(10), machine=Machine(batch=4))
    assert left(report)[1] == [1.0] * 4 + [2.0] * 4 + [3.0] * 2


def test_operators_are_units_of_their_own_at_operator_level():
    bed = network(chain((0.0, 1.0, 1.0), (0.0, 2.0, 1.0)))
    report = run(bed, [0.0, 0.0, 4.0], units=by_operator())
    assert report.runs == 4
    assert left(report)[1] == [6.0, 6.0, 9.0]


def test_a_program_that_is_built_anew_is_paid_by_its_entries():
    bed = network(
        chain((0.0, 1.0, 1.0), cls="a", name="q0", streams="s0"), chain((0.0, 1.0, 1.0), cls="b", name="q1")
    )
    classes = (QueryClass("a", 2), QueryClass("b", 1))
    policy = Mbd(classes, up=True)
    times = np.arange(20.0) * 3
    report = run(
        bed,
        times,
        policy,
        classes=classes,
        changes=[(30.0, lambda: policy.prioritise({"a": 5.0}))],
        machine=Machine(overheads=Overheads(rebuild=Cost(0.1, 0.01))),
    )
    assert report.rebuilds == policy.updates == 1
    assert report.overhead == pytest.approx(0.1 + 0.01 * len(policy.program))

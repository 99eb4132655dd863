"""What holds of every run: nothing is lost, order is kept, chance does not depend on the plan, one core a unit."""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.protocol import Decision, Run, Why
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.simulation import Simulation
from sim.trains.beds import (
    ONE_CLASS,
    aggregate_query,
    by_operator,
    by_query,
    chain,
    in_turn,
    join_query,
    network,
    poisson,
    run,
    select_query,
)

KINDS = {"select": select_query, "aggregate": aggregate_query, "join": join_query}

beds = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4)
machines = st.builds(
    Machine,
    noise=st.sampled_from([0.0, 0.1]),
    batch=st.sampled_from([1, 3, 20.0, float("inf")]),
    queue=st.sampled_from([1, 4, float("inf")]),
    synchronised=st.booleans(),
)


def made(kinds, *, costs=True):
    return network(*(KINDS[kind](f"q{k}", costs=costs) for k, kind in enumerate(kinds)))


def arrivals(bed, rate, n=60, seed=0):
    return {name: poisson(rate, n, seed=seed + k) for k, name in enumerate(bed.streams)}


def simulate(bed, times, machine, *, operators, cores, **more):
    plans = by_operator if operators else by_query
    teams = [Team(in_turn(), plans(part=plan.inner), cores), Team(in_turn(), plans(part=plan.sources))]
    return Simulation(bed, ONE_CLASS, times, teams, machine, **more).run()


def results(report):
    return {name: each.arrived.tolist() for name, each in report.departures.items()}


@given(beds, machines, st.booleans(), st.integers(1, 3), st.sampled_from([2000.0, 30000.0]))
def test_all_that_comes_is_worked_off_and_every_plan_gives_the_same_results(kinds, machine, operators, cores, rate):
    bed = made(kinds)
    times = arrivals(bed, rate)
    report = simulate(bed, times, machine, operators=operators, cores=cores)
    assert all(each.offered == each.processed == 60 for each in report.accounts)
    assert report.unfinished == {"default": 0}
    plain = simulate(bed, times, Machine(), operators=False, cores=1)
    for name, found in results(report).items():
        assert sorted(found) == sorted(results(plain)[name])


@given(beds, machines, st.booleans(), st.integers(1, 3), st.floats(0.0, 0.02))
def test_wherever_it_is_stopped_offered_is_processed_and_waiting(kinds, machine, operators, cores, until):
    bed = made(kinds)
    times = arrivals(bed, 10000.0)
    report = simulate(bed, times, machine, operators=operators, cores=cores, until=until)
    for each in report.accounts:
        assert each.offered == np.count_nonzero(times[each.stream] <= until)
        assert each.offered == each.processed + each.dropped + each.waiting
    for query in (q for q in bed.queries if q.name + ".aggregate" in bed.by_name):
        # An aggregate of selectivity 1 gives a result for each tuple, so what was read is out or still under way.
        out = report.departures[query.name].count
        [read] = [each.processed for each in report.accounts if each.entry == f"{query.name}.s"]
        assert 0 <= read - out <= report.unfinished["default"]


@given(beds, machines, st.booleans(), st.integers(1, 3))
def test_a_query_gives_its_results_in_the_order_of_arrival(kinds, machine, operators, cores):
    bed = made(kinds)
    report = simulate(bed, arrivals(bed, 20000.0), machine, operators=operators, cores=cores)
    for query in bed.queries:
        departures = report.departures[query.name]
        assert np.all(np.diff(departures.left) >= 0)
        assert np.all(departures.left > departures.arrived)
        if f"{query.name}.join" not in bed.by_name or machine.synchronised:
            assert np.all(np.diff(departures.arrived) >= 0)


def test_long_runs_through_synchronised_queues_lose_nothing():
    bed = made(["join", "join"])
    machine = Machine(synchronised=True, batch=7)
    report = simulate(bed, arrivals(bed, 20000.0, n=3000), machine, operators=True, cores=2)
    for query in bed.queries:
        arrived = report.departures[query.name].arrived
        assert np.all(np.diff(arrived) >= 0)
        assert len(arrived) == pytest.approx(3000, rel=0.05)


def test_two_queries_may_read_one_source_that_costs_something():
    ops, one = select_query("one", s=1.0, costs=True)
    more, other = aggregate_query("other")
    more = [replace(more[1], inputs=("one.s",)), *more[2:]]
    bed = network((ops, one), (more, other))
    report = simulate(bed, arrivals(bed, 20000.0), Machine(queue=3), operators=False, cores=2)
    assert [each.entry for each in report.accounts] == ["one.s"]
    assert report.departures["one"].count == report.departures["other"].count == 60


@given(beds, machines, st.booleans())
def test_the_same_seed_gives_the_same_run_to_the_bit(kinds, machine, operators):
    bed = made(kinds)
    times = arrivals(bed, 20000.0)
    one, other = (simulate(bed, times, machine, operators=operators, cores=2, seed=5) for _ in range(2))
    assert one.ended == other.ended
    for name, departures in one.departures.items():
        assert np.array_equal(departures.left, other.departures[name].left)


@settings(max_examples=15)
@given(beds, machines, st.booleans(), st.integers(2, 4))
def test_neither_a_unit_nor_a_core_has_two_runs_at_a_time(kinds, machine, operators, cores):
    bed = made(kinds * 2)
    spans = defaultdict(list)

    def on_run(team, core, outcome):
        spans["core", team, core].append((outcome.started, outcome.finished))
        spans["unit", team, outcome.run.unit].append((outcome.started, outcome.finished))

    simulate(bed, arrivals(bed, 20000.0), machine, operators=operators, cores=cores, on_run=on_run)
    assert len({key for key in spans if key[:2] == ("core", 0)}) > 1 or len(bed.queries) < 3
    for each in spans.values():
        each.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(each))


class Stubborn:
    """A policy that runs its first unit on every core."""

    def prepare(self, units):
        pass

    def choose(self, view):
        return Decision((Run(0, 1),), Why("whatever happens"))

    def observe(self, outcome):
        pass


def test_a_policy_that_runs_a_unit_twice_at_a_time_is_found_out():
    with pytest.raises(InputError, match="one core at a time"):
        run(network(chain((0.0, 1.0, 1.0))), [0.0, 0.0], Stubborn(), cores=2)


def test_a_stream_without_arrivals_is_told():
    with pytest.raises(InputError, match="has arrivals"):
        run(network(chain((0.0, 1.0, 1.0))), {})


def test_an_operator_that_no_team_runs_is_told():
    with pytest.raises(InputError, match="some unit runs it"):
        run(made(["select"]), [0.0], units=by_query())

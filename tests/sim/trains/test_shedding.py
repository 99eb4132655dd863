"""What is dropped, where, and what it costs; with every tuple accounted for."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.dilos import Management
from headgate.model.classes import QueryClass
from headgate.policy.protocol import Why
from headgate.policy.registry import create
from headgate.policy.trains import Train
from headgate.shed.droppers import Random, Semantic, Stratified
from headgate.shed.protocol import Order
from headgate.sim.trains import plan
from headgate.sim.trains.cores import Team
from headgate.sim.trains.machine import Machine
from headgate.sim.trains.simulation import Simulation
from headgate.sim.trains.steering import Control
from sim.trains.beds import by_operator, by_query, chain, in_turn, left, network, poisson, run, select_query

CLASSES = (QueryClass("gold", 3, 1.0), QueryClass("lead", 1, 1.0))
LEAD = (QueryClass("lead", 1, 1.0),)


class Fixed:
    """A load manager that always orders the same drop."""

    def __init__(self, drop, sheds, headroom, target):
        self.drop, self.sheds, self.headroom = drop, sheds, headroom
        self.seen = []

    def cycle(self, seen):
        self.seen.append(seen)
        return Order(self.drop, self.headroom, Why("always the same"))

    def rescale(self, ratio):
        self.headroom *= ratio


def control(drop, sheds="read", classes=LEAD, period=0.5, **more):
    return Control(Management(classes, "separate", partial(Fixed, drop, sheds)), period, **more)


ONE = {"train": Train(1)}


@pytest.mark.parametrize(("sheds", "out"), [("read", 50), ("arrival", 100)])
def test_at_read_what_waits_already_is_thinned_and_at_arrival_it_is_not(sheds, out):
    bed = network(chain((0.0, 1.0, 1.0), cls="lead"))
    policy = create("fcfs", ONE)
    report = run(bed, np.zeros(100), policy, classes=LEAD, control=control(0.5, sheds))
    assert left(report)[1][-1] == pytest.approx(out, abs=15 if sheds == "read" else 0)
    [account] = report.accounts
    assert account.offered == 100 == account.processed + account.dropped
    assert account.processed == report.departures["q"].count


@settings(max_examples=40)
@given(
    st.sampled_from([0.0, 0.3, 0.9]),
    st.sampled_from(["read", "arrival"]),
    st.sampled_from([Random, Stratified]),
    st.booleans(),
    st.booleans(),
    st.floats(0.0, 0.3),
)
def test_offered_is_processed_and_dropped_and_waiting(drop, sheds, dropper, costly, operators, until):
    bed = network(select_query("a", "gold", costs=costly), select_query("b", "lead", costs=costly))
    arrivals = {name: poisson(4000.0, 800, seed=k) for k, name in enumerate(bed.streams)}
    units = by_operator(CLASSES) if operators else by_query(CLASSES, tuple)
    managed = control(drop, sheds, CLASSES, 0.02, dropper=dropper)
    report = run(bed, arrivals, classes=CLASSES, units=units, control=managed, until=until, machine=Machine(read=US))
    assert len(report.accounts) == 2
    for each in report.accounts:
        assert each.offered == np.count_nonzero(arrivals[each.stream] <= until)
        assert each.offered == each.processed + each.dropped + each.waiting
        assert (each.dropped > 0) == (report.loss(each.cls) > 0)


US = 1e-6


@pytest.mark.parametrize("dropper", [Random, Stratified])
@pytest.mark.parametrize("sheds", ["read", "arrival"])
def test_the_share_that_was_ordered_is_dropped(dropper, sheds):
    bed = network(chain((0.0, 1e-4, 1.0), cls="lead"))
    managed = control(0.3, sheds, period=0.02, dropper=dropper)
    report = run(bed, poisson(1000.0, 10000), classes=LEAD, control=managed)
    assert report.loss("lead") == pytest.approx(0.3, abs=0.015 if dropper is Random else 0.003)


def test_a_semantic_dropper_sees_the_keys_of_its_stream():
    keys = np.random.default_rng(0).integers(1, 11, 10000)
    bed = network(chain((0.0, 1e-4, 1.0), cls="lead"))
    low = partial(Semantic, lambda found: (found > 2) & (found < 9), 0.6)
    managed = control(0.3, period=0.02, dropper=lambda seed: low(seed=seed), keys={"s": keys})
    times = poisson(1000.0, 10000)
    report = run(bed, times, classes=LEAD, control=managed)
    kept = keys[np.searchsorted(times, left(report)[0])]
    assert np.count_nonzero(np.isin(kept, (1, 2, 9, 10))) == np.count_nonzero(np.isin(keys, (1, 2, 9, 10)))
    assert report.loss("lead") == pytest.approx(0.3, abs=0.015)


@pytest.mark.parametrize("sheds", ["read", "arrival"])
def test_a_dropped_tuple_costs_a_look_at_it(sheds):
    bed = network(chain((0.0, 1e-3, 1.0), cls="lead"))
    managed = control(0.5, sheds, period=1e-3)
    report = run(bed, np.arange(1, 1001) * 0.01, classes=LEAD, control=managed, machine=Machine(read=1e-4))
    [account] = report.accounts
    assert account.dropped == pytest.approx(500, abs=60)
    # What was dropped on arrival after the last reading is not paid any more.
    assert report.work == pytest.approx(1e-3 * account.processed + 1e-4 * account.dropped, abs=2e-3)


def test_each_class_drops_its_own_and_the_classes_are_told_apart():
    class Gold(Fixed):
        def __init__(self, headroom, target):
            super().__init__(0.0 if headroom > 0.5 else 0.6, "read", headroom, target)

    bed = network(chain((0.0, 1e-4, 1.0), cls="gold", name="a", streams="x"), chain((0.0, 1e-4, 1.0), cls="lead"))
    managed = Control(Management(CLASSES, "separate", Gold), 0.02)
    report = run(bed, poisson(1000.0, 5000), classes=CLASSES, control=managed)
    assert report.loss("gold") == 0
    assert report.loss("lead") == pytest.approx(0.6, abs=0.03)


def test_a_lower_class_sheds_where_it_reads_what_a_higher_one_has_made():
    ops, gold = chain((0.0, 1e-5, 1.0), (0.0, 1e-5, 1.0), cls="gold", name="g")
    lead_ops, lead = chain((0.0, 1e-5, 1.0), cls="lead", name="b", streams="g.0")
    bed = network((ops, gold), (lead_ops[1:], lead))

    class Lead(Fixed):
        def __init__(self, headroom, target):
            super().__init__(0.0 if headroom > 0.5 else 0.6, "read", headroom, target)

    managed = Control(Management(CLASSES, "separate", Lead), 0.02)
    report = run(bed, poisson(1000.0, 5000), classes=CLASSES, units=by_operator(CLASSES), control=managed)
    streams = {each.cls: (each.entry, each.stream) for each in report.accounts}
    assert streams == {"gold": ("g.0", "s"), "lead": ("b.0", None)}
    assert report.loss("gold") == 0
    assert report.loss("lead") == pytest.approx(0.6, abs=0.03)
    assert report.departures["g"].count == 5000
    assert report.departures["b"].count == pytest.approx(2000, abs=150)


def test_drops_differ_between_entries_and_are_the_same_in_every_run():
    bed = network(*(chain((0.0, 1e-5, 1.0), cls="lead", name=f"q{k}", streams=f"s{k}") for k in range(2)))
    times = np.arange(1, 2001) * 1e-3
    reports = [run(bed, times, classes=LEAD, control=control(0.5, period=0.02), seed=4) for _ in range(2)]
    kept = [[left(report, q)[0] for q in ("q0", "q1")] for report in reports]
    assert kept[0] == kept[1]
    assert kept[0][0] != kept[0][1]
    other = run(bed, times, classes=LEAD, control=control(0.5, period=0.02), seed=5)
    assert left(other, "q0")[0] != kept[0][0]


def test_sources_may_have_a_core_of_their_own_that_sheds():
    bed = network(select_query("a", "lead", costs=True))
    teams = [
        Team(in_turn(), by_query(LEAD, plan.inner)),
        Team(in_turn(), by_query(LEAD, plan.sources)),
    ]
    managed = control(0.5, period=0.02)
    report = Simulation(bed, LEAD, {"a.s": poisson(4000.0, 4000)}, teams, control=managed).run()
    assert report.loss("lead") == pytest.approx(0.5, abs=0.03)
    assert [account.entry for account in report.accounts] == ["a.s"]
    assert math.isclose(sum(map(sum, report.busy)), report.work)

"""What load management is shown and what it brings about."""

import math

import numpy as np
import pytest

from headgate.control.dilos import Management
from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.policy.classes.cqc import Cqc
from headgate.policy.trains import Train
from headgate.shed.registry import create as manager
from headgate.sim.trains import plan
from headgate.sim.trains.machine import Machine, Overheads
from headgate.sim.trains.steering import Control
from headgate.sim.trains.timeline import Timeline
from sim.trains.beds import by_operator, chain, network, poisson, rates, run

CLASSES = (QueryClass("gold", 2, 0.5), QueryClass("lead", 1, 0.5))


def watched(bed, arrivals, classes=CLASSES, period=0.5, **more):
    """The control periods of a run without load management."""
    managed = Control(Management(classes, "none", lambda headroom, target: None), period)
    return run(bed, arrivals, classes=classes, units=by_operator(classes), control=managed, **more).moments


def evenly(rate, seconds):
    return np.arange(1, int(rate * seconds) + 1) / rate


def test_a_period_shows_load_rates_and_response_times_of_each_class():
    bed = network(
        chain((0.0, 1e-3, 0.5), (0.0, 2e-3, 1.0), cls="gold", name="a", streams="x"),
        chain((0.0, 4e-3, 1.0), cls="lead", name="b", streams="y"),
    )
    moments = watched(bed, {"x": evenly(100, 5), "y": evenly(50, 5)})
    gold, lead = (moments[6].seen[name] for name in ("gold", "lead"))
    assert gold.seconds == lead.seconds == 0.5
    assert gold.offered == pytest.approx(100 * (1e-3 + 0.5 * 2e-3), rel=0.1)
    assert lead.offered == pytest.approx(50 * 4e-3, rel=0.02)
    assert (gold.arrived, lead.arrived) == (50, 25)
    assert (gold.admitted, lead.admitted) == (50, pytest.approx(25, abs=1))
    # What the first operator keeps back departs, and so does what the second one gives.
    assert gold.departed == pytest.approx(50, abs=2)
    assert lead.cost == pytest.approx(4e-3)
    assert lead.worked == pytest.approx(25 * 4e-3, rel=0.05)
    assert [output.target for output in gold.outputs] == [0.5]
    assert 3e-3 <= gold.outputs[0].rt < 0.01
    assert [moment.time for moment in moments[:3]] == [0.5, 1.0, 1.5]


def test_a_period_shows_what_waits_in_tuples_seconds_of_work_and_age():
    bed = network(chain((0.0, 0.1, 1.0), cls="lead"))
    [moment, *_] = watched(bed, np.zeros(100), CLASSES[1:], period=2.05)
    lead = moment.seen["lead"]
    # The whole train of the first tuple that came was under way, then everything else.
    assert moment.waiting == {"lead": 0}
    assert lead.queued == 0
    [moment, *_] = watched(bed, np.zeros(100), CLASSES[1:], period=2.05, machine=Machine(batch=1))
    lead = moment.seen["lead"]
    assert moment.waiting == {"lead": 79}
    assert lead.queued == pytest.approx(7.9)
    assert lead.oldest == 2.05


def test_under_overload_the_rate_is_that_of_the_stream_and_not_that_of_the_reading():
    bed = network(chain((0.0, 0.02, 1.0), cls="lead"))
    moments = watched(bed, evenly(100, 10), CLASSES[1:], machine=Machine(batch=5), until=10.0)
    assert moments[-1].seen["lead"].offered == pytest.approx(2.0, rel=0.03)
    assert moments[-1].seen["lead"].admitted == pytest.approx(25, abs=5)


def test_set_up_is_part_of_the_cost_so_that_longer_trains_cost_less_a_tuple():
    bed = network(chain((0.01, 0.001, 1.0), cls="lead"))
    slow, fast = (watched(bed, evenly(rate, 5), CLASSES[1:])[-1].seen["lead"].cost for rate in (20, 400))
    assert slow == pytest.approx(0.011)
    assert fast < 0.005


def test_what_a_higher_class_has_made_is_load_for_the_lower_only_behind_the_boundary():
    ops = (
        Operator("s", Kind.SOURCE),
        Operator("shared", Kind.MAP, ("s",), Cost(0.0, 1e-3), 0.5),
        Operator("a", Kind.MAP, ("shared",), Cost(0.0, 2e-3)),
        Operator("b", Kind.MAP, ("shared",), Cost(0.0, 4e-3)),
    )
    bed = Network(ops, (Query("a", "a", "gold"), Query("b", "b", "lead")))
    seen = watched(bed, evenly(100, 20), period=5.0)[2].seen
    assert seen["gold"].offered == pytest.approx(100 * (1e-3 + 0.5 * 2e-3), rel=0.1)
    assert seen["lead"].offered == pytest.approx(50 * 4e-3, rel=0.1)


def overloaded():
    """Gold needs three tenths of the machine, lead twelve."""
    bed = network(
        chain((0.0, 1e-4, 1.0), (0.0, 2e-4, 1.0), cls="gold", name="a", streams="x"),
        chain((0.0, 2e-4, 1.0), (0.0, 4e-4, 1.0), cls="lead", name="b", streams="y"),
    )
    return bed, {"x": poisson(1000.0, 40_000, 1), "y": poisson(2000.0, 80_000, 2)}


def managed(mode, after_visit=False):
    bed, arrivals = overloaded()
    policy = Cqc(CLASSES, Train(50), period=0.01)
    units = lambda network: plan.by_operator(network, rates(network, 1000.0), lambda s: s.S, CLASSES)  # noqa: E731
    management = Management(CLASSES, mode, lambda H, D: manager("aloma", {"headroom": H, "target": D}))
    report = run(
        bed,
        arrivals,
        policy,
        classes=CLASSES,
        units=units,
        control=Control(management, 0.15, after_visit=after_visit),
        until=30.0,
        warm=10.0,
    )
    return report, policy


UNAVOIDABLE = 1 - (1 - 0.3) / 1.2


def test_without_management_the_class_that_asks_for_too_much_falls_behind_and_the_other_does_not():
    report, policy = managed("none")
    assert report.responses("gold").mean < 0.05
    assert report.responses("lead").mean > 5
    assert report.loss("gold") == report.loss("lead") == 0
    assert policy.shares == {"gold": 2 / 3, "lead": 1 / 3}


def test_with_dilos_the_class_keeps_its_target_with_what_the_other_leaves_it():
    report, policy = managed("dilos")
    assert report.loss("gold") == 0
    assert report.loss("lead") == pytest.approx(UNAVOIDABLE, abs=0.03)
    assert report.responses("gold").mean < 0.05
    assert report.responses("lead").mean == pytest.approx(0.5, rel=0.1)
    assert policy.shares == dict(report.moments[-1].directive.shares)
    assert policy.shares["lead"] > 0.6
    assert sum(policy.shares.values()) == pytest.approx(1)
    headrooms = [moment.directive.orders["lead"].headroom for moment in report.moments]
    assert headrooms[-1] == pytest.approx(0.7, abs=0.05)


def test_management_after_a_visit_acts_between_classes_once_most_of_the_period_has_passed():
    report, _ = managed("dilos", after_visit=True)
    gaps = np.diff([moment.time for moment in report.moments])
    assert gaps.min() >= 0.9 * 0.15
    assert 30 / 0.16 < len(report.moments) <= 30 / (0.9 * 0.15)
    assert [moment.seen["gold"].seconds for moment in report.moments[1:]] == pytest.approx(gaps)


def test_a_halved_capacity_is_noticed_and_the_target_kept():
    classes = (QueryClass("lead", 1, 2.0),)
    bed = network(chain(*[(0.0, 0.5e-3, 1.0)] * 9, cls="lead"))
    arrivals = poisson(350.0, 350 * 120)
    machine = Machine(capacity=Timeline(((0.0, 1.0), (60.0, 0.5))), noise=0.1, batch=50)
    management = Management(classes, "separate", lambda H, D: manager("backlog", {"headroom": H, "target": D}))
    control = Control(management, 0.5)
    report = run(
        bed, arrivals, classes=classes, units=by_operator(classes), control=control, machine=machine, until=120.0
    )
    drops = {moment.time: moment.directive.drops["lead"] for moment in report.moments}
    capacity = 1 / 4.5e-3
    steady = [np.mean([drop for time, drop in drops.items() if lo <= time < hi]) for lo, hi in ((30, 60), (90, 120))]
    assert steady == pytest.approx([1 - capacity / 350, 1 - 0.5 * capacity / 350], abs=0.02)
    late = report.over_time("lead", by="input", width=30.0)
    assert late.mean[3] < 2.0


def test_a_cycle_of_the_manager_takes_its_time():
    bed = network(chain((0.0, 1e-3, 1.0), cls="lead"))
    times = evenly(100, 10)
    free, charged = (
        watched_run(bed, times, Machine(overheads=Overheads(cycle=cycle))).overhead for cycle in (0.0, 1e-3)
    )
    assert free == 0
    assert charged == pytest.approx(19 * 1e-3, abs=1.1e-3)


def watched_run(bed, arrivals, machine):
    managed = Control(Management(CLASSES[1:], "none", lambda headroom, target: None), 0.5)
    return run(bed, arrivals, classes=CLASSES[1:], control=managed, machine=machine)


def test_measured_selectivities_reach_the_policy():
    seen = []

    class Watching(Cqc):
        def prepare(self, units):
            super().prepare(units)
            seen.append([round(s.S, 1) for unit in units for s in unit.segments])

    bed = network(chain((0.0, 1e-4, 1.0), (0.0, 1e-4, 1.0), cls="lead"))
    run(
        bed,
        poisson(1000.0, 4000),
        Watching(CLASSES[1:]),
        classes=CLASSES[1:],
        curves={"q.0": Timeline(((0.0, 1.0), (2.0, 0.2)))},
        refresh=1.0,
    )
    assert seen[0] == [1.0]
    assert seen[1] == [1.0]
    assert seen[-1] == [0.2]


def test_changes_happen_at_their_times():
    policy = Cqc(CLASSES)
    bed = network(chain((0.0, 1e-4, 1.0), cls="lead"))
    changes = [(1.0, lambda: policy.prioritise({"gold": 1.0}))]
    run(bed, evenly(10, 0.9), policy, classes=CLASSES, changes=changes, until=0.95)
    assert policy.shares["gold"] == 2 / 3
    run(bed, evenly(10, 2), policy, classes=CLASSES, changes=changes)
    assert policy.shares["gold"] == 1 / 2


def test_a_class_without_a_target_is_left_alone():
    classes = (QueryClass("lead"),)
    bed = network(chain((0.0, 0.02, 1.0), cls="lead"))
    management = Management(classes, "separate", lambda H, D: manager("aloma", {"headroom": H, "target": D}))
    report = run(bed, evenly(100, 5), classes=classes, control=Control(management, 0.5), until=5.0)
    assert report.loss("lead") == 0
    assert math.isinf(report.moments[-1].seen["lead"].outputs[0].target)

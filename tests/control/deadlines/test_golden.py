"""The published and recomputed numbers of real-time queries, exactly where they are rational."""

import math
from fractions import Fraction

import pytest

from control.deadlines.sets import at_costs, mix, tasks, whole
from headgate.control.deadlines.keeping import fraction, kept_count, systematic
from headgate.control.deadlines.measures import Iterated, errors
from headgate.control.deadlines.reduction import Reduction, reduce
from headgate.control.deadlines.schedulability import (
    blocking,
    bound,
    demand,
    edf_schedulable,
    level,
    levels,
    load,
    points,
    response_time,
    response_time_whole,
    schedulable,
    tolerance,
)
from headgate.model.deadlines import Deadline

F = Fraction
near = pytest.approx
ROOT = math.sqrt(2)
THIRDS = (1, 2 ** (1 / 3), 2 ** (2 / 3))


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, 1), (2, 0.828427), (3, 0.779763), (4, 0.756828), (5, 0.743492), (10, 0.717735), (20, 0.705298)],
)
def test_g1_the_bound_of_the_load(n, expected):
    assert bound(n) == near(expected, abs=5e-7)


def test_g1_the_bound_goes_to_the_logarithm_of_two():
    assert bound(10**7) == near(math.log(2), abs=1e-6)


SETS = {
    "G2": ((40, 40, 100), (100, 150, 350), F(20, 21), (F(2, 5), F(4, 5), 1)),
    "G3": ((1, 1, 2), (2, 4, 8), 1, (F(1, 2), F(3, 4), 1)),
}


@pytest.mark.parametrize(("costs", "periods", "used", "expected"), SETS.values(), ids=SETS)
def test_g2_g3_load_and_levels(costs, periods, used, expected):
    given = tasks(costs, periods)
    assert load(given) == used
    assert levels(given) == expected
    assert schedulable(given).ok


def test_g2_only_one_point_fits():
    given = tasks((40, 40, 100), (100, 150, 350))
    assert {t: demand(given, 2, t) for t in points(given, 2)} == {100: 180, 150: 220, 200: 260, 300: 300, 350: 380}
    assert load(given) > bound(3)
    assert schedulable(given).at == 300


def test_g3_demand_of_a_harmonic_set():
    given = tasks((1, 1, 2), (2, 4, 8))
    assert [demand(given, 2, t) for t in (2, 4, 6, 8)] == [4, 5, 7, 8]


def test_g4_a_set_exactly_on_the_edge():
    given = tasks((ROOT - 1, 2 - ROOT), (1.0, ROOT))
    assert load(given) == near(0.828427, abs=5e-7)
    assert levels(given) == near((0.414214, 1.0), abs=5e-7)
    assert schedulable(given).ok
    more = tasks((ROOT - 1, (2 - ROOT) * 1.001), (1.0, ROOT))
    assert level(more, 1) == near(1.000414, abs=5e-7)
    assert schedulable(more).failing == 1


def test_g4b_three_on_the_edge():
    p1, p2, p3 = THIRDS
    given = tasks((p2 - p1, p3 - p2, 2 * p1 - p3), THIRDS)
    assert [task.cost for task in given] == near([0.259921, 0.327480, 0.412599], abs=5e-7)
    assert load(given) == near(0.779763, abs=5e-7)
    assert levels(given) == near((0.259921, 0.587401, 1.0), abs=5e-7)
    assert schedulable(given).ok


REDUCED = [
    # id, costs, periods, ratios, reading, point, what is left, whether the test passes then
    ("G5", (2, 4), (5, 7), (1, 1), "wf", "P", (F(7, 4), F(7, 2)), True),
    ("G5", (2, 4), (5, 7), (1, 1), "lit", "P", (2, F(7, 2)), False),
    ("G6", (1, 2), (2, 3), (1, 3), "wf", "P", (F(7, 8), F(5, 4)), True),
    ("G6", (1, 2), (2, 3), (1, 3), "lit", "P", (1, F(5, 4)), False),
    ("G7", (1, 12), (2, 6), (1, 1), "all", "P", (F(-1, 2), F(15, 2)), None),
    ("G7", (1, 12), (2, 6), (1, 1), "clamp", "P", (0, F(15, 2)), False),
    ("G7", (1, 12), (2, 6), (1, 1), "wf", "P", (0, 6), True),
    ("G8", (1, 2, 3), (2, 4, 8), (1, 1, 2), "wf", "P", (F(13, 16), F(13, 8), F(3, 2)), True),
    ("G8", (1, 2, 3), (2, 4, 8), (1, 1, 2), "lit", "P", (1, 2, F(3, 2)), False),
    ("G9", (2, F(6, 5)), (3, 4), (1, 1), "wf", "P", (F(17, 10), F(3, 5)), True),
    ("G9", (2, F(6, 5)), (3, 4), (1, 1), "wf", "best", (F(19, 10), F(11, 10)), True),
    ("G10", (40, 40, 101), (100, 150, 350), (1, 1, 1), "wf", "P", (F(449, 12), F(329, 9), F(272, 3)), True),
    ("G10", (40, 40, 101), (100, 150, 350), (1, 1, 1), "wf", "best", (F(359, 9), F(239, 6), F(302, 3)), True),
    ("G11", (50, 60, 100), (100, 150, 350), (1, 1, 2), "wf", "P", (F(655, 16), F(185, 4), F(95, 2)), True),
    ("G11", (50, 60, 100), (100, 150, 350), (1, 1, 2), "lit", "P", (50, 55, F(85, 2)), False),
    ("G12", (2, 1), (2, 3), (1, 1), "wf", "P", (F(3, 2), 0), True),
    ("G13", (3,), (2,), (1,), "wf", "P", (2,), True),
]


@pytest.mark.parametrize(
    ("costs", "periods", "ratios", "reading", "point", "left", "passes"),
    [row[1:] for row in REDUCED],
    ids=[f"{row[0]}-{row[4]}-{row[5]}" for row in REDUCED],
)
def test_g5_to_g13_reduced_costs(costs, periods, ratios, reading, point, left, passes):
    given = tasks(costs, periods, ratios)
    found = reduce(given, Reduction(reading, point))
    assert found.costs == left
    assert all(isinstance(cost, int | F) for cost in found.costs)
    if passes is not None:
        assert schedulable(at_costs(given, found.costs)).ok == passes


STAGES = {
    "G5": ((2, 4), (5, 7), (1, 1), [(1, 7, 1, (F(1, 4), F(1, 2)))]),
    "G6": ((1, 2), (2, 3), (1, 3), [(1, 3, 1, (F(1, 8), F(3, 4)))]),
    "G8": ((1, 2, 3), (2, 4, 8), (1, 1, 2), [(2, 8, 3, (F(3, 16), F(3, 8), F(3, 2)))]),
    "G11": (
        (50, 60, 100),
        (100, 150, 350),
        (1, 1, 2),
        [(1, 150, 10, (F(5, 2), 5)), (2, 350, 105, (F(105, 16), F(35, 4), F(105, 2)))],
    ),
    "G12": ((2, 1), (2, 3), (1, 1), [(1, 3, 2, (F(1, 2), 1))]),
}


@pytest.mark.parametrize(("costs", "periods", "ratios", "expected"), STAGES.values(), ids=STAGES)
def test_g5_to_g12_who_gives_what_and_where(costs, periods, ratios, expected):
    found = reduce(tasks(costs, periods, ratios))
    assert [(each.failing, each.at, each.amount, each.shares) for each in found.stages] == expected


def test_g5_fails_by_rate_and_passes_by_deadline():
    given = tasks((2, 4), (5, 7))
    assert load(given) == F(34, 35)
    assert (demand(given, 1, 5), demand(given, 1, 7)) == (6, 8)
    assert not schedulable(given).ok
    assert edf_schedulable(given)
    assert demand(at_costs(given, (F(7, 4), F(7, 2))), 1, 7) == 7


def test_g9_three_ways_to_say_how_much_too_late():
    given = tasks((2, F(6, 5)), (3, 4))
    assert (demand(given, 1, 3), demand(given, 1, 4)) == (F(16, 5), F(26, 5))
    assert reduce(given).stages[0].amount == F(6, 5)
    assert response_time(given, 1) is None
    assert response_time(given, 1, until=100) == F(26, 5)


def test_g10_the_amount_at_either_point():
    given = tasks((40, 40, 101), (100, 150, 350))
    at_deadline, anywhere = (reduce(given, Reduction(point=point)).stages[0] for point in ("P", "best"))
    assert (at_deadline.at, at_deadline.amount) == (350, 31)
    assert (anywhere.at, anywhere.amount) == (300, 1)


def test_g14_behind_what_cannot_be_interrupted():
    given = whole(tasks((1, 2, 3), (5, 10, 20)))
    assert [blocking(given, i) for i in range(3)] == [3, 3, 0]
    assert schedulable(given).ok
    assert [response_time(given, i) for i in range(3)] == [4, 7, 7]
    assert [response_time_whole(given, i) for i in range(3)] == [4, 6, 6]
    assert [tolerance(given, i) for i in range(3)] == [4, 6, 9]


def test_g15_the_first_iteration_is_not_the_latest():
    periods = (F(5, 2), F(7, 2), F(7, 2))
    given = whole(tasks((1, 1, 1), periods))
    assert response_time_whole(given, 2) == F(7, 2)
    assert response_time_whole(whole(tasks((1, 1, 1), periods, deadlines=(*periods[:2], F(13, 4)))), 2) is None
    assert demand(given, 2, F(7, 2)) == 4
    assert level(given, 2) > 1
    assert not schedulable(given).ok


@pytest.mark.parametrize(
    ("budget", "cost", "fixed", "k", "kept"), [(3.0, 4.0, 0.0, 0.75, 750), (2.0005, 4.001, 0.001, 0.499875, 499)]
)
def test_g17_from_a_budget_to_tuples(budget, cost, fixed, k, kept):
    assert fraction(budget, cost, fixed) == near(k, abs=1e-12)
    assert kept_count(fraction(budget, cost, fixed), 1000) == kept


@pytest.mark.parametrize(("w", "kept", "places"), [(10, 3, [3, 6, 9]), (8, 5, [1, 3, 4, 6, 7])])
def test_g18_which_tuples_stay(w, kept, places):
    assert systematic(w, kept).nonzero()[0].tolist() == places


def test_g19_levels_and_ratios_of_the_published_mix():
    given = mix(1)
    assert sum(task.cost / task.period for task in given) * 1e6 == near(118.2)
    expected = (4, 7.8, 14.3, 22.55, 36.55, 53.55, 86.76, 107.16, 133.56, 138.36)
    assert [each * 1e6 for each in levels(given)] == near(expected)
    assert schedulable(given).at == 5
    ratios = (0.4, 0.5556, 0.5556, 1.25, 2, 0.4762, 0.46875, 0.2778, 0.2, 5)
    assert [task.ratio for task in given] == near(ratios, abs=5e-5)


@pytest.mark.parametrize(("rate", "ok"), [(7227, True), (7228, False)])
def test_g19_the_rate_up_to_which_the_mix_is_schedulable(rate, ok):
    assert schedulable(mix(rate)).ok == ok


MIXES = {
    "G19b": (
        (8000, "seed", 0.0, 9, 1.0304),
        (0.6529, 0.4925, 0.7033, 0.2110, 0.6281, 0.9271, 0.9649, 0.9433, 0.9684, 1),
        0.7982,
    ),
    "G19c": (
        (10000, "seed", 0.0, 8, 1.468),
        (0.1324, 0, 0.2585, 0, 0.0705, 0.8177, 0.9122, 0.8582, 0.9583, 1),
        0.7935,
    ),
    "G19d": ((12000, "seed", 0.0, 7, 0.2056), (0, 0, 0, 0, 0, 0.6079, 0.8112, 0.7114, 0.9033, 1), None),
    "G19d-prop": (
        (12000, "prop", 0.05, 7, 0.2056),
        (0.6464, 0.5309, 0.5309, 0.1576, 0.05, 0.5883, 0.5939, 0.7546, 0.9000, 1),
        0.8491,
    ),
}


@pytest.mark.parametrize(("setup", "kept", "used"), MIXES.values(), ids=MIXES)
def test_g19_the_published_mix_reduced(setup, kept, used):
    rate, split, floor, failing, amount = setup
    given = mix(rate, floor)
    found = reduce(given, Reduction(split=split))
    first = found.stages[0]
    assert (first.failing + 1, first.amount) == (failing, near(amount, abs=5e-5))
    assert [cost / task.cost for cost, task in zip(found.costs, given, strict=True)] == near(kept, abs=5.1e-5)
    if used is not None:
        assert load(at_costs(given, found.costs)) == near(used, abs=5.1e-5)


def test_g19c_without_floors_costs_become_negative():
    found = reduce(mix(10000), Reduction("all"))
    assert [found.costs[1], found.costs[3]] == near([-0.00896, -0.12174], abs=5e-6)
    assert sum(cost < 0 for cost in found.costs) == 2


def test_g20_total_errors():
    drops = [("a", 5, 0.5, 100), ("a", 5, 0.5, 200), ("b", 1, 0.2, 50)]
    records = [
        Iterated(name, i, i, i + 1, 1000, 1000 - drop, finish=i + 1, weight=g, selectivity=s)
        for i, (name, g, s, drop) in enumerate(drops)
    ]
    found = errors(records)
    assert (found.output, found.processing) == (near(760), 1550)


def test_g22_windows_releases_and_deadlines():
    query = Deadline(window=4, stride=2, due=2)
    first, third = query.iteration(1, 0), query.iteration(3, 0)
    assert (first.start, first.end, first.release, first.due) == (0, 4, 4, 6)
    assert (third.start, third.end, third.release, third.due) == (4, 8, 8, 10)

"""MBD: slots by priority and chance, one lane per query, and what happens at the end of a round."""

from dataclasses import replace

import pytest

from headgate.errors import InputError
from headgate.model.parameters import Segment, Stage
from headgate.policy.classes.registry import create
from headgate.policy.protocol import Outcome, Run
from policy.classes.bed import Bed, classes, looked_at, prepared, units

EXAMPLE = units(A=[10.0, 30.0], B=[20.0, 20.0, 20.0])


def test_the_example_of_the_literature():
    scheduler = prepared("mbd", (6, 3), EXAMPLE)
    assert scheduler.Pr == [1.5, 4.5, 1.0, 1.0, 1.0]
    assert [scheduler.program.count(i) for i in range(5)] == [2, 5, 1, 1, 1]


def test_a_query_takes_its_priority_of_slots_in_a_round_on_average():
    bed = Bed(prepared("mbd", (6, 3), EXAMPLE), EXAMPLE, [1] * 5, refill=True)
    ran = [0] * 5
    while bed.scheduler.rounds < 10_000:
        for i in bed.go(1000):
            ran[i] += 1
    found = [n / bed.scheduler.rounds for n in ran]
    assert found == pytest.approx([1.5, 4.5, 1.0, 1.0, 1.0], rel=0.01)


def test_a_query_runs_on_all_that_waits():
    decision = prepared("mbd", (6, 3), EXAMPLE).choose(looked_at(0, 7, 0, 0, 0))
    assert decision.runs == ((1, 7),)
    assert {name: decision.why.terms[name] for name in ("class", "f", "Pr")} == {"class": 1, "f": 6, "Pr": 4.5}


def test_no_lane_stands_idle_by_chance():
    for seed in range(50):
        scheduler = prepared("mbd", (6, 3), EXAMPLE, seed=seed)
        assert scheduler.choose(looked_at(1, 0, 0, 0, 0)).runs == ((0, 1),)


def test_it_takes_a_round_at_most_to_find_a_query_however_small_its_chance():
    made = units(A=[1.0], B=[1.0, 0.001])
    for seed in range(20):
        scheduler = prepared("mbd", (999, 1), made, seed=seed)
        assert scheduler.Pr[2] < 0.1
        assert scheduler.choose(looked_at(0, 0, 1)).runs == ((2, 1),)
        assert scheduler.rounds <= 1


def test_with_nothing_to_do_no_round_goes_by():
    scheduler = prepared("mbd", (6, 3), EXAMPLE)
    assert scheduler.choose(looked_at(0, 0, 0, 0, 0)) is None
    assert scheduler.rounds == 0


def test_another_seed_is_another_chance():
    traces = [Bed(prepared("mbd", (6, 3), EXAMPLE, seed=s), EXAMPLE, [1] * 5, refill=True).go(50) for s in (1, 1, 2)]
    assert traces[0] == traces[1] != traces[2]


# Lanes.


def test_a_query_that_is_due_while_it_runs_is_run_again_by_its_lane():
    made = units(A=[1.0], B=[1.0])
    scheduler = prepared("mbd", (2, 1), made)
    assert scheduler.program == [0, 1, 0]
    assert scheduler.choose(looked_at(1, 1, lane=0, lanes=2)).runs == ((0, 1),)
    assert scheduler.choose(looked_at(0, 1, lane=1, lanes=2, running={0})).runs == ((1, 1),)
    assert scheduler.choose(looked_at(0, 1, lane=1, lanes=2, running={0})).runs == ((1, 1),)
    decision = scheduler.choose(looked_at(3, 0, lane=0, lanes=2, running={1}))
    assert decision.runs == ((0, 3),)
    assert decision.why.formula == "it was due while it ran"


def test_it_is_run_again_once_and_only_if_tuples_have_come():
    made = units(A=[1.0], B=[1.0])
    scheduler = prepared("mbd", (2, 1), made)
    scheduler.choose(looked_at(1, 1, lane=0, lanes=2))
    for _ in range(5):
        scheduler.choose(looked_at(0, 1, lane=1, lanes=2, running={0}))
    assert scheduler.choose(looked_at(1, 1, lane=0, lanes=2)).why.formula == "it was due while it ran"
    assert scheduler.choose(looked_at(1, 1, lane=0, lanes=2)).why.formula != "it was due while it ran"
    scheduler.choose(looked_at(0, 1, lane=1, lanes=2, running={0}))
    assert scheduler.choose(looked_at(0, 0, lane=0, lanes=2)) is None


def test_all_lanes_take_slots_of_one_program():
    made = units(A=[1.0, 1.0], B=[1.0, 1.0])
    bed = Bed(prepared("mbd", (2, 1), made), made, [1] * 4, lanes=3, refill=True)
    ran = bed.go(600)
    counts = [ran.count(i) for i in range(4)]
    assert counts[0] > counts[2]
    assert counts[1] > counts[3]
    assert bed.now == pytest.approx(200.0, abs=1.0)


# The end of a round.


def driven(scheduler, rounds=1, RT=None):
    """Let rounds go by in which the classes have these response times."""
    bed = Bed(scheduler, scheduler.units, [1] * len(scheduler.units), refill=True)
    until = scheduler.rounds + rounds
    while scheduler.rounds < until:
        for cls, times in (RT or {}).items():
            scheduler.responded(cls, times)
        bed.go(1)
    return scheduler


INVERTED = {"A": [1.0], "B": [3.0], "C": [2.0]}


@pytest.mark.parametrize(
    ("module", "f"),
    [("none", [6, 3, 2]), ("dvp", [6, 3, 1]), ("ivp", [6, 4, 2]), ("dsp", [6, 3, 1]), ("isp", [7, 4, 2])],
)
def test_an_inversion_moves_the_frequencies(module, f):
    made = units(A=[1.0], B=[1.0], C=[1.0])
    scheduler = driven(prepared("mbd", (6, 3, 2), made, inversion=module), RT=INVERTED)
    assert scheduler.f == f
    assert scheduler.updates == (module != "none")


def test_nothing_is_moved_before_all_classes_have_enough_samples():
    made = units(A=[1.0], B=[1.0], C=[1.0])
    part = {"B": [3.0], "C": [2.0]}
    assert driven(prepared("mbd", (6, 3, 2), made, inversion="dvp"), RT=part).f == [6, 3, 2]
    assert driven(prepared("mbd", (6, 3, 2), made, inversion="dvp", samples=999), RT=INVERTED).f == [6, 3, 2]


def test_a_class_without_queries_keeps_nobody_waiting():
    made = units(B=[1.0], C=[1.0])
    assert driven(prepared("mbd", (6, 3, 2), made, inversion="dvp"), RT={"B": [3.0], "C": [2.0]}).f == [6, 3, 1]


def test_response_times_count_since_the_program_was_built():
    made = units(A=[1.0], B=[1.0])
    scheduler = driven(prepared("mbd", (6, 3), made, inversion="dvp"), RT={"A": [2.0], "B": [1.0]})
    assert scheduler.f == [6, 2]
    driven(scheduler, RT={"A": [1.0], "B": [1.5]})
    assert scheduler.f == [6, 2]


def test_inversion_may_be_looked_for_at_a_percentile():
    made = units(A=[1.0], B=[1.0])
    RT = {"A": [1.0, 1.0, 1.0, 9.0], "B": [2.0, 2.0, 2.0, 2.0]}
    assert driven(prepared("mbd", (6, 3), made, inversion="dvp", level=75), RT=RT).f == [6, 3]
    assert driven(prepared("mbd", (6, 3), made, inversion="dvp", level=90), RT=RT).f == [6, 2]


def test_a_module_that_is_out_of_moves_says_so_and_builds_no_more():
    made = units(A=[1.0], B=[1.0])
    scheduler = driven(prepared("mbd", (2, 1), made, inversion="ivp"), 300, {"A": [2.0], "B": [1.0]})
    assert scheduler.exhausted
    assert scheduler.f == [128, 1]
    assert scheduler.updates == 126


def with_selectivity(made, i, S, cost):
    """The units with another selectivity and cost of one."""
    path = (Segment(f"q{i}", (Stage(cost, S),), cost),)
    return [replace(u, segments=path) if u.id == i else u for u in made]


def worked(scheduler, n):
    for i in range(len(scheduler.units)):
        scheduler.observe(Outcome(Run(i, n), 0.0, 1.0))


def measured(name, priorities, made, **options):
    """A scheduler that has known the costs of its units for a while, having guessed others."""
    scheduler = prepared(name, priorities, [with_selectivity([u], u.id, 1.0, 7.0)[0] for u in made], **options)
    worked(scheduler, 1)
    scheduler.prepare(made)
    driven(scheduler)
    assert scheduler.updates == 0
    return scheduler


def test_a_guessed_cost_is_taken_anew_once_the_unit_has_run():
    made = units(A=[1.0, 1.0], B=[1.0])
    scheduler = prepared("mbd", (4, 1), made)
    scheduler.prepare(with_selectivity(made, 1, 1.0, 3.0))
    Bed(scheduler, made, [1, 0, 1], refill=True).go(10)
    assert scheduler.rounds > 1
    assert scheduler.Pr == [2.0, 2.0, 1.0]
    driven(scheduler, 2)
    assert scheduler.Pr == [1.0, 3.0, 1.0]
    assert scheduler.updates == 0
    scheduler.prepare(with_selectivity(made, 1, 1.0, 1.0))
    driven(scheduler)
    assert scheduler.Pr == [1.0, 3.0, 1.0]


SLOW = {"A": [2.0], "B": [1.0]}
FRESH = [2.25, 2.25, 1.0, 2.0]


@pytest.mark.parametrize(
    ("inversion", "selectivity", "S", "tuples", "RT", "f", "Pr"),
    [
        ("none", "frozen", 0.5, 500, {}, [3, 2], [1.5, 1.5, 1, 1]),
        ("none", "s", 0.5, 500, {}, [3, 2], FRESH),
        ("none", "s", 0.91, 500, {}, [3, 2], [1.5, 1.5, 1, 1]),
        ("none", "s", 0.5, 150, {}, [3, 2], [1.5, 1.5, 1, 1]),
        ("dvp", "s", 0.5, 500, SLOW, [3, 2], FRESH),
        ("dvp", "s", 0.91, 500, SLOW, [3, 1], [3, 3, 1, 1]),
        ("dvp", "frozen", 0.5, 500, SLOW, [3, 1], [3, 3, 1, 1]),
        ("dvp", "sa", 0.5, 500, {}, [3, 2], [1.5, 1.5, 1, 1]),
        ("dvp", "sa", 0.5, 0, SLOW, [3, 1], [4.5, 4.5, 1, 2]),
    ],
)
def test_when_costs_are_taken_anew(inversion, selectivity, S, tuples, RT, f, Pr):
    made = units(A=[1.0, 1.0], B=[1.0, 1.0])
    scheduler = measured("mbd", (3, 2), made, selectivity=selectivity, inversion=inversion)
    worked(scheduler, tuples)
    scheduler.prepare(with_selectivity(made, 2, S, 0.5))
    driven(scheduler, RT=RT)
    assert scheduler.f == f
    assert pytest.approx(Pr) == scheduler.Pr


def test_selectivities_are_compared_with_those_that_costs_were_taken_with():
    made = units(A=[1.0, 1.0], B=[1.0, 1.0])
    scheduler = prepared("mbd", (3, 2), made, selectivity="s")
    for S in (0.95, 0.91, 0.87):
        worked(scheduler, 200)
        scheduler.prepare(with_selectivity(made, 2, S, 1.0))
        driven(scheduler)
    assert scheduler.updates == 1


def test_with_up_other_priorities_hold_from_the_end_of_the_round():
    made = units(A=[1.0], B=[1.0])
    scheduler = prepared("mbd", (4, 2), made, up=True, inversion="ivp")
    driven(scheduler, RT={"A": [2.0], "B": [1.0]})
    assert scheduler.f == [5, 2]
    scheduler.prioritise({"B": 8})
    assert scheduler.f == [5, 2]
    driven(scheduler)
    assert [each.name for each in scheduler.order] == ["B", "A"]
    assert scheduler.f == [8, 4]
    assert scheduler.Pr == [1.0, 2.0]
    assert scheduler.updates == 2
    driven(scheduler)
    assert scheduler.updates == 2


def test_with_up_other_classes_of_queries_hold_from_the_end_of_the_round():
    made = units(A=[1.0], B=[1.0, 1.0])
    scheduler = prepared("mbd", (4, 2), made, up=True)
    assert scheduler.Pr == [4.0, 1.0, 1.0]
    scheduler.prepare([made[0], replace(made[1], cls="A"), made[2]])
    assert scheduler.Pr == [4.0, 1.0, 1.0]
    driven(scheduler)
    assert scheduler.Pr == [1.0, 1.0, 1.0]


def test_without_up_priorities_and_classes_stay():
    made = units(A=[1.0], B=[1.0, 1.0])
    scheduler = prepared("mbd", (4, 2), made, selectivity="s")
    scheduler.prioritise({"B": 8})
    worked(scheduler, 500)
    moved = with_selectivity(made, 0, 0.5, 1.0)
    scheduler.prepare([moved[0], replace(moved[1], cls="A"), moved[2]])
    driven(scheduler)
    assert scheduler.updates == 1
    assert scheduler.Pr == [4.0, 1.0, 1.0]


def test_shares_are_frequencies_at_once():
    scheduler = prepared("mbd", (6, 3), EXAMPLE)
    scheduler.share({"A": 1 / 3, "B": 2 / 3})
    assert scheduler.f == [3, 6]
    assert sum(scheduler.Pr[:2]) / sum(scheduler.Pr) == pytest.approx(1 / 3)


def test_units_that_come_and_go_are_another_program_at_once():
    scheduler = prepared("mbd", (6, 3), EXAMPLE)
    scheduler.choose(looked_at(1, 1, 1, 1, 1))
    scheduler.prepare(units(A=[10.0], B=[20.0, 20.0]))
    assert sorted(set(scheduler.program)) == [0, 1, 2]
    assert scheduler.choose(looked_at(0, 0, 3)).runs == ((2, 3),)


def test_a_unit_that_carries_several_queries_has_the_priorities_of_all():
    alone = units(A=[10.0, 30.0], B=[20.0])
    assert prepared("mbd", (6, 3), alone).Pr == pytest.approx([1.0, 3.0, 2.0])
    both = replace(alone[0], segments=(*alone[0].segments, *alone[1].segments))
    assert prepared("mbd", (6, 3), [both, replace(alone[2], id=1)]).Pr == pytest.approx([2.0, 1.0])


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"inversion": "dvd"}, "mbd: a known module for inversion"),
        ({"selectivity": "often"}, "mbd: a known module for selectivity"),
        ({"selectivity": "sa"}, "mbd: selectivity 'sa' takes costs anew when an inversion is mended"),
    ],
)
def test_unknown_modules_are_refused(options, rule):
    with pytest.raises(InputError) as caught:
        create("mbd", classes(1), options)
    assert caught.value.rule == rule

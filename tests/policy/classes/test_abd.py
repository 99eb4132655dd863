"""ABD: slots that adapt, turns inside a class, running frequencies."""

import math
from dataclasses import replace

import pytest

from headgate.errors import InputError
from headgate.policy.classes.inversion import CAP
from headgate.policy.classes.registry import create
from policy.classes.bed import Bed, Line, classes, looked_at, prepared, unit, units


def slots(scheduler, view, number):
    """The units that run in so many slots, each of which ends because nothing is left."""
    ran = []
    for _ in range(number):
        ran += [run.unit for run in scheduler.choose(view).runs]
        assert scheduler.choose(replace(view, queues=[Line(0) for _ in view.queues])) is None
    return ran


def test_classes_have_slots_as_their_program_says():
    scheduler = prepared("abd", (6, 3, 1), units(A=[1.0], B=[1.0], C=[1.0]), q0=1.0)
    ran = slots(scheduler, looked_at(1, 1, 1), 20)
    assert "".join("HCN"[i] for i in ran) == "HHCHCNHHCH" * 2
    assert scheduler.q == 1.0


def test_inside_a_slot_the_units_of_a_class_go_on_where_they_stopped():
    made = units(A=[1.0, 1.0, 1.0], B=[1.0])
    bed = Bed(prepared("abd", (1, 1), made, q0=2.0), made, [1, 1, 1, 1])
    assert bed.go(2) == [0, 1]
    bed.pending[0] = 1
    assert bed.go(9) == [3, 2, 0]


def test_a_slot_ends_when_its_class_has_nothing_left():
    made = units(A=[1.0], B=[1.0])
    bed = Bed(prepared("abd", (2, 1), made, q0=9.0), made, [3, 3])
    assert bed.go(9) == [0, 1]
    assert bed.now == 6.0


def test_a_slot_takes_the_tuples_that_fit_and_grows_by_what_the_rest_needs():
    made = [unit(0, "A", b=1.0, a=2.0), unit(1, "B")]
    scheduler = prepared("abd", (1, 1), made, q0=6.5)
    assert scheduler.choose(looked_at(10, 1)).runs == ((0, 4),)
    assert scheduler.q == 6.5
    decision = scheduler.choose(looked_at(6, 1, now=6.0))
    assert decision.runs == ((1, 1),)
    assert scheduler.q == 6.5 + (2 + 6)
    assert decision.why.terms == {"class": 2.0, "f": 1.0, "slice": 14.5, "left": 14.5}


def test_time_over_the_slot_is_added_as_well():
    made = [unit(0, "A", b=1.0, a=2.0), unit(1, "B")]
    scheduler = prepared("abd", (1, 1), made, q0=6.5)
    scheduler.choose(looked_at(10, 1))
    scheduler.choose(looked_at(6, 1, now=7.5))
    assert scheduler.q == 6.5 + 1 + (2 + 6)


def test_a_slot_that_is_over_without_a_queue_that_waits_does_not_grow():
    scheduler = prepared("abd", (1, 1), units(A=[1.0], B=[1.0]), q0=6.0)
    scheduler.choose(looked_at(4, 1))
    scheduler.choose(looked_at(0, 1, now=9.0))
    assert scheduler.q == 6.0


def test_from_a_slot_in_which_nothing_fits_it_grows_by_itself():
    made = [unit(0, "A", b=7e-6, a=60e-6), unit(1, "B", b=7e-6, a=90e-6)]
    scheduler = prepared("abd", (2, 1), made)
    assert scheduler.q == 50e-6
    assert scheduler.choose(looked_at(1, 1)).runs == ((1, 1),)
    assert scheduler.q == pytest.approx(50e-6 + 67e-6)


def test_after_a_round_without_growth_it_shrinks_by_the_last():
    made = units(A=[1.0], B=[1.0])
    scheduler = prepared("abd", (1, 1), made, q0=4.0)
    assert scheduler.choose(looked_at(5, 1)).runs == ((0, 4),)
    assert scheduler.choose(looked_at(1, 1, now=4.0)).runs == ((1, 1),)
    assert scheduler.q == 5.0
    scheduler.choose(looked_at(0, 0))
    found = []
    for _ in range(6):
        slots(scheduler, looked_at(0, 1), 1)
        found.append(scheduler.q)
    assert found == [5.0, 4.0, 3.0, 2.0, 1.0, 1.0]


def test_with_nothing_to_do_no_round_goes_by():
    scheduler = prepared("abd", (1, 1), units(A=[1.0], B=[1.0]), q0=4.0)
    scheduler.choose(looked_at(5, 1))
    before = scheduler.q
    assert all(scheduler.choose(looked_at(0, 0, now=9.0 + k)) is None for k in range(9))
    assert scheduler.q == before


def under_load(q0, rate):
    """Nine units in three classes, each with its share of a load that comes at a steady rate."""
    made = [unit(i, "ABC"[i % 3], b=5e-6, a=20e-6) for i in range(9)]
    return Bed(prepared("abd", (6, 3, 1), made, q0=q0), made, [0] * 9, rate=rate)


def lengths(bed, decisions):
    found = []
    for _ in range(decisions):
        bed.go(1)
        found.append(bed.scheduler.q)
    return found


@pytest.mark.parametrize("q0", [20e-6, 50e-6, 1000e-6])
def test_under_a_steady_load_slots_grow_from_too_short_and_stay_bounded(q0):
    bed = under_load(q0, 10_000)
    found = lengths(bed, 4000)
    # The time in which everything is served once, with all that comes meanwhile.
    cycle = 9 * 20e-6 / (1 - 9 * 10_000 * 5e-6)
    assert max(found) < q0 + 3 * cycle
    assert sum(bed.pending) < 9 * 10_000 * 3 * cycle
    assert max(found) > 100e-6


def test_slots_shrink_when_the_load_does():
    bed = under_load(50e-6, 10_000)
    busy = lengths(bed, 4000)[2000:]
    bed.rate, bed.came = 500, int(bed.now * 500)
    assert lengths(bed, 2000)[-1] < min(busy)


def test_a_slot_that_may_not_grow_runs_a_tuple_all_the_same():
    made = [unit(0, "A", b=1.0, a=5.0), unit(1, "B")]
    bed = Bed(prepared("abd", (1, 1), made, q0=2.0, q_max=3.0), made, [2, 2])
    bed.go(99)
    assert bed.pending == [0, 0]
    assert bed.scheduler.q <= 3.0
    assert [(i, n) for _, _, i, n in bed.trace] == [(1, 2), (0, 1), (0, 1)]


def test_a_slot_does_not_outlive_the_units_it_was_for():
    scheduler = prepared("abd", (1, 1), units(A=[1.0], B=[1.0]), q0=3.0)
    assert scheduler.choose(looked_at(9, 1)).runs == ((0, 3),)
    scheduler.prepare(units(B=[1.0, 1.0, 1.0], A=[1.0]))
    assert scheduler.choose(looked_at(1, 1, 1, 1, now=3.0)).runs == ((0, 1),)
    assert scheduler.q == 3.0


def test_each_lane_has_its_own_slot():
    made = units(A=[1.0, 1.0], B=[1.0, 1.0])
    scheduler = prepared("abd", (1, 1), made, q0=2.0)
    assert scheduler.choose(looked_at(1, 1, 1, 1, lane=0, lanes=2)).runs == ((0, 1),)
    assert scheduler.choose(looked_at(0, 1, 1, 1, lane=1, lanes=2, running={0})).runs == ((2, 1),)
    assert scheduler.choose(looked_at(1, 1, 0, 1, now=1.0, lane=0, lanes=2, running={2})).runs == ((1, 1),)


# Running frequencies.


def after_rounds(RT, priorities=(6, 3, 1), rounds=1, **options):
    """A scheduler after rounds in each of which the classes had these response times."""
    made = [unit(k, each.name) for k, each in enumerate(classes(*priorities))]
    scheduler = prepared("abd", priorities, made, q0=1.0, **options)
    more_rounds(scheduler, RT, rounds)
    return scheduler


def more_rounds(scheduler, RT, rounds=1):
    last = looked_at(*(i == len(scheduler.units) - 1 for i in range(len(scheduler.units))), now=9.0)
    until = scheduler.rounds + rounds
    while scheduler.rounds < until:
        for cls, times in RT.items():
            scheduler.responded(cls, times)
        slots(scheduler, last, 1)


def test_a_class_that_is_faster_than_the_one_above_loses_a_slot():
    scheduler = after_rounds({"A": [2.0], "B": [1.0], "C": [3.0]})
    assert scheduler.f == [6, 2, 1]
    assert len(scheduler.program) == 9
    assert (scheduler.updates, scheduler.updated) == (1, 9.0)


def test_the_class_above_gets_a_slot_where_the_faster_one_has_only_one():
    assert after_rounds({"A": [1.0], "B": [3.0], "C": [2.0]}).f == [6, 4, 1]


def test_without_inversion_and_between_equals_frequencies_stay():
    assert after_rounds({"A": [1.0], "B": [2.0], "C": [3.0]}).updates == 0
    assert after_rounds({"A": [2.0], "B": [1.0]}, priorities=(3, 3)).f == [3, 3]


def test_a_class_without_results_is_not_compared():
    assert after_rounds({"A": [2.0], "C": [1.0]}).f == [6, 3, 1]


def test_response_times_count_since_the_program_was_built():
    scheduler = after_rounds({"A": [2.0], "B": [1.0]})
    more_rounds(scheduler, {"A": [1.0], "B": [1.5]})
    assert scheduler.f == [6, 2, 1]


@pytest.mark.parametrize(("keep_order", "f"), [(False, [5, 2, 2]), (True, [5, 3, 2])])
def test_the_order_may_be_kept(keep_order, f):
    found = after_rounds({"A": [3.0], "B": [2.0], "C": [9.0]}, (5, 3, 2), keep_order=keep_order)
    assert found.f == f


def test_inversion_may_be_looked_for_at_a_percentile():
    RT = {"A": [1.0, 1.0, 9.0], "B": [2.0, 2.0, 2.0], "C": [9.0]}
    assert after_rounds(RT, level="mean").f == [6, 2, 1]
    assert after_rounds(RT, level=50).f == [6, 3, 1]


def test_frequencies_do_not_grow_without_end():
    scheduler = after_rounds({"A": [2.0], "B": [1.0]}, priorities=(2, 1), rounds=3 * CAP)
    assert scheduler.f == [2 * CAP, 1]


def test_shares_are_frequencies():
    scheduler = prepared("abd", (6, 3, 1), units(A=[1.0], B=[1.0], C=[1.0]))
    scheduler.share({"A": 0.5, "B": 0.4, "C": 0.1})
    assert scheduler.f == [5, 4, 1]
    scheduler.share({"A": 0.55, "B": 0.35, "C": 0.1})
    assert scheduler.f == [55, 35, 10]
    assert len(scheduler.program) == 100


def test_other_priorities_are_other_frequencies():
    scheduler = prepared("abd", (6, 3, 1), units(A=[1.0], B=[1.0], C=[1.0]), q0=1.0)
    scheduler.prioritise({"C": 8})
    assert [each.name for each in scheduler.order] == ["C", "A", "B"]
    assert scheduler.f == [8, 6, 3]
    assert scheduler.choose(looked_at(1, 1, 1)).runs == ((2, 1),)


@pytest.mark.parametrize("options", [{"q0": 0}, {"q0": -1.0}, {"q0": math.nan}, {"q0": 2.0, "q_max": 1.0}])
def test_a_slot_without_length_is_refused(options):
    with pytest.raises(InputError) as caught:
        create("abd", classes(1), options)
    assert caught.value.remedy == "Give 0 < q0 <= q_max."

"""What happens when, in a run of queries with deadlines."""

import math
from dataclasses import replace

import pytest

from headgate.control.deadlines import measures
from headgate.control.deadlines.profiles import create
from headgate.model.costs import Costs, Tree, select
from headgate.model.deadlines import Deadline
from headgate.sim.deadlines import rates
from headgate.sim.deadlines.estimators import ESTIMATORS
from headgate.sim.deadlines.setup import Setup
from headgate.sim.deadlines.simulation import simulate
from headgate.sim.deadlines.workload import Query, mix, visiting
from headgate.sim.trains.timeline import Timeline
from sim.deadlines.runs import late_by_query, mixed

SECOND = 250_000.0
"""Tuples per second of which a selection of half takes a second."""


def query(name, part, period=1.0, *, stream="A", weight=1.0, window=None, due=None, **more):
    """A selection on a stream of its own that takes that part of the processor if its windows tumble."""
    window = window or period
    tree = Tree(select(stream, 0.5))
    return Query(name, tree, Deadline(window, period, due or period, weight), **more), (stream, part * SECOND)


def ran(*described, profile="rm", options=None, horizon=10.0, overhead=0.0, **setup):
    queries = [each for each, _ in described]
    streams = {stream: rates.Stream((0.0,), (rate,)) for _, (stream, rate) in described}
    made = create(profile, **(options or {}))
    return simulate(Setup(queries, streams, made, horizon=horizon, overhead=overhead, **setup))


def of(report, name):
    return [each for each in report.records if each.query == name]


def test_windows_are_released_on_the_grid_when_they_end_and_read_what_came_in_them():
    report = ran(query("q", 0.2, 2.0, window=3.0), horizon=7.0)
    assert [(each.release, each.due) for each in report.records] == [(0, 2), (2, 4), (4, 6), (6, 8)]
    assert {each.tuples for each in report.records} == {0.2 * SECOND * 3.0}


def test_a_late_iteration_delays_the_next_ones_but_not_their_releases():
    report = ran(query("q", 1.5), horizon=4.0)
    assert [each.release for each in report.records] == [0, 1, 2, 3]
    assert [each.finish for each in report.records] == pytest.approx([1.5, 3.0, math.inf, math.inf])
    assert [each.begin for each in report.records] == pytest.approx([0, 1.5, 3.0, math.inf])


def test_to_finish_at_the_deadline_is_in_time():
    report = ran(query("a", 0.5), query("b", 0.5, stream="B"))
    assert report.misses == 0
    assert of(report, "b")[0].finish == 1.0


def test_an_iteration_begins_once_however_often_it_is_interrupted():
    report = ran(query("a", 0.5), query("b", 0.45, 4.0, stream="B"), horizon=8.0)
    assert of(report, "b")[0].begin == 0.5
    assert of(report, "b")[0].finish == pytest.approx(3.8)


def test_an_iteration_that_keeps_nothing_is_done_at_its_release():
    emptied = [each for each in mixed("lrm-seed").records if each.query == "Q1"]
    assert emptied
    assert all(each.kept == 0 and each.begin == each.finish == each.release for each in emptied)
    assert all(each.lost == each.whole for each in emptied)


def test_an_iteration_without_tuples_is_done_at_its_release_and_loses_nothing():
    report = ran(query("q", 0.0))
    assert report.misses == 0
    assert report.error == 0


def test_what_is_left_at_the_deadline_is_what_was_not_processed():
    report = ran(query("q", 1.5), horizon=4.0)
    first, second = report.records[:2]
    assert first.remaining == pytest.approx(0.5)
    assert second.remaining == pytest.approx(1.0)
    assert first.unprocessed == pytest.approx(first.tuples / 3)


def test_a_window_released_at_the_horizon_is_none_of_the_run_and_a_later_deadline_does_not_count():
    report = ran(query("q", 2.0, 3.0), horizon=6.0)
    assert [each.release for each in report.records] == [0, 3]
    assert report.misses == 2
    report = ran(query("q", 2.0, 3.0), horizon=5.0)
    assert report.misses == 1


def test_a_rescheduling_applies_to_what_is_released_at_the_same_instant():
    report = mixed("lrm-seed", rates.stepped())
    at_six = [each for each in report.records if each.release == 6.0 and each.query == "Q9"]
    assert at_six[0].fraction == pytest.approx(report.plans[1].allowances["Q9"].fraction, abs=1e-4)
    assert report.plans[1].since == 6.0


def test_plans_take_time_of_the_processor():
    without = ran(query("q", 0.5), profile="lrm-seed", options={"trigger": "pessimistic"}, horizon=3.0)
    with_ = ran(query("q", 0.5), profile="lrm-seed", options={"trigger": "pessimistic"}, horizon=3.0, overhead=0.1)
    assert [each.finish for each in without.records] == pytest.approx([0.5, 1.5, 2.5])
    assert [each.finish for each in with_.records] == pytest.approx([0.5, 1.6, 2.6])
    assert with_.spent == pytest.approx(0.3)


def test_an_aborted_iteration_leaves_the_processor_at_its_deadline():
    report = ran(query("q", 1.5), profile="rm-abort", horizon=4.0)
    assert [each.finish for each in report.records] == [math.inf] * 4
    assert report.aborted == {("q", index) for index in (1, 2, 3, 4)}
    assert [each.begin for each in report.records] == [0, 1, 2, 3]


def test_the_earliest_deadline_goes_first():
    tasks = (query("a", 0.4, 5.0), query("b", 4 / 7, 7.0, stream="B"))
    assert ran(*tasks, profile="edf", horizon=35.0).misses == 0
    assert ran(*tasks, profile="rm", horizon=35.0).misses > 0


def test_a_shorter_deadline_goes_first_under_dm_only():
    tasks = (query("a", 0.5, 2.0), query("b", 0.2, 2.5, due=0.75, stream="B"))
    assert late_by_query(ran(*tasks, profile="rm")) == {"b": 2}
    assert ran(*tasks, profile="dm").misses == 0


def test_the_same_setup_gives_the_same_run_to_the_bit():
    for profile in ("lrm-seed", "lrm+", "hpf"):
        one, two = (mixed(profile, rates.random(5)) for _ in range(2))
        assert one.records == two.records
        assert one.reschedulings == two.reschedulings


@pytest.mark.parametrize("profile", ["lrm-seed", "lrm+", "rm", "hpf", "rm-abort", "edf", "ledf", "ledf+", "dm"])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_released_iteration_is_finished_pending_or_given_up(profile, seed):
    report = mixed(profile, rates.random(seed))
    assert len(report.records) == 72
    assert len({(each.query, each.index) for each in report.records}) == 72
    for each in report.records:
        given_up = (each.query, each.index) in report.aborted
        assert not (given_up and each.finish < math.inf)
        assert each.release <= each.begin <= each.finish
        assert 0 <= each.kept <= each.tuples
    busy = sum(each.cost for each in report.records if each.finish < math.inf and each.begin < each.finish)
    assert busy + report.spent <= 20.0 + 1e-6


@pytest.mark.parametrize("profile", ["rm", "hpf", "lrm-seed", "lrm+"])
def test_iterations_of_a_query_finish_in_their_order(profile):
    report = mixed(profile, rates.random(3))
    for each in mix():
        finishes = [record.finish for record in of(report, each.name)]
        assert finishes == sorted(finishes)


def test_queries_that_come_and_go_are_planned_for_at_once():
    queries = (*mix(), *visiting(5, 10, 5.0, 12.0))
    report = mixed("lrm-seed", rates.steady(10_000.0), queries=queries)
    assert report.reschedulings == (5.0, 6.0, 12.0, 18.0)
    releases = {name: [each.release for each in of(report, name)] for name in ("Q11", "Q14", "Q15")}
    assert releases == {"Q11": [6, 7, 8, 9, 10, 11], "Q14": [8, 11], "Q15": [9]}
    assert [set(plan.order) >= {"Q11", "Q15"} for plan in report.plans] == [False, True, True, False, False]
    assert report.misses == 0


def test_a_query_that_is_removed_finishes_what_it_has_begun_or_leaves_it():
    slow = query("q", 0.9, 4.0, removed=5.0)
    kept, dropped = (ran(slow, horizon=12.0, graceful=graceful) for graceful in (True, False))
    assert [each.finish for each in kept.records] == pytest.approx([3.6, 7.6])
    assert [each.finish for each in dropped.records] == pytest.approx([3.6, math.inf])
    assert dropped.aborted == {("q", 2)}


def test_who_asks_first_is_refused_where_deadlines_could_not_be_met():
    guest = query("guest", 0.5, 1.0, stream="B", first=3.0)
    report = ran(query("host", 0.6), guest, gated=True)
    assert report.answers["guest"].kind == "refuse"
    assert of(report, "guest") == []
    shed = ran(query("host", 0.6), guest, gated=True, profile="lrm+")
    assert shed.answers["guest"].kind == "reduce"
    assert of(shed, "guest")
    assert shed.misses == 0


def test_who_is_suspended_is_not_run_and_counts_as_late():
    heavy = query("heavy", 0.9, weight=9.0)
    light = query("light", 0.9, weight=1.0, stream="B")
    report = ran(heavy, light, profile="lrm-seed", options={"floor": 0.8}, horizon=6.0)
    assert report.plans[0].suspended == ("light",)
    assert all(each.missed and each.begin == math.inf for each in of(report, "light"))
    assert late_by_query(report) == {"light": 6}


def test_costs_that_differ_from_the_model_are_learned_where_that_is_wanted():
    drift = Timeline(((0.0, 1.3),))
    slow, light = query("slow", 0.5, drift=drift), query("light", 0.45, stream="B")
    options = {"trigger": "pessimistic", "margin": 0.1, "spared": False}
    plain, corrected = (
        ran(slow, light, profile="lrm+", options=options, horizon=20.0, corrected=corrected)
        for corrected in (False, True)
    )
    assert len([each for each in plain.records if each.missed and 12 < each.due <= 20]) == 8
    assert not [each for each in corrected.records if each.missed and 12 < each.due <= 20]


def test_what_takes_longer_than_planned_is_made_up_for_by_those_that_begin_after_it():
    slow, light = query("slow", 0.5, drift=Timeline(((0.0, 1.3),))), query("light", 0.45, stream="B")
    late = {spared: ran(slow, light, profile="lrm+", options={"spared": spared}).misses for spared in (False, True)}
    assert late[False] > 0
    assert late[True] == 0


def test_dropping_that_costs_time_is_part_of_the_plan():
    heavy, (stream, rate) = query("q", 2.0)
    heavy = replace(heavy, tree=Tree(select("A", 0.5), Costs(drop=1e-6)))
    report = ran((heavy, (stream, rate)), profile="lrm-seed")
    assert report.misses == 0
    first = report.records[0]
    assert first.cost == pytest.approx(1.0, abs=1e-4)
    assert first.fraction == pytest.approx(1 / 3, abs=1e-4)


def test_joins_by_pairs_are_solved_and_lose_by_the_square():
    queries = [
        replace(q, tree=q.tree.by_pairs(dict.fromkeys(q.tree.streams, 12_000.0 * q.deadline.window))) for q in mix()
    ]
    report = mixed("lrm-seed", queries=queries)
    assert report.misses == 0
    join = next(each for each in report.records if each.query == "Q6")
    assert join.given / join.results == pytest.approx(join.fraction**2, rel=1e-3)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_sees_a_constant_rate_as_it_is(name):
    stream = rates.steady(12_000.0)["A"]
    for each in mix():
        seen = ESTIMATORS[name].tuples(each, stream, 7.3)
        assert seen == pytest.approx(12_000 * each.deadline.window, abs=1)


def test_estimators_follow_a_change_in_their_own_time():
    stream = rates.Stream((-10.0, 10.0), (1_000.0, 2_000.0))
    q = mix()[9]
    found = {name: each.tuples(q, stream, 12.0) / 6 for name, each in ESTIMATORS.items()}
    assert found["rate_last"] == 2_000
    assert found["max"] == 2_000
    assert found["rate_last_6s"] == pytest.approx(4_000 / 3, abs=1)
    assert found["window_last"] == pytest.approx(4_000 / 3, abs=1)
    assert found["ewma"] == pytest.approx(1_510, abs=1)


def test_a_snapshot_tells_misses_movement_and_losses_since_the_last_plan():
    report = mixed("lrm-seed", rates.stepped())
    first = report.snapshots[0]
    assert first.moved == pytest.approx(1.1**5 - 1, abs=1e-3)
    assert first.missed == 0
    assert 0.2 < first.lost < 0.6
    due = [each for each in report.records if each.due <= 6]
    assert 100 * first.lost == pytest.approx(measures.errors(due).output_percent)


def test_a_heavier_weight_never_loses_more_of_its_results():
    for light, heavy in ((1.0, 2.0), (1.0, 5.0), (3.0, 9.0)):
        tasks = (query("light", 0.8, weight=light), query("heavy", 0.8, weight=heavy, stream="B"))
        for profile in ("lrm-seed", "lrm+", "ledf", "ledf+"):
            report = ran(*tasks, profile=profile)
            lost = {name: sum(each.lost for each in of(report, name)) for name in ("light", "heavy")}
            assert report.misses == 0
            assert lost["heavy"] < lost["light"]

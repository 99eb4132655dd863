"""SlopeSlack: who is first, who fills the schedule, and how long its train is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.model.qos import LatencyGraph
from headgate.policy.qos.prospects import Prospects
from headgate.policy.qos.slope_slack import SlopeSlack
from helpers import prepared, view
from policy.qos.bed import box_units, deadlines, path_units
from policy.qos.states import networks, waiting


def order(units, queues, now=10.0, **options):
    made = SlopeSlack(seed=None, **{"schedule": 99, **options})
    made.prepare(units)
    return [run.unit for run in made.choose(view(now, *queues)).runs]


def test_before_any_deadline_the_least_slack_is_first():
    units = path_units(*((1, graph) for graph in deadlines(30, 20, 40)))
    assert order(units, [[9.0]] * 3) == [1, 0, 2]


def test_what_falls_comes_before_what_is_still_worth_all_and_the_steepest_first():
    steep, gentle = LatencyGraph(((0, 1), (1, 1), (50, 0))), LatencyGraph(((0, 1), (1, 1), (90, 0)))
    units = path_units((1, gentle), (1, LatencyGraph.until(12)), (1, steep))
    assert order(units, [[0.0]] * 3) == [2, 0, 1]


def test_what_is_hopeless_or_has_no_graph_only_fills_what_is_left():
    late, fine = deadlines(5, 30)
    units = path_units((1, late), (1, None), (1, fine))
    assert order(units, [[0.0]] * 3, schedule=1) == [2]
    assert order(units, [[0.0]] * 3) == [2, 0, 1]
    assert order(units, [[0.0], [0.0], []], schedule=2) == [0, 1]


def test_the_train_of_what_is_hopeless_can_be_bounded():
    late, fine = deadlines(5, 300)
    made = SlopeSlack(hopeless_cap=3)
    made.prepare(path_units((1, late), (1, fine)))
    runs = made.choose(view(10.0, [0.0] * 50, [0.0] * 50)).runs
    assert runs == ((1, 50), (0, 3))


def test_of_what_is_hopeless_the_least_work_goes_first_if_it_is_to_recover():
    late, fine = deadlines(5, 300)
    units = path_units((1, late), (1, late), (1, None), (1, fine))
    queues = [[0.0] * 50, [0.0] * 2, [0.0] * 9, [0.0] * 99]
    assert order(units, queues) == [3, 0, 1, 2]
    assert order(units, queues, recover=True) == [3, 1, 2, 0]


def test_where_not_all_can_be_in_time_the_one_that_takes_most_of_the_machine_is_given_up():
    units = path_units(*((1, graph) for graph in deadlines(10, 6, 7)))
    queues = [[0.0] * 6, [0.0], [0.0]]
    assert order(units, queues, now=0.0) == [0, 1, 2]
    assert order(units, queues, now=0.0, recover=True) == [1, 2, 0]
    assert order(units, [[0.0] * 5, [0.0], [0.0]], now=0.0, recover=True) == [0, 1, 2]


def test_what_is_worth_more_may_take_more():
    dear = LatencyGraph(((0, 10), (10, 10), (10.1, 0)))
    units = path_units((1, dear), *((1, graph) for graph in deadlines(6, 7)))
    assert order(units, [[0.0] * 6, [0.0], [0.0]], now=0.0, recover=True) == [0, 2, 1]


def test_work_that_came_over_a_longer_time_takes_less_of_the_machine():
    units = path_units(*((1, graph) for graph in deadlines(40, 10, 12)))
    queues = [[0.0] * 7, [29.0] * 4, [29.0]]
    assert order(units, queues, now=30.0) == [0, 1, 2]
    assert order(units, queues, now=30.0, recover=True) == [0, 2, 1]


@given(st.data())
def test_nobody_is_left_out_because_of_being_given_up(data):
    units = data.draw(networks())
    queues = data.draw(waiting(units))
    found = []
    for recover in (False, True):
        made = SlopeSlack(schedule=99, seed=None, recover=recover)
        made.prepare(units)
        decision = made.choose(view(20.0, *queues))
        found.append(sorted(decision.runs) if decision else None)
    assert found[0] == found[1]


@given(st.data())
def test_a_schedule_is_the_first_of_all_that_wait_by_slope_and_then_slack(data):
    units = data.draw(networks())
    queues = data.draw(waiting(units))
    made = SlopeSlack(schedule=3, seed=None)
    made.prepare(units)
    prospects = Prospects(units, made.train)
    seen = view(20.0, *queues)
    terms = {i: prospects.terms(seen, i) for i, queue in enumerate(queues) if queue.pending}
    expected = sorted(terms, key=lambda i: (-terms[i]["slope"], terms[i]["slack"], i))[:3]
    decision = made.choose(seen)
    assert [run.unit for run in decision.runs] == expected
    assert decision.why.terms == terms[expected[0]]
    assert decision.work == (len(terms), len(terms), len(units))


def test_a_reason_says_what_is_expected():
    why = prepared("slope-slack", box_units((2, LatencyGraph(((0, 1), (10, 0)))))).choose(view(3.0, [1.0], [])).why
    assert why.terms == {"slope": 0.1, "slack": 6.0, "eol": 4.0, "ect": 2.0, "utility": pytest.approx(0.6)}


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"schedule": 0}, "a schedule has at least one run, or auto"),
        ({"ect": "guess"}, "a known reading of ect"),
        ({"hopeless_cap": 0}, "a train has at least one tuple"),
    ],
)
def test_what_is_no_option_is_refused(options, rule):
    with pytest.raises(InputError) as caught:
        SlopeSlack(**options)
    assert caught.value.rule == rule


def test_equal_units_go_by_an_order_that_the_seed_gives():
    units = path_units(*((1, graph) for graph in deadlines(*[30] * 20)))

    def order(seed):
        made = prepared("slope-slack", units, schedule=20, seed=seed)
        return [run.unit for run in made.choose(view(1.0, *[[0.0]] * 20)).runs]

    assert order(None) == list(range(20))
    assert order(0) == order(0)
    assert len({tuple(order(seed)) for seed in (None, 0, 1)}) == 3


def test_a_unit_of_many_alike_queries_is_not_given_up_for_one_of_a_single_query():
    graph = LatencyGraph.until(10, 12)
    queues = [[0.0] * 5, [0.0] * 6]
    single, many = (path_units((1, graph), (1, graph.times(k))) for k in (1, 50))
    assert order(single, queues, now=0.0, recover=True) == [0, 1]
    assert order(many, queues, now=0.0, recover=True) == [1, 0]

"""Bucketing: units are in the cells they belong to at every moment, and the first cells run."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.policy.protocol import Outcome
from headgate.policy.qos.bucketing import Bucketing
from headgate.policy.qos.slope_slack import SlopeSlack
from helpers import Waiting, prepared, view
from policy.qos.bed import box_units, deadlines, path_units
from policy.qos.states import networks, waiting

STEPS = st.lists(
    st.tuples(st.sampled_from(["arrive", "arrive for all", "run", "wait"]), st.integers(0, 40), st.integers(0, 6)),
    max_size=25,
)

MANY = path_units(*((1, graph) for graph in deadlines(*(2.0 + k for k in range(12)))), cost=0.25)


@given(data=st.data(), steps=STEPS, partitions=st.sampled_from([1, 2, 8]))
def test_units_that_are_followed_are_where_a_look_at_all_would_put_them(data, steps, partitions):
    units = data.draw(st.one_of(networks(), st.just(MANY)))
    queues = [Waiting([]) for _ in units]
    # Eight ranges of a power of two keep the bounds of cells on the grid of times.
    following, anew = (Bucketing(schedule=2, partitions=partitions, events=events) for events in (True, False))
    for each in (following, anew):
        each.prepare(units)
    now = 0.0
    for step, unit, gap in steps:
        now += gap / 4
        i = unit % len(units)
        if step == "arrive":
            queues[i] = Waiting([*queues[i].arrivals, now], queues[i].position)
        elif step == "arrive for all":
            queues = [Waiting([*queue.arrivals, now], queue.position) for queue in queues]
        elif step == "run" and queues[i].pending:
            queues[i] = Waiting(queues[i].arrivals[1:], queues[i].position + 1)
        seen = view(now, *queues)
        first, second = following.choose(seen), anew.choose(seen)
        assert [following.cell_of(k) for k in range(len(units))] == [anew.cell_of(k) for k in range(len(units))]
        assert (first is None) == (second is None) == (not any(queue.pending for queue in queues))
        if first:
            assert [following.cell_of(run.unit) for run in first.runs] == [anew.cell_of(r.unit) for r in second.runs]
            assert first.work.reads == second.work.reads


@given(st.data())
def test_with_many_cells_the_order_is_that_of_slope_and_slack(data):
    units = data.draw(networks())
    queues = data.draw(waiting(units))
    fine, exact = Bucketing(schedule=99, partitions=4096), SlopeSlack(schedule=99)
    for each in (fine, exact):
        each.prepare(units)
    seen = view(20.0, *queues)
    places = [fine.cell_of(run.unit) for _ in [fine.choose(seen)] for run in exact.choose(seen).runs]
    assert places == sorted(places)


def test_with_one_cell_it_is_first_come_first_served():
    units = path_units(*((1, graph) for graph in deadlines(1000, 2000, 3000)))
    policy = Bucketing(schedule=1, partitions=1, seed=None)
    policy.prepare(units)
    queues = [Waiting([0.0] * 9) for _ in units]
    order = []
    for now in map(float, range(1, 7)):
        [run] = policy.choose(view(now, *queues)).runs
        order.append(run.unit)
        # It runs, and more arrives for it: it is behind the others now.
        queues[run.unit] = Waiting([], queues[run.unit].position)
        policy.choose(view(now, *queues))
        queues[run.unit] = Waiting([now], queues[run.unit].position + 9)
    assert order == [0, 1, 2, 0, 1, 2]


def test_only_units_that_have_changed_or_are_due_are_moved():
    units = path_units(*((1, graph) for graph in deadlines(8, 8, 8)))
    policy = Bucketing(partitions=2)
    policy.prepare(units)
    queues = [Waiting([0.0]) for _ in units]
    moved = []
    for now, arrivals in ((0.0, 0), (1.0, 0), (1.5, 1), (4.0, 0), (4.5, 0)):
        if arrivals:
            queues[0] = Waiting([0.0, now])
        moved.append(policy.choose(view(now, *queues)).work.computations)
    # All at first; nobody; the one with another tuple; all, as their slack is less than 4 by now; nobody again.
    assert moved == [3, 0, 1, 3, 0]


def test_a_change_behind_a_unit_changes_what_is_expected_of_it():
    (graph,) = deadlines(8)
    units = box_units((2, graph))
    policy = Bucketing(partitions=8)
    policy.prepare(units)
    before = policy.choose(view(0.0, [0.0], [])) and policy.cell_of(0)
    after = policy.choose(view(0.0, [0.0], [0.0] * 4)) and policy.cell_of(0)
    assert before > after


def test_new_statistics_keep_units_in_their_cells_and_new_graphs_do_not():
    tight, loose = (path_units(*((1, graph) for graph in deadlines(d, d))) for d in (8, 80))
    policy = prepared("bucketing", tight)
    policy.choose(view(1.0, [0.0], [0.0]))
    policy.prepare(tight)
    assert policy.cell_of(0) is not None
    assert policy.choose(view(1.0, [0.0], [0.0])).work.computations == 2
    policy.prepare(loose)
    assert policy.cell_of(0) is None


def test_units_that_have_changed_graphs_with_each_other_are_looked_up_anew():
    tight, loose = deadlines(8, 80)
    policy = prepared("bucketing", path_units((1, tight), (1, loose)))
    seen = view(1.0, [0.0], [0.0])
    policy.choose(seen)
    before = policy.cell_of(0), policy.cell_of(1)
    policy.prepare(path_units((1, loose), (1, tight)))
    policy.choose(seen)
    assert before[0] < before[1]
    assert (policy.cell_of(1), policy.cell_of(0)) == before


def test_a_size_that_is_found_out_goes_on_while_results_are_worth_more():
    units = path_units(*((1, graph) for graph in deadlines(*[100] * 64)))
    policy = Bucketing(schedule="auto")
    policy.prepare(units)
    sizes, worth = [], count(1)
    for _ in range(4):
        sizes.append(policy.size)
        decision = policy.choose(view(0.0, *[[0.0] * 1000] * 64))
        assert len(decision.runs) == policy.size
        # Results come nearer to the deadline and past it: the first block is worth all, later ones less.
        finished = 100.0 + next(worth) * 2e-5
        policy.observe(Outcome(decision.runs[0], 0.0, finished))
    assert sizes == [1, 2, 1, 2]


def test_it_has_at_least_one_partition():
    with pytest.raises(InputError, match="bucketing has at least one partition"):
        Bucketing(partitions=0)


def test_a_backend_that_says_what_has_changed_gets_the_same_decisions():
    units = path_units(*((1, graph) for graph in deadlines(8, 9, 10)))
    told, looking = (prepared("bucketing", units, schedule=1) for _ in range(2))
    queues = [Waiting([0.0]), Waiting([0.0]), Waiting([])]
    for now, arrives in ((1.0, 2), (2.0, 1), (9.0, 0)):
        queues[arrives] = Waiting([*queues[arrives].arrivals, now])
        seen = view(now, *queues)
        assert told.choose(replace(seen, changed=[arrives])) == looking.choose(seen)


def test_of_what_is_hopeless_the_least_work_goes_first_if_it_is_to_recover():
    late, fine = deadlines(5, 300)
    units = path_units((1, late), (1, late), (1, fine))
    seen = view(10.0, [0.0] * 50, [0.0] * 2, [0.0] * 99)
    found = {}
    for recover in (False, True):
        made = Bucketing(seed=None, recover=recover)
        made.prepare(units)
        found[recover] = [run.unit for run in made.choose(seen).runs]
    assert found == {False: [2, 0, 1], True: [2, 1, 0]}


def test_where_not_all_can_be_in_time_the_one_that_takes_most_of_the_machine_is_given_up():
    units = path_units(*((1, graph) for graph in deadlines(10, 6, 7)))
    seen = view(0.0, [0.0] * 6, [0.0], [0.0])
    found = {}
    for recover in (False, True):
        made = Bucketing(partitions=64, seed=None, recover=recover)
        made.prepare(units)
        found[recover] = [run.unit for run in made.choose(seen).runs]
    assert found == {False: [0, 1, 2], True: [1, 2, 0]}


def test_what_is_said_to_have_changed_and_has_not_keeps_its_place():
    units = path_units(*((1, graph) for graph in deadlines(8, 9)))
    policy = prepared("bucketing", units)
    seen = view(1.0, [0.0], [])
    policy.choose(seen)
    assert policy.choose(replace(seen, changed=[0, 1])).work.computations == 0
    assert policy.choose(replace(seen, queues=[Waiting([0.0, 0.5]), Waiting([])], changed=[0])).work.computations == 1

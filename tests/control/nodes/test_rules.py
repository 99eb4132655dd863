"""The coordinator's policy, rule by rule, on nodes small enough to be worked out by hand."""

from dataclasses import replace
from itertools import pairwise

import pytest

from clusters import PRIORITIES, World, moves, query, raised, slept, woken
from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.entitled import lost, served
from headgate.control.nodes.options import MINIMAL, WEIGHED, Options
from headgate.control.nodes.orders import Migrate
from headgate.errors import InputError

near = pytest.approx
BOTH = pytest.mark.parametrize("options", [MINIMAL, WEIGHED], ids=["minimal", "weighed"])


def bronze(*loads, **more):
    return {f"b{i}": query("bronze", load, **more) for i, load in enumerate(loads)}


# What DILoS gives.


@pytest.mark.parametrize(
    ("loads", "got"),
    [
        ((0.3, 0.2, 0.4), (0.3, 0.2, 0.4)),
        ((0.9, 0.3, 0.1), (0.6, 0.3, 0.1)),
        ((0.3, 0.2, 0.9), (0.3, 0.2, 0.5)),
        ((0.2, 0.6, 0.6), (0.2, 0.6, 0.2)),
        ((0.8, 0.0, 0.5), (0.8, 0.0, 0.2)),
        ((0.7, 0.4, 0.0), (0.7, 0.3, 0.0)),
    ],
)
def test_a_class_gets_its_share_and_what_others_leave_the_highest_first(loads, got):
    found = served(1.0, PRIORITIES, dict(zip(PRIORITIES, loads, strict=True)))
    assert tuple(found.values()) == near(got)


def test_what_is_lost_is_what_is_not_served():
    assert lost(1.0, PRIORITIES, {"gold": 0.3, "silver": 0.2, "bronze": 0.9}) == near(
        {"gold": 0.0, "silver": 0.0, "bronze": 0.4}
    )


# Spikes.


@BOTH
@pytest.mark.parametrize(("lossy", "moved"), [(7, False), (8, True)])
def test_a_class_loses_if_it_drops_in_eight_of_ten_reports(options, lossy, moved):
    world = World({"n": bronze(0.3, 0.3, 0.3), "m": {}}, options)
    for i in range(10):
        world.set_load("b0", 0.5 if i < lossy else 0.3)
        orders = world.tick()
    assert bool(moves(orders)) == moved


@BOTH
def test_a_loss_of_one_percent_is_none(options):
    world = World({"n": bronze(0.5, 0.5 / 0.99 - 0.001), "m": {}}, options)
    assert world.round() == ()


@BOTH
def test_nobody_moves_while_nothing_is_lost(options):
    world = World({"n": bronze(0.3, 0.3, 0.3), "m": {}}, options)
    assert world.rounds(3) == []


# Which query, and where to.


@BOTH
def test_the_lowest_class_goes_first_then_stateless_then_the_smallest_that_removes_the_excess(options):
    world = World(
        {
            "n": {
                "g": query("gold", 0.3, stateless=True),
                "s": query("silver", 0.2, stateless=True),
                "b-state": query("bronze", 0.25),
                "b-small": query("bronze", 0.05, stateless=True),
                "b-large": query("bronze", 0.3, stateless=True),
                "b-right": query("bronze", 0.2, stateless=True),
            },
            "m": {},
        },
        options,
    )
    # 1.3 is offered, so that 0.3 of bronze is too much.
    assert moves(world.round()) == [("b-large", "n", "m")]
    world = World({"n": {**world.nodes["n"], "g": query("gold", 0.5)}, "m": {}}, options)
    # 1.2 is offered by those that are left: the one of 0.2 removes the excess.
    assert moves(world.round()) == [("b-right", "n", "m")]


@BOTH
def test_the_target_is_the_one_with_most_to_spare(options):
    nodes = {"n": bronze(0.5, 0.6), "l": {"g": query("gold", 0.3)}, "m": {"h": query("gold", 0.2)}}
    assert [target for _, _, target in moves(World(nodes, options).round())] == ["m"]


@BOTH
def test_of_those_that_fit_one_that_can_share_work_is_preferred(options):
    nodes = {
        "n": bronze(0.5, 0.6, shares="ticks"),
        "l": {"g": query("gold", 0.4, shares="ticks orders")},
        "m": {"h": query("gold", 0.1, shares="orders")},
    }
    assert [target for _, _, target in moves(World(nodes, options).round())] == ["l"]


@BOTH
def test_a_query_that_would_fill_the_reserve_does_not_move(options):
    nodes = {"n": bronze(0.6, 0.6), "m": {"g": query("gold", 0.36)}}
    assert moves(World(nodes, options).round()) == []


@BOTH
def test_what_is_bound_to_its_node_stays(options):
    nodes = {"n": {**bronze(0.5, movable=False), "b9": query("bronze", 0.6)}, "m": {}}
    assert moves(World(nodes, options).round()) == [("b9", "n", "m")]


@BOTH
def test_with_nothing_to_move_and_nowhere_to_go_nothing_is_ordered_of_the_lowest_class(options):
    world = World({"n": bronze(1.5, movable=False)}, replace(options, raised=1.0))
    assert world.rounds(3) == []


def test_the_weighed_rule_moves_as_many_as_it_takes_and_fills_no_target():
    nodes = {"n": bronze(*[0.2] * 9), "l": {"g": query("gold", 0.6)}, "m": {"h": query("gold", 0.5)}}
    world = World(nodes)
    orders = world.round()
    # 0.8 is too much: one fits on l and two on m beside the reserve.
    assert sorted(target for _, _, target in moves(orders)) == ["l", "m", "m"]
    assert world.report("l").classes["bronze"].drop == world.report("m").classes["bronze"].drop == 0


def test_a_node_without_queries_takes_one_that_is_too_much_for_any_node():
    world = World({"n": bronze(1.4, 1.3, 1.2), "m": {}})
    assert [target for _, _, target in moves(world.round())] == ["m"]
    # It is the highest class that gets a node for itself.
    world = World({"n": bronze(1.4) | {"g": query("gold", 1.2), "s": query("silver", 1.3)}, "m": {}})
    assert [name for name, _, _ in moves(world.round())] == ["g"]
    # Now all that there is to work with is used, and nothing that moves would make it more.
    assert moves(world.rounds(20)) == []
    # And one that has a node for itself already stays.
    assert moves(World({"n": bronze(1.4), "m": {}}).rounds(20)) == []


def test_the_minimal_rule_moves_one_for_each_class_that_loses():
    nodes = {"n": bronze(*[0.2] * 9), "l": {}, "m": {}}
    assert len(moves(World(nodes, MINIMAL).round())) == 1


def test_a_node_takes_in_so_many_queries_in_a_round():
    nodes = {"n": bronze(*[0.05] * 30), "m": {}}
    world = World(nodes, Options(intake=3))
    assert len(moves(world.round())) == 3


def test_the_weighed_rule_does_not_move_lower_queries_that_would_not_help():
    # Bronze has no more than its share here: without one of its queries gold would still lack as much.
    nodes = {
        "n": {
            "g0": query("gold", 0.5),
            "g1": query("gold", 0.3),
            "s": query("silver", 0.3, movable=False),
            **bronze(0.4, 0.4),
        },
        "m": {"h": query("gold", 0.1)},
    }
    assert moves(World(nodes, WEIGHED).round())[0] == ("g1", "n", "m")
    assert moves(World(nodes, MINIMAL).round())[0] == ("b0", "n", "m")


def test_the_weighed_rule_gives_a_class_its_share_of_another_node_though_that_is_full():
    # Bronze has borrowed from gold on m, and gives it back where gold comes to be.
    nodes = {"n": {"g0": query("gold", 0.5), "g1": query("gold", 0.4), "s": query("silver", 0.4)}, "m": bronze(1.5)}
    assert moves(World(nodes, WEIGHED).round())[0] in {("g1", "n", "m"), ("s", "n", "m")}


# Priorities.


@BOTH
def test_a_class_that_cannot_be_helped_is_raised_by_its_deficit_and_at_most_twice(options):
    nodes = {"n": {"g": query("gold", 0.8, movable=False), "s": query("silver", 0.3), **bronze(0.4)}}
    world = World(nodes, options)
    if options is WEIGHED:
        # On one node as large as all of them gold would get no more, so that nothing is owed to it.
        assert raised(world.rounds(3)) == {}
        world.nodes["m"] = {"x": query("silver", 0.7, movable=False), "y": query("bronze", 0.3, movable=False)}
        world.priorities["m"] = dict(PRIORITIES)
        world.nodes["n"] = {name: replace(each, movable=False) for name, each in world.nodes["n"].items()}
    first = raised(world.round())
    assert first["n", "gold"] == near(6 / (1 - 0.25))
    world.rounds(20)
    assert world.priorities["n"]["gold"] == near(12)


@BOTH
def test_the_priority_goes_back_when_the_reason_is_gone(options):
    nodes = {"n": {"g": query("gold", 0.7, movable=False), "s": query("silver", 0.4, movable=False)}}
    world = World(nodes, replace(options, raised=2.0))
    world.priorities["n"]["gold"] = 12.0
    # Silver loses: gold needs what it was given.
    assert ("n", "gold") not in raised(world.round())
    world.set_load("s", 0.2)
    world.rounds(2)
    assert world.priorities["n"] == PRIORITIES


def test_the_weighed_rule_raises_nobody_at_the_cost_of_a_class_above():
    nodes = {
        "n": {
            "g": query("gold", 0.6, movable=False),
            "s": query("silver", 0.5, movable=False),
            "b": query("bronze", 0.2, movable=False),
        },
        "m": {"b2": query("bronze", 1.0, movable=False)},
    }
    orders = World(nodes, WEIGHED).round()
    # More of silver would be less of gold.
    assert raised(orders) == {}


# On the way.


@BOTH
def test_a_query_that_has_moved_stays_for_the_rounds_of_rest(options):
    world = World({"n": bronze(0.6, 0.6), "m": {}}, replace(options, raised=1.0, sleeps=1000))
    [(name, _, _)] = moves(world.round())
    # Now it is too much where it went to, and there would be room where it was.
    world.set_load(name, 1.4)
    world.nodes["n"].clear()
    seen = [moves(world.round()) for _ in range(9)]
    assert not any(seen)


@BOTH
def test_a_query_whose_node_is_gone_may_move_on_at_once(options):
    world = World({"n": bronze(0.5, movable=False), "m": {}, "gone": {"x": query("bronze", 0.6)}}, options)
    assert world.round() == ()
    world.nodes["n"] |= world.nodes.pop("gone")
    assert moves(world.round()) == [("x", "n", "m")]


@BOTH
def test_what_is_on_its_way_counts_where_it_goes_to_and_is_not_ordered_again(options):
    world = World({"n": bronze(0.6, 0.6), "m": {}}, replace(options, raised=1.0), obeys=False)
    assert len(moves(world.round())) == 1
    assert moves(world.round()) == []


@BOTH
def test_a_query_that_two_nodes_run_is_on_its_way(options):
    world = World({"n": bronze(0.6), "m": bronze(0.6)}, replace(options, raised=1.0))
    world.nodes["n"]["x"] = query("bronze", 0.6)
    world.nodes["m"]["x"] = query("bronze", 0.6)
    world.nodes["l"] = {}
    world.priorities["l"] = dict(PRIORITIES)
    assert "x" not in {name for name, _, _ in moves(world.round())}


@BOTH
def test_an_order_that_nothing_came_of_is_forgotten(options):
    world = World({"n": bronze(0.6, 0.7), "m": {}}, replace(options, raised=1.0, rest=5, patience=2), obeys=False)
    ordered = [moves(world.round()) for _ in range(12)]
    assert sum(bool(each) for each in ordered) >= 2
    times: dict[str, list[int]] = {}
    for number, each in enumerate(ordered):
        for name, _, _ in each:
            times.setdefault(name, []).append(number)
    assert all(b - a >= 5 for each in times.values() for a, b in pairwise(each))


@BOTH
def test_nodes_may_come_and_go(options):
    world = World({"n": bronze(0.6, 0.6)}, replace(options, raised=1.0))
    assert world.round() == ()
    world.nodes["m"], world.priorities["m"] = {}, dict(PRIORITIES)
    assert len(moves(world.round())) == 1
    gone = world.nodes.pop("m")
    assert moves(world.round()) == []
    world.nodes["n"] |= gone
    world.nodes["l"], world.priorities["l"] = {}, dict(PRIORITIES)
    assert {target for _, _, target in moves(world.round())} <= {"l"}


def test_a_report_that_was_seen_before_counts_once_and_one_of_the_future_not_at_all():
    world = World({"n": bronze(0.6, 0.6), "m": {}})
    balancer = Balancer(WEIGHED)
    world.time = 5.0
    same = world.reports()
    assert [balancer.decide(5.0 + i, same) for i in range(10)][-1] == ()
    assert [balancer.decide(1.0, same) for _ in range(10)][-1] == ()


# Sleep.


@BOTH
def test_the_least_loaded_node_is_drained_and_sleeps_when_all_is_idle_for_ten_rounds(options):
    nodes = {
        "n": bronze(0.2, 0.2),
        "m": {"g": query("gold", 0.1), "h": query("gold", 0.05)},
        "l": {"s": query("silver", 0.3)},
    }
    world = World(nodes, options)
    assert world.rounds(9) == []
    drained = world.round()
    assert {(name, origin) for name, origin, _ in moves(drained)} == {("g", "m"), ("h", "m")}
    assert slept(world.round()) == ["m"]
    assert world.asleep == {"m"}


@BOTH
def test_the_last_node_stays_awake(options):
    world = World({"n": bronze(0.1)}, options)
    assert world.rounds(25) == []


@BOTH
def test_of_nodes_whose_queries_fit_elsewhere_the_least_loaded_is_drained(options):
    # The large node is the least loaded, but what it runs would not fit on the small one.
    nodes = {"large": {"g": query("gold", 0.5)}, "small": {"s": query("silver", 0.1)}}
    world = World(nodes, options, capacity={"large": 3.0, "small": 0.3})
    world.rounds(30)
    assert world.asleep == {"small"}


@BOTH
def test_an_idle_node_with_a_query_that_is_bound_to_it_stays_awake(options):
    world = World({"n": bronze(0.3, movable=False), "m": {"g": query("gold", 0.1, movable=False)}}, options)
    assert world.rounds(25) == []


def test_by_the_minimal_rule_the_largest_node_is_woken_when_something_is_lost_for_ten_rounds():
    options = replace(MINIMAL, raised=1.0)
    world = World({"n": bronze(0.6, 0.6)}, options, asleep={"m", "l"}, capacity={"l": 2.0})
    assert woken(world.rounds(9)) == []
    assert woken(world.round()) == ["l"]
    assert len(moves(world.round())) == 1
    assert woken(world.rounds(9)) == []


def test_a_node_is_woken_when_something_is_lost_for_two_rounds_that_could_not_be_foreseen():
    # What is lost is not lost for want of room, as far as anybody can tell: neither query is to go elsewhere.
    world = World({"n": bronze(1.2, movable=False)}, replace(WEIGHED, raised=1.0), asleep={"m"})
    assert woken(world.round()) == []
    assert woken(world.round()) == ["m"]


def test_a_node_is_woken_before_anything_is_lost_once_one_is_full_for_longer_than_a_spike():
    world = World({"n": bronze(*[0.14] * 5)}, asleep={"m"})
    assert world.rounds(5) == []
    for i in range(5):
        world.set_load(f"b{i}", 0.17)
    assert [woken(world.tick()) for _ in range(3)] == [[], [], ["m"]]
    # It gets its part of the queries at once, more than a node takes in otherwise, and none of them goes back.
    world = World({"n": bronze(*[0.08] * 11)}, asleep={"m"})
    assert len(moves(world.rounds(2))) == 5
    assert moves(world.rounds(8)) == []


def rising(step, *, options=WEIGHED, ticks=8):
    """The reports at which nodes are woken while the load of two that are awake, 0.8 at first, grows by a step."""
    world = World(
        {"n": bronze(*[0.1] * 4), "m": {f"s{i}": query("silver", 0.1) for i in range(4)}}, options, {}, {"l"}
    )
    assert world.rounds(2) == []
    found = []
    for i in range(ticks):
        for name in (*world.nodes["n"], *world.nodes["m"]):
            world.set_load(name, 0.1 + step * (i + 1) / 8)
        found += [i for _ in woken(world.tick())]
    return found


def test_a_node_is_woken_when_the_load_will_be_too_much_by_the_time_that_it_has_queries():
    # 0.06 more in each report make 1.2 more in 30 s: 80 % of both nodes. It takes three such reports.
    assert rising(0.06) == [2]
    assert rising(0.06, options=replace(WEIGHED, ahead=0.0)) == []
    # So slow a growth needs nobody yet.
    assert rising(0.01) == []
    assert rising(0.06, options=MINIMAL) == []


def test_a_load_that_jumps_once_is_not_taken_for_one_that_grows():
    world = World({"n": bronze(*[0.1] * 4), "m": {}}, asleep={"l"})
    world.rounds(2)
    for name in world.nodes["n"]:
        world.set_load(name, 0.17)
    assert woken(world.rounds(1)) == []


def test_who_wakes_up_within_a_round_does_not_wait_for_its_end_to_get_queries():
    world = World({"n": bronze(*[0.14] * 5)}, asleep={"m"})
    assert world.rounds(5) == []
    for i in range(5):
        world.set_load(f"b{i}", 0.17)
    orders = [world.tick() for _ in range(4)]
    assert woken(orders[2]) == ["m"]
    assert [target for _, _, target in moves(orders[3])] == ["m", "m"]


def test_a_node_that_is_new_gets_its_part_at_once_where_another_is_full():
    world = World({"n": bronze(*[0.14] * 6)})
    assert world.rounds(1) == []
    world.nodes["m"], world.priorities["m"] = {}, dict(PRIORITIES)
    assert moves(world.tick()) == [(f"b{i}", "n", "m") for i in (5, 4, 3)]
    # Nobody has need of it here.
    world = World({"n": bronze(*[0.12] * 6)})
    assert world.rounds(1) == []
    world.nodes["m"], world.priorities["m"] = {}, dict(PRIORITIES)
    assert world.rounds(3) == []


def test_a_spike_wakes_nobody():
    world = World({"n": bronze(*[0.1] * 6)}, asleep={"m"})
    for _ in range(8):
        for load in (0.3, 0.3, 0.1):
            for i in range(6):
                world.set_load(f"b{i}", load)
            assert world.tick() == ()


def test_nobody_is_woken_for_a_query_that_fills_a_node_alone():
    world = World({"n": bronze(0.9)}, asleep={"m"})
    assert world.rounds(25) == []


def test_as_many_nodes_are_woken_as_make_all_less_than_full():
    # A load of three takes five nodes of which 60 % are used.
    world = World({"n": bronze(*[0.3] * 10)}, asleep={"m", "l", "k", "j"}, capacity={"m": 1.2})
    assert woken(world.round()) == ["m", "j", "k", "l"]
    world = World({"n": bronze(*[0.3] * 4)}, asleep={"m", "l", "k"}, capacity={"m": 1.2})
    assert woken(world.rounds(4)) == ["m"]
    assert woken(World({"n": bronze(*[0.3] * 10)}, MINIMAL, asleep={"m", "l"}).rounds(10)) == ["l"]


def test_one_node_after_the_other_sleeps_while_all_stay_idle():
    world = World({name: {name: query("gold", 0.05)} for name in "klmn"})
    assert slept(world.rounds(10)) == []
    assert slept(world.rounds(6)) == ["k", "m", "n"]
    # What came went to a node that stayed awake, and had to move once only.
    assert sorted(world.nodes["l"]) == ["k", "l", "m", "n"]


@BOTH
def test_draining_ends_where_something_is_lost(options):
    nodes = {"n": bronze(*[0.02] * 12), "m": {f"g{i}": query("gold", 0.02) for i in range(10)}}
    world = World(nodes, replace(options, intake=2))
    assert len(moves(world.rounds(10))) == 2
    for name in list(world.nodes["n"]):
        world.set_load(name, 0.1)
    world.rounds(2)
    assert slept(world.rounds(8)) == []


# Reasons and mistakes.


@BOTH
def test_an_order_has_the_terms_that_produced_it(options):
    [order] = [o for o in World({"n": bronze(0.6, 0.6), "m": {}}, options).round() if isinstance(o, Migrate)]
    assert order.why.formula
    assert order.why.terms["load(q)"] == near(0.6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rule": "best"},
        {"reports": 0},
        {"spikes": 11},
        {"loss": 1.0},
        {"reserve": -0.1},
        {"raised": 0.5},
        {"intake": 0},
        {"idle": 1.2},
    ],
)
def test_options_out_of_range_are_refused(wrong):
    with pytest.raises(InputError):
        Options(**wrong)

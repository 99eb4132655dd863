"""What holds of the coordinator's policy whatever nodes report."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from clusters import PRIORITIES, World, query
from headgate.control.nodes.balancer import Balancer
from headgate.control.nodes.options import MINIMAL, WEIGHED
from headgate.control.nodes.orders import Migrate, Prioritise, Sleep, Wake

QUICK = {"reports": 4, "spikes": 3, "rest": 3, "patience": 2, "sleeps": 2}
options = st.sampled_from([replace(MINIMAL, **QUICK, wakes=3), replace(WEIGHED, **QUICK, wakes=1)])
queries = st.builds(
    query,
    cls=st.sampled_from(list(PRIORITIES)),
    load=st.integers(0, 60).map(lambda percent: percent / 100),
    stateless=st.booleans(),
    shares=st.sampled_from(["", "ticks", "orders", "ticks orders"]),
    movable=st.sampled_from([True, True, True, False]),
)


@st.composite
def worlds(draw):
    names = [f"n{i}" for i in range(draw(st.integers(1, 4)))]
    nodes: dict = {name: {} for name in names}
    for i, each in enumerate(draw(st.lists(queries, max_size=14))):
        nodes[draw(st.sampled_from(names))][f"q{i}"] = each
    capacity = {name: draw(st.sampled_from([0.5, 1.0, 2.0])) for name in names}
    asleep = {"z"} if draw(st.booleans()) else set()
    return World(nodes, draw(options), capacity, asleep)


factors = st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0, 4.0]), min_size=3, max_size=8)


def shaken(world, factor, number):
    """Other loads of every other query from now on."""
    for node in world.nodes.values():
        for name in list(node):
            if (int(name[1:]) + number) % 2:
                node[name] = replace(node[name], load=min(2.0, max(0.01, node[name].load) * factor))


@settings(max_examples=30, deadline=None)
@given(worlds(), factors, st.randoms(use_true_random=False))
def test_orders_are_a_function_of_the_reports_in_whatever_order_they_come(world, changes, random):
    other = Balancer(world.options)
    for number, factor in enumerate(changes):
        shaken(world, factor, number)
        for _ in range(world.options.reports):
            world.time += 1.0
            reports = world.reports()
            orders = world.balancer.decide(world.time, reports)
            random.shuffle(reports)
            assert other.decide(world.time, reports) == orders
            for order in orders:
                world.obey(order)


@settings(max_examples=50, deadline=None)
@given(worlds(), factors)
def test_orders_can_be_carried_out_and_stay_within_their_bounds(world, changes):
    """No query goes before it has rested, priorities stay within bounds, nodes that are awake take in so many."""
    last: dict[str, int] = {}
    woken: set[str] = set()
    world.obeys = False
    there = {name for node in world.nodes.values() for name in node}
    for number in range(4 * len(changes)):
        if number % 4 == 0:
            shaken(world, changes[number // 4], number)
        orders = world.round()
        taken: Counter[str] = Counter()
        for order in orders:
            match order:
                case Migrate():
                    seen = world.nodes[order.origin][order.query]
                    assert seen.movable
                    assert order.target in world.nodes
                    assert order.target != order.origin
                    assert number - last.get(order.query, -100) >= world.options.rest
                    last[order.query] = number
                    taken[order.target] += 1
                case Prioritise():
                    own = PRIORITIES[order.cls]
                    assert own <= order.priority <= world.options.raised * own * (1 + 1e-9)
                case Sleep():
                    assert not world.nodes[order.node]
                    assert len(world.nodes) > 1
                case Wake():
                    assert order.node in world.asleep
                    woken.add(order.node)
            world.obey(order)
        assert all(count <= world.options.intake for node, count in taken.items() if node not in woken)
        woken -= set(taken)
    assert {name for node in world.nodes.values() for name in node} == there


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_no_query_goes_to_a_node_that_would_then_have_too_much(world):
    """Loads do not change here, so that what is estimated is what is. One that is too much for any may be alone."""
    for _ in range(6):
        moved = [order for order in world.round() if isinstance(order, Migrate)]
        for order in moved:
            report = world.report(order.target)
            if len(report.queries) == 1:
                continue
            cls = report.queries[order.query].cls
            above = [name for name, priority in PRIORITIES.items() if priority >= PRIORITIES[cls]]
            assert all(report.classes[name].drop < 1e-6 for name in above)
            if world.options.rule == "minimal":
                load = sum(each.load for each in report.classes.values())
                assert load <= (1 - world.options.reserve) * report.capacity + 1e-9


@settings(max_examples=30, deadline=None)
@given(worlds())
def test_under_a_load_that_stays_orders_come_to_an_end(world):
    world.rounds(20)
    assert world.options.rule == "minimal" or not any(isinstance(order, Migrate) for order in world.rounds(4))

"""The other ways of redistribution: what each promises that the relative one does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.extensions import absolute, hybrid, relative_workload
from headgate.control.redistribution import FLOOR, Terms, floored, relative
from headgate.control.registry import create
from headgate.errors import InputError
from headgate.model.classes import QueryClass, ranked

near = pytest.approx
SLACK = 1e-9
TERMS = Terms()


@st.composite
def states(draw):
    """Classes, shares that sum to one with none below the floor, and usage."""
    n = draw(st.integers(1, 5))
    each = {"min_size": n, "max_size": n}
    priorities = draw(st.lists(st.sampled_from([1, 2, 3, 6]), **each))
    weights = draw(st.lists(st.floats(0.05, 1.0), **each))
    usage = draw(st.lists(st.floats(0.0, 6.0), **each))
    names = [f"c{k}" for k in range(n)]
    shares = floored({name: w / sum(weights) for name, w in zip(names, weights, strict=True)})
    return (
        [QueryClass(name, p) for name, p in zip(names, priorities, strict=True)],
        shares,
        dict(zip(names, usage, strict=True)),
    )


def redistributed(name, shares, usage, **options):
    classes = [QueryClass("gold", 6), QueryClass("silver", 3), QueryClass("bronze", 1)]
    names = [each.name for each in classes]
    by_name = (dict(zip(names, values, strict=True)) for values in (shares, usage))
    found = create(name, options)(classes, *by_name)
    return [found[each] for each in names]


@pytest.mark.parametrize(
    ("name", "shares", "usage", "after"),
    [
        # gold and silver take 0.5/0.95 and 0.19/0.95, bronze the rest.
        ("absolute", [0.5, 0.2, 0.3], [1, 0.95, 5], [10 / 19, 0.2, 9 / 19 - 0.2]),
        # All take 0.57/0.95 in all; 0.4 is left and split 6:3:1.
        ("absolute", [0.5, 0.2, 0.3], [0.57, 0.57, 0.57], [0.54, 0.24, 0.22]),
        ("absolute", [0.5, 0.2, 0.3], [5, 1, 1], [0.99, 0.005, 0.005]),
        # gold takes 0.38/0.95, leaving 0.6: 0.45 and 0.15, of which silver spares 0.45 − 0.1 − 0.05·0.45.
        ("hybrid", [0.5, 0.2, 0.3], [0.76, 0.5, 5], [0.4, 0.1225, 0.4775]),
        ("hybrid", [0.5, 0.2, 0.3], [5, 1, 1], [0.99, 0.005, 0.005]),
        # Loads 1.2, 0.3 and 0.1; at the original shares gold would lose a half, silver and bronze nothing. Gold gets
        # even with bronze at 7/13 of the load, then with silver at (1.2·7/13 + 0.3)/1.5 = 41/65.
        ("relative+workload", [0.6, 0.3, 0.1], [2, 1, 1], [1.2 * 41 / 65, 0.3 * 41 / 65, 0.1 * 7 / 13]),
        ("relative+workload", [0.6, 0.3, 0.1], [0.9, 1, 4], [0.57, 0.3, 0.13]),
    ],
)
def test_worked_examples(name, shares, usage, after):
    assert redistributed(name, shares, usage) == near(after, abs=1e-12)


@settings(max_examples=150)
@given(states())
def test_absolute_gives_nothing_beyond_the_floor_below_a_class_that_lacks(state):
    classes, shares, usage = state
    after = absolute(*state, TERMS)
    order = [each.name for each in ranked(classes)]
    for i, name in enumerate(order):
        if after[name] < usage[name] * shares[name] / 0.95 - SLACK:
            assert all(after[lower] <= FLOOR + SLACK for lower in order[i + 1 :])


@settings(max_examples=150)
@given(states())
def test_hybrid_gives_the_top_class_all_that_it_needs(state):
    classes, shares, usage = state
    top, *others = [each.name for each in ranked(classes)]
    after = hybrid(*state, TERMS)
    whole = 1 - len(others) * FLOOR
    assert after[top] >= min(usage[top] * shares[top], whole) - SLACK


@settings(max_examples=150)
@given(states())
def test_hybrid_gives_each_other_class_its_need_or_its_part_of_the_rest(state):
    classes, shares, usage = state
    others = ranked(classes)[1:]
    after = hybrid(*state, TERMS)
    rest = sum(after[each.name] for each in others)
    for each in others:
        part = rest * each.priority / sum(other.priority for other in others)
        # The floor of a small class is paid by the others.
        assert after[each.name] >= min(usage[each.name] * shares[each.name], part - len(others) * FLOOR) - SLACK


def loss(name, state, after):
    _, shares, usage = state
    load = usage[name] * shares[name]
    return max(0.0, 1 - after[name] / load) if load else 0.0


@settings(max_examples=300)
@given(states())
def test_relative_workload_lets_no_class_lose_more_than_a_lower_one_that_can_pay(state):
    classes, _, _ = state
    after = relative_workload(*state, TERMS)
    for high in classes:
        for low in (each for each in classes if each.priority < high.priority):
            if after[low.name] > FLOOR + SLACK:
                assert loss(high.name, state, after) <= loss(low.name, state, after) + 1e-6


@settings(max_examples=150)
@given(states())
def test_relative_workload_is_relative_where_no_class_loses_more_than_a_lower_one(state):
    classes, _, _ = state
    after = relative(*state, TERMS)
    lost = [(each.priority, loss(each.name, state, after)) for each in classes]
    if all(mine <= theirs for p, mine in lost for q, theirs in lost if q < p):
        assert relative_workload(*state, TERMS) == near(after, abs=SLACK)


@pytest.mark.parametrize(
    ("name", "options", "refused"),
    [
        ("fair", {}, "a known redistribution"),
        ("absolute", {"lends": {"gold": 0.5}}, "redistribution 'absolute': a known option"),
    ],
)
def test_unknown_names_and_options_without_effect_are_refused(name, options, refused):
    with pytest.raises(InputError) as error:
        create(name, options)
    assert error.value.rule == refused

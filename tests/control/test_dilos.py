"""Load management of classes: the four modes, the synergy of shares and headrooms, classes that come and go."""

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.dilos import Management, together
from headgate.control.redistribution import FLOOR, original
from headgate.control.registry import REDISTRIBUTIONS, create
from headgate.errors import InputError
from headgate.model.classes import QueryClass
from headgate.monitor.outputs import Output
from headgate.policy.protocol import Why
from headgate.shed.protocol import Cycle, Order

near = pytest.approx
MODES = ("none", "common", "separate", "dilos")
GOLD, SILVER, BRONZE = (QueryClass(n, p, d) for n, p, d in (("gold", 6, 0.3), ("silver", 3, 0.4), ("bronze", 1, 0.5)))
THREE = (GOLD, SILVER, BRONZE)


@dataclass
class Excess:
    """Drops the load above its headroom, to the last tuple."""

    headroom: float
    target: float
    sheds: str = "read"
    seen: list = field(default_factory=list)
    hints: list = field(default_factory=list)

    def cycle(self, seen):
        self.seen.append(seen)
        drop = max(0.0, 1 - self.headroom / seen.offered) if seen.offered else 0.0
        return Order(drop, self.headroom, Why("1 − H/L", {"L": seen.offered, "H": self.headroom}))

    def rescale(self, ratio):
        self.hints.append(ratio)
        self.headroom *= ratio


class Made(list):
    """A factory that keeps what it makes."""

    def __call__(self, headroom, target):
        self.append(Excess(headroom, target))
        return self[-1]


def loads(**offered):
    return {name: Cycle(0.15, load) for name, load in offered.items()}


def test_two_classes_of_the_same_load_share_what_one_of_them_spares():
    """A server of 15 tuples a second, 9 a second for each of two classes of priority 2 and 1."""
    classes = [QueryClass("q1", 2, 1.0), QueryClass("q2", 1, 1.0)]
    management = Management(classes, "dilos", Excess, create("relative", {"reserve": 0.0}), every=1)
    seen = loads(q1=9 / 15, q2=9 / 15)
    first, second = management.cycle(seen), management.cycle(seen)
    assert {name: 9 * drop for name, drop in first.drops.items()} == near({"q1": 0.0, "q2": 4.0})
    assert {name: 15 * share for name, share in first.shares.items()} == near({"q1": 9.0, "q2": 6.0})
    assert first.usage == near({"q1": 0.9, "q2": 1.8})
    assert {name: 9 * drop for name, drop in second.drops.items()} == near({"q1": 0.0, "q2": 3.0}, abs=1e-12)
    assert (first.changed, second.changed) == (True, False)


def test_a_reserve_halves_what_is_spared_in_that_example():
    classes = [QueryClass("q1", 2, 1.0), QueryClass("q2", 1, 1.0)]
    management = Management(classes, "dilos", Excess, every=1)
    shares = management.cycle(loads(q1=9 / 15, q2=9 / 15)).shares
    assert {name: 15 * share for name, share in shares.items()} == near({"q1": 9.5, "q2": 5.5})


@pytest.mark.parametrize(
    ("mode", "drops", "headrooms"),
    [
        ("none", [0, 0, 0], [0.6, 0.3, 0.1]),
        ("common", [1 / 6, 1 / 6, 1 / 6], [1, 1, 1]),
        ("separate", [0, 0, 0.8], [0.6, 0.3, 0.1]),
        ("dilos", [0, 0, 0.8], [0.6, 0.3, 0.1]),
    ],
)
def test_what_each_mode_drops_at_first(mode, drops, headrooms):
    directive = Management(THREE, mode, Excess).cycle(loads(gold=0.4, silver=0.3, bronze=0.5))
    assert list(directive.drops.values()) == near(drops)
    assert [order.headroom for order in directive.orders.values()] == near(headrooms)


def test_the_capacity_is_what_the_shares_are_of():
    directive = Management(THREE, "separate", Excess, capacity=4.0).cycle(loads(gold=2.4, silver=2.4, bronze=0.1))
    assert directive.drops == near({"gold": 0.0, "silver": 0.5, "bronze": 0.0})


def test_shares_move_once_in_a_redistribution_cycle_by_the_mean_of_the_usage():
    management = Management(THREE, "dilos", Excess, every=3)
    directives = [
        management.cycle(loads(gold=gold, silver=0.18, bronze=0.4)) for gold in (0.0, 0.18, 0.36, 0.36, 0.36, 0.36)
    ]
    assert [each.changed for each in directives] == [False, False, True, False, False, False]
    assert directives[1].shares == near({"gold": 0.6, "silver": 0.3, "bronze": 0.1})
    assert directives[2].usage == near({"gold": 0.3, "silver": 0.6, "bronze": 4.0})
    assert directives[2].shares == near({"gold": 0.405, "silver": 0.195, "bronze": 0.4})
    assert directives[2].drops["bronze"] == near(0.75)
    assert directives[3].drops["bronze"] == near(0.0)
    assert directives[3].usage["gold"] == near(0.36 / 0.405)
    assert "u of bronze = 4" in str(directives[2].why)


def lent():
    """Prompt management of three classes of which gold has lent to bronze; gold has 0.18/0.81 left, and a reserve."""
    made = Made()
    management = Management(THREE, "dilos", made, every=2, prompt=True)
    for _ in range(2):
        directive = management.cycle(loads(gold=0.18, silver=0.27, bronze=0.9))
    assert directive.shares == near({"gold": 0.21, "silver": 0.285, "bronze": 0.505})
    return management, made


def test_a_class_gets_back_what_it_needs_of_its_share_before_it_sheds():
    management, made = lent()
    directive = management.cycle(loads(gold=0.5, silver=0.27, bronze=0.9))
    assert directive.shares == near({"gold": 0.5, "silver": 0.285, "bronze": 0.215})
    assert directive.drops == near({"gold": 0.0, "silver": 0.0, "bronze": 1 - 0.215 / 0.9})
    assert [each.headroom for each in made] == near([0.5, 0.285, 0.215])
    assert directive.changed


def test_by_the_published_rule_it_sheds_until_the_cycle_ends():
    management, _ = lent()
    management.prompt = False
    directive = management.cycle(loads(gold=0.5, silver=0.27, bronze=0.9))
    assert directive.drops["gold"] == near(1 - 0.21 / 0.5)
    assert not directive.changed


def test_a_class_sheds_what_exceeds_its_original_share_and_the_loans_of_lower_classes():
    management, _ = lent()
    directives = [management.cycle(loads(gold=0.9, silver=0.27, bronze=0.9)) for _ in range(2)]
    assert directives[0].shares == near({"gold": 0.615, "silver": 0.285, "bronze": 0.1})
    assert [each.drops["gold"] for each in directives] == near([1 - 0.615 / 0.9] * 2)
    assert [each.changed for each in directives] == [True, False]


def test_prompt_management_lends_by_the_highest_usage_of_the_cycle():
    management = Management(THREE, "dilos", Excess, every=3, prompt=True)
    directives = [management.cycle(loads(gold=gold, silver=0.27, bronze=0.9)) for gold in (0.1, 0.42, 0.1)]
    assert directives[-1].usage["gold"] == near(0.7)
    assert directives[-1].shares["gold"] == near(0.42 + 0.05 * 0.6)


@pytest.mark.parametrize("mode", ["none", "common", "separate"])
def test_shares_stay_in_the_other_modes(mode):
    management = Management(THREE, mode, Excess, every=2)
    directives = [management.cycle(loads(gold=0.1, silver=0.1, bronze=0.9)) for _ in range(5)]
    assert not any(each.changed for each in directives)
    assert directives[-1].shares == near({"gold": 0.6, "silver": 0.3, "bronze": 0.1})


def test_managers_are_hinted_where_their_share_has_moved_and_only_there():
    made = Made()
    management = Management(THREE, "dilos", made, every=1)
    management.cycle(loads(gold=0.3, silver=0.3, bronze=0.1))
    assert [each.hints for each in made] == [[], [], []]
    management.cycle(loads(gold=0.3, silver=0.3, bronze=0.3))
    gold, silver, bronze = made
    assert (gold.hints, silver.hints, bronze.hints) == (near([0.4 / 0.6]), [], near([3.0]))


def test_in_common_all_classes_are_one_system_whose_outputs_keep_their_targets():
    made = Made()
    late, soon = Output(0.2, 0.1, 0.1, GOLD.delay_target), Output(0.6, 0.1, 0.1, BRONZE.delay_target)
    seen = {
        "gold": Cycle(0.15, 0.5, (late,), 0.3, 10, 8, 7, 0.02, 0.1, 0.4),
        "silver": Cycle(0.15, 0.25, (), 0.1, 5, 0, 0, 0.5, 0.2, 0.0),
        "bronze": Cycle(0.15, 0.25, (soon,), 0.7, 5, 2, 2, 0.07, 0.3, 0.5),
    }
    Management(THREE, "common", made).cycle(seen)
    [system] = made
    assert (system.headroom, system.target) == near((1.0, 0.3))
    assert system.seen == [Cycle(0.15, 1.0, (late, soon), 0.7, 20, 10, 9, near(0.03), near(0.6), near(0.9))]


def test_where_nothing_was_admitted_every_class_has_a_say_in_the_cost():
    assert together([Cycle(1.0, 0.1, cost=0.2), Cycle(1.0, 0.1, cost=0.4)]).cost == near(0.3)


# Classes without a delay target.

UNHURRIED = QueryClass("unhurried", 10)


@pytest.mark.parametrize("mode", MODES)
def test_a_class_without_a_delay_target_is_never_shed(mode):
    management = Management([*THREE, UNHURRIED], mode, Excess, every=1)
    for _ in range(4):
        directive = management.cycle(loads(gold=1.0, silver=1.0, bronze=1.0, unhurried=9.0))
        assert directive.drops["unhurried"] == 0.0
        assert (mode == "none") == (directive.drops["gold"] == 0.0)


def test_a_class_without_a_delay_target_takes_part_in_the_shares():
    directive = Management([GOLD, UNHURRIED], "dilos", Excess, every=1).cycle(loads(gold=0.1, unhurried=1.0))
    assert directive.usage["unhurried"] == near(1.0 / (10 / 16))
    assert directive.shares == near({"gold": 0.1 + 0.05 * 6 / 16, "unhurried": 0.9 - 0.05 * 6 / 16})


def test_in_common_the_headroom_is_what_classes_without_a_delay_target_leave():
    made = Made()
    Management([GOLD, BRONZE, UNHURRIED], "common", made)
    assert [each.headroom for each in made] == near([7 / 17])


def test_a_factory_is_not_asked_where_nothing_is_to_be_shed():
    made = Made()
    Management(THREE, "none", made)
    Management([UNHURRIED], "dilos", made)
    assert made == []


def test_where_drop_rates_apply_is_what_the_managers_say():
    assert Management(THREE, "dilos", lambda h, d: Excess(h, d, "arrival")).sheds == "arrival"
    assert Management(THREE, "none", Excess).sheds == "read"


# Classes come and go.


def test_a_newcomer_gets_its_original_share_and_loans_stay_in_proportion():
    made = Made()
    management = Management(THREE, "dilos", made, every=1)
    management.cycle(loads(gold=0.18, silver=0.18, bronze=0.4))
    management.add(QueryClass("new", 10, 1.0))
    assert management.shares == near({"gold": 0.2025, "silver": 0.0975, "bronze": 0.2, "new": 0.5})
    assert [each.headroom for each in made] == near([0.2025, 0.0975, 0.2, 0.5])


def test_who_goes_leaves_its_share_to_the_others_in_proportion():
    made = Made()
    management = Management(THREE, "dilos", made, every=1)
    management.cycle(loads(gold=0.18, silver=0.18, bronze=0.4))
    management.remove("bronze")
    assert management.shares == near({"gold": 0.675, "silver": 0.325})
    assert [each.headroom for each in made] == near([0.675, 0.325, 0.4])
    assert management.cycle(loads(gold=0.1, silver=0.1)).drops == {"gold": 0.0, "silver": 0.0}


@given(st.sampled_from(MODES), st.lists(st.tuples(st.integers(0, 5), st.floats(1, 10)), max_size=12))
def test_without_loans_shares_are_those_of_the_priorities_whoever_comes_and_goes(mode, changes):
    management = Management(THREE, mode, Excess)
    managed = {each.name: each for each in THREE}
    for number, priority in changes:
        name = f"c{number}"
        if name in managed:
            management.remove(name)
            del managed[name]
        else:
            managed[name] = QueryClass(name, priority, 1.0)
            management.add(managed[name])
    assert management.shares == near(original(list(managed.values())))
    assert sum(management.shares.values()) == near(1.0)


def test_in_common_another_set_of_classes_starts_with_a_new_manager():
    made = Made()
    management = Management(THREE, "common", made)
    management.add(UNHURRIED)
    assert [each.headroom for each in made] == near([0.5])
    management.remove("gold")
    assert [each.headroom for each in made[1:]] == near([4 / 14])
    assert made[1].target == 0.4


@pytest.mark.parametrize(
    ("mistake", "rule"),
    [
        (lambda m: m.add(GOLD), "every class has a name of its own"),
        (lambda m: m.remove("lead"), "a class that is managed"),
        (lambda m: [m.remove(each.name) for each in THREE], "there is at least one class"),
        (lambda _: Management([], "dilos", Excess), "there is at least one class"),
        (lambda _: Management(THREE, "both", Excess), "a known mode of load management"),
        (
            lambda _: Management(THREE, "dilos", Excess, every=0),
            "a redistribution cycle has one control period or more",
        ),
        (lambda _: Management(THREE, "dilos", Excess, capacity=0.0), "a capacity is a number above 0"),
    ],
)
def test_mistakes_are_refused(mistake, rule):
    with pytest.raises(InputError) as refused:
        mistake(Management(THREE, "dilos", Excess))
    assert refused.value.rule == rule


# Invariants.

HISTORIES = st.lists(st.tuples(*(st.floats(0.0, 3.0) for _ in THREE)), min_size=1, max_size=30)


@given(st.sampled_from(MODES), st.sampled_from(list(REDISTRIBUTIONS)), HISTORIES)
def test_the_same_cycles_give_the_same_directives(mode, name, history):
    def run():
        management = Management([GOLD, SILVER, UNHURRIED], mode, Excess, create(name), every=3)
        return [management.cycle(loads(gold=g, silver=s, unhurried=u)) for g, s, u in history]

    assert run() == run()


@given(st.sampled_from(list(REDISTRIBUTIONS)), HISTORIES, st.booleans())
def test_headrooms_follow_the_shares_whatever_happens(name, history, prompt):
    made = Made()
    management = Management(THREE, "dilos", made, create(name), every=2, prompt=prompt)
    for gold, silver, bronze in history:
        directive = management.cycle(loads(gold=gold, silver=silver, bronze=bronze))
        assert sum(directive.shares.values()) == near(1.0)
        assert min(directive.shares.values()) >= FLOOR * (1 - 1e-9)
        assert [each.headroom for each in made] == near(list(directive.shares.values()))
        assert all(0 <= drop < 1 for drop in directive.drops.values())
        assert all(math.isfinite(u) and u >= 0 for u in directive.usage.values())


@given(HISTORIES)
def test_nobody_sheds_below_its_original_share_where_management_is_prompt(history):
    management = Management(THREE, "dilos", Excess, every=5, prompt=True)
    own = original(THREE)
    for gold, silver, bronze in history:
        seen = loads(gold=gold, silver=silver, bronze=bronze)
        directive = management.cycle(seen)
        for name, drop in directive.drops.items():
            kept = (1 - drop) * seen[name].offered
            assert kept >= min(seen[name].offered, own[name]) * (1 - 1e-5), name


@given(HISTORIES)
def test_a_class_that_needs_it_has_its_original_share_again_after_one_redistribution(history):
    management = Management(THREE, "dilos", Excess, every=1)
    for gold, silver, bronze in history:
        management.cycle(loads(gold=gold, silver=silver, bronze=bronze))
    assert management.cycle(loads(gold=0.9, silver=0.9, bronze=0.9)).shares == near(original(THREE))


def test_another_priority_moves_the_shares_and_hints_the_managers():
    made = Made()
    management = Management(THREE, "dilos", made)
    management.prioritise("silver", 6)
    assert management.shares == near({"gold": 6 / 13, "silver": 6 / 13, "bronze": 1 / 13})
    assert [each.headroom for each in made] == near([6 / 13, 6 / 13, 1 / 13])
    management.prioritise("silver", 3)
    assert management.shares == near({"gold": 0.6, "silver": 0.3, "bronze": 0.1})


def test_a_class_that_is_not_there_is_given_no_priority():
    with pytest.raises(InputError, match="a class that is managed"):
        Management(THREE, "dilos", Made()).prioritise("lead", 2)

"""The class schedulers by name, and what is said to somebody who mistypes one."""

from dataclasses import replace

import pytest

from headgate.errors import InputError
from headgate.policy.classes.registry import SCHEDULERS, create, default, listed
from headgate.policy.classes.scheduler import WHOLE
from headgate.policy.trains import Train
from policy.classes.bed import classes, prepared, units


def refusal(action):
    with pytest.raises(InputError) as caught:
        action()
    return caught.value


def test_the_registry_has_the_schedulers_of_the_literature():
    assert set(SCHEDULERS) == {
        *("cqc", "abd", "mbd", "ambd", "rr", "mrr", "morr", "mprr", "ml", "mol", "pct", "pct-s", "wehr"),
    }


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_can_be_made_by_its_name_and_says_what_it_is_for(name):
    entry = listed(name)
    assert entry.name == name
    assert entry.optimises
    assert entry.formula
    assert entry.level in ("query", "operator")
    assert entry.options[0] == "train"
    assert create(name, classes(2, 1)).train is WHOLE


@pytest.mark.parametrize(("lanes", "name"), [(1, "cqc"), (2, "abd"), (3, "mbd"), (64, "mbd")])
def test_the_default_depends_on_the_lanes(lanes, name):
    assert default(lanes) == name


@pytest.mark.parametrize(("typed", "meant"), [("cqcc", "cqc"), ("mdb", "mbd"), ("pct_s", "pct-s")])
def test_an_unknown_scheduler_is_refused_with_the_nearest_name(typed, meant):
    error = refusal(lambda: create(typed, classes(1)))
    assert (error.rule, error.got) == ("a known class scheduler", f"'{typed}'")
    assert error.remedy.startswith(f"Did you mean '{meant}'? Choose one of cqc, abd, ")


@pytest.mark.parametrize(
    ("name", "option", "remedy"),
    [
        ("cqc", "k", "It takes train, period, inner, literal."),
        ("abd", "q", "It takes train, q0, q_max, keep_order, level, samples, variant."),
        ("mbd", "dvp", "It takes train, inversion, selectivity, up, level, samples, variant, seed."),
        ("mrr", "seed", "It takes train."),
    ],
)
def test_an_unknown_option_is_refused_with_the_known_ones(name, option, remedy):
    error = refusal(lambda: create(name, classes(1), {option: 1}))
    assert (error.rule, error.got) == (f"class scheduler '{name}': a known option", f"'{option}'")
    assert error.remedy == remedy


def test_a_train_is_given_by_its_bounds():
    assert create("mbd", classes(1), {"train": {"most": 5}}).train == Train(5)
    assert create("mbd", classes(1), {"train": Train(7)}).train == Train(7)
    assert refusal(lambda: create("mbd", classes(1), {"train": 5})).remedy == "Write train: {most: 50}."
    error = refusal(lambda: create("mbd", classes(1), {"train": {"length": 5}}))
    assert (error.rule, error.got) == ("class scheduler 'mbd': a known bound of a train", "'length'")


@pytest.mark.parametrize("given", [[], classes(1) * 2])
def test_classes_are_there_and_have_names_of_their_own(given):
    assert refusal(lambda: create("mbd", given)).rule == "class scheduling: one class or more, each once"


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_unit_of_no_class_is_refused(name):
    made = [replace(units(A=[1.0])[0], cls="gold")]
    error = refusal(lambda: prepared(name, (2, 1), made))
    assert (error.rule, error.got) == ("unit 'q0': its class is one of those scheduled", "'gold'")
    assert error.remedy == "Choose A, B."


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("share", [0.0, -0.1, float("nan"), float("inf")])
def test_a_share_of_nothing_is_refused(name, share):
    scheduler = prepared(name, (2, 1), units(A=[1.0], B=[1.0]))
    assert refusal(lambda: scheduler.share({"A": 1.0, "B": share})).rule == "class 'B': a share is a number above 0"

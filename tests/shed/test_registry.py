"""The load managers by name, and what is said to somebody who mistypes one or an option of it."""

import math
from importlib import import_module
from pathlib import Path

import pytest

from headgate import shed
from headgate.errors import InputError
from headgate.shed.aloma import Aloma
from headgate.shed.aurora import Aurora
from headgate.shed.none import NoManager
from headgate.shed.protocol import LoadManager
from headgate.shed.registry import MANAGERS, create, listed, maker
from headgate.shed.seamless import Seamless


def refusal(action):
    with pytest.raises(InputError) as caught:
        action()
    return caught.value


def test_the_registry_has_the_managers_of_the_literature_and_ours():
    assert set(MANAGERS) == {"none", "aurora", "ctrl", "seamless", "aloma", "backlog"}


def test_every_manager_that_is_written_is_registered():
    modules = [import_module(f"headgate.shed.{file.stem}") for file in Path(shed.__file__).parent.glob("*.py")]
    written = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and each is not LoadManager and hasattr(each, "cycle")
    }
    assert written == {entry.make for entry in MANAGERS.values()}


@pytest.mark.parametrize("name", MANAGERS)
def test_every_manager_can_be_made_by_its_name_and_says_what_it_is_for(name):
    entry = listed(name)
    made = create(name, {"target": 2.0} if "target" in entry.options else {})
    assert entry.name == name
    assert entry.suits
    assert entry.formula
    assert made.sheds == ("arrival" if name in ("ctrl", "seamless") else "read")


def test_options_reach_the_manager():
    assert create("aurora", {"headroom": 0.9, "cap": 95}) == Aurora(0.9, 95)
    assert create("seamless", {"target": 1.0, "periods": 20, "out_term": "measured"}) == Seamless(
        1.0, periods=20, out_term="measured"
    )


@pytest.mark.parametrize(("typed", "meant"), [("alomma", "aloma"), ("control", "ctrl"), ("back-log", "backlog")])
def test_an_unknown_manager_is_refused_with_the_nearest_name(typed, meant):
    error = refusal(lambda: create(typed))
    assert (error.rule, error.got) == ("a known load manager", f"'{typed}'")
    assert error.remedy == f"Did you mean '{meant}'? Choose one of none, aurora, ctrl, seamless, aloma, backlog."


def test_an_unknown_option_is_refused_with_the_known_ones():
    for action in (lambda: create("ctrl", {"target": 1.0, "period": 3}), lambda: maker("ctrl", {"period": 3})):
        error = refusal(action)
        assert (error.rule, error.got) == ("load manager 'ctrl': a known option", "'period'")
        assert error.remedy == "It takes target, headroom, cap."


def test_a_manager_that_aims_at_a_target_is_refused_without_one():
    assert refusal(lambda: create("aloma")).rule == "load manager 'aloma': a delay target is given"


@pytest.mark.parametrize(
    ("name", "options", "rule"),
    [
        ("aloma", {"target": math.inf}, "target is a number above 0"),
        ("aloma", {"target": 0}, "target is a number above 0"),
        ("aloma", {"target": "2 s"}, "target is a number above 0"),
        ("aloma", {"target": 2, "deadband": 0.6}, "deadband is a number from 0 to 0.5"),
        ("aloma", {"target": 2, "cores": -1}, "cores is a number above 0"),
        ("ctrl", {"target": 2, "headroom": 0}, "headroom is a number above 0"),
        ("ctrl", {"target": 2, "headroom": math.nan}, "headroom is a number above 0"),
        ("seamless", {"target": 2, "periods": 2.5}, "periods is a whole number from 1 to 10000"),
        ("aurora", {"cap": 100}, "cap is a whole number from 1 to 99"),
        ("aurora", {"headroom": True}, "headroom is a number above 0"),
        ("backlog", {"target": 2, "aim": 1.5}, "aim is a number from 0.1 to 1"),
        ("backlog", {"target": 2, "horizon": 0.5}, "horizon is a number from 1 to 100"),
        ("none", {"headroom": -1}, "headroom is a number above 0"),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_rule(name, options, rule):
    assert refusal(lambda: create(name, options)).rule == f"load manager '{name}': {rule}"


def test_a_maker_gives_each_class_its_own_manager_with_its_headroom_and_target():
    make = maker("aloma", {"deadband": 0.1})
    assert make(0.6, 0.3) == Aloma(0.3, 0.6, 0.1)
    assert make(0.6, 0.3) is not make(0.6, 0.3)
    assert maker("none")(0.6, math.inf) == NoManager(0.6)


def test_an_option_goes_before_what_the_class_has():
    assert maker("aurora", {"headroom": 0.9})(0.6, 0.3) == Aurora(0.9)

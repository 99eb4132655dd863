"""Profiles by name."""

import pytest

from headgate.control.deadlines.profiles import PROFILES, create, names
from headgate.control.deadlines.reduction import Reduction
from headgate.errors import InputError


def test_all_profiles_are_there():
    assert names() == ("lrm-seed", "lrm+", "rm", "hpf", "rm-abort", "dm", "edf", "ledf", "ledf+")


def test_the_published_profile():
    found = create("lrm-seed")
    assert found.reduction == Reduction("wf", "P", "seed", 0)
    assert (found.hold, found.trigger, found.floor, found.order) == ("frac", "optimistic", 0, "rate")
    assert not found.carried


def test_the_product_profile():
    found = create("lrm+")
    assert found.reduction == Reduction("wf", "best", "prop", 0.01)
    assert (found.hold, found.trigger, found.floor) == ("clampx", "optimistic", 0.05)
    assert not found.carried


@pytest.mark.parametrize("name", ["rm", "hpf", "rm-abort", "dm", "edf"])
def test_baselines_shed_nothing(name):
    assert PROFILES[name].reduction is None
    assert PROFILES[name].abort == (name == "rm-abort")
    assert PROFILES[name].preemptive == (name != "hpf")


def test_options_reach_single_fields_also_of_the_reduction():
    found = create("lrm+", margin=0.05, hold="clamp", trigger="pessimistic")
    assert found.reduction == Reduction("wf", "best", "prop", 0.05)
    assert (found.hold, found.margin, found.lasting, found.floor) == ("clamp", 0.05, True, 0.05)
    assert create("rm", reduction=Reduction()).reduction == Reduction()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lrm", {}, "Did you mean"),
        ("lrm+", {"margins": 1}, "a known option"),
        ("rm", {"margin": 0.1}, "a known option"),
        ("lrm+", {"name": "x"}, "a known option"),
        ("lrm+", {"margin": 1.0}, "a margin"),
        ("lrm+", {"floor": 2}, "least kept fraction"),
        ("lrm+", {"hold": "x"}, "a known hold"),
        ("lrm+", {"order": "x"}, "a known order"),
        ("lrm+", {"split": "x"}, "a known split"),
        ("lrm+", {"point": "x"}, "a known point"),
        ("lrm+", {"reading": "x"}, "a known reading"),
        ("lrm+", {"trigger": "x"}, "a known time of rescheduling"),
    ],
)
def test_mistakes_are_told(name, options, message):
    with pytest.raises(InputError, match=message):
        create(name, **options)

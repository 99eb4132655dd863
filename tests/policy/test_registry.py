"""The policies by name, and what is said to somebody who mistypes one."""

import pytest

from headgate.errors import InputError
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.policy.qos.in_order import InOrder
from headgate.policy.qos.schedule import Scheduled
from headgate.policy.qos.tickets import Ticketed
from headgate.policy.registry import POLICIES, create, listed
from headgate.policy.round_robin import RoundRobin
from headgate.policy.statement import PriorityPolicy
from headgate.policy.trains import ONE, Train
from helpers import EVERY_POLICY


def refusal(action):
    with pytest.raises(InputError) as caught:
        action()
    return caught.value


def test_the_registry_has_the_policies_of_the_literature():
    assert set(POLICIES) == {
        *("fcfs", "rr", "srpt", "srpt-c", "hr", "hnr", "lsf", "bsd", "bsd-clustered", "chain", "ml"),
        *("qos", "slope-slack", "bucketing", "fixed-priority", "in-turn", "lottery", "stride"),
    }


@pytest.mark.parametrize("name", EVERY_POLICY)
def test_every_policy_can_be_made_by_its_name_and_says_what_it_is_for(name):
    entry = listed(name)
    assert entry.name == name
    assert entry.optimises
    assert entry.formula
    assert isinstance(create(name), PriorityPolicy | RoundRobin | ClusteredBsd | Scheduled | Ticketed)


def test_two_policies_of_the_same_name_share_nothing():
    assert create("rr") is not create("rr")


@pytest.mark.parametrize(
    ("typed", "meant"), [("hnrr", "hnr"), ("bsdd", "bsd"), ("bsd-cluster", "bsd-clustered"), ("fcsf", "fcfs")]
)
def test_an_unknown_policy_is_refused_with_the_nearest_name(typed, meant):
    error = refusal(lambda: create(typed))
    assert (error.rule, error.got) == ("a known policy", f"'{typed}'")
    assert error.remedy.startswith(f"Did you mean '{meant}'? Choose one of ")
    assert all(name in error.remedy for name in POLICIES)


def test_a_name_near_to_none_gets_the_list_alone():
    assert refusal(lambda: listed("zzz")).remedy.startswith("Choose one of ")


@pytest.mark.parametrize(
    ("policy", "options", "got", "remedy"),
    [
        ("hnr", {"clusters": 3}, "'clusters'", "It takes train."),
        ("rr", {"quantums": 3}, "'quantums'", "It takes runs, quantum, over, train."),
        ("bsd-clustered", {"m": 3}, "'m'", "It takes clusters, kind, search, processing, ratio, train."),
    ],
)
def test_an_unknown_option_is_refused_with_the_known_ones(policy, options, got, remedy):
    error = refusal(lambda: create(policy, options))
    assert (error.rule, error.got, error.remedy) == (f"policy '{policy}': a known option", got, remedy)


def test_an_unknown_bound_of_a_train_is_refused_with_the_known_ones():
    error = refusal(lambda: create("hnr", {"train": {"length": 3}}))
    assert (error.rule, error.got) == ("policy 'hnr': a known bound of a train", "'length'")
    assert error.remedy == "It has most, slice."


def test_qos_has_one_run_a_schedule_and_recovers_unless_told_otherwise():
    assert create("qos") == InOrder(schedule=1, recover=True)
    given = {"schedule": 5, "recover": False}
    assert create("qos", given) == InOrder(**given)


def test_policies_that_go_by_qos_graphs_say_so():
    assert {p.name for p in POLICIES.values() if p.graphs} == {"qos", "slope-slack", "bucketing", "fixed-priority"}


def test_options_reach_the_policy():
    assert create("rr", {"runs": 3, "quantum": 0.5, "over": "units"}) == RoundRobin(3, 0.5, "units")
    assert create("hnr", {"train": {"most": 5, "slice": 0.1}}).train == Train(5, 0.1)
    assert create("hnr").train is ONE
    assert create("bsd-clustered", {"clusters": 7, "kind": "uniform"}) == ClusteredBsd(7, "uniform")

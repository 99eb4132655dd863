"""Class means that a model of the published simulator gave with the same costs, in a run of a tenth of its length."""

import numpy as np
import pytest

from headgate.model.classes import QueryClass
from headgate.model.operator import Cost
from headgate.policy.classes.mbd import Mbd
from headgate.sim.trains.machine import Machine, Overheads
from sim.trains.beds import US, aggregate_query, by_query, in_turn, join_query, network, poisson, run, select_query

RATE, SECONDS = 1200.0, 0.8
CLASSES = tuple(QueryClass(str(k), p) for k, p in enumerate((50, 40, 30, 20, 10), 1))
MIX = "ajsajsa"


def queries(cls, kinds, rng):
    for k, kind in enumerate(kinds):
        name = f"{cls}.{k}"
        if kind == "s":
            yield select_query(name, cls, s=rng.uniform(0.25, 1.0))
        else:
            yield {"a": aggregate_query, "j": join_query}[kind](name, cls)


@pytest.fixture(scope="module")
def bed():
    """A hundred queries in five classes; the first has a third of joins and the rest aggregates."""
    rng = np.random.default_rng(1)
    kinds = ["jaa" * 4, *((MIX * 4)[:n] for n in (20, 28, 24, 16))]
    return network(*(query for k, each in enumerate(kinds, 1) for query in queries(str(k), each, rng)))


def means(bed, policy):
    arrivals = {name: poisson(RATE, int(1.2 * RATE * SECONDS), seed=k) for k, name in enumerate(bed.streams)}
    overheads = Overheads(decision=US, dispatch=US, poll=US, rebuild=Cost(20 * US, 0.2 * US))
    machine = Machine(noise=0.1, overheads=overheads, synchronised=True)
    units = by_query(CLASSES, rate=RATE)
    report = run(
        bed,
        arrivals,
        policy,
        classes=CLASSES,
        units=units,
        cores=4,
        machine=machine,
        until=SECONDS,
        warm=0.1 * SECONDS,
    )
    return [1e3 * report.responses(each.name).mean for each in CLASSES]


def test_a_program_over_queries_gives_each_class_the_response_time_it_should_have(bed):
    found = means(bed, Mbd(CLASSES))
    assert found == pytest.approx([1.29, 1.76, 2.73, 3.34, 4.24], rel=0.2)
    assert found == sorted(found)


def test_queries_in_turn_give_all_classes_the_same(bed):
    found = means(bed, in_turn())
    assert found == pytest.approx([2.2] * 5, rel=0.2)
    assert max(found) / min(found) < 1.1

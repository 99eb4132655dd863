"""Where a class drops: at all its entries alike, or where it costs the least quality."""

import numpy as np
import pytest

from headgate.control.dilos import Management
from headgate.model.classes import QueryClass
from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.qos import LossGraph
from headgate.shed.registry import maker
from headgate.sim.trains.steering import Control
from sim.trains.beds import by_operator, run

CLASSES = (QueryClass("all", 1, 1.0),)
COSTS = {"cheap": 1e-3, "dear": 4e-3}


def split():
    """A stream, an operator of 1 ms that two queries share, and one of 1 ms and one of 4 ms behind it."""
    ops = [
        Operator("in", Kind.SOURCE),
        Operator("shared", Kind.PROJECT, ("in",), Cost(0.0, 1e-3), 1.0),
        *(Operator(name, Kind.PROJECT, ("shared",), Cost(0.0, cost), 1.0) for name, cost in COSTS.items()),
    ]
    return Network(tuple(ops), tuple(Query(name, name, "all") for name in COSTS))


def shed(place, headroom=0.6, **more):
    """What each query has lost of its results; 6 ms of work come every 8 ms, and `headroom` of the time is used."""
    arrivals = np.arange(1, 5001) / 125
    management = Management(CLASSES, "separate", maker("aurora", {"headroom": headroom}))
    control = Control(management, 0.5, place=place, **more)
    report = run(split(), arrivals, classes=CLASSES, units=by_operator(CLASSES), control=control)
    assert report.ended < 41
    [account] = report.accounts
    assert account.offered == account.processed + account.dropped + account.waiting
    lost = {name: 1 - report.departures[name].count / len(arrivals) for name in COSTS}
    return lost, report


def test_everywhere_alike_all_queries_lose_the_same():
    lost, report = shed("even")
    assert lost == pytest.approx(dict.fromkeys(COSTS, 0.2), abs=0.02)
    assert report.work / report.ended == pytest.approx(0.6, abs=0.02)


def test_the_query_that_saves_the_most_loses_alone_and_as_much_work_is_saved():
    lost, report = shed("lsrm")
    # A fifth of 0.75 s of work per second is three tenths of what the dear query takes.
    assert lost == pytest.approx({"cheap": 0.0, "dear": 0.3}, abs=0.02)
    assert report.work / report.ended == pytest.approx(0.6, abs=0.02)
    [account] = report.accounts
    assert account.dropped == 0


def test_who_may_lose_much_before_it_hurts_loses_first():
    tolerant = LossGraph(((0.0, 0.0), (0.5, 1.0)))
    lost, _ = shed("lsrm", 0.68, losses={"cheap": tolerant, "dear": LossGraph(((0.0, 0.0), (1.0, 20.0)))})
    # 0.07 of 0.75 s of work per second: the cheap query takes 0.125 of it, and half of that is free.
    assert lost["dear"] == pytest.approx(0.0, abs=0.005)
    assert lost["cheap"] == pytest.approx(0.56, abs=0.05)


TWO = (QueryClass("gold", 2, 1.0), QueryClass("tin", 1, 1.0))


def shared_and_not():
    """Gold reads two streams that cost the same; what comes of the first, tin reads as well."""
    ops = [
        *(Operator(name, Kind.SOURCE) for name in ("in", "own")),
        Operator("common", Kind.PROJECT, ("in",), Cost(0.0, 4e-3), 1.0),
        Operator("mine", Kind.PROJECT, ("own",), Cost(0.0, 4e-3), 1.0),
        Operator("behind", Kind.PROJECT, ("common",), Cost(0.0, 1e-4), 1.0),
    ]
    return Network(
        tuple(ops),
        (Query("first", "common", "gold"), Query("second", "mine", "gold"), Query("third", "behind", "tin")),
    )


@pytest.mark.parametrize(
    ("place", "lost"),
    [("even", {"first": 0.2, "second": 0.2, "third": 0.2}), ("unshared", {"first": 0, "second": 0.4, "third": 0})],
)
def test_what_a_lower_class_shares_is_kept_where_what_it_does_not_can_go(place, lost):
    arrivals = {name: np.arange(1, 5001) / 125 for name in ("in", "own")}
    management = Management(TWO, "separate", maker("aurora", {"headroom": 0.8}))
    control = Control(management, 0.5, place=place)
    report = run(shared_and_not(), arrivals, classes=TWO, units=by_operator(TWO), control=control)
    found = {name: 1 - report.departures[name].count / 5000 for name in lost}
    assert found == pytest.approx(lost, abs=0.03)

"""Several nodes under a coordinator, in short form."""

from dataclasses import replace

from headgate.experiments.load_management.nodes import (
    ARM,
    LOADS,
    SYSTEMS,
    WITHOUT,
    Case,
    _recovery,
    days,
    failures,
    nights,
    run,
)
from headgate.experiments.report import Scale

QUICK = Scale(quick=True, traces=())


def test_every_system_sees_the_same_load_and_what_follows_it_loses_less():
    seen = {system: run(Case(system, LOADS[0], 75.0), 1) for system in SYSTEMS}
    offered = [{name: each.offered for name, each in report.classes.items()} for report in seen.values()]
    assert all(
        abs(each[name] - offered[0][name]) < 1e-6 * offered[0][name] for each in offered for name in offered[0]
    )
    assert seen["one large node"].loss < seen["weighed"].loss < seen["random"].loss
    assert seen["random"].moves == 0 < seen["weighed"].moves


def test_an_outcome_has_a_row_for_every_system_and_the_orders_that_must_hold():
    short = {case: run(replace(case, end=20.0, night=None), 1) for case in days(QUICK)[:5]}
    by_system = {case.system: report for case, report in short.items()}
    by_system["taken over"] = by_system["random"]
    cases = {*days(QUICK), *nights(QUICK), *failures(QUICK)}
    assert {key for key, _ in ARM.tasks(QUICK)} == cases
    outcome = ARM.outcome(QUICK, {(case, 1): by_system[case.system] for case in cases})
    named = [row.what for row in outcome.rows]
    for load in LOADS:
        assert all(any(what.startswith(f"{load:g}×, {system}") for what in named) for system in SYSTEMS)
    assert all(any(what.startswith(f"a node lost, {system}") for what in named) for system in WITHOUT)
    assert sum(row.band is not None for row in outcome.rows) == 20
    assert len(outcome.figures) == 3


def test_a_node_that_dies_costs_little_where_others_take_over_and_its_queries_where_nobody_does():
    seen = {system: run(Case(system, LOADS[0], 90.0, away=(20.0, 60.0)), 1) for system in WITHOUT}
    gold = {system: report.classes["gold"].loss for system, report in seen.items()}
    assert gold["weighed"] < gold["random"] / 2
    assert gold["taken over"] < gold["random"] / 2
    assert seen["random"].moves == seen["taken over"].moves == 0 < seen["weighed"].moves
    assert _recovery(seen["weighed"], 20.0) < _recovery(seen["random"], 20.0) == 40.0

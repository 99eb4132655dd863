"""Several nodes under a coordinator, in short form."""

from dataclasses import replace

from headgate.experiments.load_management.nodes import ARM, LOADS, SYSTEMS, Case, days, nights, run
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
    assert {key for key, _ in ARM.tasks(QUICK)} == {*days(QUICK), *nights(QUICK)}
    outcome = ARM.outcome(QUICK, {(case, 1): by_system[case.system] for case in (*days(QUICK), *nights(QUICK))})
    named = [row.what for row in outcome.rows]
    for load in LOADS:
        assert all(any(what.startswith(f"{load:g}×, {system}") for what in named) for system in SYSTEMS)
    assert sum(row.band is not None for row in outcome.rows) == 15
    assert len(outcome.figures) == 3

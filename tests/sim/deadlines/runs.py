"""Short runs that several test files need."""

from headgate.control.deadlines.profiles import create
from headgate.sim.deadlines import rates
from headgate.sim.deadlines.setup import Setup
from headgate.sim.deadlines.simulation import simulate
from headgate.sim.deadlines.workload import mix


def mixed(profile, streams=None, *, options=None, queries=None, **setup):
    """The mix of ten on streams, the constant overload by default, in the way of a profile."""
    made = create(profile, **(options or {}))
    return simulate(Setup(queries or mix(), streams or rates.steady(), made, **setup))


def late_by_query(report):
    found = {}
    for each in report.records:
        if each.missed and each.due <= report.horizon:
            found[each.query] = found.get(each.query, 0) + 1
    return found

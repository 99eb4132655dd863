"""Estimates for the tests: the published mix, and sets from Hypothesis."""

from hypothesis import strategies as st

from control.deadlines.sets import PERIODS, WEIGHTS, mix
from headgate.control.deadlines.feedback import Estimate


def published(rate, count=10, **options):
    """The published queries at a rate, in tuples per second and stream; each counts as one stream."""
    found = {}
    for task, period, weight in list(zip(mix(rate), PERIODS, WEIGHTS, strict=True))[:count]:
        found[task.name] = Estimate(
            float(period), float(period), weight, rate * period, task.cost, selectivity=task.selectivity, **options
        )
    return found


@st.composite
def estimates(draw, most=6, fixed=True, pieces=False, load=(1, 200)):
    """Queries from light to far too heavy, by name."""
    n = draw(st.integers(1, most))
    found = {}
    for j in range(n):
        period = draw(st.integers(1, 12)) / 2
        cost = period * draw(st.integers(*load)) / 100 / n
        found[f"q{j}"] = Estimate(
            period,
            period * draw(st.sampled_from((1.0, 1.0, 0.75))),
            weight=float(draw(st.integers(1, 10))),
            tuples=float(draw(st.integers(1, 10_000))),
            cost=cost,
            fixed=cost * draw(st.integers(0, 30)) / 100 if fixed else 0.0,
            selectivity=draw(st.integers(0, 20)) / 20,
            piece=cost * draw(st.integers(0, 100)) / 100 if pieces else 0.0,
        )
    return found

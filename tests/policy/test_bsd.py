"""BSD: rate times slowdown so far, and the exact comparison that it approximates."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.policy.bsd import BSD, exact_prefers
from helpers import prepared, segment, unit, view

POSITIVE = st.floats(0.1, 50.0)
SHARES = st.floats(0.05, 1.0)
SEGMENTS = st.builds(segment, SHARES, POSITIVE, POSITIVE)


@given(triples=st.lists(st.tuples(SHARES, POSITIVE, POSITIVE, POSITIVE), min_size=1, max_size=6))
def test_the_largest_product_of_rate_and_slowdown_so_far_goes_first(triples):
    units = [unit((S, C, T), number=k) for k, (S, C, T, _) in enumerate(triples)]
    decision = prepared("bsd", units).choose(view(100.0, *([100.0 - W] for *_, W in triples)))
    values = [S * W / (C * T * T) for S, C, T, W in triples]
    assert values[decision.runs[0].unit] == pytest.approx(max(values))
    assert decision.why.terms["priority"] == pytest.approx(max(values))


@given(k=st.floats(1e-6, 1e6), waits=st.tuples(POSITIVE, POSITIVE))
def test_the_choice_does_not_depend_on_the_unit_of_time(k, waits):
    triples = [(0.5, 2.0, 3.0), (0.9, 7.0, 11.0)]
    values = [S * W / (C * T * T) for (S, C, T), W in zip(triples, waits, strict=True)]
    assume(abs(values[0] / values[1] - 1) > 1e-6)
    units = [unit((S, C * k, T * k), number=i) for i, (S, C, T) in enumerate(triples)]
    decision = prepared("bsd", units).choose(view(100.0 * k, *([(100.0 - W) * k] for W in waits)))
    assert values[decision.runs[0].unit] == max(values)


def squared(first, W_first, second, W_second):
    """Expected sum of squared slowdowns of two segments, served one after the other."""
    delay = W_second + first.C
    return first.S * ((first.T + W_first) / first.T) ** 2 + second.S * ((second.T + delay) / second.T) ** 2


@given(x=SEGMENTS, W_x=POSITIVE, y=SEGMENTS, W_y=POSITIVE)
def test_the_exact_comparison_is_the_smaller_sum_of_squared_slowdowns(x, W_x, y, W_y):
    x_first, y_first = squared(x, W_x, y, W_y), squared(y, W_y, x, W_x)
    assume(abs(x_first / y_first - 1) > 1e-9)
    assert exact_prefers(x, W_x, y, W_y) == (x_first < y_first)


@given(x=SEGMENTS, y=SEGMENTS, W=st.tuples(POSITIVE, POSITIVE))
def test_for_waits_far_beyond_all_costs_the_policy_agrees_with_the_exact_comparison(x, y, W):
    W_x, W_y = (w * 1e9 for w in W)
    values = [BSD.weight(s) / s.C * w for s, w in ((x, W_x), (y, W_y))]
    assume(abs(values[0] / values[1] - 1) > 1e-6)
    assert exact_prefers(x, W_x, y, W_y) == (values[0] > values[1])

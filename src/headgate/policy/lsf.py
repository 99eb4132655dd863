"""Longest stretch first: the tuple whose wait is the largest multiple of its query's ideal time."""

from headgate.policy.statement import Per, Statement

LSF = Statement(
    name="lsf",
    weight=lambda s: 1.0 / s.T,
    alpha=1,
    per=Per.NOTHING,
    formula="W/T",
    optimises="maximum slowdown",
)

"""Highest rate: the segment that yields the most results per second of work."""

from headgate.policy.statement import Per, Statement

HR = Statement(
    name="hr",
    weight=lambda s: s.S,
    alpha=0,
    per=Per.COST,
    formula="S/C",
    optimises="average response time",
)

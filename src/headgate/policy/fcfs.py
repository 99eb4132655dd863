"""First come, first served: the tuple that has waited longest, over all queries."""

from headgate.policy.statement import Per, Statement

FCFS = Statement(
    name="fcfs",
    weight=lambda _: 1.0,
    alpha=1,
    per=Per.NOTHING,
    formula="W",
    optimises="nothing but the order of arrival; the baseline",
)

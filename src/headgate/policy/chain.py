"""Chain: the operator on the steepest part of the progress chart, to hold as few tuples as possible.

Meant for operator level, where a tuple can be left half-way; at query level it is the slope at the leaf.
"""

from headgate.policy.statement import Per, Statement

CHAIN = Statement(
    name="chain",
    weight=lambda s: s.C * s.slope if s.C else 1.0,
    alpha=0,
    per=Per.COST,
    formula="slope of the lower envelope",
    optimises="memory in queues",
)

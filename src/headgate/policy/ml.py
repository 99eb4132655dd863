"""Aurora's Min-Latency, the rate-based rule from the view of a result: the cheapest next result first.

A result of the segment costs Σ c_d/S_d over its operators d. That sum equals C/S, so the order is HR's; the weight
is written with Min-Latency's own cost so that a test can show it.
"""

from headgate.policy.statement import Per, Statement

ML = Statement(
    name="ml",
    weight=lambda s: s.C / s.output_cost if s.C else s.S,
    alpha=0,
    per=Per.COST,
    formula="1/Σ(c_d/S_d)",
    optimises="average response time of one query; over queries the same order as hr",
)

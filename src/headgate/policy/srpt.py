"""Shortest remaining processing time: the cheapest work first, whatever it yields.

What "processing time" means under selectivity is open: the default is the ideal time T of an emitted tuple, the
variant the expected time C. On trains they read 1/(a + n·T) and 1/(a + b·n).
"""

from headgate.policy.statement import Per, Statement

SRPT = Statement(
    name="srpt",
    weight=lambda _: 1.0,
    alpha=0,
    per=Per.IDEAL,
    formula="1/T",
    optimises="average response time where every selectivity is 1",
)

SRPT_C = Statement(
    name="srpt-c",
    weight=lambda _: 1.0,
    alpha=0,
    per=Per.LENGTH,
    formula="1/C",
    optimises="as srpt, with the expected instead of the ideal time",
)

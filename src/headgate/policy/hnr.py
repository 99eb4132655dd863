"""Highest normalised rate: HR with a result counted relative to its query's ideal time.

Running segment x first delays segment y by C_x and adds S_y·C_x/T_y to the total slowdown; so x goes first where
S_x/(C_x·T_x) is larger.
"""

from headgate.policy.statement import Per, Statement

HNR = Statement(
    name="hnr",
    weight=lambda s: s.S / s.T,
    alpha=0,
    per=Per.COST,
    formula="S/(C·T)",
    optimises="average slowdown",
)

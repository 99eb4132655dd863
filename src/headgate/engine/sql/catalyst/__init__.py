"""From Spark's analysed plan of a query to the segment of a fused unit, or the reason why there is none.

Spark has resolved names, put in every cast and inferred every type. Here its tree is only rewritten, node by node; a
node that is not known makes the query stay on its own Spark plan.
"""

from headgate.engine.sql.catalyst.expressions import NotFusableError
from headgate.engine.sql.catalyst.relations import segment

__all__ = ["NotFusableError", "segment"]

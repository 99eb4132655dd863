"""The nouns: operators, query networks, segments, units, and the numbers computed from them."""

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.parameters import Segment, Stage
from headgate.model.unit import Basis, Entry, Unit

__all__ = ["Basis", "Cost", "Entry", "Kind", "Network", "Operator", "Query", "Segment", "Stage", "Unit"]

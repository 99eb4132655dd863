"""Units and queues by chance, at times on a grid so that sums are exact."""

from hypothesis import strategies as st

from headgate.model.qos import LatencyGraph
from helpers import Waiting
from policy.qos.bed import box_units

TIMES = st.integers(0, 64).map(lambda x: x / 4)
GRAPHS = st.none() | st.builds(
    lambda d, width: LatencyGraph.until(d / 4, (d + width) / 4), st.integers(1, 80), st.integers(1, 20)
)
APPS = st.lists(st.tuples(st.integers(1, 4), GRAPHS), min_size=1, max_size=4)
SELECTIVITIES = st.sampled_from([0.5, 1.0, 2.0])


@st.composite
def networks(draw):
    """Chains of boxes as units."""
    return box_units(*draw(APPS), cost=0.25, sel=draw(SELECTIVITIES))


@st.composite
def waiting(draw, units, most=3):
    """A queue for each unit, one of which has a tuple."""
    queues = [Waiting(sorted(draw(st.lists(TIMES, max_size=most)))) for _ in units]
    if not any(queue.pending for queue in queues):
        queues[0] = Waiting([draw(TIMES)])
    return queues

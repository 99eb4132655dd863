"""Networks as the experiments have them: sizes, and rates from the capacity."""

import numpy as np
import pytest

from headgate.errors import InputError
from headgate.model.boxes import Box, Boxes
from headgate.model.qos import LatencyGraph
from headgate.sim.boxes import networks
from headgate.sim.boxes.units import Applications, superboxes

GRAPHS = (LatencyGraph.until(0.01), LatencyGraph.until(2.0))


def tree(fanout, depth, seed=1):
    return networks.tree(fanout, depth, lambda: 1e-4, lambda: 1.0, np.random.default_rng(seed))


@pytest.mark.parametrize(("fanout", "depth", "boxes", "leaves"), [(3, 5, 121, 81), (2, 5, 31, 16), (2, 4, 15, 8)])
def test_trees_have_the_published_sizes(fanout, depth, boxes, leaves):
    made = tree(fanout, depth)
    assert (len(made), len(made.leaves), made.outputs) == (boxes, leaves, (0,))
    assert {len(made.D(leaf)) for leaf in made.leaves} == {depth}


def test_a_fraction_of_a_fanout_is_met_on_average():
    made = [tree(1.5, 8, seed) for seed in range(40)]
    inner = [len(box.inputs) for each in made for box in each.boxes if box.inputs]
    assert np.mean(inner) == pytest.approx(1.5, abs=0.05)
    assert min(inner) == 1


def test_trees_side_by_side_keep_their_shapes_and_their_graphs_alternate():
    made = networks.alternating([tree(2, 3), tree(1, 2), tree(2, 2)], GRAPHS)
    assert made.boxes.outputs == (0, 7, 9)
    assert made.graphs == (GRAPHS[0], GRAPHS[1], GRAPHS[0])
    assert [len(made.boxes.D(leaf)) for leaf in made.boxes.leaves] == [3, 3, 3, 3, 2, 2, 2]


def test_the_rate_from_the_capacity_is_that_whose_work_takes_it():
    chains = networks.chains(20, 5, 1e-4, GRAPHS)
    assert networks.rate_for(chains.boxes, 1.0) == pytest.approx(2000)
    # A tuple of the first chain costs 1 s and half of the time 2 s more, one of the other 3 s.
    two = Boxes((Box((1,), 2.0), Box((), 1.0, 0.5), Box((), 3.0)))
    assert networks.rate_for(two, 0.5) == pytest.approx(0.5 * 2 / (2.0 + 3.0))


def test_more_overlap_means_fewer_boxes_and_shared_ones():
    def made(overlap):
        rng = np.random.default_rng(1)
        return networks.overlapping(20, 6, overlap, lambda: 1e-4, rng, GRAPHS).boxes

    assert len(made(0.0)) == 120
    assert max(map(len, made(0.0).feeds)) == 1
    assert len(made(0.9)) < len(made(0.3)) < 120
    assert max(map(len, made(0.9).feeds)) > 2
    assert len(made(0.9).outputs) == 20


def test_a_tree_without_levels_is_refused():
    with pytest.raises(InputError, match="a fanout and a depth"):
        tree(2, 0)


def test_a_unit_has_one_way_to_each_output_however_many_there_are():
    # Ten diamonds one after the other: a thousand ways, one output.
    boxes = [Box((), 1.0)]
    for _ in range(10):
        top = len(boxes) - 1
        boxes += [Box((top,), 1.0), Box((top,), 1.0), Box((top + 1, top + 2), 1.0)]
    unit = superboxes(Applications(Boxes(tuple(boxes)), (GRAPHS[0],)), [range(len(boxes))]).units[0]
    assert [len(segment.path) for segment in unit.segments] == [21]

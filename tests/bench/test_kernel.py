"""The cases of `headgate bench kernel`, over as little as they can do."""

import pytest

from headgate.bench import kernel


@pytest.mark.parametrize(
    ("case", "count"),
    [(kernel.alike, 40), (kernel.different, 60), (kernel.alerts, 500)],
    ids=("alike", "different", "alerts"),
)
def test_what_is_compared_gives_the_same_rows(case, count):
    rows = case({400: 12}, count)
    trains = [row for row in rows if row["part"] == "trains"]
    assert [(row["queries"], row["tuples"]) for row in trains] == [(count, 400)]
    assert all(row["results"] == row["expected"] for row in trains)
    assert sum(row["results"] for row in trains) > 0


def test_alike_queries_have_twenty_shapes_and_different_ones_as_many_as_there_are():
    draw = kernel.Draw(1)
    twice = [*kernel.twenty(draw), *kernel.twenty(draw)]
    assert len(kernel._added(twice)) == 20
    (row,) = kernel.different({50: 11}, 30)
    assert row["shapes"] == 30

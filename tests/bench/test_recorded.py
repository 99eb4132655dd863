"""What of a run counts as on time."""

import pytest

from headgate.bench.recorded import Ran, within


def ran(at, longest):
    return Ran(at, 1, longest, longest)


@pytest.mark.parametrize(
    ("runs", "share"),
    [
        ([], 0.0),
        ([ran(9.9, 0.4)], 1.0),
        ([ran(0.1, 0.4), ran(9.9, 0.5)], 1.0),
        # Due at 5.0 and there at 9.9: late from then on, however long nothing came.
        ([ran(0.1, 0.1), ran(9.9, 5.4)], 0.5),
        # Nobody was on time who waited from before the beginning.
        ([ran(9.9, 16.0)], 0.0),
        # Others that were on time do not make up for one that was not.
        ([ran(t + 0.1, 0.2) for t in range(10)] + [ran(9.9, 5.4)], 0.5),
    ],
)
def test_time_counts_as_late_from_when_a_result_was_due_until_it_came(runs, share):
    assert within(0.5, runs) == share

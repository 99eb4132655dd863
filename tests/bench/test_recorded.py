"""What of a run counts as on time."""

import pytest

from headgate import record
from headgate.bench.recorded import Growing, Ran, within
from headgate.monitor.figures import Response


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


def test_runs_are_told_by_class_as_the_record_grows(tmp_path):
    recorder = record.Recorder(tmp_path)
    recorder.append(record.Planned(10.0, "u", ("u",), "alerts", {"s": 0}, 0.1, 0.1, 1.0))
    run = record.Ran(11.0, "u", {"s": (0, 2)}, 2, 11.0, 12.0, 0, 2, Response(3.0, 2.0, 5.0), "W", {})
    recorder.append(run)
    growing = Growing(tmp_path)
    assert growing.ran(10.0) == {"alerts": [Ran(2.0, 2, 3.0, 2.0)]}
    assert growing.ran(10.0) == {}
    recorder.append(run)
    assert growing.ran(11.0) == {"alerts": [Ran(1.0, 2, 3.0, 2.0)]}
    recorder.close()

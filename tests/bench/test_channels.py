"""The benchmark of channels, in short: every way is measured over the same trains."""

from headgate.bench import channels
from headgate.engine.lanes import JobLane
from headgate.engine.resident.lane import ResidentLane


def test_each_way_is_measured_for_answers_of_each_size(spark, tmp_path):
    lanes = {"unix": ResidentLane("unix", spark, tmp_path / "lanes", silence=60.0), "job": JobLane("job", spark)}
    assert lanes["unix"].ready(60), lanes["unix"].trouble
    rows = [channels.measured(lanes, channels.train(tmp_path, n), n * 1024, 3, lambda _: None) for n in (0, 4)]
    for lane in lanes.values():
        lane.close()
    assert [row["bytes"] for row in rows] == [0, 4096]
    assert all(row[way] > 0 for row in rows for way in ("kernel", "unix", "job"))


def test_the_goals_are_those_of_the_round_trip():
    rows = [{"bytes": 0, "unix": 0.0001, "flight": 0.0004, "job": 0.02}, {"bytes": 1, "unix": 9.0}]
    assert [check.ok for check in channels.checks(rows)] == [True, True, True]
    rows[0] |= {"unix": 0.1, "flight": 0.01}
    assert [check.ok for check in channels.checks(rows)] == [False, False, False]

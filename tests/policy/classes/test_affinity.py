"""AMBD: a look ahead for queries that last ran on the lane."""

from policy.classes.bed import Bed, looked_at, prepared, units

FOUR = units(A=[1.0, 1.0, 1.0, 1.0])


def started():
    """Four queries, of which 0 and 2 last ran on lane 0, and 1 and 3 on lane 1."""
    scheduler = prepared("ambd", (4,), FOUR)
    assert scheduler.program == [0, 1, 2, 3]
    for i in range(4):
        pending = [int(k == i) for k in range(4)]
        assert scheduler.choose(looked_at(*pending, lane=i % 2, lanes=2)).runs == ((i, 1),)
    return scheduler


def test_a_lane_takes_the_first_slot_ahead_whose_query_it_ran_last():
    scheduler = started()
    assert scheduler.choose(looked_at(0, 1, 1, 1, lane=0, lanes=2)).runs == ((2, 1),)
    scheduler = started()
    assert scheduler.choose(looked_at(1, 1, 1, 1, lane=1, lanes=2)).runs == ((1, 1),)
    assert scheduler.choose(looked_at(1, 0, 1, 0, lane=1, lanes=2)).runs == ((0, 1),)


def test_a_slot_taken_early_is_used_up_for_the_round():
    scheduler = started()
    scheduler.choose(looked_at(1, 0, 0, 0, lane=0, lanes=2))
    ran = [scheduler.choose(looked_at(1, 1, 1, 1, lane=0, lanes=2)).runs[0].unit for _ in range(3)]
    assert ran == [2, 1, 3]
    assert scheduler.rounds == 1


def test_every_slot_looked_at_ahead_counts_as_read():
    scheduler = started()
    assert scheduler.choose(looked_at(0, 1, 1, 1, lane=0, lanes=2)).work.reads == 1 + 3
    assert scheduler.choose(looked_at(1, 0, 0, 0, lane=2, lanes=3)).work.reads == 1 + 3


def test_without_such_a_query_the_next_slot_is_taken():
    scheduler = prepared("ambd", (4,), FOUR)
    assert [scheduler.choose(looked_at(1, 1, 1, 1, lane=k, lanes=9)).runs[0].unit for k in range(4)] == [0, 1, 2, 3]


def test_the_look_ahead_ends_after_ten_slots():
    made = units(A=[1.0] * 12)
    scheduler = prepared("ambd", (12,), made)
    for i in range(12):
        scheduler.choose(looked_at(*(int(k == i) for k in range(12)), lane=int(i == 11), lanes=2))
    everything = [1] * 12
    assert scheduler.choose(looked_at(*everything, lane=1, lanes=2)).runs == ((0, 1),)
    assert scheduler.choose(looked_at(*everything, lane=0, lanes=2)).runs == ((1, 1),)
    assert scheduler.choose(looked_at(*everything, lane=1, lanes=2)).runs == ((11, 1),)


def test_queries_have_as_many_runs_as_under_mbd():
    made = units(A=[1.0, 3.0], B=[2.0, 2.0])
    counts = []
    for name in ("mbd", "ambd"):
        ran = Bed(prepared(name, (2, 1), made), made, [1] * 4, refill=True).go(2400)
        counts.append([ran.count(i) for i in range(4)])
    assert all(abs(a - b) < 100 for a, b in zip(*counts, strict=True))

from engine.log.logs import feed, opened
from headgate.engine.evaluation.protocol import NOTHING, queued


def test_all_who_stand_at_a_tuple_have_the_same_queue_until_there_is_another_train(tmp_path):
    log = opened(tmp_path)
    assert queued(log, 0) is NOTHING
    feed(log, [[0, 1, 2]], arrivals=[0, 1_000_000, 2_000_000])
    found = queued(log, 1)
    assert (found.pending, found.oldest, found.position, found.arrived(2)) == (2, 1.0, 1, 3.0)
    assert queued(log, 1) is found
    assert queued(log, 2).pending == 1
    assert queued(log, 3) is NOTHING
    feed(log, [[3]], arrivals=[0, 0, 0, 5_000_000])
    found = queued(log, 1)
    assert (found.pending, found.oldest, found.position, found.arrived(3)) == (3, 1.0, 1, 8.0)
    assert queued(log, 3).pending == 1
    log.manifest.close()

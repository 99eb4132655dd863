"""Queries meet at one position to be fused; a run that ends meanwhile must not set them apart unseen."""

from engine.faults.found import ALL, query
from engine.live import caught_up, column, until
from headgate.engine import fusing
from headgate.engine.units import SingleUnit, run


def test_queries_are_not_fused_if_one_went_on_while_their_plan_was_made(engine, fed, monkeypatch):
    made, write = [], fusing.fused_sql

    def fused_sql(stream, parts):
        if not made:
            # As a run does that was under way when the queries were called.
            ahead, log = engine.queries["a"], engine._streams["s"].log
            until(lambda: log.head > ahead.progress.cursors["s"])
            run(SingleUnit(ahead), 4, lambda plan, given: plan.run(given, "test"), engine._manifest)
        made.append(stream)
        return write(stream, parts)

    def fused():
        fed.feed(1)
        return query(engine, "a").unit.startswith("fused")

    monkeypatch.setattr(fusing, "fused_sql", fused_sql)
    engine.query("a", ALL)
    engine.start("fcfs", fuse=True)
    fed.feed(3)
    caught_up(engine, "a", position=3)
    engine.query("b", ALL)
    until(fused)
    fed.feed(2)
    caught_up(engine, "a", "b", position=fed.given)
    fed.end()
    assert engine.wait(120)
    assert len(made) > 1
    assert sorted(column(engine, "a")) == list(range(fed.given))
    assert sorted(column(engine, "b")) == list(range(3, fed.given))

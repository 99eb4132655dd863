"""A query over logs of its own, driven step by step as a lane does it."""

import random
import time

import pyarrow as pa

from engine.log.logs import SCHEMA, feed, opened
from headgate.engine.drafts import Draft
from headgate.engine.evaluation import Setting, evaluation
from headgate.engine.log.manifest import Manifest
from headgate.engine.query import LiveQuery
from headgate.engine.running import run
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening
from headgate.engine.sql.plan import Catalog, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.units import SingleUnit

_FAR = 500
"""Steps after which a query that still has something to do does not get on."""


def walk(seed, trains=8, most=6, back=30, on=9):
    """Trains of event times that go on, some tuples further back than others."""
    draw = random.Random(seed)
    at, found = -40, []
    for _ in range(trains):
        at += draw.randint(0, 2 * on)
        found.append([at + draw.randint(-back, on) for _ in range(draw.randint(1, most))])
    return found


class Driven:
    """What the engine would do for one query. After each step, the log forgets what the query does not need."""

    def __init__(self, views, folder, sql, window=None, *, delay=0, streams=("s",), forget=True, iterations=False):
        self.folder, self.sql, self.window, self.delay = folder, sql, window, delay
        self.views, self.forget, self.iterations = views, forget, iterations
        self.manifest = Manifest(folder / "manifest.db")
        self.sink = MemoryTables()
        self.logs = {name: opened(folder, self.manifest, name=name, delay=delay) for name in streams}
        self.plan = plan(sql, Catalog(dict.fromkeys(streams, Relation(tuple(SCHEMA.names), "t")), {}), window)
        self.query = None

    @property
    def log(self):
        return self.logs["s"]

    def register(self):
        """Enter the query at the head of its streams, or where the manifest says that it is."""
        setting = Setting("q", self.logs, self.views, self.folder / "panes")
        made = evaluation(self.plan, setting, iterations=self.iterations)
        begin = made.begin({name: log.head for name, log in self.logs.items()})
        progress = self.manifest.enter("q", {}, begin)
        self.sink.open(Opening("q", made.schema, self.views.spark, progress.receipt))
        draft = Draft("q", self.plan.sql, None, self.plan, made, None, None)
        self.query = LiveQuery(draft, "default", self.sink, 60.0, progress, self.logs)
        return self

    def restart(self):
        """Go on from what is on disk, as a new process."""
        self.manifest.close()
        self.manifest = Manifest(self.folder / "manifest.db")
        self.logs = {name: opened(self.folder, self.manifest, name=name, delay=self.delay) for name in self.logs}
        return self.register()

    def settle(self, n):
        """Step until nothing waits; gives the steps."""
        query, steps = self.query, []
        while query.waiting(time.time()).pending:
            done = run(SingleUnit(query), n, lambda prepared, given: prepared.run(given, "test"), self.manifest)
            assert done.error is None, done.error
            assert self.manifest.progress("q") == query.progress
            steps.append(done)
            assert len(steps) < _FAR
            for name, log in self.logs.items() if self.forget else ():
                log.drop(query.evaluation.needed(query.progress, name))
            query.evaluation.tidy(query.progress)
        return steps

    def over(self, trains, n, *, live):
        """Run over trains to the end of the stream: as each of them comes, or when all are there."""
        for times in trains:
            feed(self.log, [times])
            if live:
                self.settle(n)
        self.log.end()
        self.settle(n)
        return self.rows()

    def rows(self):
        """All results, in order of their values; times in microseconds."""
        found = self.sink.table()
        for i, field in enumerate(found.schema):
            if pa.types.is_timestamp(field.type):
                found = found.set_column(i, field.name, found.column(i).cast(pa.int64()))
        return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def close(self):
        self.manifest.close()

"""A model of what an engine does with a sink that delivers exactly once, over any sequence of steps and crashes."""

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.sink.openings import opened, table

rows = st.lists(st.integers(0, 9), max_size=4)


class Runs(RuleBasedStateMachine):
    """Rising runs, each staged (perhaps several times), committed, published; and a crash between any two steps."""

    def make(self):
        """A new sink over `self.folder`, as a new process has it."""
        raise NotImplementedError

    def visible(self):
        """The values that a reader sees."""
        raise NotImplementedError

    def damage(self, share):
        """Take away the end of what was staged, as a crash in the middle of writing does."""
        raise NotImplementedError

    def abandon(self):
        """Let go of what only a process holds, as its end does."""
        self.sink.close()

    @initialize()
    def start(self):
        self.folder = Path(tempfile.mkdtemp())
        self.committed, self.published = [], []
        self.run, self.last, self.staged = 1, None, None
        self.sink = opened(self.make())

    def teardown(self):
        self.sink.close()
        shutil.rmtree(self.folder)

    @precondition(lambda self: self.published == self.committed)
    @rule(values=rows)
    def stage(self, values):
        self.staged = (values, self.sink.stage(self.run, table(*values)))

    @precondition(lambda self: self.staged)
    @rule(skipped=st.sampled_from([0, 0, 7]))
    def commit(self, skipped):
        values, self.last = self.staged
        self.committed = self.committed + values
        self.run, self.staged = self.run + skipped + 1, None
        if not values:
            self.sink.publish(self.last)

    @precondition(lambda self: self.last and not self.staged)
    @rule()
    def publish(self):
        self.sink.publish(json.loads(json.dumps(self.last)))
        self.published = self.committed

    @rule()
    def crash(self):
        self.abandon()
        self.staged = None
        self.sink = opened(self.make(), self.last)
        self.published = self.committed
        assert self.visible() == self.committed

    @precondition(lambda self: self.published == self.committed)
    @rule(values=rows, share=st.floats(0, 1))
    def crash_while_staging(self, values, share):
        self.sink.stage(self.run, table(*values))
        self.damage(share)
        self.crash()

    @invariant()
    def what_is_published_is_visible(self):
        assert self.visible()[: len(self.published)] == self.published

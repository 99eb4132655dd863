"""For every test of the engine: what decisions are shown, which is kept from one to the next, is what there is."""

import math
import time

import pytest

from headgate.engine.evaluation.protocol import NOTHING
from headgate.engine.looking import Looking
from headgate.policy.worthwhile import unripe

SETTLED = 0.05
"""Seconds after which a change that another thread was about to tell of has been told."""


def key(queue):
    return queue.pending, queue.oldest, queue.position


class Checked:
    """Compares each look with one at all units. A change that is under way may be seen in one of them only."""

    def __init__(self):
        self.wrong, self.looks, self._suspects = [], 0, {}

    def check(self, looking, kind, now):
        self.looks += 1
        kept, models = looking._kept[kind], looking._plan.models
        costs = [model.cost for model in models]
        green = unripe(now, kept.asked, costs, looking._plan.due, looking.overripe)
        shown = [NOTHING if i in green else queue for i, queue in enumerate(kept.asked)]
        if [*map(key, shown)] != [*map(key, kept.shown)]:
            self.wrong.append("what is unripe is not put off, or what is ripe is")
        for i, unit in enumerate(kept.units):
            found = unit.waiting(now) if unit.in_kernel in kept.taken else NOTHING
            seen = key(kept.asked[i]), i in kept.running, key(found), unit.busy
            place = id(looking), kind, unit.name
            if seen[:2] == seen[2:]:
                self._suspects.pop(place, None)
                continue
            before, since = self._suspects.setdefault(place, (seen, time.monotonic()))
            if before != seen:
                self._suspects[place] = seen, time.monotonic()
            elif time.monotonic() - since > SETTLED:
                self.wrong.append(f"{unit.name} waits for {seen[0]}, runs: {seen[1]}; in truth {seen[2]}, {seen[3]}")


@pytest.fixture(scope="session")
def checked():
    """No look at all units comes to the aid of a change that was missed."""
    found, made, look = Checked(), Looking.__init__, Looking.look

    def without_aid(self, plan, every=math.inf):
        made(self, plan, every)

    def compared(self, kind, taken, now):
        shown = look(self, kind, taken, now)
        found.check(self, kind, now)
        return shown

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Looking, "__init__", without_aid)
        patched.setattr(Looking, "look", compared)
        yield found


@pytest.fixture(autouse=True)
def no_change_is_missed(checked):
    yield
    wrong, checked.wrong = checked.wrong, []
    assert not wrong

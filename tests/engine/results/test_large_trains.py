"""The whole corpus on one engine that is far behind: all trains are there before the first query runs."""

import pytest

from engine.results.corpus import CORPUS
from engine.results.runs import Way
from engine.results.same import difference

WAYS = [Way(("rr",), 1000, trains=5, stepwise=False), Way(("bsd",), 100_000, trains=20, stepwise=False, lanes=2)]


@pytest.mark.parametrize("run", WAYS, indirect=True, ids=str, scope="module")
@pytest.mark.parametrize("entry", CORPUS.values(), ids=lambda entry: entry.name)
def test_all_results_together_are_those_of_one_batch(run, entry):
    assert not difference(run.results[entry.name], run.answers[entry.name], entry.within)

"""The whole corpus on one engine that is far behind: all trains are there when the first query runs."""

import pytest

from engine.results.corpus import CORPUS
from engine.results.runs import Way
from engine.results.same import difference

WAYS = [
    Way(("rr",), 1000, trains=4, stepwise=False),
    Way(("auto",), 1000, trains=4, stepwise=False),
    Way(("auto",), 500, trains=8, stepwise=False, lanes=(1, 1)),
    Way(("bsd",), 100_000, trains=12, stepwise=False, lanes=(2, 2)),
]

pytestmark = pytest.mark.parametrize("run", WAYS, indirect=True, ids=str, scope="module")


@pytest.mark.parametrize("entry", CORPUS.values(), ids=lambda entry: entry.name)
def test_all_results_together_are_those_of_one_batch(run, entry):
    assert not difference(run.results[entry.name], run.answer(entry), entry.within)


def test_queries_run_together_if_no_policy_is_named(run):
    fused = [query.name for query in run.status.queries if query.unit != query.name]
    assert bool(fused) == (run.way.policies == ("auto",))

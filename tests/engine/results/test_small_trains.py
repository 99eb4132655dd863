"""The whole corpus on one engine, in small steps: each train is done before the next one comes."""

import pytest

from engine.results.corpus import CORPUS
from engine.results.runs import Way
from engine.results.same import difference

KINDS = {"PerTrain", "ByPanes", "PerWindow", "BySession"}
WAYS = [Way(("fcfs", "hnr"), 200, trains=8, stepwise=True), Way(("auto",), 200, trains=8, stepwise=True)]

pytestmark = pytest.mark.parametrize("run", WAYS, indirect=True, ids=str, scope="module")


@pytest.mark.parametrize("entry", CORPUS.values(), ids=lambda entry: entry.name)
def test_all_results_together_are_those_of_one_batch(run, entry):
    assert not difference(run.results[entry.name], run.answers[entry.name], entry.within)


def test_the_corpus_shows_something(run):
    """Results where they are expected, all ways to evaluate a query, and no tuple that came too late."""
    assert {name for name, rows in run.answers.items() if not len(rows)} == {
        e.name for e in CORPUS.values() if e.empty
    }
    assert {query.kind for query in run.status.queries} == KINDS
    assert run.status.accounting.late == 0


def test_light_queries_run_together_if_that_is_asked_for(run):
    fused = [query.name for query in run.status.queries if query.unit != query.name]
    assert bool(fused) == ("auto" in run.way.policies)

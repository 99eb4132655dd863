"""The whole corpus on one engine that keeps up: each train is done before the next one comes."""

import pytest

from engine.results.corpus import CORPUS
from engine.results.runs import Way
from engine.results.same import difference

WAYS = [Way(("fcfs", "auto"), 200, trains=6, stepwise=True, lanes=(1, 1))]

pytestmark = pytest.mark.parametrize("run", WAYS, indirect=True, ids=str, scope="module")


@pytest.mark.parametrize("entry", CORPUS.values(), ids=lambda entry: entry.name)
def test_all_results_together_are_those_of_one_batch(run, entry):
    assert not difference(run.results[entry.name], run.answer(entry), entry.within)


def test_queries_give_results_unless_they_are_meant_to_give_none(run):
    assert {entry.name for entry in CORPUS.values() if not len(run.answer(entry))} == {
        entry.name for entry in CORPUS.values() if entry.empty
    }


def test_the_corpus_has_queries_of_every_kind_and_no_tuple_is_late_for_them(run):
    assert {query.kind for query in run.status.queries} == {"PerTrain", "ByPanes", "PerWindow", "BySession"}
    assert run.status.accounting.late == 0

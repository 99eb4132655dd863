from functools import cache

import pytest

from engine.results.batch import Batch, with_positions
from engine.results.corpus import CORPUS
from engine.results.data import SOURCES, recorded
from engine.results.runs import Feed, Run, parts


@pytest.fixture(scope="session")
def answer(spark):
    """What a batch over all tuples gives for a query of the corpus, worked out once."""
    return cache(Batch(spark, {name: with_positions(recorded(name)) for name in SOURCES}).answer)


@pytest.fixture(scope="module")
def run(request, spark, answer, tmp_path_factory):
    """All queries of the corpus on one engine, run to the end."""
    way = request.param
    feed = Feed.of(spark, tmp_path_factory.mktemp("state"), way.wanted)
    with feed.engine as engine:
        for entry in CORPUS.values():
            feed.add(entry)
        trains, share = parts(way.trains), way.trains // len(way.policies)
        for k, policy in enumerate(way.policies):
            (engine.switch if k else engine.start)(policy, train={"most": way.most}, fuse=way.fuse)
            feed.hand(trains[k * share : (k + 1) * share], stepwise=way.stepwise)
        feed.end()
        results = {name: engine.results(name) for name in CORPUS}
        status = engine.status()
        by_arrival = Batch(spark, feed.logs())
    return Run(way, results, status, lambda entry: (by_arrival.answer if entry.time == "arrival" else answer)(entry))

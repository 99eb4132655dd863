import pytest

from engine.results.batch import Batch, with_positions
from engine.results.corpus import CORPUS
from engine.results.data import SOURCES, recorded
from engine.results.runs import Feed, Run, parts


@pytest.fixture(scope="session")
def answers(spark):
    """What a batch gives for each query of the corpus, but for those over arrival time, which a run decides."""
    batch = Batch(spark, {name: with_positions(recorded(name)) for name in SOURCES})
    return {entry.name: batch.answer(entry) for entry in CORPUS.values() if entry.time != "arrival"}


@pytest.fixture(scope="module")
def run(request, spark, answers, tmp_path_factory):
    """All queries of the corpus on one engine, run to the end."""
    way = request.param
    feed = Feed.of(spark, tmp_path_factory.mktemp("state"), way.lanes)
    with feed.engine as engine:
        for entry in CORPUS.values():
            feed.add(entry)
        trains, share = parts(way.trains), way.trains // len(way.policies)
        for k, policy in enumerate(way.policies):
            (engine.switch if k else engine.start)(policy, train={"most": way.most})
            feed.hand(trains[k * share : (k + 1) * share], stepwise=way.stepwise)
        feed.end()
        results = {name: engine.results(name) for name in CORPUS}
        status = engine.status()
        by_arrival = Batch(spark, feed.logs())
    arriving = {entry.name: by_arrival.answer(entry) for entry in CORPUS.values() if entry.time == "arrival"}
    return Run(way, results, answers | arriving, status)

import pytest

from engine.evaluation.driven import Driven
from engine.log.logs import SCHEMA
from headgate.engine.prepared import Views
from headgate.engine.session import session


@pytest.fixture(scope="module")
def views(spark):
    made = Views(session(spark))
    for name in ("s", "r"):
        made.add_stream(name, SCHEMA)
    return made


@pytest.fixture
def driven(views, tmp_path):
    """Makes queries over logs of their own."""
    made = []

    def make(sql, window=None, **more):
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Driven(views, folder, sql, window, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()

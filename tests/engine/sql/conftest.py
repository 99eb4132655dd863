import pytest

from headgate.engine.sql.plan import Catalog, Relation


@pytest.fixture(scope="session")
def catalog():
    """Two streams with an event time, one without, and two tables."""
    return Catalog(
        streams={
            "ticks": Relation(("ts", "sym", "price", "vol", "cost", "ok", "tags"), "ts"),
            "Orders": Relation(("at", "id", "sym", "n"), "at"),
            "raw": Relation(("a", "b")),
        },
        tables={"ref": Relation(("sym", "name", "factor")), "dim": Relation(("name", "region"))},
    )

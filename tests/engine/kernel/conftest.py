import pytest


@pytest.fixture(scope="session")
def spark(spark):
    """A Spark that does not compile what runs once over a few rows."""
    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {key: spark.conf.get(key) for key in quick}
    for key, value in quick.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)

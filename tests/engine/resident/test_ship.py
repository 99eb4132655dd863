import sys

from headgate.engine.ship import ship


def found(rows):
    import headgate.engine.resident.kernels as there  # noqa: PLC0415 - in the worker

    return [*rows, there.__file__]


def test_workers_use_the_package_that_the_context_carries(spark):
    context, path = spark.sparkContext, list(sys.path)
    ship(context)
    ship(context)
    assert sys.path == path
    (_, file) = context.parallelize([0], 1).mapPartitions(found).collect()
    assert ".zip/headgate/engine/resident/kernels" in file
    assert len([name for name in context.listFiles if "/headgate-" in name]) == 1


def test_a_worker_imports_nothing_that_it_does_not_need(spark):
    def imported(rows):
        import headgate.engine.resident.worker  # noqa: F401, PLC0415 - in the worker

        return [*rows, [name for name in ("sqlglot", "numba", "scipy", "pydantic") if name in sys.modules]]

    ship(spark.sparkContext)
    (_, names) = spark.sparkContext.parallelize([0], 1).mapPartitions(imported).collect()
    assert names == []

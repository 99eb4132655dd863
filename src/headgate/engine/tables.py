"""Reference tables: snapshots of what a user names, as Parquet in the state folder.

Queries join with a snapshot, so that a run that is repeated joins with the same rows, and a table that vanishes takes
nothing along.
"""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headgate.engine.prepared import Views
from headgate.engine.sql.plan import Relation
from headgate.errors import InputError

Table: TypeAlias = DataFrame | str | Path | Callable[[SparkSession], DataFrame]
"""What can be taken as a table: a DataFrame, a file or folder, or a function of a session."""

_READERS = {".csv": "csv", ".parquet": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_log = logging.getLogger(__name__)


class Tables:
    """The tables of an engine and their snapshots."""

    def __init__(self, folder: Path, views: Views) -> None:
        self._folder, self._views = folder, views
        self.columns: dict[str, Relation] = {}
        self.snapshots: dict[str, str] = {}
        self.problems: dict[str, str] = {}

    def take(self, name: str, source: Table, spark: SparkSession) -> None:
        """Make a snapshot of a table. If that fails, the last one stays in use, and the failure is told."""
        old = self._latest(name)
        fresh = self._folder / name / f"{int(old.name) + 1 if old else 0:06d}"
        writing = fresh.with_name("_writing")
        try:
            frame = _frame(source, spark)
            frame.write.mode("overwrite").parquet(str(writing))
            writing.rename(fresh)
            self.problems.pop(name, None)
        except (PySparkException, Py4JError, OSError, InputError) as error:
            self.problems[name] = _said(error)
            if old is None:
                raise InputError(
                    f"table '{name}' can be read", self.problems[name], "See that it exists and can be read."
                ) from None
            _log.warning("table %s: %s; the last snapshot stays in use", name, self.problems[name])
            fresh = old
        self._use(name, fresh)
        for other in (self._folder / name).iterdir():
            if other not in (fresh, old):
                shutil.rmtree(other, ignore_errors=True)

    def _use(self, name: str, folder: Path) -> None:
        frame = self._views.spark.read.parquet(str(folder))
        self._views.add_table(name, frame)
        self.columns[name] = Relation(tuple(frame.columns))
        self.snapshots[name] = str(folder)

    def _latest(self, name: str) -> Path | None:
        folder = self._folder / name
        found = sorted(each for each in folder.glob("[0-9]*") if (each / "_SUCCESS").exists())
        return found[-1] if found else None


def _frame(source: Table, spark: SparkSession) -> DataFrame:
    if isinstance(source, DataFrame):
        return source
    if callable(source):
        return source(spark)
    path = Path(source)
    if not path.exists():
        raise InputError("a table's file exists", f"'{path}'", "Give the path of a file or folder.")
    inside = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.suffix in _READERS)
    kind = _READERS.get(inside[0].suffix) if inside else None
    if kind is None:
        raise InputError("a table's file has a known format", f"'{path}'", f"Use {', '.join(_READERS)}.")
    reader = spark.read.option("header", "true").option("inferSchema", "true")
    return reader.format(kind).load(str(path))


def _said(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error.got)
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)

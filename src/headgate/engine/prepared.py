"""Plans that Spark makes once and runs many times, and the views that they read."""

import json
import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from headgate.engine import reader
from headgate.engine.reader import HIDDEN, PANES, JobInput, TrainSource
from headgate.errors import InputError, choose
from headgate.shed import droppers

_UNRESOLVED = "UNRESOLVED_COLUMN"
_HOLDS = ("Exchange", "Subquery", "TableCache", "InMemory")
"""Names of plan nodes that keep what they once computed."""


class Prepared:
    """A query as Spark has resolved it; its plan is made when it runs for the first time.

    `reads` are the snapshots of tables that it is to join with, by table. When they have changed, it is resolved anew
    by `again` before it runs.
    """

    def __init__(
        self,
        frame: DataFrame,
        again: Callable[[], DataFrame] | None = None,
        reads: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.frame = frame
        self.schema = to_arrow_schema(_nullable(frame.schema), timezone="UTC")
        self._again, self._reads, self._known = again, reads, dict(reads)

    @cached_property
    def reused(self) -> bool:
        """Whether its plan is run again as it is."""
        return not _keeps_tuples(self.frame._jdf.queryExecution().executedPlan())  # noqa: SLF001

    def run(self, given: JobInput, description: str) -> pa.Table:
        """Execute it over the given tuples, as a job of the calling thread."""
        if self._again and self._known != self._reads:
            known = dict(self._reads)
            self.frame, self._known = self._again(), known
            self.__dict__.pop("reused", None)
        context = self.frame.sparkSession.sparkContext
        context.setLocalProperty(reader.PROPERTY, given.text())
        context.setJobDescription(description)
        # Exchanges and subqueries keep their first result: such a plan is made anew from the analysed query.
        frame = self.frame if self.reused else self.frame.select("*")
        return frame.toArrow().cast(self.schema)


class Views:
    """The streams and tables of a session as views, and queries prepared over them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        # Executors need not have Headgate installed: the reader travels with the plan.
        for module in (reader, droppers):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        with _active(spark):
            spark.dataSource.register(TrainSource)
        self._lock = threading.Lock()
        self._streams: dict[str, StructType] = {}
        self._loaded: dict[tuple[str, str], DataFrame] = {}
        self._tables: dict[str, StructType] = {}
        self._folders: dict[str, str] = {}

    def add_stream(self, name: str, schema: pa.Schema) -> None:
        """Make a stream known."""
        self._streams[name] = from_arrow_schema(schema)

    def drop_stream(self, name: str) -> None:
        """Forget a stream."""
        del self._streams[name]

    def add_table(self, name: str, frame: DataFrame) -> None:
        """Make a table known, or replace it."""
        with self._lock:
            self._tables[name] = frame.schema
            self._folders.pop(name, None)
            frame.createOrReplaceTempView(_quoted(name))

    def prepare(
        self,
        sql: str,
        used: Mapping[str, Collection[str]],
        casts: pa.Schema | None = None,
        partial: pa.Schema | None = None,
        reads: Mapping[str, str] = MappingProxyType({}),
    ) -> Prepared:
        """Plan a query that uses these columns of these streams, and these snapshots of tables.

        `casts` gives the types of its last columns; `partial` the columns of the panes of windows, where it reads
        them.
        """

        def resolved() -> DataFrame:
            return self._resolved(sql, used, casts, partial, reads)

        return Prepared(resolved(), resolved, reads)

    def _resolved(
        self,
        sql: str,
        used: Mapping[str, Collection[str]],
        casts: pa.Schema | None,
        partial: pa.Schema | None,
        reads: Mapping[str, str],
    ) -> DataFrame:
        with self._lock:
            for name, folder in reads.items():
                if self._folders.get(name) != folder:
                    found = self.spark.read.schema(self._tables[name]).parquet(folder)
                    found.createOrReplaceTempView(_quoted(name))
                    self._folders[name] = folder
            for name, columns in used.items():
                self._view(name, columns)
            if partial is not None:
                self._load(PANES, from_arrow_schema(partial)).createOrReplaceTempView(PANES)
            try:
                frame = self.spark.sql(sql)
                if not frame._jdf.queryExecution().analyzed().deterministic():  # noqa: SLF001
                    remedy = "Leave out functions of chance, of the clock and of the machine."
                    raise InputError("a query gives the same rows whenever it runs", "one that does not", remedy)
                return _cast(frame, casts) if casts else frame
            except (PySparkException, Py4JJavaError) as error:
                raise self._unknown_column(error, used) or refused(error) from None

    def _unknown_column(self, error: Exception, used: Mapping[str, Collection[str]]) -> InputError | None:
        """What to say of a column that there is not. Spark knows those that the query uses, and ours beside them."""
        if not isinstance(error, PySparkException) or not (error.getCondition() or "").startswith(_UNRESOLVED):
            return None
        said = error.getMessageParameters() or {}
        name = said.get("objectName", "").split("`.`")[-1].strip("`")
        proposed = re.findall(r"`([^`]+)`(?=,|$)", said.get("proposal", ""))
        columns = [*(field.name for stream in used for field in self._streams[stream].fields), *proposed]
        known = dict.fromkeys(column for column in columns if column not in HIDDEN)
        return InputError("a query that Spark can plan", f"'{name}', which is no column here", choose(name, known))

    def _view(self, name: str, columns: Collection[str]) -> None:
        known = self._streams[name]
        own = [field for field in known.fields if field.name in columns]
        # A query may use no column at all, as count(*) does; a table of none has no rows either.
        own = own or known.fields[:1]
        self._load(name, StructType(own)).createOrReplaceTempView(_quoted(name))
        if any(column in columns for column in HIDDEN):
            hidden = [StructField(column, _type(kind)) for column, kind in HIDDEN.items()]
            self._load(name, StructType([*own, *hidden])).createOrReplaceTempView(_quoted(f"__{name}"))

    def _load(self, name: str, schema: StructType) -> DataFrame:
        text = json.dumps(schema.jsonValue())
        if (name, text) not in self._loaded:
            source = self.spark.read.format("headgate").option("stream", name).option("schema", text)
            # One partition lets aggregates and joins do without a shuffle.
            self._loaded[name, text] = source.load().coalesce(1)
        return self._loaded[name, text]


def refused(error: PySparkException | Py4JJavaError) -> InputError:
    """What Spark says of a query that it cannot plan, in a line."""
    said = str(error).split("\n\nJVM stacktrace")[0].strip().splitlines()
    first = next((line for line in said if line.strip()), "an unknown error")
    # Its class and where Spark saw it tell people nothing: the position is that of a text that was rewritten.
    plain = re.sub(r"\s*SQLSTATE: \w+.*", "", first).rstrip(" .;")
    return InputError("a query that Spark can plan", plain, "Mend the SQL.")


def _cast(frame: DataFrame, types: pa.Schema) -> DataFrame:
    """The frame with its last columns cast to the given types."""
    wanted = from_arrow_schema(types).fields
    plain = frame.columns[: len(frame.columns) - len(wanted)]
    kinds = [*(f.dataType for f in frame.schema.fields[: len(plain)]), *(f.dataType for f in wanted)]
    # By position: names may repeat, and SQL gives some of them odd characters.
    renamed = frame.toDF(*(f"c{i}" for i in range(len(kinds))))
    cast = renamed.select(*(renamed[f"c{i}"].cast(kind) for i, kind in enumerate(kinds)))
    return cast.toDF(*plain, *(f.name for f in wanted))


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of this thread for a while.

    Spark looks for a data source of the same name in the active session, which may be that of another engine.
    """
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]  # noqa: SLF001
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _nullable(schema: StructType) -> StructType:
    """The schema with NULL allowed everywhere: Arrow refuses a NULL struct if one of its fields is never NULL."""
    text = schema.json()
    for word in ("nullable", "containsNull", "valueContainsNull"):
        text = text.replace(f'"{word}":false', f'"{word}":true')
    return StructType.fromJson(json.loads(text))


def _type(kind: str) -> Any:  # noqa: ANN401 - pyspark's types have no common public name
    return StructType().add("x", kind)["x"].dataType


def _quoted(name: str) -> str:
    return f"`{name}`"


def _keeps_tuples(plan: Any, held: bool = False) -> bool:  # noqa: ANN401 - a Java object
    """Whether a node that keeps its result depends on a stream's tuples."""
    name = plan.nodeName()
    if held and name.startswith("BatchScan"):
        return True
    held = held or any(word in name for word in _HOLDS)
    below = [plan.children(), plan.subqueries()]
    return any(_keeps_tuples(part.apply(i), held) for part in below for i in range(part.size()))

"""The tables of an engine: their sources, their snapshots, and reading them again."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headgate.engine.prepared import Views
from headgate.engine.sql.plan import Relation
from headgate.engine.table.parts import Parts, cut, names
from headgate.engine.table.snapshots import Content, Snapshot, Snapshots
from headgate.engine.table.sources import TableSource
from headgate.errors import InputError

_log = logging.getLogger(__name__)

_REMEDY = "See that it exists and can be read."
_WAITED_FOR = "Exception thrown in awaitResult"
"""How Spark begins what says nothing but that something else went wrong."""
_TROUBLE = (PySparkException, Py4JError, OSError, InputError)


@dataclass(frozen=True, slots=True)
class Read:
    """What reading a part came to: whether it has changed, whether its version told so, and its size in bytes."""

    changed: bool
    looked: bool
    size: int


@dataclass(slots=True)
class Kept:
    """A table: where it lives, how it is divided, and the snapshot that is in use. `schema` are its columns.

    All of it was `seen` to be as its source then, when the last reading of it began. Readings of a part begin
    `max_age` seconds after each other at most, if it is `refreshed`.
    """

    source: TableSource
    parts: Parts | None
    snapshots: Snapshots
    latest: Snapshot
    schema: StructType
    seen: float
    refreshed: bool = True
    max_age: float = math.inf

    @property
    def names(self) -> tuple[str, ...]:
        """What its parts are called."""
        return names(self.parts)


@dataclass(slots=True)
class Tables:
    """Tables by name.

    `needed` tells which snapshots of a table queries are known to have, by their numbers: those are not removed.
    `check` refuses tables that there cannot be together.
    """

    folder: Path
    views: Views
    needed: Callable[[str], set[int]] = lambda _: set()
    sync: bool = False
    check: Callable[[Mapping[str, Kept]], None] = lambda _: None
    columns: dict[str, Relation] = field(default_factory=dict, init=False)
    problems: dict[str, str] = field(default_factory=dict, init=False)
    kept: dict[str, Kept] = field(default_factory=dict, init=False)
    _unplanned: set[str] = field(default_factory=set, init=False)
    """Tables that have got other columns than those over which queries are planned."""
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    def reads(self, tables: Iterable[str]) -> dict[str, str]:
        """The newest snapshots of these tables, as folders."""
        return {name: str(self.kept[name].latest.folder) for name in tables}

    def stale(self, reads: Mapping[str, str]) -> dict[str, str]:
        """The newer ones of these snapshots, where there are newer ones that queries are planned over."""
        planned = (name for name in reads if name not in self._unplanned)
        return {name: new for name in planned if (new := str(self.kept[name].latest.folder)) != reads[name]}

    def earlier_among(self, reads: Mapping[str, str]) -> dict[str, str]:
        """Those of these snapshots of which there are newer ones."""
        return {name: reads[name] for name in self.stale(reads)}

    def earlier(self, name: str, number: int) -> str | None:
        """The folder of a snapshot, if it is there and has the columns that the table has now."""
        kept = self.kept[name]
        folder = kept.snapshots.path(number)
        try:
            same = _columns(self.views.spark.read.parquet(str(folder)).schema) == _columns(kept.schema)
        except _TROUBLE:
            return None
        return str(folder) if same else None

    def take(
        self,
        name: str,
        source: TableSource,
        spark: SparkSession,
        parts: Parts | None = None,
        *,
        refreshed: bool = True,
        max_age: float = math.inf,
    ) -> bool:
        """Read a table whole. If that fails, the last snapshot stays in use, and the failure is told.

        Gives whether its columns are others than before: then nobody goes on with it until queries are `planned`.
        """
        with self._lock:
            snapshots = (
                self.kept[name].snapshots if name in self.kept else Snapshots(self.folder / name, sync=self.sync)
            )
            snapshots.passed(max(self.needed(name), default=-1))
            old = snapshots.latest(names(parts))
            before = self.kept[name].schema if name in self.kept else None
            seen = time.time()
            try:
                found, schema = self._whole(snapshots, source, spark, parts, old)
                self.problems.pop(name, None)
            except _TROUBLE as error:
                snapshots.drop()
                self.problems[name] = said(error)
                if old is None:
                    remedy = error.remedy if isinstance(error, InputError) else _REMEDY
                    raise InputError(f"table '{name}' can be read", self.problems[name], remedy) from None
                _log.warning("table %s: %s; the last snapshot stays in use", name, self.problems[name])
                found, schema = old, self.views.spark.read.parquet(str(old.folder)).schema
                seen = self.kept[name].seen if name in self.kept else old.folder.stat().st_mtime
            made = Kept(source, parts, snapshots, found, schema, seen, refreshed, max_age)
            self.check({**self.kept, name: made})
            other = before is not None and _columns(before) != _columns(schema)
            if other:
                self._unplanned.add(name)
            self.hold(name, made)
            return other

    def planned(self, name: str) -> None:
        """Queries are planned over the columns that a table has: they may go on with its snapshots."""
        self._unplanned.discard(name)

    def hold(self, name: str, kept: Kept) -> None:
        """Have a table as it is given: queries are planned over it, and those that there are may go on with it."""
        with self._lock:
            self.kept[name] = kept
            self.columns[name] = Relation(tuple(kept.schema.names))
            frame = self.views.spark.read.schema(kept.schema).parquet(str(kept.latest.folder))
            self.views.add_table(name, frame)

    def refresh(self, name: str, kept: Kept, part: int, spark: SparkSession) -> Read | None:
        """Read a part again; if it has changed, there is a newer snapshot then. Raises what its source raises.

        None if the table is not kept like that any more: it was taken anew, perhaps with other parts.
        """
        with self._lock:
            if self.kept.get(name) is not kept:
                return None
            try:
                read = self._part(kept, name, part, spark)
            except Exception as error:
                kept.snapshots.drop()
                self.problems[name] = said(error)
                raise
            self.problems.pop(name, None)
            return read

    def note(self, name: str, problem: str | None) -> None:
        """Say of a table what is wrong with it, or that nothing is."""
        if problem is None:
            self.problems.pop(name, None)
        else:
            self.problems[name] = problem

    def _part(self, kept: Kept, name: str, part: int, spark: SparkSession) -> Read:
        version = kept.source.version(spark)
        if not kept.latest.contents:
            # The snapshot is one of other parts: they cannot be put together with a new one.
            made, _ = self._whole(kept.snapshots, kept.source, spark, kept.parts, None)
            kept.latest = made
            return Read(changed=True, looked=False, size=sum(each.size for each in made.contents))
        old = kept.latest.contents[part]
        if version is not None and version == old.version:
            return Read(changed=False, looked=True, size=old.size)
        frame = kept.source.frame(spark)
        if _columns(frame.schema) != _columns(kept.schema):
            rule, remedy = "a table keeps its columns", f"Take it anew, by engine.table('{name}', …)."
            raise InputError(rule, f"{', '.join(map(' '.join, _columns(frame.schema)))}", remedy)
        content = self._written(kept.snapshots, frame, kept.parts, part, version, old)
        if content[1].same(old):
            kept.snapshots.drop()
            kept.latest = kept.snapshots.note(kept.latest, kept.names, part, version)
            return Read(changed=False, looked=False, size=old.size)
        kept.latest = kept.snapshots.make(kept.names, kept.latest, {part: content})
        return Read(changed=True, looked=False, size=content[1].size)

    def tidy(self, name: str) -> None:
        """Remove the snapshots that nobody needs, once all who look for the newest have noted which that is."""
        with self._lock:
            kept = self.kept[name]
            kept.snapshots.keep({kept.latest.number, *self.needed(name)})

    def _whole(
        self,
        snapshots: Snapshots,
        source: TableSource,
        spark: SparkSession,
        parts: Parts | None,
        old: Snapshot | None,
    ) -> tuple[Snapshot, StructType]:
        version = source.version(spark)
        frame = source.frame(spark)
        schema = frame.schema
        fresh = {i: self._written(snapshots, frame, parts, i, version) for i in range(len(names(parts)))}
        if old and old.contents and self._same(old, fresh, schema):
            snapshots.drop()
            return old, schema
        return snapshots.make(names(parts), None, fresh), schema

    def _same(self, old: Snapshot, fresh: Mapping[int, tuple[Path, Content]], schema: StructType) -> bool:
        if not all(content.same(old.contents[part]) for part, (_, content) in fresh.items()):
            return False
        return _columns(self.views.spark.read.parquet(str(old.folder)).schema) == _columns(schema)

    @staticmethod
    def _written(
        snapshots: Snapshots,
        frame: DataFrame,
        parts: Parts | None,
        part: int,
        version: str | None,
        old: Content | None = None,
    ) -> tuple[Path, Content]:
        folder, content = snapshots.write(cut(frame, parts, part), part, old)
        return folder, replace(content, version=version)


def _columns(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def said(error: Exception) -> str:
    """What went wrong, in a line."""
    if isinstance(error, InputError):
        return str(error.got)
    # PySpark raises some exceptions of Java as its own, which know where they came from, and others as they are.
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    text = str(java.getMessage() or java.toString()) if java else str(error)
    while java and text.startswith(_WAITED_FOR) and (java := java.getCause()):
        text = str(java.getMessage() or java.toString())
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)

"""The engine: streams, tables and queries on one Spark session, scheduled until it is stopped."""

import json
import logging
import re
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.engine.evaluation import Evaluation, Setting, evaluation
from headgate.engine.fusing import Fuser
from headgate.engine.intake import LiveStream
from headgate.engine.lanes import JobLane
from headgate.engine.log.manifest import Manifest, StoredTrain
from headgate.engine.log.stream import StreamLog
from headgate.engine.prepared import Prepared, Views
from headgate.engine.query import Definition, LiveQuery
from headgate.engine.reader import JobInput
from headgate.engine.scheduler import Scheduler
from headgate.engine.session import session
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening, Sink
from headgate.engine.source.protocol import Source
from headgate.engine.spans import seconds
from headgate.engine.sql.plan import BySession, Catalog, Plan, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.status import NAME as STATUS
from headgate.engine.status import Snapshot, snapshot
from headgate.engine.tables import Table, Tables
from headgate.engine.units import SingleUnit
from headgate.engine.windows import Time, Window
from headgate.errors import HeadgateError, InputError
from headgate.policy.protocol import Policy
from headgate.policy.registry import create, listed
from headgate.policy.trains import Train
from headgate.record import Arrived, Began, Recorder

AUTO = "auto"
_BEST = "bsd"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_STATUS_EVERY = 0.5
_SHORTEST_SLICE = 0.25
_MOST = 200_000
_MICROS = 1_000_000
_log = logging.getLogger(__name__)


class Engine:
    """Continuous queries on Spark.

    `spark` is a session to work beside; without one the engine makes its own, on `master`. Everything that has to
    outlive the process is in the `state` folder: start again on the same folder, register the same streams and
    queries, and the engine goes on where it was.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        state: str | Path = "headgate-state",
        *,
        lanes: int = 1,
        master: str = "local[*]",
    ) -> None:
        if lanes < 1:
            raise InputError("an engine has a lane or more", lanes, "Give a number such as 1.")
        self.state = Path(state).absolute()
        try:
            self.state.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                "a state folder that can be made", f"{self.state} ({error.strerror})", "Name another folder."
            ) from None
        self._manifest = Manifest(self.state / "manifest.db")
        # A context that was there before is somebody's, and is not ours to stop.
        self._owns_spark = spark is None and SparkContext._active_spark_context is None  # noqa: SLF001
        self.spark = session(spark, master)
        self._views = Views(self.spark)
        self._recorder = Recorder(self.state)
        self._tables = Tables(self.state / "tables", self._views)
        self._streams: dict[str, LiveStream] = {}
        self._queries: dict[str, LiveQuery] = {}
        made = [JobLane(f"lane-{i + 1}", self.spark) for i in range(lanes)]
        self._scheduler = Scheduler(made, self._manifest, self._recorder, self._chores)
        self._fuser: Fuser | None = None
        self._began = time.time()
        self._started = False
        self._last: Snapshot | None = None
        self._ending = threading.Event()
        self._housekeeper: threading.Thread | None = None

    # What there is

    def stream(
        self,
        name: str,
        source: Source,
        *,
        event_time: str | None = None,
        delay: str | float = 0.0,
        idle: str | float | None = None,
    ) -> None:
        """Register a stream.

        Windows over event time go by the column `event_time`, whose values may be out of order by up to `delay`. A
        stream that is silent for longer than `idle` lets its event time go on with the clock.
        """
        self._check_name("stream", name)
        schema = source.schema(self.spark)
        if event_time is not None:
            self._check_time(name, schema, event_time)
        log = StreamLog(
            name,
            schema,
            self.state / "streams" / name,
            self.state / "dead" / name,
            self._manifest,
            event_time=event_time,
            delay=seconds(delay, "the delay of a stream"),
            on_append=lambda train: self._arrived(name, train),
        )
        self._views.add_stream(name, schema)
        silent = None if idle is None else seconds(idle, "the idle time of a stream", above=0)
        live = LiveStream(log, source, self.state / "sources" / name, silent)
        self._streams[name] = live
        if self._started:
            live.start()

    def table(self, name: str, source: Table) -> None:
        """Register a reference table, or read it again: a DataFrame, a file, or a function of a session.

        Queries join with what it held then. If it cannot be read, the last snapshot stays in use; without one, only
        the queries that need it cannot be registered.
        """
        if name not in self._tables.columns:
            self._check_name("table", name)
        self._tables.take(name, source, self.spark)
        for query in self._queries.values():
            if name in query.plan.tables:
                self._scheduler.call(query.evaluation.prepare)

    def query(
        self,
        name: str,
        sql: str,
        *,
        window: str | float | None = None,
        slide: str | float | None = None,
        time: Time | None = None,
        sink: Sink | None = None,
        group: str = "default",
        limit: str | float = 60.0,
        start: Literal["now", "earliest"] = "now",
    ) -> None:
        """Register a continuous query in plain Spark SQL, before the engine starts or while it runs.

        A stream's name means the tuples of the train, or with a `window` those of the window, one every `slide`.
        Results go to the sink; without one they are kept in memory. A run that takes longer than the `limit` is
        stopped. A query that is new starts at what comes `now`, or at the `earliest` train that is still there.
        """
        self._check_name("query", name)
        if start not in ("now", "earliest"):
            raise InputError("a query starts now or at the earliest", f"'{start}'", "Write start='earliest'.")
        most = seconds(limit, "a query's limit", above=0)
        shape = self._window(window, slide, time)
        planned = self._plan(name, sql, shape)
        definition = Definition(sql, "" if shape is None else f"{shape.size}/{shape.slide}", time or "")
        known = self._manifest.queries().get(name)
        if known is not None and known != definition.as_json():
            changed = ", ".join(key for key, value in definition.as_json().items() if known.get(key) != value)
            raise InputError(
                f"query '{name}' is the one that its state folder knows",
                f"another {changed}",
                "Remove it first (engine.remove), or give it another name.",
            )
        logs = {stream: self._streams[stream].log for stream in _streams_of(planned)}
        made = evaluation(planned, Setting(name, logs, self._views, self.state / "panes" / name))
        at = {s: log.trains[0].first if log.trains else 0 for s, log in logs.items()}
        at = at if start == "earliest" else {s: log.head for s, log in logs.items()}
        progress = self._manifest.enter(name, definition.as_json(), made.begin(at))
        out = sink if sink is not None else MemoryTables()
        try:
            out.open(Opening(name, made.schema, self.spark, progress.receipt))
        except HeadgateError:
            if known is None:
                self._manifest.remove(name)
            raise
        live = LiveQuery(name, group, planned, made, out, most, progress, empty_job=self._warm(name, made))
        # Whatever looks through the queries meanwhile finds the unit of each.
        self._scheduler.add(live)
        self._queries[name] = live

    # What happens to it

    def pause(self, name: str) -> None:
        """Stop running a query, or reading a stream, for now. A query's tuples wait for it."""
        if name in self._streams:
            self._streams[name].stop()
            return
        query = self._named(name)
        query.status = "paused"
        self._apart(query)
        self._scheduler.changed(query.name, "paused")

    def resume(self, name: str) -> None:
        """Go on with what was paused or has failed."""
        if name in self._streams:
            stream = self._streams[name]
            stream.stop()
            stream.start()
            return
        query = self._named(name)
        query.resume()
        self._scheduler.changed(query.name, "resumed")

    def remove(self, name: str) -> None:
        """Forget a query: its progress and its panes, not its results."""
        if name in self._queries:
            query = self._named(name)
            query.status = "paused"
            self._apart(query)
            self._scheduler.remove(self._queries.pop(name))
            query.close()
        elif name not in self._manifest.queries():
            self._named(name)
        self._manifest.remove(name)
        shutil.rmtree(self.state / "panes" / name, ignore_errors=True)

    def start(
        self,
        policy: str = AUTO,
        *,
        train: Train | Mapping[str, float] | None = None,
        fuse: bool | None = None,
        **options: Any,  # noqa: ANN401 - each policy has its own
    ) -> None:
        """Begin to read the streams and to run the queries, in threads of their own.

        `train` bounds a run: at most so many tuples (`most`), and so much work (`slice`, in seconds). With `fuse`,
        queries whose work is small against the overhead of a job run in one job; so it is unless a policy is named.
        """
        if self._started:
            raise InputError("an engine is started once", "a second start", "Use switch() for another policy.")
        for absent in sorted(set(self._manifest.queries()) - set(self._queries)):
            _log.warning("query %s of this state folder is not registered; its tuples are kept for it", absent)
        made = self._made(policy, train, options)
        self._use(*made, options, fuse=policy == AUTO if fuse is None else fuse)
        self._fuse()
        self._scheduler.start()
        self._started = True
        for stream in self._streams.values():
            stream.start()
        self._housekeeper = threading.Thread(target=self._keep_house, name="headgate-house", daemon=True)
        self._housekeeper.start()

    def switch(
        self,
        policy: str = AUTO,
        *,
        train: Train | Mapping[str, float] | None = None,
        fuse: bool | None = None,
        **options: Any,  # noqa: ANN401 - each policy has its own
    ) -> None:
        """Schedule by another policy from now on. Figures of response and slowdown begin anew."""
        if not self._started:
            raise InputError(
                "a policy is switched while the engine runs", "one that has not started", "Call start()."
            )
        made = self._made(policy, train, options)
        if self._fuser:
            self._fuser.close()
        for query in self._queries.values():
            self._apart(query)
        self._scheduler.call(lambda: self._use(*made, options, fuse=policy == AUTO if fuse is None else fuse))
        self._fuse()

    def _made(
        self, policy: str, train: Train | Mapping[str, float] | None, options: Mapping[str, Any]
    ) -> tuple[str, Train, Policy]:
        name = _BEST if policy == AUTO else policy
        if unknown := set(train or ()) - {"most", "slice"} if not isinstance(train, Train) else None:
            remedy = "It has most, in tuples, and slice, in seconds."
            raise InputError("a known bound of a train", f"'{min(unknown)}'", remedy)
        bounds = train if isinstance(train, Train) else Train.of(**(train or self._bounds()))
        given = {**options, "train": bounds} if "train" in listed(name).options else options
        return name, bounds, create(name, given)

    def _use(self, name: str, bounds: Train, made: Policy, options: Mapping[str, Any], *, fuse: bool) -> None:
        self._began = time.time()
        written = {"train": {"most": bounds.most, "slice": bounds.slice}, **options}
        self._recorder.append(Began(self._began, name, written, len(self._scheduler.lanes)))
        for query in list(self._queries.values()):
            query.forget()
        self._scheduler.use(name, made, bounds.most)
        self._fuser = Fuser(self._scheduler) if fuse else None

    def _bounds(self) -> dict[str, float]:
        """A slice of time in which the overhead of a job is a tenth."""
        jobs = [query.empty_job for query in self._queries.values()]
        return {"slice": max(_SHORTEST_SLICE, 10 * sum(jobs) / len(jobs)) if jobs else _SHORTEST_SLICE, "most": _MOST}

    def run(
        self, policy: str = AUTO, *, until: float | None = None, train: Train | Mapping[str, float] | None = None
    ) -> Snapshot:
        """Start, and stay until all streams have ended and all is done, or for so many seconds; then stop."""
        self.start(policy, train=train)
        try:
            self.wait(until)
        finally:
            last = self.stop()
        return last

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every stream has ended and nothing waits any more; False if that takes longer."""
        limit = float("inf") if timeout is None else time.time() + timeout
        while time.time() < limit:
            if self.done:
                return True
            time.sleep(0.02)
        return False

    @property
    def done(self) -> bool:
        """Whether every stream has ended or failed, and nothing that can run waits."""
        return all(s.status in ("ended", "failed") for s in self._streams.values()) and self._scheduler.idle

    def stop(self, grace: float = 30.0) -> Snapshot:
        """Stop: sources first, then runs under way are finished, or rolled back if they take longer than `grace`."""
        if self._last:
            return self._last
        self._ending.set()
        for stream in self._streams.values():
            stream.stop()
        self._scheduler.stop(grace)
        if self._housekeeper:
            self._housekeeper.join()
        for query in self._queries.values():
            query.close()
        self._last = last = self.status()
        self._write_status(last, running=False)
        self._recorder.close()
        self._manifest.close()
        if self._owns_spark:
            self.spark.stop()
        return last

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # What one sees of it

    def results(self, name: str) -> pa.Table:
        """The results of a query whose sink is memory."""
        sink = self._named(name).sink
        if not isinstance(sink, MemoryTables):
            remedy = "Read them where the sink has put them."
            raise InputError(f"query '{name}' keeps its results in memory", f"a {type(sink).__name__}", remedy)
        return sink.table()

    @property
    def queries(self) -> Mapping[str, LiveQuery]:
        """The registered queries."""
        return dict(self._queries)

    def status(self) -> Snapshot:
        """How everything fares, now, or at the end if it is stopped."""
        return self._last or snapshot(self._streams, self._queries, self._scheduler, self._tables, self._began)

    # Inside

    def _apart(self, query: LiveQuery) -> None:
        """See that the query has a unit of its own, so that what happens to it happens to no other."""
        if self._fuser:
            self._fuser.leave(query)
        while len((unit := self._scheduler.unit_of(query)).queries) > 1:
            if not self._scheduler.swap([unit], [SingleUnit(each) for each in unit.queries]):
                time.sleep(0.01)

    def _arrived(self, name: str, train: StoredTrain) -> None:
        if train.count:
            at, until = train.arrived_first / _MICROS, train.arrived_last / _MICROS
            self._recorder.append(Arrived(name, train.first, train.count, at, until))
        self._scheduler.wake()

    def _chores(self) -> None:
        """About once a second: let time pass in silent streams, and let go of trains that nobody needs."""
        # Queries are added and removed by other threads meanwhile.
        queries = list(self._queries.values())
        absent = set(self._manifest.queries()) - {query.name for query in queries}
        for name, stream in list(self._streams.items()):
            readers = [query for query in queries if name in query.evaluation.streams]
            stream.pass_time([window for query in readers if (window := _window_of(query.plan))])
            if not absent:
                needed = [query.evaluation.needed(query.progress, name) for query in readers]
                stream.log.drop(min(needed, default=stream.log.head))
        for query in queries:
            if not self._scheduler.unit_of(query).busy:
                query.evaluation.tidy(query.progress)

    def _warm(self, name: str, made: Evaluation) -> float:
        """Run over nothing, twice: the second time is that of an empty job."""

        def execute(prepared: Prepared, given: JobInput) -> pa.Table:
            return prepared.run(given, f"{name}: warming up")

        made.warm(execute)
        began = time.perf_counter()
        made.warm(execute)
        return time.perf_counter() - began

    def _keep_house(self) -> None:
        """What takes longer than a decision may: writing the status, planning fused units."""
        while not self._ending.wait(_STATUS_EVERY):
            self._write_status(self.status(), running=True)
            self._fuse()

    def _fuse(self) -> None:
        fuser = self._fuser
        for name, stream in list(self._streams.items()):
            if fuser:
                fuser.look(stream.log, Setting(name, {name: stream.log}, self._views, self.state))

    def _write_status(self, found: Snapshot, *, running: bool) -> None:
        file = self.state / STATUS
        temporary = file.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps({"running": running, **asdict(found)}))
            temporary.rename(file)
        except OSError as error:
            _log.warning("cannot write %s: %s", file, error.strerror)

    def _plan(self, name: str, sql: str, window: Window | None) -> Plan:
        streams = {n: Relation(tuple(s.log.schema.names), s.log.event_time) for n, s in self._streams.items()}
        try:
            return plan(sql, Catalog(streams, self._tables.columns), window)
        except InputError as error:
            where = f"query '{name}'" + (f", {error.place}" if error.place else "")
            raise InputError(error.rule, error.got, error.remedy, where) from None

    @staticmethod
    def _window(size: str | float | None, slide: str | float | None, time: Time | None) -> Window | None:
        if size is None:
            if slide is not None or time is not None:
                got = "a slide" if slide is not None else "a time"
                raise InputError("a slide and a time belong to a window", f"{got} without one", "Add window='10s'.")
            return None
        if time not in ("event", "arrival", None):
            raise InputError("a window is over event or arrival time", f"'{time}'", "Write time='arrival'.")
        length = round(seconds(size, "a window's size", above=0) * _MICROS)
        step = length if slide is None else round(seconds(slide, "a window's slide", above=0) * _MICROS)
        return Window(length, step, time or "event")

    def _check_name(self, noun: str, name: str) -> None:
        if not _NAME.fullmatch(name):
            remedy = "Use letters, digits and underscores, a letter first."
            raise InputError(f"a {noun} has a plain name", f"'{name}'", remedy)
        taken = {n.lower() for n in (*self._streams, *self._tables.columns, *self._queries)}
        if name.lower() in taken:
            raise InputError("names of streams, tables and queries differ", f"a second '{name}'", "Use another one.")

    @staticmethod
    def _check_time(stream: str, schema: pa.Schema, column: str) -> None:
        remedy = f"Choose one of {', '.join(n for n in schema.names if pa.types.is_timestamp(schema.field(n).type))}."
        if column not in schema.names:
            raise InputError(f"the event time of stream '{stream}' is a column of it", f"'{column}'", remedy)
        if not pa.types.is_timestamp(schema.field(column).type):
            got = f"'{column}' of type {schema.field(column).type}"
            raise InputError(f"the event time of stream '{stream}' is a TIMESTAMP", got, remedy)

    def _named(self, name: str) -> LiveQuery:
        if name not in self._queries:
            known = ", ".join(self._queries) or "none yet"
            raise InputError("a registered query", f"'{name}'", f"There are: {known}.")
        return self._queries[name]


def _streams_of(planned: Plan) -> Sequence[str]:
    found: Sequence[str] = getattr(planned, "streams", None) or (planned.stream,)  # type: ignore[union-attr]
    return found


def _window_of(planned: Plan) -> Window | None:
    if isinstance(planned, BySession):
        return Window(planned.gap, planned.gap, "event")
    return getattr(planned, "window", None)

"""The engine: streams, tables and queries on one Spark session, scheduled until it is stopped."""

import math
import os
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.control.dilos import Mode
from headgate.engine import memory
from headgate.engine.admitting import Admitting
from headgate.engine.capacity import Capacity, Lanes
from headgate.engine.classes import Classes
from headgate.engine.drafts import Drafts
from headgate.engine.graphs import Latencies, Losses, latency_graph
from headgate.engine.handover import Handover
from headgate.engine.housekeeping import Housekeeper
from headgate.engine.lanes import JobLane
from headgate.engine.letters import Letters
from headgate.engine.log.mark import Mark
from headgate.engine.memory import uncollected
from headgate.engine.moving import Boundary, Inherited
from headgate.engine.notebook import Form, given_as, html, show
from headgate.engine.placing import Placing
from headgate.engine.prepared import Views
from headgate.engine.query import LiveQuery
from headgate.engine.regime import AUTO, Wish
from headgate.engine.registering import Registering
from headgate.engine.registry import Registry
from headgate.engine.resident.lane import Channel
from headgate.engine.residents import Residents
from headgate.engine.scheduler import Scheduler
from headgate.engine.served import Deadlines, served
from headgate.engine.session import session
from headgate.engine.shedding import Shed
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Sink
from headgate.engine.sink.shared import Shared
from headgate.engine.sinks import Sinks
from headgate.engine.source.protocol import Source
from headgate.engine.spans import seconds
from headgate.engine.sql.depth import make_room
from headgate.engine.state import StateFolder
from headgate.engine.status import Snapshot
from headgate.engine.steering import Steering
from headgate.engine.stocktaking import snapshot
from headgate.engine.streams import Streams
from headgate.engine.table.parts import Parts
from headgate.engine.table.refresher import Refresher
from headgate.engine.table.sources import Table, Version, as_source
from headgate.engine.table.spending import Refresh
from headgate.engine.table.swapping import Swapping
from headgate.engine.table.tables import Kept, Tables
from headgate.engine.telemetry import pushing
from headgate.engine.terms import Terms
from headgate.engine.tidying import Tidying
from headgate.engine.utility import Protect
from headgate.engine.warming import EmptyRuns
from headgate.engine.windows import Clock
from headgate.errors import HeadgateError, InputError
from headgate.freshness.refreshing import Budget, Way
from headgate.model.classes import DEFAULT, QueryClass
from headgate.policy.trains import Train
from headgate.record import Entry, Recorder

if TYPE_CHECKING:
    from headgate.web.server import Server
    from headgate.web.telemetry import Telemetry


class Engine:
    """Continuous queries on Spark.

    `spark` is a session to work beside; without one the engine makes its own, on `master`. Everything that has to
    outlive the process is in the `state` folder: start again on the same folder, register the same streams and
    queries, and the engine goes on where it was.

    `lanes` says how many units run at a time: "auto", "jobs" for Spark jobs only, a number, or a number of each kind
    as in {"jobs": 1, "resident": 2}. Resident lanes are reached over a `channel`, "unix" or "flight"; without one, by
    what the master suggests. With `sync`, every commit is on the disk before it counts, and outlives a power cut.
    `jars` are for a Spark that it starts: the driver of a database, say. Unless it is `alone`, another engine can
    look into its manifest at any time, to take over from it.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        state: str | Path = "headgate-state",
        *,
        lanes: Lanes = "auto",
        channel: Channel | None = None,
        sync: bool = False,
        master: str | None = None,
        jars: Sequence[str | Path] = (),
        alone: bool = True,
    ) -> None:
        make_room()
        # Before anything is opened; how many there can be, Spark will tell.
        Capacity.of(lanes, sys.maxsize)
        self.state = Path(state).absolute()
        folder = StateFolder.open(self.state, sync=sync, alone=alone)
        self._manifest = folder.manifest
        # A context that was there before is somebody's, and is not ours to stop.
        self._owns_spark = spark is None and SparkContext._active_spark_context is None  # noqa: SLF001
        self.spark = session(spark, master, jars=jars)
        views = Views(self.spark)
        self._recorder = Recorder(self.state)
        letters = Letters(self.state / "shed", self._manifest)
        self._tables = Tables(self.state / "tables", views, self._manifest.snapshots, sync)
        self._registry = registry = Registry(self._tables.columns)
        self._streams, self._queries = registry.streams, registry.queries
        self._classes = Classes()
        self._drafts = Drafts(views, self._streams, self._tables, self.state / "panes")
        capacity = Capacity.of(lanes, self.spark.sparkContext.defaultParallelism)
        made = [JobLane(f"lane-{i + 1}", self.spark) for i in range(capacity.jobs)]
        self._scheduler = scheduler = Scheduler(made, self._manifest, self._recorder)
        self._residents = Residents(self.spark, scheduler, capacity.resident, self.state / "lanes", channel)
        self._placing = Placing(scheduler, self._residents, self._manifest, self._streams, self._tables)
        self._swapping = Swapping(scheduler, self._manifest, self._tables)
        self._refresher = Refresher(self.spark, self._tables, self._swapping)
        self._steering = Steering(
            *(registry, self._classes, scheduler, self._residents, self._placing),
            *(self._manifest, self._recorder),
        )
        self._inlets = Streams(self.spark, folder, registry, views, self._drafts, scheduler, self._recorder)
        self._registering = Registering(
            *(folder, registry, self._classes, self._drafts),
            Sinks(self.spark, folder, registry, self._inlets),
            EmptyRuns(self._residents),
            Admitting(self.spark, scheduler, self._placing, self._recorder),
            *(self._swapping, scheduler),
        )
        self.handover = Handover(registry, self._registering, scheduler, self._manifest, self.resume)
        """For other engines, with which queries are shared."""
        self._tidying = Tidying(registry, scheduler, self._swapping, self._manifest, letters)
        self._housekeeper = Housekeeper(self.state, self.status, self._queries, self._residents, self._placing)
        scheduler.ran, scheduler.chores = self._refresher.ran, self._tidying.look_around
        scheduler.met = self._housekeeper.look
        self._last: Snapshot | None = None
        self._server: Server | None = None
        self._telemetry: Telemetry | None = None

    # What there is

    def stream(
        self,
        name: str,
        source: Source,
        *,
        event_time: str | None = None,
        delay: str | float = 0.0,
        idle: str | float | None = None,
        shared: str | Path | None = None,
        feeds: bool = True,
        begins: Mark | None = None,
    ) -> None:
        """Register a stream, before the engine starts or while it runs.

        Windows over event time go by the column `event_time`, whose values may be out of order by up to `delay`. A
        stream that is silent for longer than `idle` lets its event time go on with the clock.

        Engines that read the same stream can have its log in a `shared` folder. One of them `feeds` it by its source,
        the others follow. If two do, the log stays one all the same: whoever comes second with a train learns that it
        was superseded, and follows.

        Engines that read the same source apart begin at a mark (`begins`) that one of them has made, number tuples
        alike, and keep them until they are released.
        """
        self._inlets.register(
            name, source, event_time=event_time, delay=delay, idle=idle, shared=shared, feeds=feeds, begins=begins
        )

    def feed(self, name: str, on: bool = True) -> None:
        """Feed a stream whose log engines share from now on, or follow who does.

        The source goes on behind the last train, whoever appended it. Harmless if it is so already.
        """
        self._registry.stream(name).feed(on)

    def release(self, name: str, before: int) -> None:
        """Let go of what the log has before a position, which no engine needs any more; of a shared one, for all."""
        self._inlets.release(name, before)

    def disconnect(self, name: str) -> None:
        """Forget a stream that no query reads; what is in its log stays."""
        self._inlets.disconnect(name)

    def table(
        self,
        name: str,
        source: Table,
        *,
        parts: Parts | None = None,
        version: Version | None = None,
        refresh: bool = True,
        max_age: str | float | None = None,
    ) -> None:
        """Register a reference table, or read it again: a DataFrame, a file, a function, `headgate.table.jdbc(...)`.

        Queries join with what it held then, or when it was last refreshed: with `refreshing`, tables are, unless
        `refresh` is False. If it cannot be read, the last snapshot stays in use; without one, only the queries that
        need it cannot be registered. Of a table that is divided into `parts`, each is refreshed by itself. `version`
        is a function of a session whose result is another one whenever the table is, and which is quick. No part is
        left longer than `max_age` before it is read again, if the refresh budget allows that for all tables together.
        """
        if max_age is not None and not refresh:
            raise InputError("a table with a max_age is refreshed", "refresh=False", "Leave out one of them.")
        oldest = math.inf if max_age is None else seconds(max_age, "a max_age", above=0)
        if name not in self._tables.columns:
            self._registry.check("table", [name])
        before = self._tables.kept.get(name)
        other = self._tables.take(
            name, as_source(source, version), self.spark, parts, refreshed=refresh, max_age=oldest
        )
        concerned = [query for query in self._queries.values() if name in query.draft.reads]
        try:
            if other and before:
                self._draw_up_anew(name, before, concerned)
        finally:
            self._tables.planned(name)
            self._refresher.taken(name)
        self._swapping.now(name)
        for query in concerned:
            query.alone = None
        if other:
            self._placing.compiled_again(concerned)

    def _draw_up_anew(self, name: str, before: Kept, concerned: Sequence[LiveQuery]) -> None:
        """Plan queries over other columns of a table; if one of them cannot be, the table stays as it was."""

        def change() -> None:
            for query in concerned:
                query.draft, query.alone = self._drafts.again(query.draft), None

        try:
            self._scheduler.call(change)
        except HeadgateError:
            self._tables.hold(name, before)
            self._scheduler.call(change)
            raise

    def refreshing(
        self,
        refreshes: float | None = None,
        *,
        bytes: float | None = None,  # noqa: A002 - what the budget is counted in
        per: str | float = 60.0,
        policy: Way = "profile",
    ) -> None:
        """Refresh tables from now on within a budget: so many refreshes, or bytes that are read, in so much time.

        By `profile`, parts of tables are refreshed so that joins see as much fresh data as the budget allows: by how
        often each changes and how often queries look it up, both as learned. `uniform` refreshes all of them equally
        often, `change` in proportion to how often they change, `none` not at all.
        """
        if (refreshes is None) == (bytes is None):
            rule, remedy = "a refresh budget is in refreshes or in bytes", "Write refreshing(12, per='60s')."
            raise InputError(rule, "both" if bytes is not None else "none", remedy)
        amount = refreshes if refreshes is not None else bytes or 0.0
        period = seconds(per, "the period of a refresh budget", above=0)
        self._refresher.use(Refresh(Budget(amount, period, policy), in_bytes=refreshes is None))

    def query_class(
        self,
        name: str,
        *,
        priority: float = 1.0,
        delay_target: str | float | None = None,
        qos: Latencies | None = None,
        keep_shed: bool = False,
        protect: Protect | None = None,
    ) -> None:
        """Name a class of queries: how much it matters against the others, and how long its results may take.

        A class without a delay target is never shed. With `keep_shed`, the tuples that it lost are written to the
        folder `shed` of the state, once they leave the log. To `protect` {"ticks": {"sym": ["AAA", "BBB"]}} is to
        drop all other tuples of that stream before those with these values. Queries say to which class they belong;
        those that do not are of the class 'default', which has the priority 1 and no delay target unless it is named
        here. `qos` is the QoS graph of its queries that have none; without it, one that the delay target stands for.
        """
        if self._scheduler.started:
            rule = "classes are named before the engine starts"
            raise InputError(rule, f"'{name}' later", "Name it before start().")
        target = math.inf if delay_target is None else seconds(delay_target, "a delay target", above=0)
        graph = None if qos is None else latency_graph(qos)
        self._classes.name(name, priority, target, {query.cls for query in self._queries.values()}, graph)
        if keep_shed:
            self._classes.keeps_shed.add(name)
        self._classes.protect(name, protect or {})
        self._scheduler.plan.targets = self._classes.targets

    def prioritise(self, cls: str, priority: float) -> None:
        """Give a class that is named another priority, also while the engine runs: shares follow at once.

        Figures of response and slowdown begin anew.
        """
        self._classes.prioritise(cls, priority)
        if self._scheduler.started:
            self._steering.reschedule()
            self._placing.look()

    def query(
        self,
        name: str,
        sql: str,
        *,
        window: str | float | None = None,
        slide: str | float | None = None,
        time: Clock | None = None,
        sink: Sink | Shared | None = None,
        cls: str = DEFAULT,
        qos: Latencies | None = None,
        loss: Losses | None = None,
        deadline: str | float | None = None,
        weight: float = 1.0,
        scale: bool = False,
        limit: str | float = 60.0,
        start: Literal["now", "earliest"] | Boundary | Inherited = "now",
        instance: str = "",
        of: str = "",
        until: Boundary | None = None,
    ) -> None:
        """Register a continuous query in plain Spark SQL, before the engine starts or while it runs.

        A stream's name means the tuples of the train, or with a `window` those of the window, one every `slide`: of
        time, as in "10s", or of so many tuples, as in "5 rows".
        Results go to the sink; without one they are kept in memory. A run that takes longer than the `limit` is
        stopped. A query that is new starts at what comes `now`, or at the `earliest` train that is still there.

        With a `deadline`, the results of each window are due so long after its end, which may not be longer than the
        slide. Such a query goes before all that have none, and is refused if the deadlines of all could not be met
        any more. Where there is too much to do, the tuples of windows are thinned, least where the `weight` is great.

        `qos` says what a result is worth by how long it takes, as points from left to right: [(0, 1), ("500ms", 1),
        ("2s", 0)]. Policies of QoS graphs go by it, and its average is shown. `loss` says what results are worth by
        the share of the tuples that was kept, and is shown only.

        Results of a class that may be shed, or with a deadline, have a last column `_kept`, the share of the tuples
        from which they come. With `scale`, counts and sums of a window are scaled up by it, each with an error bar.

        A query that comes from another engine starts where it has left that one, a `Boundary`, or with what that one
        had committed; `instance` keeps apart what each of them writes into the same sink,
        which is that of the query `of` this name if it is not the same here. One that is leaving goes
        `until` where it has been said to end.
        """
        self.query_many(
            {name: sql},
            window=window,
            slide=slide,
            time=time,
            sink=sink,
            cls=cls,
            qos=qos,
            loss=loss,
            deadline=deadline,
            weight=weight,
            scale=scale,
            limit=limit,
            start=start,
            instance=instance,
            of=of,
            until=until,
        )

    @uncollected()
    def query_many(
        self,
        texts: Mapping[str, str],
        *,
        window: str | float | None = None,
        slide: str | float | None = None,
        time: Clock | None = None,
        sink: Sink | Shared | Callable[[str], Sink] | None = None,
        cls: str = DEFAULT,
        qos: Latencies | None = None,
        loss: Losses | None = None,
        deadline: str | float | None = None,
        weight: float = 1.0,
        scale: bool = False,
        limit: str | float = 60.0,
        start: Literal["now", "earliest"] | Boundary | Inherited = "now",
        instance: str = "",
        of: str = "",
        until: Boundary | None = None,
    ) -> None:
        """Register many queries at once, by name: all of them or none.

        Those that differ in their constants only are planned once. The sink is one that they share, or a function
        that makes one for each name; without it, results are kept in memory.
        """
        terms = Terms(
            window=window,
            slide=slide,
            time=time,
            cls=cls,
            qos=qos,
            loss=loss,
            deadline=deadline,
            weight=weight,
            scale=scale,
            limit=limit,
            start=start,
            instance=instance,
            of=of,
            until=until,
        )
        made = self._registering.register(texts, sink, terms)
        if self._scheduler.started:
            self._steering.joined(made, terms)
            self._placing.place(made)
            self._placing.look()

    # What happens to it

    def pause(self, name: str) -> None:
        """Stop running a query, or reading a stream, for now. A query's tuples wait for it."""
        if name in self._streams:
            self._streams[name].stop()
            return
        query = self._registry.query(name)
        query.status = "paused"
        self._scheduler.apart(query)
        self._scheduler.changed(query.name, "paused")

    def resume(self, name: str) -> None:
        """Go on with what was paused or has failed."""
        if name in self._streams:
            stream = self._streams[name]
            stream.stop()
            stream.start()
            return
        query = self._registry.query(name)
        query.resume()
        if (derived := self._registry.derived(query)) and derived.status == "failed":
            derived.start()
        self._scheduler.changed(query.name, "resumed")

    def remove(self, name: str) -> None:
        """Forget a query: its progress and its panes, not its results. If these are a stream, it ends."""
        if name in self._queries:
            derived = self._registry.derived(self._registry.query(name))
            self.abandon(name)
            if derived:
                derived.stop()
                derived.log.end()
                derived.status = "ended"
        elif self._manifest.definition(name) is None:
            self._registry.query(name)
        self.forget(name)

    def abandon(self, name: str) -> None:
        """Stop a query for good. What is committed of it stays in the state folder."""
        query = self._registry.query(name)
        self._scheduler.remove(query)
        self._registry.drop(name)
        query.close()

    def forget(self, name: str) -> None:
        """Forget what the state folder has of a query that is not registered, or not any more."""
        self._manifest.remove(name)
        self._swapping.forget(name)
        self._tidying.forget(name)
        shutil.rmtree(self.state / "panes" / name, ignore_errors=True)

    def start(
        self,
        policy: str = AUTO,
        *,
        train: Train | Mapping[str, float] | None = None,
        fuse: bool | None = None,
        shed: Shed | Mode | None = None,
        deadlines: Deadlines | str | None = None,
        **options: Any,  # noqa: ANN401 - each policy has its own
    ) -> None:
        """Begin to read the streams and to run the queries, in threads of their own.

        `train` bounds a run: at most so many tuples (`most`), and so much work (`slice`, in seconds). With `fuse`,
        queries whose work is small against the overhead of a job run in one job; so it is unless a policy is named
        that goes neither by classes nor by QoS graphs. `shed` says how load is managed: a mode, or a `Shed`; without
        it, by DILoS if a class has a delay target. `deadlines` says how queries with a deadline are served: a profile
        by its name, or a `Deadlines`.
        """
        if self._scheduler.started:
            raise InputError("an engine is started once", "a second start", "Use switch() for another policy.")
        self._refresher.ready()
        self._tidying.begin()
        self._steering.begin(Wish(policy, train, fuse, shed, served(deadlines), options))
        self._placing.place(list(self._queries.values()))
        memory.settle()
        self._scheduler.start()
        for stream in self._streams.values():
            stream.start()
        self._housekeeper.start()
        self._refresher.start()

    def switch(
        self,
        policy: str = AUTO,
        *,
        train: Train | Mapping[str, float] | None = None,
        fuse: bool | None = None,
        shed: Shed | Mode | None = None,
        deadlines: Deadlines | str | None = None,
        **options: Any,  # noqa: ANN401 - each policy has its own
    ) -> None:
        """Schedule and shed in another way from now on. Figures of response and slowdown begin anew."""
        if not self._scheduler.started:
            raise InputError(
                "a policy is switched while the engine runs", "one that has not started", "Call start()."
            )
        self._steering.switch(Wish(policy, train, fuse, shed, served(deadlines), options))
        self._placing.place_again(list(self._queries.values()))

    def run(
        self,
        policy: str = AUTO,
        *,
        until: float | None = None,
        train: Train | Mapping[str, float] | None = None,
        shed: Shed | Mode | None = None,
        deadlines: Deadlines | str | None = None,
    ) -> Snapshot:
        """Start, and stay until all streams have ended and all is done, or for so many seconds; then stop."""
        self.start(policy, train=train, shed=shed, deadlines=deadlines)
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
        self._housekeeper.end()
        if self._server:
            self._server.close()
        for stream in self._streams.values():
            stream.stop()
        self._refresher.stop()
        self._scheduler.stop(grace)
        self._residents.close()
        self._housekeeper.join()
        for query in self._queries.values():
            query.close()
        self._last = last = self.status()
        self._housekeeper.write(last, running=False)
        if self._telemetry:
            self._telemetry.close()
        self._recorder.close()
        if not any(unit.unsaved for unit in self._scheduler.units):
            with suppress(sqlite3.Error):
                self._manifest.leave_in_order()
        self._manifest.close()
        memory.unsettle()
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

    def results(self, name: str, form: Form = "arrow") -> Any:  # noqa: ANN401 - a table of one of four libraries
        """The results of a query whose sink is memory, as a table of Arrow, or of "pandas", "polars" or "spark"."""
        sink = self._registry.query(name).sink
        if not isinstance(sink, MemoryTables):
            remedy = "Read them where the sink has put them."
            raise InputError(f"query '{name}' keeps its results in memory", f"a {type(sink).__name__}", remedy)
        return given_as(sink.table(), form, self.spark)

    def show(self, seconds: float = 0.0) -> None:
        """Show how everything fares, in a notebook or in the terminal, and keep that up to date for some seconds."""
        show(lambda: asdict(self.status()), seconds)

    def _repr_html_(self) -> str:
        return html(asdict(self.status()))

    @property
    def queries(self) -> Mapping[str, LiveQuery]:
        """The registered queries."""
        return dict(self._queries)

    @property
    def classes(self) -> Sequence[QueryClass]:
        """The classes of queries, if any is named."""
        return self._steering.classes if self._classes else []

    def status(self) -> Snapshot:
        """How everything fares, now, or at the end if it is stopped."""
        if self._last:
            return self._last
        tables = self._tables, self._refresher
        steering = self._steering
        return snapshot(self._streams, self._queries, self._scheduler, *tables, steering.classes, steering.began)

    def recent(self) -> Snapshot:
        """How everything fared a moment ago. Costs nothing while the engine runs, and looks around for itself."""
        seen = self._housekeeper.recent()
        return self._last or seen

    @property
    def width(self) -> int:
        """How many units can run at a time on lanes of one kind."""
        kinds = Counter(lane.kind for lane in list(self._scheduler.lanes))
        return max(kinds.values(), default=1)

    @property
    def running(self) -> bool:
        """Whether it has started and is not stopping."""
        return self._scheduler.started and not self._housekeeper.ending

    def listen(self, hear: Callable[[Entry], None]) -> Callable[[], None]:
        """Have somebody hear every entry of the record, in the threads that make them: it has to be quick.

        Gives what ends that.
        """
        return self._recorder.listen(hear)

    def serve(self, host: str = "127.0.0.1", port: int = 4050, token: str | None = None) -> "Server":
        """Serve the dashboard and the metrics until the engine stops; on the next free port if this one is taken.

        Gives the server, with its `address` and the `token` without which nothing can be changed there.
        """
        if self._server and not self._server.closed:
            raise InputError("an engine has one server", "a second one", f"It is served at {self._server.address}.")
        from headgate.web.live import OnEngine  # noqa: PLC0415 - only who is served needs a server
        from headgate.web.server import Server  # noqa: PLC0415

        self._server = Server(OnEngine(self), host, port, token).start()
        return self._server

    def push_metrics(self, endpoint: str | None = None, every: float | None = None) -> "Telemetry":
        """Push the metrics by OpenTelemetry every so many seconds until the engine stops; needs `headgate[otel]`.

        The endpoint is a whole address such as http://127.0.0.1:4318/v1/metrics. What is not given is what
        OpenTelemetry's variables say. Gives what pushes, which can be closed.
        """
        if self._telemetry and not self._telemetry.closed:
            raise InputError("an engine pushes to one endpoint", "a second one", "Close the first one before.")
        seconds = pushing(endpoint, every, os.environ)
        try:
            from headgate.web.telemetry import Telemetry  # noqa: PLC0415 - an extra that not everybody has
        except ImportError as error:
            remedy = "Run pip install 'headgate[otel]'."
            raise InputError("pushing metrics takes the packages of OpenTelemetry", str(error), remedy) from None
        self._telemetry = Telemetry(self.recent, seconds, endpoint).start()
        return self._telemetry

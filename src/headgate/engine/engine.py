"""The engine: streams, tables and queries on one Spark session, scheduled until it is stopped."""

import logging
import math
import os
import re
import shutil
import sqlite3
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.control.dilos import Mode
from headgate.engine import memory
from headgate.engine.capacity import Capacity, Lanes
from headgate.engine.classes import Classes
from headgate.engine.drafts import Draft, Drafts, Shown
from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.protocol import Warm
from headgate.engine.evaluation.trial import LEAST_TRIED, Trial, Tried
from headgate.engine.fused import KernelUnit
from headgate.engine.gentle import gently
from headgate.engine.graphs import Latencies, Losses, latency_graph, loss_graph
from headgate.engine.intake import LiveStream
from headgate.engine.iterations import DeadlineUnit
from headgate.engine.lanes import JobLane
from headgate.engine.letters import Letters
from headgate.engine.log.manifest import Manifest, Progress, StoredTrain
from headgate.engine.log.shared import SharedTrains
from headgate.engine.log.stream import StreamLog
from headgate.engine.memory import uncollected
from headgate.engine.moving import Boundary, Inherited, Windowed, handed_over, last_window, readable
from headgate.engine.notebook import Form, given_as, html, show
from headgate.engine.placing import Placing
from headgate.engine.prepared import Views
from headgate.engine.query import Definition, LiveQuery
from headgate.engine.regime import AUTO, Given, Wish, managed, regime, shed_as
from headgate.engine.resident.lane import Channel
from headgate.engine.residents import Residents
from headgate.engine.riding import Riding
from headgate.engine.running import message
from headgate.engine.scheduler import Scheduler
from headgate.engine.session import session
from headgate.engine.shedding import Shed
from headgate.engine.sink.into_stream import IntoStream, Results, columns
from headgate.engine.sink.memory_tables import MemoryTables
from headgate.engine.sink.protocol import Opening, Sink
from headgate.engine.sink.shared import Shared
from headgate.engine.source.protocol import Source
from headgate.engine.spans import seconds, windows
from headgate.engine.sql.plan import BySession, Plan
from headgate.engine.status import NAME as STATUS
from headgate.engine.status import Snapshot, snapshot, written
from headgate.engine.table.parts import Parts
from headgate.engine.table.refresher import Refresh, Refresher
from headgate.engine.table.sources import Table, Version, as_source
from headgate.engine.table.swapping import Swapping
from headgate.engine.table.tables import Kept, Tables
from headgate.engine.telemetry import pushing
from headgate.engine.timekeeper import Deadlines, Timekeeper, served
from headgate.engine.trying import try_for
from headgate.engine.units import LiveUnit
from headgate.engine.utility import Protect
from headgate.engine.windows import ENDED, NEVER, Clock, Window
from headgate.errors import HeadgateError, InputError
from headgate.freshness.refreshing import Budget, Way
from headgate.model.classes import DEFAULT, QueryClass
from headgate.model.deadlines import Deadline
from headgate.model.operator import Cost
from headgate.model.qos import LatencyGraph
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.policy.trains import Train
from headgate.record import Arrived, Began, Classed, Entry, Recorder, Refused

if TYPE_CHECKING:
    from headgate.web.server import Server
    from headgate.web.telemetry import Telemetry

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_STATUS_EVERY = 0.5
_LOOKS = 30
"""The housekeeper rests so many times as long as it works at a look at everything."""
_MICROS = 1_000_000
_TRYING, _LEAST_TRYING = 0.6, 0.1
"""Seconds from a query's call until its trial is cut short, and those of a trial at least: an answer within one."""
_KERNEL_RUN = 0.002
"""Seconds of a run of the kernel over nothing, until it is measured."""
_log = logging.getLogger(__name__)


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
        # Before anything is opened; how many there can be, Spark will tell.
        Capacity.of(lanes, sys.maxsize)
        self.state = Path(state).absolute()
        try:
            self.state.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                "a state folder that can be made", f"{self.state} ({error.strerror})", "Name another folder."
            ) from None
        self._manifest = Manifest(self.state / "manifest.db", sync=sync, alone=alone)
        self._in_order = self._manifest.left_in_order()
        self._sync = sync
        # A context that was there before is somebody's, and is not ours to stop.
        self._owns_spark = spark is None and SparkContext._active_spark_context is None  # noqa: SLF001
        self.spark = session(spark, master, jars=jars)
        self._views = Views(self.spark)
        self._recorder = Recorder(self.state)
        self._letters = Letters(self.state / "shed", self._manifest)
        self._tables = Tables(self.state / "tables", self._views, self._manifest.snapshots, sync)
        self._streams: dict[str, LiveStream] = {}
        self._queries: dict[str, LiveQuery] = {}
        self._classes = Classes()
        self._wish = Wish()
        self._scheduled: set[str] | None = None
        self._logs: dict[str, StreamLog] = {}
        self._drafts = Drafts(self._views, self._streams, self._tables, self.state / "panes")
        capacity = Capacity.of(lanes, self.spark.sparkContext.defaultParallelism)
        self._look = threading.Event()
        made = [JobLane(f"lane-{i + 1}", self.spark) for i in range(capacity.jobs)]
        self._scheduler = Scheduler(made, self._manifest, self._recorder, self._chores, self._look.set)
        self._residents = Residents(self.spark, self._scheduler, capacity.resident, self.state / "lanes", channel)
        self._placing = Placing(self._scheduler, self._residents, self._manifest, self._streams, self._tables)
        self._swapping = Swapping(self._scheduler, self._manifest, self._tables)
        self._refresher = Refresher(self.spark, self._tables, self._swapping)
        self._scheduler.ran = self._refresher.ran
        self._kernel_job: float | None = None
        self._absent: set[str] = set()
        self._taken: set[str] = set()
        self._shared: dict[str, Shared] = {}
        self._prepared: dict[str, Draft] = {}
        self._began = time.time()
        self._started = False
        self._seen: Snapshot | None = None
        self._last: Snapshot | None = None
        self._server: Server | None = None
        self._telemetry: Telemetry | None = None
        self._ending = False
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
        shared: str | Path | None = None,
        feeds: bool = True,
    ) -> None:
        """Register a stream, before the engine starts or while it runs.

        Windows over event time go by the column `event_time`, whose values may be out of order by up to `delay`. A
        stream that is silent for longer than `idle` lets its event time go on with the clock.

        Engines that read the same stream can have its log in a `shared` folder. One of them `feeds` it by its source,
        the others follow. If two do, the log stays one all the same: whoever comes second with a train learns that it
        was superseded, and follows.
        """
        self._check_names("stream", [name])
        schema = source.schema(self.spark)
        if event_time is not None:
            self._check_time(name, schema, event_time)
        trains = None if shared is None else SharedTrains(Path(shared).absolute(), sync=self._sync)
        log = StreamLog(
            name,
            schema,
            self.state / "streams" / name,
            self.state / "dead" / name,
            self._manifest,
            event_time=event_time,
            delay=seconds(delay, "the delay of a stream"),
            on_append=lambda train: self._arrived(name, train),
            sync=self._sync,
            shared=trains,
        )
        self._views.add_stream(name, schema)
        self._logs[name] = log
        silent = None if idle is None else seconds(idle, "the idle time of a stream", above=0)
        # What a source keeps beside its state is for whoever feeds the stream next.
        own = trains.folder / "_source" if trains else self.state / "sources" / name
        live = LiveStream(log, source, own, silent, feeds=feeds or trains is None)
        self._streams[name] = live
        if self._started:
            live.start()

    def feed(self, name: str, on: bool = True) -> None:
        """Feed a stream whose log engines share from now on, or follow who does.

        The source goes on behind the last train, whoever appended it. Harmless if it is so already.
        """
        self._stream(name).feed(on)

    def release(self, name: str, before: int) -> None:
        """Let go of what a shared log has before a position, for all engines: none of them needs it any more."""
        log = self._stream(name).log
        if log.shared is None:
            rule, remedy = f"the log of stream '{name}' is shared", "It lets go by itself of what no query needs."
            raise InputError(rule, "one that is not", remedy)
        log.floor = max(log.floor or 0, before)
        if (first := log.shared.reaching(before)) is not None:
            log.shared.drop(first)

    def disconnect(self, name: str) -> None:
        """Forget a stream that no query reads; what is in its log stays."""
        stream = self._stream(name)
        if readers := [query.name for query in self._queries.values() if name in query.evaluation.streams]:
            rule, remedy = f"no query reads stream '{name}' that is to go", "Remove them first."
            raise InputError(rule, ", ".join(readers), remedy)
        if isinstance(stream.source, Results) and stream.source.query in self._queries:
            rule, remedy = f"no query writes to stream '{name}' that is to go", "Remove it first."
            raise InputError(rule, stream.source.query, remedy)
        stream.stop()

        def forget() -> None:
            del self._streams[name], self._logs[name]

        self._scheduler.call(forget)
        self._views.drop_stream(name)
        self._drafts.forget()

    def table(
        self,
        name: str,
        source: Table,
        *,
        parts: Parts | None = None,
        version: Version | None = None,
        refresh: bool = True,
    ) -> None:
        """Register a reference table, or read it again: a DataFrame, a file, a function, `headgate.table.jdbc(...)`.

        Queries join with what it held then, or when it was last refreshed: with `refreshing`, tables are, unless
        `refresh` is False. If it cannot be read, the last snapshot stays in use; without one, only the queries that
        need it cannot be registered. Of a table that is divided into `parts`, each is refreshed by itself. `version`
        is a function of a session whose result is another one whenever the table is, and which is quick.
        """
        if name not in self._tables.columns:
            self._check_names("table", [name])
        before = self._tables.kept.get(name)
        other = self._tables.take(name, as_source(source, version), self.spark, parts, refreshed=refresh)
        concerned = [query for query in self._queries.values() if name in query.draft.reads]
        if other and before:
            self._draw_up_anew(name, before, concerned)
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
                self._draw_up_again(query)

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
        if self._started:
            rule = "classes are named before the engine starts"
            raise InputError(rule, f"'{name}' later", "Name it before start().")
        target = math.inf if delay_target is None else seconds(delay_target, "a delay target", above=0)
        graph = None if qos is None else latency_graph(qos)
        self._classes.name(name, priority, target, {query.cls for query in self._queries.values()}, graph)
        if keep_shed:
            self._classes.keeps_shed.add(name)
        self._classes.protect(name, protect or {})
        self._scheduler.targets = self._classes.targets

    def prioritise(self, cls: str, priority: float) -> None:
        """Give a class that is named another priority, also while the engine runs: shares follow at once.

        Figures of response and slowdown begin anew.
        """
        self._classes.prioritise(cls, priority)
        if self._started:
            self._reschedule()
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
        had committed; `instance` keeps apart what each of them writes into the same sink.
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
    ) -> None:
        """Register many queries at once, by name: all of them or none.

        Those that differ in their constants only are planned once. The sink is one that they share, or a function
        that makes one for each name; without it, results are kept in memory.
        """
        if not isinstance(start, Boundary | Inherited) and start not in ("now", "earliest"):
            raise InputError("a query starts now or at the earliest", f"'{start}'", "Write start='earliest'.")
        began = monotonic()
        most = seconds(limit, "a query's limit", above=0)
        shape = windows(window, slide, time)
        self._check_names("query", texts)
        if isinstance(sink, IntoStream) and len(texts) > 1:
            rule, remedy = "the tuples of a stream come from one query", "Give each query a stream of its own."
            raise InputError(rule, f"{len(texts)} queries into '{sink.name}'", remedy)
        due = _deadline(shape, deadline, weight)
        worth = self._worth(cls, qos, due)
        lossy = None if loss is None else loss_graph(loss)
        shown = Shown(due is not None or math.isfinite(self._classes.of(cls).delay_target), scale)
        drafts = [
            self._prepared.pop(name) if name in self._prepared else self._drafts.of(name, sql, shape, shown, due)
            for name, sql in texts.items()
        ]
        for stream in {stream for draft in drafts for stream in draft.streams} if due is None else ():
            self._classes.check(cls, self._logs[stream], scale=scale)
        span = "" if shape is None else f"{shape.size}/{shape.slide}"
        kind = "rows" if shape and shape.over_rows else time or ""
        entries = [(d, Definition(d.sql, span, kind, shown, due is not None).as_json()) for d in drafts]
        for draft, definition in entries:
            self._check_known(draft.name, definition)
        begins = [(d.name, definition, self._begin(d, start)) for d, definition in entries]
        fresh = {draft.name for draft in drafts if self._manifest.definition(draft.name) is None}
        progress = self._manifest.enter_many(begins, dict.fromkeys(texts, instance))
        made: list[LiveQuery] = []
        try:
            for draft in drafts:
                out = self._opened(draft, sink, progress[draft.name], instance)
                made.append(self._live(draft, cls, out, most, progress[draft.name]))
                made[-1].qos, made[-1].loss = worth, lossy
            self._restore_rates([query for query in made if query.name not in fresh])
            self._swapping.begin(made, self._logs, in_order=self._in_order)
            for each in made:
                self._admit(each, began + _TRYING)
        except HeadgateError:
            for query in made:
                query.close()
            self._undo({draft.name for draft in drafts} & fresh)
            for name in fresh:
                self._manifest.remove(name)
            raise
        self._queries.update({query.name: query for query in made})
        self._taken.update(query.name.lower() for query in made)
        if self._started:
            if self._scheduled is not None and cls not in self._scheduled and due is None:
                # Nobody has planned with such a class.
                self._reschedule()
            elif (
                worth
                and self._wish.policy == AUTO
                and regime(self._wish, self._given()).name != self._scheduler.policy_name
            ):
                # The first QoS graph.
                self._reschedule()
            self._placing.place(made)
            self._placing.look()

    def _worth(self, cls: str, qos: Latencies | None, due: Deadline | None) -> LatencyGraph | None:
        """The latency graph of a query: its own, or that of its class. Whoever has a deadline needs none."""
        if due is None:
            return self._classes.graph(cls) if qos is None else latency_graph(qos)
        if qos is not None:
            remedy = "Leave one of them out; a query with a deadline goes before all others anyway."
            raise InputError("a query has a deadline or a QoS graph", "both", remedy)
        return None

    def _admit(self, query: LiveQuery, until: float) -> None:
        """Refuse a query with a deadline if those of all could not be met with it; by what a few tuples take.

        While the engine runs, whoever asks waits for no lane, and for the trial only `until` then.
        """
        evaluation, keeper = query.evaluation, self._scheduler.keeper
        if not isinstance(evaluation, IterationEvaluation):
            return
        trial, execute = Trial(evaluation), self._trial(query.name)
        if not self._started or keeper is None:
            if evaluation.least >= LEAST_TRIED:
                trial.run(execute, query.empty_job)
                query.tried = trial.found(Cost())
            return
        try_for(max(_LEAST_TRYING, until - monotonic()), trial, execute, self.spark, query.name)
        query.tried = trial.found(keeper.like(evaluation.streams))
        query.empty_job = query.tried.cost.a if trial.empty is None else trial.empty
        unit = self._placing.single(query)
        if isinstance(unit, DeadlineUnit):
            self._answer(keeper, unit, query.tried)

    def _answer(self, keeper: Timekeeper, unit: DeadlineUnit, tried: Tried) -> None:
        found, name = keeper.admit(unit), unit.name
        if found.kind == "refuse":
            cut = "" if tried.whole else ", by a trial that was cut short to answer at once"
            self._recorder.append(Refused(time.time(), name, f"{found.reason}{cut}. {found.remedy}"))
            rule = "a query with a deadline fits beside those that run"
            raise InputError(rule, f"{found.reason}{cut}", found.remedy)
        if found.kind == "reduce":
            if unit.evaluation.plan.window.time == "arrival":
                # What others have begun they have begun with more than they will have beside it.
                unit.evaluation.begin_after(round((time.time() + keeper.settled) * _MICROS))
            _log.warning("query %s is taken in: %s", name, found.reason)

    def _draw_up_again(self, query: LiveQuery) -> None:
        query.draft, query.alone = self._drafts.again(query.draft), None

    def _begin(self, draft: Draft, start: str | Boundary | Inherited) -> Progress:
        if isinstance(start, Boundary):
            return start.begin(draft.evaluation, self._logs)
        if isinstance(start, Inherited):
            return start.begin(self.state / "panes" / draft.name)
        return draft.evaluation.begin(self._start(draft.streams, start))

    def _start(self, streams: Sequence[str], start: str) -> dict[str, int]:
        logs = {name: self._streams[name].log for name in streams}
        if start == "earliest":
            return {name: log.trains[0].first if log.trains else 0 for name, log in logs.items()}
        return {name: log.head for name, log in logs.items()}

    def _opened(
        self, draft: Draft, sink: Sink | Shared | Callable[[str], Sink] | None, progress: Progress, instance: str
    ) -> Sink | Shared:
        out = MemoryTables() if sink is None else sink(draft.name) if callable(sink) else sink
        if isinstance(out, Shared) and self._shared.setdefault(out.name, out) is not out:
            remedy = "Give one and the same object to all queries that share it."
            raise InputError("a shared sink has a name of its own", f"a second '{out.name}'", remedy)
        if isinstance(out, IntoStream):
            self._derive(draft, out)
        last = self._manifest.shared(out.name) if isinstance(out, Shared) else progress.receipt
        out.open(Opening(draft.name, draft.evaluation.schema, self.spark, last, self._sync, instance))
        return out

    def _derive(self, draft: Draft, out: IntoStream) -> None:
        """Register the stream that the results of a query are."""
        if out.name.lower() == draft.name.lower():
            remedy = "Use another one for the stream."
            raise InputError("names of streams, tables and queries differ", f"a second '{out.name}'", remedy)

        def ended() -> bool:
            query = self._queries.get(draft.name)
            if query and query.status == "failed":
                msg = f"query {draft.name} has failed: resume it"
                raise HeadgateError(msg)
            return query is not None and query.over

        source = Results(draft.name, columns(draft.name, draft.evaluation.schema), ended)
        self.stream(out.name, source, event_time=out.event_time, delay=out.delay, idle=out.idle)
        out.attach(self._streams[out.name], self.state / "derived" / out.name)

    def _undo(self, queries: Collection[str]) -> None:
        """Forget the streams of results of queries that came to nothing."""
        for name, stream in list(self._streams.items()):
            if isinstance(stream.source, Results) and stream.source.query not in self._queries:
                self.disconnect(name)
                if stream.source.query in queries and not stream.log.trains:
                    self._manifest.remove_stream(name)

    def _stream_of(self, query: LiveQuery) -> LiveStream | None:
        """The stream that its results are."""
        return self._streams[query.sink.name] if isinstance(query.sink, IntoStream) else None

    def _live(self, draft: Draft, cls: str, out: Sink | Shared, limit: float, progress: Progress) -> LiveQuery:
        keeps = cls in self._classes.keeps_shed
        protects = self._classes.protects.get(cls, {})
        return LiveQuery(
            *(draft, cls, out, limit, progress, self._logs),
            # With a deadline beside those that run, that is a part of its trial.
            empty_job=0.0 if draft.deadline and self._started else self._empty_run(draft),
            keeps_shed=keeps,
            protects=protects,
        )

    def _restore_rates(self, queries: Sequence[LiveQuery]) -> None:
        """Give queries that were there before the drop rates that they had."""
        known = self._manifest.thinned([query.name for query in queries])
        for query in queries:
            steps = known.get(query.name, {})
            # How far it had come in memory when the engine died, nobody knows; not beyond what was there.
            decided = (
                query.progress.cursors if self._in_order else {s: self._streams[s].log.head for s in query.rates}
            )
            query.restore({stream: (decided[stream], steps.get(stream, ())) for stream in query.rates})

    def _empty_run(self, draft: Draft) -> float:
        """Seconds that a run over nothing takes: of the query's own, or of one of the kernel's."""
        if draft.compiled is None:
            return self._warm(draft.name, draft.evaluation)
        if self._residents.wanted:
            return _KERNEL_RUN
        if self._kernel_job is None:
            # What the kernel runs in is a job here, and one is as good as another.
            self._kernel_job = self._warm(draft.name, draft.evaluation)
        return self._kernel_job

    def _check_known(self, name: str, definition: Mapping[str, Any]) -> None:
        known = self._manifest.definition(name)
        if known is not None and known != definition:
            keys = dict.fromkeys((*definition, *known))
            changed = ", ".join(key for key in keys if known.get(key) != definition.get(key))
            raise InputError(
                f"query '{name}' is the one that its state folder knows",
                f"another {changed}",
                "Remove it first (engine.remove), or give it another name.",
            )

    # What happens to it

    def pause(self, name: str) -> None:
        """Stop running a query, or reading a stream, for now. A query's tuples wait for it."""
        if name in self._streams:
            self._streams[name].stop()
            return
        query = self._named(name)
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
        query = self._named(name)
        query.resume()
        if (derived := self._stream_of(query)) and derived.status == "failed":
            derived.start()
        self._scheduler.changed(query.name, "resumed")

    def remove(self, name: str) -> None:
        """Forget a query: its progress and its panes, not its results. If these are a stream, it ends."""
        if name in self._queries:
            derived = self._stream_of(self._named(name))
            self.abandon(name)
            if derived:
                derived.stop()
                derived.log.end()
                derived.status = "ended"
        elif self._manifest.definition(name) is None:
            self._named(name)
        self.forget(name)

    def abandon(self, name: str) -> None:
        """Stop a query for good. What is committed of it stays in the state folder."""
        query = self._named(name)
        self._scheduler.remove(query)
        del self._queries[name]
        self._taken.discard(name.lower())
        query.close()

    def forget(self, name: str) -> None:
        """Forget what the state folder has of a query that is not registered, or not any more."""
        self._manifest.remove(name)
        self._swapping.forget(name)
        self._absent.discard(name)
        shutil.rmtree(self.state / "panes" / name, ignore_errors=True)

    # Queries that go to other engines, and come from there

    def prepare(
        self,
        name: str,
        sql: str,
        *,
        window: str | float | None = None,
        slide: str | float | None = None,
        time: Clock | None = None,
        cls: str = DEFAULT,
        deadline: str | float | None = None,
        weight: float = 1.0,
        scale: bool = False,
    ) -> tuple[pa.Schema, int]:
        """Plan a query that is to come, so that `query` takes less time then.

        Gives the columns of its results, and from which time on a query over windows finds every tuple here.
        """
        if name not in self._prepared:
            shape = windows(window, slide, time)
            due = _deadline(shape, deadline, weight)
            shown = Shown(due is not None or math.isfinite(self._classes.of(cls).delay_target), scale)
            draft = self._drafts.of(name, sql, shape, shown, due)
            if draft.compiled is None:
                self._warm(name, draft.evaluation)
            self._prepared[name] = draft
        found = self._prepared[name].evaluation
        return found.schema, readable(found, self._logs)

    def unprepare(self, name: str) -> None:
        """Forget what was prepared of a query that does not come."""
        self._prepared.pop(name, None)

    def needed(self) -> dict[str, int]:
        """The first tuple of each stream that queries will read again."""
        found: dict[str, int] = {}
        for query in list(self._queries.values()):
            for stream in query.evaluation.streams:
                at = query.evaluation.needed(query.durable, stream)
                found[stream] = min(at, found.get(stream, at))
        return found

    def instance_of(self, name: str) -> str | None:
        """As which instance the state folder knows a query; None if it does not."""
        return self._manifest.instances([name]).get(name)

    def leave(self, name: str, since: int = NEVER, until: Boundary | None = None) -> Boundary:
        """Let a query end here, and say where; whoever takes it over can read from the time `since` on.

        With windows it goes on until the last one that is its own is given out; others end at once. If it has been
        said before, `until` is where it ends.
        """
        query = self._named(name)
        evaluation, found = query.evaluation, Boundary()
        if not isinstance(evaluation, Windowed):
            query.status = "paused"
            self._scheduler.apart(query)

        def settle() -> None:
            nonlocal found
            if isinstance(evaluation, Windowed):
                last = until.closed if until else self._last_window(query, evaluation.plan.window, since)
                evaluation.stop_at(last)
                found = Boundary(closed=last)
            else:
                unit.commit(self._manifest)
                found = Boundary.of(query.durable)

        unit = self._scheduler.unit_of(query)
        self._scheduler.when_free(unit, settle)
        self._scheduler.wake()
        return found

    def _last_window(self, query: LiveQuery, window: Window, since: int) -> int:
        closed, logs = query.progress.closed, [self._logs[name] for name in query.evaluation.streams]
        return last_window(window, closed, max(since, handed_over(window, closed, logs)))

    def left(self, name: str) -> bool:
        """Whether a query that is leaving has given out all that is its own, for good."""
        query, evaluation = self._named(name), self._named(name).evaluation
        if isinstance(evaluation, Windowed):
            return evaluation.stopped(query.durable)
        return query.status == "paused"

    def stay(self, name: str) -> None:
        """Go on with a query that was leaving."""
        query = self._named(name)
        if isinstance(query.evaluation, Windowed):
            query.evaluation.stop_at(ENDED)
            self._scheduler.wake()
        else:
            self.resume(name)

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
        if self._started:
            raise InputError("an engine is started once", "a second start", "Use switch() for another policy.")
        self._absent = self._manifest.names() - set(self._queries)
        for absent in sorted(self._absent):
            _log.warning("query %s of this state folder is not registered; its tuples are kept for it", absent)
        self._wish = Wish(policy, train, fuse, shed, served(deadlines), options)
        self._use()
        self._placing.place(list(self._queries.values()))
        memory.settle()
        self._scheduler.start()
        self._started = True
        for stream in self._streams.values():
            stream.start()
        self._housekeeper = threading.Thread(target=self._keep_house, name="headgate-house", daemon=True)
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
        if not self._started:
            raise InputError(
                "a policy is switched while the engine runs", "one that has not started", "Call start()."
            )
        wish, given = Wish(policy, train, fuse, shed, served(deadlines), options), self._given()
        regime(wish, given)
        managed(wish, given, self._logs)
        self._wish = wish
        self._reschedule()
        self._placing.place_again(list(self._queries.values()))

    def _reschedule(self) -> None:
        """Plan anew, as it is wished and with the classes that there are now."""
        self._placing.rest()
        self._scheduler.call(self._use)

    def _use(self) -> None:
        """Begin to schedule and to shed as it is wished, with the classes that there are."""
        given = self._given()
        chosen = regime(self._wish, given)
        shedding = managed(self._wish, given, self._logs)
        # Whoever goes by classes has to know them all.
        self._scheduled = {each.name for each in given.classes} if chosen.by_class or shedding else None
        self._began = time.time()
        bounds = {"most": chosen.bounds.most, "slice": chosen.bounds.slice}
        written = {"train": bounds, **self._wish.options}
        resident, shed = self._residents.wanted, shed_as(self._wish, given)
        classes = tuple(Classed(c.name, c.priority, _known(c.delay_target)) for c in given.classes)
        self._recorder.append(
            Began(
                self._began,
                chosen.name,
                written,
                given.lanes,
                resident,
                classes,
                given.named,
                asdict(shed) if shedding else None,
                given.empty_run,
            )
        )
        for query in list(self._queries.values()):
            query.forget()
        keeper = Timekeeper(self._wish.deadlines, self._streams, self._manifest, self._recorder)
        self._scheduler.use(chosen.name, chosen.make, chosen.bounds, shedding, keeper, chosen.overripe)
        made = chosen.make()
        shares = shedding is not None and shedding.management.mode == "dilos+sharing"
        riding = Riding(given.classes, shedding.hosts) if shedding and shares and chosen.by_class else None
        clusters = made.clusters if isinstance(made, ClusteredBsd) else None
        self._placing.use(clusters, riding, fuse=chosen.fuses, superboxes=chosen.by_graph)

    def _given(self) -> Given:
        empty = statistics.median([query.empty_job for query in self._queries.values()] or [0.0])
        jobs = sum(lane.kind == "jobs" for lane in self._scheduler.lanes)
        resident = self._residents.wanted
        graphs = any(query.qos for query in list(self._queries.values()))
        lanes = jobs + resident, max(jobs, resident)
        return Given(self._all_classes(), bool(self._classes), graphs, *lanes, empty)

    def _all_classes(self) -> list[QueryClass]:
        return self._classes.all([each.cls for each in list(self._queries.values()) if not each.draft.deadline])

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
        self._ending = True
        self._look.set()
        if self._server:
            self._server.close()
        for stream in self._streams.values():
            stream.stop()
        self._refresher.stop()
        self._scheduler.stop(grace)
        self._residents.close()
        if self._housekeeper:
            self._housekeeper.join()
        for query in self._queries.values():
            query.close()
        self._last = last = self.status()
        self._write_status(last, running=False)
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
        sink = self._named(name).sink
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
        return self._all_classes() if self._classes else []

    def status(self) -> Snapshot:
        """How everything fares, now, or at the end if it is stopped."""
        if self._last:
            return self._last
        tables = self._tables, self._refresher
        return snapshot(self._streams, self._queries, self._scheduler, *tables, self._all_classes(), self._began)

    def recent(self) -> Snapshot:
        """How everything fared a moment ago. Costs nothing while the engine runs, and looks around for itself."""
        seen = self._seen
        if seen is None or (not self._started and time.time() - seen.time > _STATUS_EVERY):
            seen = self._seen = self.status()
        return self._last or seen

    @property
    def width(self) -> int:
        """How many units can run at a time on lanes of one kind."""
        kinds = Counter(lane.kind for lane in list(self._scheduler.lanes))
        return max(kinds.values(), default=1)

    @property
    def running(self) -> bool:
        """Whether it has started and is not stopping."""
        return self._started and not self._ending

    def listen(self, hear: Callable[[Entry], None]) -> Callable[[], None]:
        """Have somebody hear every entry of the record, in the threads that make them: it has to be quick.

        Gives what ends that.
        """
        recorder = self._recorder
        recorder.listeners = (*recorder.listeners, hear)

        def end() -> None:
            recorder.listeners = tuple(each for each in recorder.listeners if each != hear)

        return end

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

    # Inside

    def _arrived(self, name: str, train: StoredTrain) -> None:
        if train.count:
            at, until = train.arrived_first / _MICROS, train.arrived_last / _MICROS
            self._recorder.append(Arrived(name, train.first, train.count, at, until))
        self._scheduler.wake()

    def _chores(self) -> None:
        """About once a second: let time pass in silent streams, and let go of trains that nobody needs."""
        units = list(self._scheduler.units)
        self._swapping.look_around()
        queries = [query for unit in units for query in _different(unit)]
        if not self._started:
            queries = list(self._queries.values())
            self._absent = self._manifest.names() - set(self._queries)
        for name, stream in list(self._streams.items()):
            readers = [query for query in queries if name in query.evaluation.streams]
            windows = {_window_of(query.draft.plan) for query in readers}
            stream.pass_time([window for window in windows if window])
            if not self._absent:
                needed = [query.evaluation.needed(query.durable, name) for query in readers]
                last_look = partial(self._letters.write, stream.log)
                stream.log.drop(min(needed, default=stream.log.head), last_look)
        for unit in units:
            if not unit.busy:
                for query in _different(unit):
                    query.evaluation.tidy(query.progress, query.durable)
                self._forget_rates(unit)

    def _forget_rates(self, unit: LiveUnit) -> None:
        """Forget drop rates of tuples that the unit reads no more."""
        first = unit.queries[0]
        for stream, rate in unit.rates.items():
            kept = rate.forget(first.evaluation.needed(first.durable, stream))
            if kept is not None:
                self._manifest.forget_rates(unit.owner, stream, kept)

    @staticmethod
    def _trial(name: str) -> Warm:
        return lambda prepared, given: prepared.run(given, f"{name}: warming up")

    def _warm(self, name: str, made: Evaluation) -> float:
        """Run over nothing, twice: the second time is that of an empty job."""
        execute = self._trial(name)
        made.warm(execute)
        began = time.perf_counter()
        made.warm(execute)
        return time.perf_counter() - began

    def _keep_house(self) -> None:
        """What takes longer than a decision may: writing the status, planning fused units."""
        due = time.monotonic()
        while not self._ending:
            self._look.wait(max(0.0, due - time.monotonic()))
            self._look.clear()
            try:
                self._residents.adjust()
                self._placing.look()
            except Exception as error:  # noqa: BLE001 - a full disk, say; the next look tries again
                _log.warning("units stay as they are: %s", message(error))
            began, spent = time.monotonic(), time.thread_time()
            if began >= due:
                self._seen = self.status()
                self._write_status(self._seen, running=True)
                self._tick()
                # With very many queries, looking at them must not keep them from running; waiting for them does not.
                due = began + max(_STATUS_EVERY, _LOOKS * (time.thread_time() - spent))

    def _tick(self) -> None:
        """Let sinks do what is due by the time."""
        now = time.time()
        for query in {id(query.sink): query for query in gently(list(self._queries.values()))}.values():
            try:
                query.sink.tick(now)
            except HeadgateError as error:
                # What is committed is not lost: the next tick tries again.
                _log.warning("query %s: %s", query.name, error)

    def _write_status(self, found: Snapshot, *, running: bool) -> None:
        file = self.state / STATUS
        temporary = file.with_suffix(".tmp")
        try:
            temporary.write_text(written(found, running=running))
            temporary.rename(file)
        except OSError as error:
            _log.warning("cannot write %s: %s", file, error.strerror)

    def _check_names(self, noun: str, names: Iterable[str]) -> None:
        others = {n.lower() for n in (*self._streams, *self._tables.columns)}
        new: set[str] = set()
        for name in names:
            if not _NAME.fullmatch(name):
                remedy = "Use letters, digits and underscores, a letter first."
                raise InputError(f"a {noun} has a plain name", f"'{name}'", remedy)
            lower = name.lower()
            if lower in others or lower in self._taken or lower in new:
                rule = "names of streams, tables and queries differ"
                raise InputError(rule, f"a second '{name}'", "Use another one.")
            new.add(lower)

    @staticmethod
    def _check_time(stream: str, schema: pa.Schema, column: str) -> None:
        remedy = f"Choose one of {', '.join(n for n in schema.names if pa.types.is_timestamp(schema.field(n).type))}."
        if column not in schema.names:
            raise InputError(f"the event time of stream '{stream}' is a column of it", f"'{column}'", remedy)
        if not pa.types.is_timestamp(schema.field(column).type):
            got = f"'{column}' of type {schema.field(column).type}"
            raise InputError(f"the event time of stream '{stream}' is a TIMESTAMP", got, remedy)

    def _stream(self, name: str) -> LiveStream:
        if name not in self._streams:
            known = ", ".join(self._streams) or "none yet"
            raise InputError("a registered stream", f"'{name}'", f"There are: {known}.")
        return self._streams[name]

    def _named(self, name: str) -> LiveQuery:
        if name not in self._queries:
            known = ", ".join(self._queries) or "none yet"
            raise InputError("a registered query", f"'{name}'", f"There are: {known}.")
        return self._queries[name]


def _deadline(shape: Window | None, given: str | float | None, weight: float) -> Deadline | None:
    if given is None:
        if weight != 1.0:
            raise InputError("a weight belongs to a deadline", f"{weight} without one", "Add deadline='2s'.")
        return None
    due = seconds(given, "a deadline", above=0)
    if shape is None:
        remedy = "Give the query a window, as in window='10s', slide='2s'."
        raise InputError("a deadline is for the results of windows", "no window", remedy)
    if shape.over_rows:
        remedy = "Give the query a window of time, as in window='10s', slide='2s', or a QoS graph."
        raise InputError("a deadline is for windows of time: the next one is known then", "one over rows", remedy)
    return Deadline(shape.size / _MICROS, shape.slide / _MICROS, due, weight)


def _known(target: float) -> float | None:
    return target if math.isfinite(target) else None


def _different(unit: LiveUnit) -> Sequence[LiveQuery]:
    """The queries of a unit that are not at the same place as its first: of a cohort, those that have panes."""
    if not isinstance(unit, KernelUnit):
        return unit.queries
    return unit.queries if unit.kin.window else unit.queries[:1]


def _window_of(planned: Plan) -> Window | None:
    if isinstance(planned, BySession):
        return Window(planned.gap, planned.gap, "event")
    return getattr(planned, "window", None)

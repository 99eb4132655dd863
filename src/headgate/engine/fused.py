"""Units of the kernel: queries over the same tuples of a stream, run together and moved along as one cohort."""

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from headgate.engine.batch import Batch, Part
from headgate.engine.compiled import Compiled, added, alone
from headgate.engine.delivery import Delivered, deliver
from headgate.engine.evaluation.by_panes import PaneEvaluation
from headgate.engine.evaluation.per_train import TrainEvaluation, unstamped
from headgate.engine.evaluation.protocol import NOTHING, Step, Waiting, queued, stream_input
from headgate.engine.graphs import counted
from headgate.engine.kernel.program import Answer, Joined, Program, Remove
from headgate.engine.lanes import Executor
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Moved, Passed
from headgate.engine.log.stream import StreamLog
from headgate.engine.query import Cohort, LiveQuery
from headgate.engine.reader import JobInput
from headgate.engine.sink.shared import Shared
from headgate.engine.thinning import Thinning
from headgate.engine.units import Evaluated, held
from headgate.engine.windows import Window
from headgate.errors import HeadgateError
from headgate.model.operator import FREE
from headgate.monitor.figures import Served

_COMMITS = 0.1
"""The share of the time that may go into commits: the next one waits until it is worth it."""

_MOST_HELD = 64 << 20
"""Bytes of results that wait for a commit at most."""

_CLOSING = 0.05
"""Seconds of a run from which on no more windows are closed: many close at the same time, and others wait."""

_MOST_BACKOFF = 5.0
_made = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Kin:
    """What queries must have in common to run in one unit: the stream, the class, and the panes of their windows.

    Others may ride along that are of a lower class.
    """

    stream: str
    cls: str
    window: Window | None

    @classmethod
    def of(cls, query: LiveQuery) -> "Kin":
        """That of a query that the kernel can run."""
        window = query.compiled.window if query.compiled else None
        return cls(query.evaluation.streams[0], query.cls, window)


class KernelUnit:
    """Queries that the kernel runs together.

    Between two commits everything is in memory: the cohort's position, the results of sinks that take them with the
    commit only, partial results of panes. A crash repeats that from the log.
    """

    in_kernel = True

    def __init__(
        self,
        queries: Sequence[LiveQuery],
        log: StreamLog,
        manifest: Manifest,
        cohort: int | None = None,
    ) -> None:
        """The queries stand at the same tuple, and have the same drop rates from there on.

        The manifest makes a cohort of them, or has one already.
        """
        self.name = f"{log.name}-{next(_made)}" if len(queries) > 1 else queries[0].name
        self.busy = False
        self.hold: int | None = None
        self.patience = float("inf")
        self.kin = Kin.of(queries[0])
        self.served = Served(self.name, self.kin.cls, FREE)
        self.losses = 0
        self.queries: tuple[LiveQuery, ...] = ()
        self.classes: frozenset[str] = frozenset()
        self.graphs = counted(())
        self._log = log
        self._numbers = itertools.count()
        self._by_number: dict[int, LiveQuery] = {}
        self._number_of: dict[str, int] = {}
        self._places: dict[int, Shared] = {}
        self._panes: dict[str, PaneEvaluation] = {}
        self._finals: dict[str, Program] = {}
        self._changed: dict[str, LiveQuery] = {}
        self._batches: list[Batch] = []
        self._held, self._eager, self._blocked = 0, False, False
        self._next_commit = 0.0
        self._attempts, self._until = 0, 0.0
        self.most = float("inf")
        self.limit = float("inf")
        self._mark_seen: int | None = None
        self._queued = NOTHING
        # Queries whose windows were left open, and since when they could be closed.
        self._left: Sequence[str] = ()
        self._overdue = math.inf
        position = queries[0].progress.cursors[log.name]
        self.program = Program(log.name)
        if cohort is None:
            cohort = manifest.cohorts.join(log.name, position, _names(queries))
        self.cohort = Cohort(cohort, log.name, position, position, queries[0].rates[log.name].copy())
        self._enter(queries)

    # Who is in it

    def take_over(self, others: Sequence["KernelUnit"], manifest: Manifest) -> Sequence[LiveQuery]:
        """Take in the queries of units that stand at the same position, with nothing in memory on either side.

        No drop rate is decided behind it.
        """
        queries = [query for unit in others for query in unit.queries]
        position = self.cohort.position
        manifest.cohorts.join(self._log.name, position, _names(queries), self.cohort.id)
        for unit in others:
            unit.let_go(unit.queries, position)
        self._enter(queries)
        return queries

    def _enter(self, queries: Sequence[LiveQuery]) -> None:
        self._install(queries)
        for query in queries:
            query.join(self.cohort)
        self.queries = (*self.queries, *queries)
        self.classes |= {query.cls for query in queries}
        self.graphs += counted(query.qos for query in queries)
        if self.name in self._number_of and len(self.queries) > 1:
            # That name is the query's, for when it runs by itself.
            self.name = f"{self._log.name}-{next(_made)}"
        self.limit = min(self.limit, *(query.limit for query in queries))

    def part(self, queries: Sequence[LiveQuery], manifest: Manifest) -> "KernelUnit":
        """Give some queries a unit of their own; there is nothing in memory."""
        position = self.cohort.position
        cohort = manifest.cohorts.join(self._log.name, position, _names(queries))
        self.let_go(queries, position)
        made = KernelUnit(queries, self._log, manifest, cohort)
        made.losses, made.most = self.losses, self.most
        return made

    def _install(self, queries: Sequence[LiveQuery]) -> None:
        """Write the queries into the program, those of one shape together."""
        self.fresh = True
        tables = dict(self.program.tables)
        for query in queries:
            tables |= query.draft.reads
        self._use(tables)
        by_shape: dict[object, list[tuple[LiveQuery, Compiled]]] = {}
        for query in queries:
            if query.compiled is None:
                msg = f"query {query.name} is not one of the kernel's"
                raise ValueError(msg)
            by_shape.setdefault(query.compiled.shape, []).append((query, query.compiled))
        for alike in by_shape.values():
            numbers = list(itertools.islice(self._numbers, len(alike)))
            shape = alike[0][1].shape
            self.program.changes.append(added(shape, numbers, [kernel.constants for _, kernel in alike]))
            for number, (query, kernel) in zip(numbers, alike, strict=True):
                self._by_number[number], self._number_of[query.name] = query, number
                if isinstance(query.evaluation, TrainEvaluation) and isinstance(query.sink, Shared):
                    self._places[number] = query.sink
                if isinstance(query.evaluation, PaneEvaluation) and kernel.final:
                    self._panes[query.name] = query.evaluation
                    self._finals[query.name] = alone(kernel.final, tables)

    def release(self, queries: Sequence[LiveQuery], position: int, manifest: Manifest) -> None:
        """Let queries go, to move on alone from a position on.

        What they have in memory goes with them; but who is sent back to what the manifest keeps finds it again.
        """
        # First what can fail: then nothing has changed.
        manifest.cohorts.leave(_names(queries))
        self.let_go(queries, position)

    def let_go(self, queries: Sequence[LiveQuery], position: int) -> None:
        """The same for those whom the manifest has somewhere else already."""
        gone = set(_names(queries))
        if position != self.cohort.kept:
            for batch in self._batches:
                for query, rows, due in batch.of(gone):
                    query.hold(rows, due)
        self._batches = [left for batch in self._batches if (left := batch.without(gone)).queries]
        numbers = [self._number_of.pop(query.name) for query in queries]
        self.program.changes.append(Remove(tuple(numbers)))
        for number, query in zip(numbers, queries, strict=True):
            del self._by_number[number]
            self._places.pop(number, None)
            for each in (self._panes, self._finals, self._changed):
                each.pop(query.name, None)
            query.leave(position)
        self.queries = tuple(query for query in self.queries if query.name not in gone)
        self.classes = frozenset(query.cls for query in self.queries)
        self.graphs = counted(query.qos for query in self.queries)
        if self.queries and self.kin.cls not in self.classes:
            self.kin = replace(self.kin, cls=self.queries[0].cls)

    @property
    def reads(self) -> Mapping[str, str]:
        """The snapshots of tables that its queries join with, by table."""
        return self.program.tables

    def swap(self, tables: Mapping[str, str]) -> None:
        """Go on with other snapshots of some tables; there is nothing in memory that comes from the old ones."""
        self.fresh = True
        self._use({**self.program.tables, **tables})
        for query in self.queries:
            reads = query.draft.reads
            reads.update({name: folder for name, folder in tables.items() if name in reads})

    def _use(self, tables: dict[str, str]) -> None:
        # New mappings: lanes see by them that something has changed.
        for program in (self.program, *self._finals.values()):
            program.tables = tables

    def install_again(self) -> None:
        """Go on with queries that were compiled anew: a new program."""
        self.program = Program(self._log.name)
        self._by_number, self._number_of, self._places, self._panes, self._finals = {}, {}, {}, {}, {}
        self._install(self.queries)

    # What the scheduler asks

    @property
    def cls(self) -> str:
        """The class of all of them, or of those with whom the others ride."""
        return self.kin.cls

    def behind(self) -> Waiting:
        """The tuples behind the cohort; the same object as long as these are the same."""
        position, known = self.cohort.position, self._queued
        if position != known.position or self._log.head - position != known.pending:
            known = self._queued = queued(self._log, position)
        return known

    @property
    def owner(self) -> str:
        """Whose drop rates these are, to the manifest."""
        return self.cohort.owner

    @property
    def rates(self) -> dict[str, Thinning]:
        """The drop rates of the stream."""
        return {self._log.name: self.cohort.rates}

    def waiting(self, now: float) -> Waiting:
        """The tuples that wait for all of them; else what time has closed, or what should be committed."""
        first = self.queries[0]
        # What a query of several has to wait for, it waits for in a unit of its own.
        if self.busy or now < max(self._until, first.resting) or first.status != "running":
            return NOTHING
        if now >= self.patience:
            self.hold, self.patience = None, float("inf")
        found = held(self.behind(), self.hold)
        if found.pending:
            # Tuples that have just come would have windows wait that were left open for others.
            return replace(found, oldest=self._overdue) if self._overdue < found.oldest else found
        if (since := self._closing()) < math.inf:
            return Waiting(1, min(since, now), self.cohort.position)
        return Waiting(1, now, self.cohort.position) if self.commit_due(now) else NOTHING

    @property
    def logs(self) -> Sequence[StreamLog]:
        """The stream."""
        return (self._log,)

    def until(self, found: Waiting, now: float) -> float:
        """Until its patience ends, or while it waits for nothing, a rest or the time until the next commit."""
        if found.pending:
            return now if found.oldest >= now else self.patience
        moments = self._until, self.queries[0].resting, self.patience, self.next_commit
        return min((at for at in moments if at > now), default=math.inf)

    @property
    def unsaved(self) -> bool:
        """Whether something waits for a commit."""
        return self.cohort.position != self.cohort.kept or bool(self._changed)

    @property
    def next_commit(self) -> float:
        """When it is time to commit again; infinite if there is nothing."""
        return self._next_commit if self.unsaved else float("inf")

    def resting(self, now: float) -> bool:
        """Whether it waits after an error, to be tried again."""
        first = self.queries[0]
        return now < self._until or (first.status == "running" and now < first.resting)

    def _closing(self) -> float:
        """Since when a window could be closed though no tuple has come: looked at when the watermark has moved."""
        if not self._panes:
            return math.inf
        window = self.kin.window
        mark = self._log.watermark(window.time) if window else 0
        if mark == self._mark_seen:
            return math.inf
        queries = [self._by_number[self._number_of[name]] for name in self._panes]
        found = (query.evaluation.waiting(query.progress) for query in queries)
        since = next((each.oldest for each in found if each.pending), math.inf)
        if since == math.inf:
            self._mark_seen = mark
        return since

    # A run

    def evaluate(self, n: int, executor: Executor) -> Evaluated:
        """One pass of the kernel over the next tuples, its results taken apart by query or by the sink they share."""
        low = self.cohort.position
        if self._blocked:
            # First what is in memory has to go out.
            n = 0
        high = min(low + int(min(n, self.most)), self._log.head if self.hold is None else max(low, self.hold))
        if high == low and not self._panes:
            return Evaluated([], {self._log.name: (low, high)}, 0)
        answer = executor.answer(self.program, self._input(low, high)) if high > low else Answer(())
        joined = [answer.joined]
        failed = {self._by_number[number].name: why for number, why in answer.errors.items()}
        steps: list[tuple[LiveQuery, Step]] = []
        partials: dict[str, pa.Table] = {}
        batches: list[Batch] = []
        for table in answer.parts:
            part = Part.of(table, self._by_number, answer.errors)
            if not part.numbers:
                continue
            if isinstance(self._by_number[part.numbers[0]].evaluation, TrainEvaluation):
                found, more = self._stepped(part, low, high)
                steps += found
                batches += more
            else:
                partials |= {self._by_number[k].name: part.rows.slice(at, n) for k, at, n in part.each()}
        window = self.kin.window
        late = self._log.late(low, high, window) if window and high > low else 0
        enough = time.perf_counter() + _CLOSING
        left: list[str] = []
        overdue = math.inf
        # Whoever had to leave windows open goes first, the one that did so for longest before the others.
        first = {name: self._panes[name] for name in self._left if name in self._panes}
        for name, panes in (first | self._panes).items():
            if name in failed:
                continue
            query = self._by_number[self._number_of[name]]
            try:
                in_time = time.perf_counter() < enough
                close = partial(self._close, name, executor, joined) if in_time else None
                step = panes.absorb(query.progress, partials.get(name), low, high, close, late)
                steps.append((query, step))
            except HeadgateError as error:
                failed[name] = str(error)
                continue
            if not in_time:
                left.append(name)
                # They have the same windows, so one that has any says since when.
                overdue = panes.overdue(step.progress) if overdue == math.inf else overdue
        size = sum(part.nbytes for part in answer.parts)
        read = {self._log.name: (low, high)}
        return Evaluated(steps, read, high - low, failed, batches, size, joined, left, overdue)

    def move(self, found: Evaluated) -> None:
        """The cohort goes on; its queries have taken their steps."""
        ((low, high),) = found.positions.values()
        cohort = self.cohort
        cohort.position = high
        self._left, self._overdue = found.left, found.overdue
        cohort.passed = cohort.passed.plus(Passed(high - low, cohort.rates.shed(low, high)))
        for query, _ in found.steps:
            if query.unsaved:
                self._changed[query.name] = query
                self._eager = self._eager or query.eager
        self._held += found.size
        for batch in found.batches:
            self._batches.append(batch)
            self._eager = self._eager or batch.sink.guarantee == "at least once"
        if not self._blocked:
            self._attempts, self._until, self.losses = 0, 0.0, 0

    def commit_due(self, now: float) -> bool:
        """Whether it is time: what commits take is a tenth, or too much has come together."""
        pressing = self._eager or self._blocked or self._held > _MOST_HELD
        return self.unsaved and (pressing or now >= self._next_commit)

    def commit(self, manifest: Manifest) -> Delivered:
        """Stage what each query holds, commit all in one transaction, publish.

        Nothing is committed if a sink fails: its query is to be let go first, at what the manifest has of it.
        """
        if not self.unsaved:
            return Delivered()
        began = time.perf_counter()
        cohort, position, passed = self.cohort, self.cohort.position, self.cohort.passed
        self._blocked = True
        moved = Moved(cohort.id, position, passed.minus(cohort.kept_passed))
        done = deliver(list(self._changed.values()), manifest, moved, self._batches)
        cohort.kept, cohort.kept_passed = position, passed
        self._changed, self._batches, self._held, self._eager, self._blocked = {}, [], 0, False, False
        took = time.perf_counter() - began
        self._next_commit = time.time() + took * (1 / _COMMITS - 1)
        return done

    def rest(self, now: float) -> int:
        """After an error that is nobody's: try again in a while. Gives the number of such errors in a row."""
        self._attempts += 1
        self._until = now + min(_MOST_BACKOFF, 0.1 * 2**self._attempts)
        return self._attempts

    def _input(self, low: int, high: int) -> JobInput:
        window = self.kin.window
        given = stream_input(self._log, self._log.slices(low, high), window.time if window else None)
        return JobInput({self._log.name: given}, window=(window.size, window.slide) if window else None)

    def _close(self, name: str, executor: Executor, joined: list[Joined], given: JobInput) -> pa.Table:
        """The windows of a query that close, from their panes; adds what was looked up for them."""
        answer = executor.answer(self._finals[name], given)
        joined.append(answer.joined)
        if answer.errors:
            raise HeadgateError(answer.errors[0])
        schema = self._panes[name].schema
        rows = [part.remove_column(0).rename_columns(schema.names) for part in answer.parts]
        return pa.concat_tables([schema.empty_table(), *rows])

    def _stepped(self, part: Part, low: int, high: int) -> tuple[list[tuple[LiveQuery, Step]], list[Batch]]:
        """Rows with their times of arrival: steps of queries, and batches for the sinks that queries share."""
        rows, due = unstamped(part.rows)
        part = replace(part, rows=rows)
        together: dict[str, list[int]] = {}
        named: dict[tuple[str, ...], pa.Table] = {}
        steps: list[tuple[LiveQuery, Step]] = []
        for number, first, count in part.each():
            if number in self._places:
                together.setdefault(self._places[number].name, []).append(number)
                continue
            query = self._by_number[number]
            names = tuple(query.evaluation.schema.names)
            if names not in named:
                named[names] = rows.rename_columns(names)
            moved = replace(query.progress, cursors={self._log.name: high})
            mine = named[names].slice(first, count)
            steps.append((query, Step(mine, due[first : first + count], moved, high - low)))
        batches: list[Batch] = []
        for numbers in together.values():
            its, chosen = part.only(numbers)
            queries = tuple(self._by_number[number] for number in its.numbers)
            same = its.rows.rename_columns(queries[0].evaluation.schema.names)
            batches.append(Batch(self._places[numbers[0]], queries, its.counts, same, due[chosen]))
        return steps, batches


def _names(queries: Sequence[LiveQuery]) -> list[str]:
    return [query.name for query in queries]

"""From the text of a query to what the engine runs: planned, ready to be evaluated, compiled if the kernel can."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from headgate.engine.compiled import Compiled, compiled
from headgate.engine.evaluation import Evaluation, Setting, evaluation
from headgate.engine.evaluation.per_train import TrainEvaluation
from headgate.engine.intake import LiveStream
from headgate.engine.kernel.ir import Literal, Segment
from headgate.engine.prepared import Views
from headgate.engine.sql.catalyst import NotFusableError
from headgate.engine.sql.plan import Catalog, PerTrain, Plan, Relation
from headgate.engine.sql.planner import plan
from headgate.engine.sql.templates import Templates
from headgate.engine.table.tables import Tables
from headgate.engine.windows import Window
from headgate.errors import InputError
from headgate.model.deadlines import Deadline


@dataclass(frozen=True, slots=True)
class Shown:
    """What of shedding shows in results: the share of tuples `kept`, and counts and sums that are scaled up."""

    kept: bool = False
    scale: bool = False


PLAIN = Shown()


@dataclass(frozen=True, slots=True)
class Draft:
    """A query that can be run: by the kernel, or by Spark alone for the reason that `why_not` gives.

    `reads` are the snapshots of tables that it joins with now, by table; its plans go by what stands there.
    """

    name: str
    sql: str
    window: Window | None
    plan: Plan
    evaluation: Evaluation
    compiled: Compiled | None
    why_not: str | None
    shown: Shown = PLAIN
    deadline: Deadline | None = None
    reads: dict[str, str] = field(default_factory=dict)

    @property
    def streams(self) -> Sequence[str]:
        """What it reads."""
        return self.evaluation.streams


@dataclass(frozen=True, slots=True)
class _Alike:
    """What queries have in common that differ in their constants only."""

    plan: PerTrain
    schema: pa.Schema


class Drafts:
    """Draws up queries over the streams and tables of an engine.

    Of queries that differ in their constants only, two are planned by Spark; the rest follow from those.
    """

    def __init__(self, views: Views, streams: Mapping[str, LiveStream], tables: Tables, folder: Path) -> None:
        self._views, self._streams, self._tables, self._folder = views, streams, tables, folder
        self._templates: dict[Shown, Templates] = {}
        self._alike: dict[object, _Alike] = {}

    def of(
        self, name: str, sql: str, window: Window | None, shown: Shown = PLAIN, deadline: Deadline | None = None
    ) -> Draft:
        """Draw up a query; raises an InputError, with the place in its text, if it is not to be."""
        if deadline:
            return self._due(name, sql, window, shown, deadline)
        if shown not in self._templates:
            self._templates[shown] = Templates(partial(self._shape, shown))
        templates = self._templates[shown]
        found = None if window else templates.instance(sql)
        key = None if window else (shown, templates.of(sql)[0])
        if found and (known := self._alike.get(key)):
            reads = self._tables.reads(known.plan.tables)
            text = partial(self._text, name, sql, shown)
            made = TrainEvaluation(known.plan, self._setting(name, known.plan, reads), known.schema, text)
            return Draft(name, sql, None, known.plan, made, Compiled(*found), None, shown, reads=reads)
        draft = self._in_full(name, sql, window, shown)
        if key is not None and isinstance(draft.plan, PerTrain) and draft.compiled:
            self._alike[key] = _Alike(draft.plan, draft.evaluation.schema)
        return draft

    def _due(self, name: str, sql: str, window: Window | None, shown: Shown, deadline: Deadline) -> Draft:
        planned = self._plan(name, sql, window, shown)
        reads = self._tables.reads(planned.tables)
        made = evaluation(planned, self._setting(name, planned, reads), iterations=True)
        return self._compiled(Draft(name, sql, window, planned, made, None, None, shown, deadline, reads))

    def again(self, draft: Draft) -> Draft:
        """The same query after the columns of a table of its have changed."""
        self.forget()
        draft.evaluation.prepare()
        return self._compiled(draft)

    def forget(self) -> None:
        """Plan in full again whatever comes: streams or tables are others than they were."""
        self._templates, self._alike = {}, {}

    def _in_full(self, name: str, sql: str, window: Window | None, shown: Shown) -> Draft:
        planned = self._plan(name, sql, window, shown)
        reads = self._tables.reads(planned.tables)
        made = evaluation(planned, self._setting(name, planned, reads))
        return self._compiled(Draft(name, sql, window, planned, made, None, None, shown, reads=reads))

    @staticmethod
    def _compiled(draft: Draft) -> Draft:
        try:
            return replace(draft, compiled=compiled(draft.evaluation), why_not=None)
        except NotFusableError as reason:
            return replace(draft, compiled=None, why_not=str(reason))

    def _shape(self, shown: Shown, sql: str) -> tuple[Segment, tuple[Literal, ...]]:
        found = compiled(self._in_full("", sql, None, shown).evaluation)
        return found.shape, found.constants

    def _text(self, name: str, sql: str, shown: Shown) -> PerTrain:
        planned = self._plan(name, sql, None, shown)
        if not isinstance(planned, PerTrain):
            msg = f"query {name} is not planned as those that it is like"
            raise TypeError(msg)
        return planned

    def _setting(self, name: str, planned: Plan, reads: Mapping[str, str]) -> Setting:
        logs = {stream: self._streams[stream].log for stream in planned.streams}
        return Setting(name, logs, self._views, self._folder / name, reads)

    def _plan(self, name: str, sql: str, window: Window | None, shown: Shown) -> Plan:
        streams = {n: Relation(tuple(s.log.schema.names), s.log.event_time) for n, s in self._streams.items()}
        try:
            return plan(sql, Catalog(streams, self._tables.columns), window, kept=shown.kept, scale=shown.scale)
        except InputError as error:
            where = f"query '{name}'" + (f", {error.place}" if error.place else "")
            raise InputError(error.rule, error.got, error.remedy, where) from None

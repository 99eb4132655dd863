"""What goes out with a commit: staged with the sinks, committed in one transaction, then published."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow as pa

from headgate.engine.answered import Answered
from headgate.engine.batch import Batch
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Moved, Progress
from headgate.engine.query import Floats, LiveQuery, waits
from headgate.engine.sink.protocol import Receipt
from headgate.engine.sink.shared import Shared
from headgate.errors import HeadgateError

Named = list[tuple[str | pa.Array, pa.Table]]
"""Rows, and whose they are."""


class StagingError(HeadgateError):
    """Sinks that did not take what they were given, by query. Nothing is committed."""

    def __init__(self, failed: Mapping[str, Exception]) -> None:
        super().__init__("; ".join(dict.fromkeys(str(error) for error in failed.values())))
        self.failed = failed


class SharedSinkError(HeadgateError):
    """A sink that queries share did not take what it was given. Nothing is committed."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was committed: the response times of what went out, and the sinks that have yet to show it, by query."""

    waited: Sequence[Answered] = ()
    hidden: Mapping[str, Exception] = field(default_factory=dict)


def deliver(
    queries: Sequence[LiveQuery],
    manifest: Manifest,
    cohort: Moved | None = None,
    batches: Sequence[Batch] = (),
) -> Delivered:
    """Commit what queries have in memory, all or nothing: an error of those above if a sink does not take it."""
    sinks = [query.sink for query in queries] + [batch.sink for batch in batches]
    together = {sink.name: sink for sink in sinks if isinstance(sink, Shared)}
    counted: Counter[str] = Counter()
    members: dict[str, LiveQuery] = {}
    for batch in batches:
        for query, count in zip(batch.queries, batch.counts.tolist(), strict=True):
            counted[query.name] += count
            members[query.name] = query
    with ExitStack() as locks:
        # In one order for all, or two units would wait for each other.
        for name in sorted(together):
            locks.enter_context(together[name].lock)
        moved, shared = _staged(queries, batches, together)
        changes = [(query.name, query.kept, progress) for query, progress, _ in moved]
        manifest.commit(changes, cohort, shared, counted)
        for query, progress, _ in moved:
            query.committed(progress)
        for name, count in counted.items():
            members[name].counted(count)
        hidden: dict[str, Exception] = {}
        for query, _, _ in moved:
            try:
                query.publish()
            except Exception as error:  # noqa: BLE001 - it is committed: it is shown before the query goes on
                hidden[query.name] = error
        for name, receipt in shared.items():
            together[name].publish(receipt)
    out = [Answered.of(query, waits(due)) for query, _, due in moved if due.size and query.name not in hidden]
    out += [Answered(batch.queries, batch.counts, waits(batch.due)) for batch in batches]
    return Delivered(out, hidden)


def _staged(
    queries: Sequence[LiveQuery], batches: Sequence[Batch], together: Mapping[str, Shared]
) -> tuple[list[tuple[LiveQuery, Progress, Floats]], dict[str, Receipt]]:
    moved: list[tuple[LiveQuery, Progress, Floats]] = []
    failed: dict[str, Exception] = {}
    rows: dict[str, Named] = {}
    for batch in batches:
        rows.setdefault(batch.sink.name, []).append((batch.names(), batch.rows))
    for query in queries:
        try:
            progress, due, given = query.stage()
        except Exception as error:  # noqa: BLE001 - a sink of one query is nothing to the others
            failed[query.name] = error
            continue
        moved.append((query, progress, due))
        if given is not None and isinstance(query.sink, Shared):
            rows.setdefault(query.sink.name, []).append((query.name, given))
    if failed:
        raise StagingError(failed)
    shared: dict[str, Receipt] = {}
    for name, given in rows.items():
        try:
            shared[name] = together[name].stage(given)
        except Exception as error:
            raise SharedSinkError(str(error)) from error
    return moved, shared

"""Many queries over one stream: Headgate beside Structured Streaming, Flink and Bytewax, in one run.

Every system gets the same tuples at the same times and the same queries, in a process of its own, and gives the rows
of each query to a function that notes how long they took. A tuple arrives when it is due, however late a system takes
it: one that falls behind shows it. Systems in Java have source and function in Java, so that nothing of theirs waits
for Python.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from headgate.bench.report import Check, Report, at_least, at_most
from headgate.bench.rivals.install import BYTEWAX, COMMAND, FLINK, Package, installed
from headgate.bench.rivals.process import Plan, Process
from headgate.engine.readable import span
from headgate.errors import HeadgateError

QUERIES = (1, 10, 50, 100)
RATES = (20_000.0, 100_000.0)
WARM_UP, SECONDS, PATIENCE = 2.0, 10.0, 20.0
FIRST = Plan(20_000.0, 0.0, 8.0, 120.0)
"""Before anything is measured: what is compiled at the first tuples is no response time."""
PLANS = [Plan(rate, WARM_UP, SECONDS, PATIENCE) for rate in RATES]
SEARCH_WARM_UP, SEARCH_SECONDS, SEARCH_PATIENCE = 1.5, 4.0, 2.0
"""Of the rounds that look for the highest rate."""
HIGHEST, LOWEST = 1_600_000.0, 5_000.0
SOON = 1.0
"""The p99 up to which a system keeps up."""

Progress = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class System:
    """Who is compared: a module of `rivals`, its options, and what has to be installed."""

    name: str
    module: str
    options: tuple[str, ...] = ()
    needs: Package | None = None


STREAMING = System("Structured Streaming, N queries", "streaming", ("batches",))
REAL_TIME = System("Structured Streaming, N queries in real-time mode", "streaming", ("real-time",))
BY_HAND = System("Structured Streaming, one fused by hand", "fused", ("batches",))
BY_HAND_REAL_TIME = System("Structured Streaming, one fused by hand in real-time mode", "fused", ("real-time",))
JOBS = System("Headgate, job lanes", "headgate_lanes", ("jobs",))
RESIDENT = System("Headgate, resident lanes", "headgate_lanes", ("auto",))
STATEMENTS = System("Flink, one statement set", "flink", needs=FLINK)
VECTORISED = System("Bytewax, vectorised step", "bytewax_flow", needs=BYTEWAX)
SYSTEMS = (STREAMING, REAL_TIME, BY_HAND, BY_HAND_REAL_TIME, JOBS, RESIDENT, STATEMENTS, VECTORISED)


def run(progress: Progress) -> Report:
    """Measure every system with every number of queries, and check Headgate against the others."""
    rows = list(compare(progress))
    return Report("many-queries", tuple(rows), tuple(checks(rows)))


def compare(
    progress: Progress,
    systems: Sequence[System] = SYSTEMS,
    numbers: Sequence[int] = QUERIES,
    plans: Sequence[Plan] = PLANS,
) -> Iterator[Row]:
    """A row for each system, number of queries and rate, with the highest rate that the system keeps up with."""
    for system in systems:
        if system.needs and not installed(system.needs):
            yield {"system": system.name, "failed": f"not installed; run: {COMMAND}"}
            continue
        for number in numbers:
            start = _Starter(system, number, progress)
            rounds = list(start.rounds(plans))
            highest = _highest(start, rounds)
            progress(f"{system.name}, {number} queries: up to {highest:,.0f} tuples/s")
            for found in rounds:
                yield {"system": system.name, "queries": number, **found, "highest": highest}


@dataclass(frozen=True)
class _Starter:
    """Plays rounds on a system: in one process as long as it keeps up, in another one after it has not."""

    system: System
    queries: int
    progress: Progress

    def rounds(self, plans: Iterable[Plan]) -> Generator[Row, None, None]:
        """The rounds, in turn."""
        left = list(plans)
        while left:
            try:
                with Process(self.system.module, self.queries, self.system.options) as process:
                    process.play(FIRST)
                    while left:
                        found = process.play(left[0])
                        del left[0]
                        self.progress(f"{self.system.name}, {self.queries} queries: {_said(found)}")
                        yield found
                        if found["missing"]:
                            break
            except HeadgateError as error:
                found = {"rate": left.pop(0).rate, "failed": str(error)}
                self.progress(f"{self.system.name}, {self.queries} queries: {_said(found)}")
                yield found


def _highest(start: _Starter, rounds: Sequence[Row]) -> float:
    """The highest rate that the system keeps up with: doubled until it does not, or halved until it does."""
    good = [found["rate"] for found in rounds if _keeps_up(found)]
    bad = [found["rate"] for found in rounds if not _keeps_up(found)]
    if good:
        limit = min(bad, default=2 * HIGHEST)
        steps = [rate for k in range(1, 8) if (rate := max(good) * 2.0**k) < limit]
    else:
        steps = [rate for k in range(1, 8) if (rate := min(bad) / 2.0**k) >= LOWEST]
    best = max(good, default=0.0)
    plans = (Plan(rate, SEARCH_WARM_UP, SEARCH_SECONDS, SEARCH_PATIENCE) for rate in steps)
    with closing(start.rounds(plans)) as tried:
        for found in tried:
            if _keeps_up(found):
                best = found["rate"]
            if _keeps_up(found) != bool(good):
                break
    return best


def _keeps_up(found: Row) -> bool:
    return "failed" not in found and not found["missing"] and (found["p99"] or 0.0) < SOON


def _said(found: Row) -> str:
    rate = f"{found['rate']:,.0f} tuples/s"
    if "failed" in found:
        return f"{rate}: {found['failed']}"
    return f"{rate}: p50 {span(found['p50'])}, p99 {span(found['p99'])}"


def checks(rows: Sequence[Row], many: int = QUERIES[-1], rates: Sequence[float] = RATES) -> list[Check]:
    """Headgate with resident lanes against the others, at every rate."""
    found = {(row["system"], row["queries"], row["rate"]): row for row in rows if row.get("p99")}
    made = []
    for rate in rates:
        for few, other, goal, what in (
            (many, STREAMING, 100.0, "p99"),
            (many, BY_HAND, 10.0, "p99"),
            (many, STATEMENTS, 1.0, "p99"),
            (many, STATEMENTS, 2.0, "cpu"),
            (1, STREAMING, 1.0, "p99"),
            (many, REAL_TIME, 1.0, "p99"),
            (many, REAL_TIME, 2.0, "cpu"),
            (many, BY_HAND_REAL_TIME, 1.0, "p99"),
        ):
            ours, theirs = found.get((RESIDENT.name, few, rate)), found.get((other.name, few, rate))
            if ours and theirs and ours[what] and theirs[what]:
                said = f"{what}, {few} queries at {rate:,.0f} tuples/s: {other.name} / Headgate"
                made.append(at_least(said, theirs[what] / ours[what], goal, "×"))
    lost = [row["missing"] for row in rows if row["system"] == RESIDENT.name and "missing" in row]
    made.append(at_most("results that Headgate with resident lanes was too late with", sum(lost), 0))
    return made

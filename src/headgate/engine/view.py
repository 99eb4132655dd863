"""An engine at a moment, as a terminal shows it: a snapshot laid out in so many columns and lines, never more."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

from headgate.engine.readable import count, share, size, span, times
from headgate.engine.status import behind

Row = Mapping[str, Any]

_GAP = 1
_WIDE_GAP = 2
_ROOMY = 20
_STYLES = {"failed": "bold red", "trying": "yellow", "paused": "yellow", "ended": "dim", "late": "red"}
_ON_TOP = ("failed", "trying")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table.

    Numbers have a fixed width, so that nothing moves from one refresh to the next; words take more where they need it
    and there is room. Where there is not enough, the column with the largest `spare` goes first.
    """

    heading: str
    cell: Callable[[Row], str]
    width: int
    spare: int = 0
    words: bool = False


def view(snapshot: Row, width: int, height: int, note: str = "") -> Group:
    """The snapshot of an engine, and a note above it. The streams have a third of the lines at most."""
    top = [*([_line(note, width, "black on yellow")] if note else []), *_head(snapshot, width)]
    bottom = _lanes(snapshot["lanes"], width)
    blank = [Text()] if height >= _ROOMY else []
    space = height - len(top) - len(bottom) - 3 * len(blank)
    streams = _table(_streams(snapshot["time"]), snapshot["streams"], width)
    above = _cut(streams, max(3, space // 3), "streams")
    if refreshing := snapshot.get("refreshing"):
        rows = [{**each, "status": "", "reason": None} for each in snapshot["tables"]]
        spent = _packed(budget(refreshing), width)
        above += [*blank, *(_line(each, width, "cyan") for each in spent)]
        above += _cut(_table(_TABLES, rows, width), max(3, space // 4), "tables")
    above += [_line(each, width, "yellow") for table in snapshot["tables"] for each in troubles(table)]
    if _promised(snapshot["classes"]):
        rows = [{**each, "status": _punctual(each), "reason": None} for each in snapshot["classes"]]
        above += [*blank, *_cut(_table(_classes(snapshot), rows, width), max(3, space // 4), "classes")]
    if snapshot["deadlines"]:
        rows = [{**each, "status": "", "reason": None} for each in snapshot["deadlines"]]
        above += [*blank, *_cut(_table(_DEADLINES, rows, width), max(3, space // 4), "queries with a deadline")]
        above.append(_line(asked(snapshot), width, "yellow" if _load(snapshot) > 1 else "dim"))
    queries = _table(_queries(snapshot), sorted(snapshot["queries"], key=_urgency), width)
    below = _cut(queries, space - len(above), "queries")
    return Group(*[*top, *blank, *above, *blank, *below, *blank, *bottom][:height])


def asked(snapshot: Row) -> str:
    """What queries with a deadline ask for, which shows whether the lane that they share is too little for them."""
    load = share(_load(snapshot))
    return f"deadlines ask for {load} of a lane's time with nothing dropped; one lane serves them all"


def _load(snapshot: Row) -> float:
    return float(sum((each["demand"] or 0.0) / each["stride"] for each in snapshot["deadlines"]))


def tables(snapshot: Row) -> list[tuple[str, Sequence[_Column], Sequence[Row]]]:
    """The tables of a snapshot, for whoever has another place to show them: a title, columns and rows."""
    found = [
        ("classes", _classes(snapshot), snapshot["classes"] if _promised(snapshot["classes"]) else ()),
        ("queries with a deadline", _DEADLINES, snapshot["deadlines"]),
        ("queries", _queries(snapshot), sorted(snapshot["queries"], key=_urgency)),
        ("streams", _streams(snapshot["time"]), snapshot["streams"]),
        ("tables", _TABLES, [{**each, "reason": each["problem"]} for each in snapshot["tables"]]),
    ]
    return [
        (title, columns, [{"status": "", "reason": None, **row} for row in rows])
        for title, columns, rows in found
        if rows
    ]


def line(snapshot: Row) -> str:
    """The snapshot in one line."""
    queries, accounting = snapshot["queries"], snapshot["accounting"]
    said = [
        f"{count(accounting['tuples'])} tuples in at {count(sum(s['rate'] for s in snapshot['streams']))}/s",
        f"{count(accounting['results'])} results out",
        f"{count(accounting['pending'])} pending",
        f"oldest wait {span(accounting['oldest_wait'])}",
        f"lanes {share(accounting['utilisation'])} busy so far",
    ]
    failed = sum(state(each) == "failed" for each in (*snapshot["streams"], *queries))
    return f"{span(snapshot['elapsed'])}: {', '.join(said + [f'{failed} failed'] * bool(failed))}"


def state(row: Row) -> str:
    """The status of a stream or query; one that runs although its last run failed is trying again."""
    return "trying" if row["status"] == "running" and row["reason"] else str(row["status"])


def plain(text: str) -> str:
    """Text that stays on its line and cannot steer the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def _promised(classes: Sequence[Row]) -> bool:
    """Whether any class has a share or a target; else there is nothing to say of them."""
    return any(each["share"] is not None or each["delay_target"] is not None for each in classes)


def _head(snapshot: Row, width: int) -> list[Text]:
    accounting = snapshot["accounting"]
    parts = [
        f"headgate: {snapshot['policy']}",
        # What was written by an older version does not say how load is managed.
        *([f"shed {snapshot['shed']}"] if snapshot.get("shed") else []),
        span(snapshot["elapsed"]),
        f"lanes {share(accounting['utilisation'])} busy so far",
        f"{count(accounting['tuples'])} tuples in",
        f"{count(accounting['results'])} results out",
        f"{count(accounting['runs'])} runs",
        f"overhead {span(accounting['overhead_per_run'])} per run",
        *([f"QoS {snapshot['qos']['average']:.3f}"] if snapshot["qos"] else []),
    ]
    return [_line(each, width, "bold") for each in _packed(parts, width)[:2]]


def _lanes(lanes: Sequence[Row], width: int) -> list[Text]:
    parts = [f"{lane['name']}: {lane['running'] or 'idle'}" for lane in lanes]
    return [_line(each, width, "cyan") for each in _packed(parts, width)[:2]]


def _packed(parts: Iterable[str], width: int) -> list[str]:
    """The parts side by side, in as few lines as the width allows."""
    lines: list[str] = []
    for part in map(plain, parts):
        if lines and cell_len(lines[-1]) + 3 + cell_len(part) <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def budget(refreshing: Row) -> list[str]:
    """What refreshes may take, how much of that they took, and what joins have of it; what more of it would bring."""
    amount = size if refreshing["unit"] == "bytes" else lambda n: f"{count(n)} refreshes"
    parts = [
        f"tables by {refreshing['policy']}: {amount(refreshing['budget'])} in {span(refreshing['period'])}",
        f"{share(refreshing['used'] / refreshing['allowed'] if refreshing['allowed'] else None)} used",
        f"joins see {share(refreshing['perceived'])} fresh",
    ]
    found = [" · ".join(parts)]
    if (gain := refreshing["gain"]) is not None:
        more = "MB" if refreshing["unit"] == "bytes" else "refresh"
        found.append(f"one more {more} a minute would add {100 * gain:.1f} points")
    return found


def troubles(table: Row) -> list[str]:
    """What is wrong with a reference table: it cannot be read, or becomes older than it should."""
    found = [table["problem"]] if table["problem"] else []
    if older := table["allowed_age"]:
        found.append(
            f"up to {span(older)} old, instead of {span(table['max_age'])}: the budget allows no more refreshes"
        )
    return [f"table {table['name']}: {each}" for each in found]


def _punctual(cls: Row) -> str:
    """A class is late if more than a hundredth of its results of late was."""
    p99, target = _of_late(cls, "p99"), cls["delay_target"]
    return "late" if p99 is not None and target is not None and p99 > target else ""


def _of_late(row: Row, quantile: str) -> float | None:
    """A quantile of the response times of the last ten seconds, which older versions do not tell."""
    found: float | None = row.get(f"recent_{quantile}", row[f"response_{quantile}"])
    return found


def _urgency(query: Row) -> tuple[int, float, float, str]:
    """What has failed first, then by who waits longest."""
    rank = _ON_TOP.index(state(query)) if state(query) in _ON_TOP else len(_ON_TOP)
    return rank, -query["oldest_wait"], -query["pending"], query["name"]


def _table(columns: Sequence[_Column], rows: Sequence[Row], width: int) -> list[list[Text]]:
    """The lines of the heading, then those of each row: its cells, and why it fails if it does."""
    cells = {column: [plain(column.cell(row)) for row in rows] for column in columns}
    widths, gap = _widths(cells, width)
    blocks = [[_line(_joined(widths, [c.heading for c in widths], gap), width, "dim")]]
    for i, row in enumerate(rows):
        style = _STYLES.get(state(row), "")
        blocks.append([_line(_joined(widths, [cells[c][i] for c in widths], gap), width, style)])
        if row["reason"]:
            blocks[-1].append(_line(f"  {row['reason']}", width, style))
    return blocks


def _widths(cells: Mapping[_Column, Sequence[str]], width: int) -> tuple[dict[_Column, int], int]:
    """The columns that fit with their widths, and the gap between them."""
    columns, gap = list(cells), _GAP

    def total(widths: Mapping[_Column, int], gap: int) -> int:
        return sum(widths[c] for c in columns) + gap * (len(columns) - 1)

    least = {c: c.width for c in columns}
    while total(least, gap) > width and any(c.spare for c in columns):
        least.pop(columns.pop(max(range(len(columns)), key=lambda i: columns[i].spare)))
    widths = {c: max([c.width, *map(cell_len, cells[c])]) if c.words else c.width for c in columns}
    if total(widths, _WIDE_GAP) <= width:
        return widths, _WIDE_GAP
    while total(widths, gap) > width and widths != least:
        widths[max(columns, key=lambda c: widths[c] - c.width)] -= 1
    return widths, gap


def _joined(widths: Mapping[_Column, int], cells: Sequence[str], gap: int) -> str:
    fitted = []
    for (column, width), cell in zip(widths.items(), cells, strict=True):
        text = cell if cell_len(cell) <= width else _shortened(cell, width)
        blank = " " * (width - cell_len(text))
        fitted.append(text + blank if column.words else blank + text)
    return (" " * gap).join(fitted)


def _shortened(cell: str, width: int) -> str:
    """Both ends of a word: many names differ at the end alone."""
    tail = (width - 1) // 2
    return set_cell_size(cell, width - 1 - tail) + "…" + set_cell_size(cell[::-1], tail)[::-1]


def _cut(blocks: Sequence[Sequence[Text]], space: int, noun: str) -> list[Text]:
    """The blocks that fit, whole, and how many do not."""
    if sum(map(len, blocks)) <= space:
        return [line for block in blocks for line in block]
    shown: list[Text] = []
    for i, block in enumerate(blocks):
        if len(shown) + len(block) > space - 1:
            return [*shown, Text(f"and {len(blocks) - max(i, 1)} more {noun}", "dim")]
        shown += block
    return shown


def _line(text: str, width: int, style: str) -> Text:
    made = Text(plain(text), style, no_wrap=True, overflow="ellipsis")
    made.truncate(width, overflow="ellipsis")
    return made


def _streams(now: float) -> list[_Column]:
    def lag(row: Row) -> str:
        late = behind(row["watermark"], now)
        return "replayed" if late is None and row["watermark"] is not None else span(late)

    return [
        _Column("stream", lambda row: row["name"], 12, words=True),
        _Column("status", state, 7, words=True),
        _Column("tuples/s", lambda row: count(row["rate"]), 8),
        _Column("tuples", lambda row: count(row["tuples"]), 7),
        _Column("lag", lag, 8, spare=1),
        _Column("late", lambda row: count(row["late"]), 6),
        _Column("rejected", lambda row: count(sum(row["rejected"].values())), 8),
        _Column("trains", lambda row: count(row["trains"]), 6, spare=3),
        _Column("size", lambda row: size(row["bytes"]), 7, spare=2),
    ]


_CLASSES = (
    _Column("class", lambda row: row["name"], 12, words=True),
    _Column("target", lambda row: span(row["delay_target"]), 7),
    _Column("p50", lambda row: span(_of_late(row, "p50")), 7, spare=3),
    _Column("p99", lambda row: span(_of_late(row, "p99")), 7),
    _Column("p99 so far", lambda row: span(row["response_p99"]), 10, spare=5),
    _Column("late so far", lambda row: share(row["late"]), 11, spare=4),
    _Column("time", lambda row: share(row["share"]), 6, spare=1),
    _Column("load", lambda row: times(row["usage"]), 6),
    _Column("drops", lambda row: share(row["drop"]), 6),
    _Column("shed", lambda row: count(row["shed"]), 7),
    _Column("pending", lambda row: count(row["pending"]), 7, spare=2),
)

_TABLES = (
    _Column("table", lambda row: row["name"], 12, words=True),
    _Column("parts", lambda row: count(row["parts"]), 5, spare=4),
    _Column("age", lambda row: span(row["age"]), 7),
    _Column("fresh", lambda row: share(row["freshness"]), 6, spare=1),
    _Column("joins see", lambda row: share(row["perceived"]), 9),
    _Column("changes/h", lambda row: count(_hourly(row["change_rate"])), 9),
    _Column("lookups", lambda row: share(row["accesses"]), 7),
    _Column("refreshes", lambda row: count(row["refreshes"]), 9),
    _Column("changed", lambda row: count(row["changed"]), 7, spare=3),
    _Column("failed", lambda row: count(row["failures"]), 6, spare=2),
    _Column("size", lambda row: size(row["bytes"]), 7, spare=5),
)

_DEADLINES = (
    _Column("deadline", lambda row: row["name"], 12, words=True),
    _Column("every", lambda row: span(row["stride"]), 7),
    _Column("due in", lambda row: span(row["deadline"]), 7),
    _Column("weight", lambda row: f"{row['weight']:g}", 6, spare=2),
    _Column("done", lambda row: count(row["iterations"]), 6),
    _Column("missed", lambda row: count(row["missed"]), 6),
    _Column("takes", lambda row: span(row["finish_p50"]), 7),
    _Column("longest", lambda row: span(row["worst"]), 7, spare=1),
    _Column("kept", lambda row: share(row["kept"]), 6),
    _Column("now", lambda row: share(row["planned"]), 6, spare=3),
)

_QUERIES = (
    _Column("query", lambda row: row["name"], 14, words=True),
    _Column("class", lambda row: row["cls"], 8, spare=2, words=True),
    _Column("status", state, 7, spare=1, words=True),
    _Column("pending", lambda row: count(row["pending"]), 7),
    _Column("waits", lambda row: span(row["oldest_wait"]), 7),
    _Column("results", lambda row: count(row["results"]), 7),
    _Column("p50", lambda row: span(_of_late(row, "p50")), 7, spare=3),
    _Column("p99", lambda row: span(_of_late(row, "p99")), 7),
    _Column("p99 so far", lambda row: span(row["response_p99"]), 10, spare=6),
    _Column("slowdown", lambda row: count(row["slowdown_mean"]), 8),
    _Column("a", lambda row: span(row["a"]), 7, spare=4),
    _Column("b·1000", lambda row: span(1000 * row["b"]), 7, spare=5),
    _Column("runs", lambda row: count(row["runs"]), 6, spare=7),
    _Column("unit", lambda row: "–" if row["unit"] == row["name"] else row["unit"], 8, spare=8, words=True),
)


def _hourly(rate: float | None) -> float | None:
    return None if rate is None else 3600 * rate


_QOS = _Column("QoS", lambda row: "–" if row["qos"] is None else f"{row['qos']:.3f}", 5)


def _queries(snapshot: Row) -> Sequence[_Column]:
    """The columns of queries: what results were worth, where there are QoS graphs."""
    return _QUERIES if snapshot["qos"] is None else _behind("slowdown", _QUERIES)


def _classes(snapshot: Row) -> Sequence[_Column]:
    """The same of classes."""
    return (
        _CLASSES if all(row.get("qos") is None for row in snapshot["classes"]) else _behind("late so far", _CLASSES)
    )


def _behind(heading: str, columns: Sequence[_Column]) -> Sequence[_Column]:
    at = [column.heading for column in columns].index(heading) + 1
    return *columns[:at], _QOS, *columns[at:]

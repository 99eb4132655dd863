"""How the rows of each benchmark are shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from headgate.bench.report import Check
from headgate.engine.readable import count, share, size, span

Rows = Sequence[Mapping[str, Any]]
_PROCESSES = {"cpu": "all processes", "driver": "the driver's process", "server": "the server's threads"}


def goals(checks: Sequence[Check]) -> Table:
    """What was to be reached, and what was."""
    table = Table("goal", "measured", "wanted", "")
    verdicts = {True: "[green]met[/]", False: "[red]missed[/]", None: "[yellow]cannot be judged here[/]"}
    for c in checks:
        table.add_row(c.what, f"{c.value:,.4g}", c.goal, verdicts[c.ok])
    return table


def sim(rows: Rows) -> list[Table]:
    """The simulator's kernels."""
    table = _numbers("", "what", "executions", "seconds", "per second", "relative to SimPy")
    for row in rows:
        table.add_row(
            row["what"],
            f"{row['executions']:,}",
            f"{row['seconds']:.3f}",
            f"{row['per_second']:,.0f}",
            _times(row["ratio"]),
        )
    return [table]


def engine(rows: Rows) -> list[Table]:
    """The engine's parts, a table each."""
    planning = _numbers("median time of a run", "query", "tuples", "prepared", "planned afresh", "ratio")
    for row in _of(rows, "part", "planning"):
        spans = span(row["prepared"]), span(row["afresh"])
        planning.add_row(row["query"], f"{row['tuples']:,}", *spans, _times(row["ratio"]))
    jobs = _numbers(
        "what Headgate adds to a job", *("queries", "runs", "run", "around Spark", "between runs", "of it deciding")
    )
    for row in _of(rows, "part", "overhead"):
        times = (row[name] for name in ("run", "around", "between", "deciding"))
        jobs.add_row(str(row["queries"]), str(row["runs"]), *(span(each) for each in times))
    ingest = _numbers("into the log", "tuples of a train", "tuples", "seconds", "tuples per second")
    for row in _of(rows, "part", "ingest"):
        cells = f"{row['train']:,}", f"{row['tuples']:,}", f"{row['seconds']:.2f}", f"{row['per_second']:,.0f}"
        ingest.add_row(*cells)
    response = _numbers("response times", "system", "queries", "units", "results", "missing", "mean", "p50", "p99")
    for row in _of(rows, "part", "response"):
        counts = (f"{row[name]:,}" for name in ("queries", "units", "results", "missing"))
        response.add_row(row["system"], *counts, *(span(row[name]) for name in ("mean", "p50", "p99")))
    load = _numbers("load average", "cores", "before", "after")
    for row in _of(rows, "part", "load"):
        load.add_row(str(row["cores"]), f"{row['before']:.1f}", f"{row['after']:.1f}")
    return [planning, jobs, ingest, response, load]


def commits(rows: Rows) -> list[Table]:
    """What a commit costs, in the hands of the system and on the disk."""
    into = _numbers("trains into the log", "each on the disk", "tuples of a train", "trains per second")
    for row in _of(rows, "part", "append"):
        into.add_row(_yes(row["sync"]), f"{row['tuples']:,}", f"{row['per_second']:,.0f}")
    rates = ("commit", "commits per second", "runs per second")
    grouped = _numbers(
        "runs with results, staged, committed and published", "sink", "runs to a commit", "each on the disk", *rates
    )
    for row in _of(rows, "part", "group"):
        counts = f"{row['commits_per_second']:,.0f}", f"{row['runs_per_second']:,.0f}"
        grouped.add_row(row["sink"], str(row["group"]), _yes(row["sync"]), span(row["commit"]), *counts)
    spans = ("enter", "join", "commit")
    cohort = _numbers(
        *("queries that move along together", "queries", "with results", "each on the disk", *spans),
        "commits per second",
    )
    for row in _of(rows, "part", "cohort"):
        who = f"{row['members']:,}", str(row["runs"]), _yes(row["sync"])
        cohort.add_row(*who, *(span(row[name]) for name in spans), f"{row['commits_per_second']:,.0f}")
    return [into, grouped, cohort]


def channels(rows: Rows) -> list[Table]:
    """The ways to ask a lane, by the size of the answer."""
    ways = ("kernel", "unix", "unix_file", "flight", "flight_file", "job")
    heads = ("kernel alone", "Unix socket", "and file", "Flight", "and file", "job")
    table = _numbers("median time of an answer", "bytes", *heads)
    for row in _of(rows, "part", "answers"):
        table.add_row(f"{row['bytes']:,}", *(span(row[way]) for way in ways))
    return [table]


def kernel(rows: Rows) -> list[Table]:
    """Queries at once, beside the same one by one; and how soon a query is in."""
    heads = ("shapes", "tuples", "kernel", "otherwise", "ratio")
    trains = _numbers("time of a train on one core", "queries", *heads)
    for row in _of(rows, "part", "trains"):
        counts = (f"{row[name]:,}" for name in ("queries", "shapes", "tuples"))
        trains.add_row(*counts, span(row["kernel"]), span(row["alternative"]), _times(row["ratio"]))
    times = ("add", "after_add", "remove", "after_remove", "run")
    changes = _numbers("a query more or less", "add", "the run after it", "remove", "the run after it", "any run")
    for row in _of(rows, "part", "changes"):
        changes.add_row(*(span(row[name]) for name in times))
    return [trains, changes]


def live_policies(rows: Rows) -> list[Table]:
    """Heavy queries beside what the simulator expects of them, and light ones."""
    return [
        _policies("heavy queries: live | predicted", _of(rows, "table", "heavy")),
        _policies("light queries", _of(rows, "table", "light")),
    ]


def many_queries(rows: Rows) -> list[Table]:
    """Systems with few queries and with many, and why some could not be measured."""
    heads = (
        "queries",
        "tuples/s",
        "p50",
        "p99",
        "results",
        "missing",
        "CPU s per million",
        "memory",
        "highest tuples/s",
    )
    table = _numbers("response times, and what they cost", "system", *heads)
    failed = Table("system", "queries", "why not", title="not measured", title_justify="left", title_style="bold")
    for row in rows:
        if "failed" in row:
            failed.add_row(row["system"], str(row.get("queries", "")), row["failed"])
            continue
        table.add_row(
            row["system"],
            f"{row['queries']:,}",
            f"{row['rate']:,.0f}",
            span(row["p50"]),
            span(row["p99"]),
            f"{row['results']:,}",
            f"{row['missing']:,}",
            _cost(row["cpu"]),
            size(row["memory"]),
            f"{row['highest']:,.0f}",
        )
    return [table, failed] if failed.row_count else [table]


def scale_queries(rows: Rows) -> list[Table]:
    """Sets of queries, those that were added, how the cost grows, and what sinks take."""
    shares = ("appending", "deciding", "lane", "committing")
    heads = ("tuples/s", "p50", "p99", "wanted", "results/s", "missing", "CPU s per million", "registered")
    sets = _numbers("sets of queries, and shares of the time", "queries", *heads, *shares)
    for row in _of(rows, "part", "scale"):
        times = span(row["p50"]), span(row["p99"]), span(row["goal"])
        counts = count(row["per_second"]), f"{row['missing']:,}", _cost(row["cpu"])
        parts = (share(row["shares"][name]) for name in shares)
        sets.add_row(row["what"], count(row["rate"]), *times, *counts, span(row["registered"]), *parts)
    added = _numbers("queries added while others run", "queries", "added", "median", "longest", "p99", "p99 before")
    for row in _of(rows, "part", "added"):
        spans = (span(row[name]) for name in ("median", "most", "p99", "p99_before"))
        added.add_row(f"{row['queries']:,}", str(row["added"]), *spans)
    growth = _numbers("cost", "shapes", "queries", "CPU s per million tuples", "per query", "p99")
    for row in _of(rows, "part", "growth"):
        each = None if row["cpu"] is None else row["cpu"] / row["queries"]
        growth.add_row(row["kind"], f"{row['queries']:,}", _cost(row["cpu"]), _cost(each), span(row["p99"]))
    written = _numbers("results per second", "sink", "in time", "p99", "no longer", "p99")
    for row in _of(rows, "part", "sinks"):
        cells = (
            (count(r["per_second"]), span(r["p99"])) if r else ("–", "–") for r in (row["highest"], row["beyond"])
        )
        written.add_row(row["sink"], *(cell for pair in cells for cell in pair))
    return [sets, added, growth, written]


def _cost(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.3g}"


def _policies(title: str, rows: Rows) -> Table:
    slowdowns = ("avg slowdown", "max slowdown", "rms slowdown")
    table = _numbers(title, "policy", "units", *slowdowns, "response", "jobs", "train", "work / a", "utilisation")
    for row in rows:
        pairs = ((row[f"{kind}_slowdown"], row[f"predicted_{kind}"]) for kind in ("avg", "max", "rms"))
        table.add_row(
            row["policy"],
            str(row["units"]),
            *(count(live) if expected is None else f"{count(live)} | {count(expected)}" for live, expected in pairs),
            span(row["avg_response"]),
            count(row["jobs"]),
            count(row["train"]),
            _times(row["work_to_a"]),
            share(row["utilisation"]),
        )
    return table


def overload(rows: Rows) -> list[Table]:
    """Classes under load, a table for each kind of load."""
    found = []
    for kind in dict.fromkeys(row["load"] for row in rows):
        columns = ("load", "class", "target", "p50", "p99", "within target", "loss", "waiting at the end")
        settles = any("settled" in row for row in _of(rows, "load", kind))
        table = _numbers(f"{kind} load", "way", *columns, *(["on time after"] if settles else []))
        for row in _of(rows, "load", kind):
            times = "–" if row["times"] is None else f"{row['times']:g}×"
            spans = (span(row[name]) for name in ("target", "p50", "p99"))
            counts = share(row["within"]), share(row["loss"]), count(row["pending"])
            table.add_row(
                row["way"], times, row["cls"], *spans, *counts, *([span(row["settled"])] if settles else [])
            )
        found.append(table)
    return found


def whatif(rows: Rows) -> list[Table]:
    """Each way as it was measured, as its own record predicts it, and as the record of another way does."""
    found = []
    for load in dict.fromkeys(row["load"] for row in rows):
        columns = [
            f"{kind} {name}" for kind in ("measured", "predicted", "what-if") for name in ("mean", "p99", "loss")
        ]
        table = _numbers(
            f"{load}: measured, predicted, and predicted from another way", "way", "round", "class", *columns
        )
        for row in _of(rows, "load", load):
            cases = [row[kind] for kind in ("measured", "predicted", "what-if")]
            cells = [cell for case in cases for cell in (span(case["mean"]), span(case["p99"]), share(case["loss"]))]
            table.add_row(row["way"], str(row["round"] + 1), row["cls"], *cells)
        found.append(table)
    return found


def deadlines(rows: Rows) -> list[Table]:
    """Who met deadlines, with how much of the data; and what became of queries that asked for more than there was."""
    columns = ("demand", "tuples/s", "iterations", "missed", "completed", "useful", "error", "kept", "latest by")
    table = _numbers("real-time queries", "way", *columns)
    asked = [row for row in rows if "load" not in row]
    for row in rows:
        if "load" in row:
            given = share(row["load"]), count(3 * row["rate"]), count(row["iterations"])
            rates = f"{100 * row['miss']:.1f} %", share(row["completion"]), share(row["useful"])
            rest = share(row["error"] / 100), share(row["kept"]), span(max(0.0, row["late"]))
            table.add_row(row["way"], *given, *rates, *rest)
    answers = _numbers("one more query, at 100 %", "query", "answer", "after", "missed before", "missed after")
    for row in asked:
        given = row["query"], row["answer"], span(row["took"])
        answers.add_row(*given, share(row["before"]), share(row["after"]))
    return [table, answers]


def fresh_tables(rows: Rows) -> list[Table]:
    """How fresh joins were, by what was refreshed."""
    columns = ("seed", "results", "fresh", "in theory", "as estimated", "refreshes", "allowed", "p99")
    table = _numbers("joins with tables of a PostgreSQL", "by", *columns)
    for row in rows:
        fresh = share(row["fresh"]), share(row["expected"]), share(row["estimated"])
        spent = f"{row['refreshes']:,}", f"{row['allowed']:.0f}", span(row["response_p99"])
        table.add_row(row["way"], str(row["seed"]), count(row["results"]), *fresh, *spent)
    return [table]


def ui(rows: Rows) -> list[Table]:
    """An engine that is watched, and the same alone."""
    seen = ("messages", "longest gap", "sent")
    table = _numbers("rounds in turns", "round", "watched", "tuples/s", "CPU per million", "p50", "p99", *seen)
    costs = _numbers("fewer tuples by being watched", "of", "median", "with 95 % between", "pairs")
    touches = _numbers("in a browser", "sorts", "longest sort", "longest search")
    for row in rows:
        if "sorts" in row:
            touches.add_row(
                count(row["sorts"]), *(f"{row[name]:.0f} ms" for name in ("longest_sort", "longest_search"))
            )
        elif "lost" in row:
            low, middle, high = (f"{row[name]:.2f} %" for name in ("low", "lost", "high"))
            costs.add_row(_PROCESSES[row["of"]], middle, f"{low} and {high}", count(row["pairs"]))
        else:
            got = count(row.get("messages")), span(row.get("longest_gap")), size(row.get("bytes"))
            times = f"{row['cpu']:.2f} s", span(row["p50"]), span(row["p99"])
            table.add_row(str(row["round"]), _yes(row["served"]), f"{row['rate']:,.0f}", *times, *got)
    return [each for each in (table, costs, touches) if each.row_count]


def nodes(rows: Rows) -> list[Table]:
    """What came out of several engines, against one."""
    table = _numbers("a node killed, a node paused", "query", "results", "lost", "twice", "instances")
    for row in rows:
        table.add_row(row["query"], *(count(row[name]) for name in ("results", "lost", "twice", "instances")))
    return [table]


def moves(rows: Rows) -> list[Table]:
    """Response times around moves of queries, and whether results are right."""
    table = _numbers("around a move", "query", "way", "results", "mean", "std", "longest", "lost", "twice")
    for row in rows:
        times = (span(row[name]) for name in ("mean", "std", "longest"))
        table.add_row(row["query"], row["way"], count(row["results"]), *times, str(row["lost"]), str(row["twice"]))
    return [table]


def balance(rows: Rows) -> list[Table]:
    """What each class lost before a node was added and at the end; and which queries moved to it, and why."""
    rate, own = next((row["rate"], row["own"]) for row in rows if "class" in row)
    how = "each node on a processor of its own" if own else "nodes share all processors"
    title = f"{rate:,.0f} tuples per second, {how}: dropped before a node is added, and at the end"
    losses = _numbers(title, "way", "class", "before", "after", "lost", "twice")
    moved = _numbers("moves by themselves", "query", "from", "to", "after", "why")
    for row in rows:
        if "class" in row:
            shares = share(row["before"]), share(row["after"])
            losses.add_row(row["way"], row["class"], *shares, str(row["lost"]), str(row["twice"]))
        else:
            moved.add_row(row["query"], row["from"], row["to"], span(row["at"]), row["why"])
    return [losses, moved]


def qos(rows: Rows) -> list[Table]:
    """What results were worth under each kind of overload; and what scheduling takes."""
    found = []
    valued = [row for row in rows if "average" in row]
    columns = ("tuples", "average QoS", "per result", "tight", "loose", "missed", "in overload", "else", "p50")
    for load in dict.fromkeys(row["load"] for row in valued):
        table = _numbers(f"{load} overload", "way", *columns)
        for row in _of(valued, "load", load):
            worth = (f"{row[name]:.3f}" for name in ("average", "per_result", "tight", "loose"))
            missed = (share(row[name]) for name in ("missed", "missed_over", "missed_under"))
            table.add_row(row["way"], count(row["tuples"]), *worth, *missed, span(row["p50"]))
        found.append(table)
    heads = ("way", "units", "runs", "decisions", "the policy", "all of it")
    decisions = _numbers("what scheduling takes for a run", "load", *heads)
    for row in rows:
        if row["decisions"]:
            done = f"{row['units']:,}", count(row["runs"]), count(row["decisions"])
            decisions.add_row(row["load"], row["way"], *done, span(row["choosing"]), span(row["deciding"]))
    return [*found, decisions]


def freshness(rows: Rows) -> list[Table]:
    """Solvers by the number of copies, and what groups reach of the optimum."""
    solvers = _numbers("CPU time of a plan", "copies", "solver", "time", "perceived freshness", "below the optimum")
    for row in sorted(_of(rows, "part", "solver"), key=lambda row: row["copies"]):
        quality = f"{row['freshness']:.4f}", f"{row['below']:.1e}" if row["below"] else "–"
        solvers.add_row(f"{row['copies']:,}", row["way"], span(row["seconds"]), *quality)
    heads = ("rounds of k-means", "time", "perceived freshness", "below the optimum")
    groups = _numbers("plans by groups of copies", "plan", *heads)
    for row in _of(rows, "part", "groups"):
        quality = f"{row['freshness']:.4f}", f"{row['below']:.4f}"
        groups.add_row(row["way"], str(row["rounds"]), span(row["seconds"]), *quality)
    return [solvers, groups]


def _numbers(title: str, first: str, *others: str) -> Table:
    """A table of a name, or the first number, and numbers."""
    table = Table(title=title or None, title_justify="left", title_style="bold")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _of(rows: Rows, key: str, value: str) -> Rows:
    return [row for row in rows if row[key] == value]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.3g}×"

"""A node that has too much to do, and another one that is added: what is lost with balancing, and without.

Three classes of queries read a stream, all on one node, which cannot do it all and drops tuples of the lowest classes
by DILoS. Then a second node comes. With balancing the coordinator moves queries to it by itself; without, they stay.
Every query gives out the numbers of its tuples, so that each of them is a result, or was dropped and counted, once.

Each node has one processor of this machine to itself, with its driver and its Spark, as if it were a machine of its
own; what a node can do is measured on one of them. The coordinator and this process run beside them, on all. On a
machine of one processor the nodes share it: then a second one brings nothing, and what it saves cannot be judged.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.bench.processors import own
from headgate.bench.rack import Rack, run_alone, write
from headgate.bench.report import Check, Report, at_most
from headgate.cluster.balance import Balance
from headgate.record import Follower, Ran, read

SECONDS = 150.0
"""For how long tuples come."""
ALONE, AFTER = 15.0, 20.0
"""Seconds for which the first node is watched before the second is started, and both at the end."""
LOAD = 1.3
"""The work of all queries against what a node can do."""
CALIBRATED = 20_000
GOAL, LEFT = 30.0, 0.5
"""Seconds from the second node's coming to the first move; the loss that may be left, against that without moves."""
LONGEST = 120.0
NODES = ("a", "b")
MASTER = "local[1]"
"""The Spark of a node: its one lane has a processor, and no more tasks than that."""
PRIORITIES = {"gold": 6.0, "silver": 3.0, "bronze": 1.0}
TARGETS = {"gold": 1.0, "silver": 2.0, "bronze": 4.0}
EACH = 2
"""Queries in each class."""
STEPS, TEXT = 24, 20
CHANGES = (("a", "bc"), ("b", "cd"), ("c", "da"), ("d", "ab"))
"""How much work there is with a tuple: each of these changes so many times there and back, in a repeated text."""

Progress = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of a run: since when tuples were dropped, when the second node was there, the end, the moves."""

    began: float
    came: float
    ended: float
    moves: Sequence[Mapping[str, Any]]


def run(progress: Progress) -> Report:
    """The benchmark."""
    with tempfile.TemporaryDirectory(prefix="headgate-balance-") as given:
        folder = Path(given)
        on = dict(zip(NODES, own(len(NODES)), strict=False))
        progress(f"what one node can do, {'on a processor of its own' if on else 'on the processor that all share'}")
        rate = LOAD * _capacity(folder, on.get(NODES[-1]))
        feed(folder / "load.parquet", rate, SECONDS)
        progress(f"{rate:,.0f} tuples per second, {LOAD:g} times of that")
        rows: list[Row] = []
        for way, balance in (("queries stay", None), ("balanced", Balance(PRIORITIES))):
            home = folder / way.replace(" ", "_")
            seen = _seen(home, balance, on, lambda what, way=way: progress(f"{way}: {what}"))  # type: ignore[misc]
            rows += [{"rate": rate, "own": bool(on), **row} for row in _rows(home, way, seen, round(rate * SECONDS))]
    return Report("balance", tuple(rows), tuple(_checks(rows, apart=bool(on))))


def _capacity(folder: Path, processor: int | None) -> float:
    """Tuples per second that one lane can do for all queries."""
    feed(folder / "some.parquet", CALIBRATED, 1.0)
    path = write(folder / "alone" / "pipeline.yaml", pipeline("../some.parquet", "max") | {"shed": "none"})
    run_alone(path, MASTER, processor)
    ran = [each for each in read(path.parent / "pipeline.state").ran if each.error is None]
    # The first run of each query has to load what the others find.
    first = {each.unit: each for each in reversed(ran)}
    later = [each for each in ran if each is not first[each.unit]] or ran
    cost = sum(each.finished - each.started for each in later) / sum(each.n for each in later)
    return 1.0 / (cost * len(queries()))


def _seen(folder: Path, balance: Balance | None, on: Mapping[str, int], progress: Progress) -> _Seen:
    path = write(folder / "pipeline.yaml", pipeline("../load.parquet", 1.0))
    first, second = NODES
    with Rack(path, [first], MASTER, balance, processors=on) as rack:
        rack.until(rack.active, LONGEST)
        began = time.time()
        progress("all queries run on one node")
        time.sleep(ALONE)
        rack.start(second)
        rack.until(lambda: len(rack.coordinator.told().nodes) == len(NODES), LONGEST)
        came = time.time()
        progress("the second node is there")
        rack.until(lambda: _fed(folder) is not None, LONGEST + SECONDS)
        ended = _fed(folder) or time.time()
        if isinf(rack.until(rack.caught_up, LONGEST)):
            progress("not everything has been read in time: what waits counts as lost")
        time.sleep(2 * max(TARGETS.values()))
        moves = rack.coordinator.told().moves
    return _Seen(began, came, ended, moves)


def _fed(folder: Path) -> float | None:
    """When the stream ended, if it has."""
    trains = sorted((folder / "cluster" / "streams" / "load").glob("*.arrow"))
    if not trains:
        return None
    with pa.memory_map(str(trains[-1])) as source:
        told = json.loads((pa.ipc.open_file(source).schema.metadata or {})[b"headgate"])
    return trains[-1].stat().st_mtime if told["ended"] else None


def _rows(folder: Path, way: str, seen: _Seen, tuples: int) -> Iterator[Row]:
    """What each class lost and when, and the moves."""
    # All that a node has run: what counts as one run of an engine ends where a class gets another priority.
    nodes = [Follower(folder / "cluster" / "nodes" / node) for node in NODES]
    ran = [each for node in nodes for each in node.look() if isinstance(each, Ran) and each.error is None]
    for cls in PRIORITIES:
        names = [name for name, query in queries().items() if query["class"] == cls]
        mine = [each for each in ran if _query(each) in names]
        lost = twice = 0
        for name in names:
            ids = [
                pq.read_table(file, columns=["id"])["id"] for file in (folder / "out" / name).glob("part-*.parquet")
            ]
            times = np.bincount(np.concatenate([np.empty(0, np.int64), *map(np.asarray, ids)]), minlength=tuples)
            dropped = sum(each.shed for each in mine if _query(each) == name)
            lost, twice = lost + abs(int((times == 0).sum()) - dropped), twice + int((times > 1).sum())
        yield {
            "way": way,
            "class": cls,
            "before": _loss(mine, seen.began, seen.came),
            "after": _loss(mine, seen.ended - AFTER, seen.ended),
            "lost": lost,
            "twice": twice,
        }
    for each in seen.moves:
        yield {"way": way, "at": each["at"] - seen.came, **{key: each[key] for key in ("query", "from", "to", "why")}}


def _query(ran: Ran) -> str:
    """The query of a run: what is left to do of an old instance has a name of its own."""
    return ran.unit.partition("__tail")[0]


def _loss(ran: Sequence[Ran], since: float, until: float) -> float:
    """The share of the tuples that was dropped in some time; all of them if the class did not come to run at all."""
    some = [each for each in ran if since <= each.finished <= until]
    tuples = sum(each.n for each in some)
    return sum(each.shed for each in some) / tuples if tuples else 1.0


def _checks(rows: Sequence[Row], *, apart: bool) -> Iterator[Check]:
    first = min((row["at"] for row in rows if "at" in row), default=float("inf"))
    of_class = [row for row in rows if "class" in row]
    after = {way: sum(row["after"] for row in of_class if row["way"] == way) for way in ("queries stay", "balanced")}
    yield at_most("seconds from the second node's coming to the first move", first, GOAL, " s")
    left = after["balanced"] / after["queries stay"] if after["queries stay"] else float("inf")
    saved = at_most("loss of all classes at the end, against that of queries that stay", left, LEFT, "×")
    yield saved if apart else replace(saved, ok=None)
    yield at_most("results lost that were not counted as dropped", sum(row["lost"] for row in of_class), 0)
    yield at_most("results twice", sum(row["twice"] for row in of_class), 0)


def queries() -> dict[str, dict[str, Any]]:
    """In each class the same work."""
    lengths = []
    for old, new in CHANGES:
        text = "text"
        for i in range(STEPS):
            text = f"replace({text}, '{new}', '{old}')" if i % 2 else f"replace({text}, '{old}', '{new}')"
        lengths.append(f"length({text})")
    sql = f"SELECT id FROM load WHERE {' + '.join(lengths)} > 0"  # noqa: S608 - its own text
    return {f"{cls}_{i}": {"sql": sql, "class": cls} for cls in PRIORITIES for i in range(EACH)}


def pipeline(file: str, speed: float | str) -> dict[str, Any]:
    """All queries, one by one on the one lane of a node."""
    classes = {name: {"priority": PRIORITIES[name], "delay_target": f"{TARGETS[name]:g}s"} for name in PRIORITIES}
    source = {"replay": {"path": file, "time": "ts", "speed": speed}}
    made = {
        name: {**query, "start": "earliest", "sink": {"parquet": f"out/{name}"}} for name, query in queries().items()
    }
    return {
        "lanes": {"jobs": 1, "resident": 0},
        "fuse": False,
        "classes": classes,
        "streams": {"load": {"source": source}},
        "queries": made,
    }


def feed(file: Path, rate: float, seconds: float) -> None:
    """A stream as a file."""
    ids = np.arange(round(rate * seconds))
    stamps = 1_767_225_600_000_000 + (ids * (1_000_000 / rate)).astype(np.int64)
    texts = pa.array([f"abacadab{i:06d}" for i in (ids % 100_003).tolist()], pa.string())
    columns = {
        "id": ids,
        "text": pc.binary_repeat(texts, TEXT),
        "ts": pa.array(stamps).cast(pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table(columns), file)

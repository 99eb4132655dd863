"""Two engines in processes of their own: queries move, then a node is killed, and all results are there once.

Two of the queries give streams, which others read: what these give shows the tuples of the streams, and their order.
"""

import signal
from collections import Counter, defaultdict

import numpy as np
import pyarrow.parquet as pq
import pytest

from headgate.bench.nodes import feed
from headgate.bench.rack import Rack, results, write

PATIENCE = 20.0
"""A node that only stands still for some seconds is not gone."""
RATE, SECONDS = 500, 30


@pytest.fixture
def pipeline(tmp_path):
    feed(tmp_path / "ticks.parquet", RATE, SECONDS)
    feed(tmp_path / "others.parquet", RATE // 2, SECONDS)
    queries = {
        "large": {"sql": "SELECT id FROM ticks WHERE x > 0.9"},
        "sums": {"sql": "SELECT sym, count(*) AS n FROM ticks GROUP BY sym", "window": "2s", "slide": "1s"},
        "both": {
            "sql": "SELECT a.id AS one, b.id AS other FROM ticks a JOIN others b ON a.sym = b.sym"
            " WHERE a.x > 0.9 AND b.x > 0.9",
            "window": "2s",
        },
        "upper": {"sql": "SELECT id FROM ticks WHERE x > 0.8", "sink": {"stream": "highs"}},
        "fives": {"sql": "SELECT sum(id) AS total FROM highs", "window": "5 rows", "slide": "1 row"},
        "counts": {
            "sql": "SELECT sym, sum(id) AS total FROM ticks WHERE sym < 10 GROUP BY sym ORDER BY sym",
            "window": "2s",
            "slide": "1s",
            "sink": {"stream": {"name": "totals", "event_time": "window_end"}},
        },
        "seconds": {"sql": "SELECT sym, total FROM totals"},
        "threes": {"sql": "SELECT sum(total) AS total FROM totals", "window": "3 rows", "slide": "2 rows"},
    }
    for name, query in queries.items():
        query |= {"start": "earliest", "sink": query.get("sink", {"parquet": f"out/{name}"})}
    made = {
        "lanes": {"jobs": 1, "resident": 1},
        "streams": {
            name: {"source": {"replay": {"path": f"{name}.parquet", "time": "ts"}}, "event_time": "ts"}
            for name in ("ticks", "others")
        },
        "queries": queries,
    }
    return write(tmp_path / "pipeline.yaml", made)


def expected(folder):
    """All results: those of rows by the position at which their window begins."""
    ids, syms, x = columns(folder / "ticks.parquet")
    second = ids // RATE
    sums, totals = Counter(), []
    for begin in range(-1, SECONDS):
        inside = (second >= begin) & (second < begin + 2)
        for sym, n in zip(*np.unique(syms[inside], return_counts=True), strict=True):
            sums[begin, int(sym), int(n)] += 1
            if sym < 10:
                totals.append((int(sym), int(ids[inside & (syms == sym)].sum())))
    highs = [int(each) for each in ids[x > 0.8]]
    return {
        "large": Counter((int(each),) for each in ids[x > 0.9]),
        "sums": sums,
        "both": joined(folder),
        "fives": over_rows(highs, 5, 1),
        "seconds": Counter(totals),
        "threes": over_rows([total for _, total in totals], 3, 2),
    }


def columns(file):
    rows = pq.read_table(file)
    return tuple(np.asarray(rows.column(name)) for name in ("id", "sym", "x"))


def joined(folder):
    """The pairs of two streams by the second at which their window begins."""
    sides = []
    for name, rate in (("ticks", RATE), ("others", RATE // 2)):
        ids, syms, x = columns(folder / f"{name}.parquet")
        sides.append(
            [(int(i // rate // 2 * 2), int(s), int(i)) for i, s in zip(ids[x > 0.9], syms[x > 0.9], strict=True)]
        )
    there = defaultdict(list)
    for begin, sym, other in sides[1]:
        there[begin, sym].append(other)
    return Counter((begin, one, other) for begin, sym, one in sides[0] for other in there[begin, sym])


def over_rows(values, size, slide):
    return Counter((at, sum(values[at : at + size])) for at in range(0, len(values), slide))


def found(folder):
    began = 1_767_225_600
    given = {name: results(folder / "out" / name) for name in ("large", "sums", "both", "fives", "seconds", "threes")}
    for name in ("sums", "both"):
        rows = given[name].items()
        given[name] = Counter({(int(start.timestamp()) - began, *rest): times for (start, _, *rest), times in rows})
    for name in ("fives", "threes"):
        given[name] = Counter({(start, total): times for (start, _, total), times in given[name].items()})
    return given


def where(rack, name):
    return next(each for each in rack.queries() if each["name"] == name)


def test_queries_move_and_survive_their_node_and_every_result_is_there_once(pipeline, tmp_path):
    right = expected(tmp_path)
    with Rack(pipeline, ["a", "b"], patience=PATIENCE) as rack:
        assert rack.until(rack.active, 300) < 300
        for name in ("large", "sums", "both", "upper", "counts", "fives"):
            to = "b" if where(rack, name)["node"] == "a" else "a"
            rack.coordinator.move(name, to)
            assert rack.until(lambda name=name, to=to: where(rack, name)["node"] == to and rack.active(), 180) < 180
        lost = where(rack, "counts")["node"]
        rack.signal(lost, signal.SIGKILL)
        assert rack.until(lambda: rack.active(without=lost), 180) < 180
        rack.until(lambda: found(tmp_path) == right, 300)
    assert found(tmp_path) == right

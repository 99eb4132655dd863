"""An engine that never ran: snapshots and runs made up from the time, for the server and its pages."""

import math
import sys
import time
from dataclasses import fields
from pathlib import Path

from headgate.engine.status import (
    Accounting,
    ClassStatus,
    DeadlineStatus,
    LaneStatus,
    QosStatus,
    QueryStatus,
    Snapshot,
    StreamStatus,
    TableStatus,
)
from headgate.errors import InputError
from headgate.monitor.figures import Response
from headgate.monitor.responses import BOUNDS
from headgate.record import Changed, Ran
from headgate.web.served import Description, Results, Wiring

TARGETS = {"alerts": 0.5, "boards": 2.0, "reports": None}
SHARES = {"alerts": 0.6, "boards": 0.3, "reports": 0.1}


def made(kind, /, **known):
    """Fields that nobody has asked for are None."""
    return kind(**{**{field.name: None for field in fields(kind)}, **known})


class Invented:
    """So many queries of three classes over two streams. Each `tick` is half a second; without ticks, time stands."""

    def __init__(self, queries=60, *, running=True, state=Path("no-such-state")):
        self.state = state
        self.names = [f"{('alert', 'board', 'report')[i % 3]}_{i:04}" for i in range(queries)]
        self.running = running
        self.calls = []
        self.status = dict.fromkeys(self.names, "running")
        self.priorities = {"alerts": 6.0, "boards": 3.0, "reports": 1.0}
        self._listeners = []
        self._n = 0
        self._seen = self._snapshot()

    def tick(self, times=1):
        for _ in range(times):
            self._n += 1
            self._seen = self._snapshot()
            now = self._seen.time
            for lane in range(2):
                for k in range(4):
                    began = now - 0.5 + k * 0.12 + lane * 0.03
                    self.tell(ran(("kernel-1", "board_0001", "report_0002")[(k + lane) % 3], began, lane))

    def tell(self, entry):
        for hear in self._listeners:
            hear(entry)

    # As the pages see it

    def recent(self):
        return self._seen

    def wirings(self, names):
        return {name: self._wiring(name) for name in names}

    def _wiring(self, name):
        i = self.names.index(name) if len(self.names) < 2000 else 0
        kernel = name.startswith("alert")
        streams = ("ticks", "orders") if name.startswith("report") else ("ticks",)
        tables = ("symbols",) if i % 2 else ()
        sink = "shared('alerts', jsonl('out/alerts.jsonl'))" if kernel else "memory()"
        return Wiring(streams, tables, sink, kernel)

    def described(self, name):
        if name not in self.status:
            raise InputError("a registered query", f"'{name}'", "Look for it among the queries.")
        kernel = name.startswith("alert")
        rows = [[f"S{i:02}", 100.0 + i, i] for i in range(12)]
        sql = "SELECT sym, price * vol AS value FROM ticks WHERE sym = 'AAA' AND price * vol > 1e6"
        why_not = None if kernel else "ORDER BY needs all tuples of a window"
        return Description(
            sql,
            None if kernel else "10 s every 2 s of event time",
            "tuple by tuple" if kernel else "by panes",
            "kernel" if kernel else "Spark",
            why_not,
            ["SELECT sym, price * vol AS value WHERE sym = ? AND price * vol > ?"] if kernel else [sql],
            self._wiring(name),
            None if kernel else Results(["sym", "price", "n"], rows),
        )

    def listen(self, hear):
        self._listeners.append(hear)
        return lambda: self._listeners.remove(hear)

    def pause(self, name):
        self._change(name, "paused")

    def resume(self, name):
        self._change(name, "resumed")

    def _change(self, name, what):
        if name not in self.status:
            raise InputError("a registered query", f"'{name}'", "There are others.")
        self.calls.append((what, name))
        self.status[name] = "paused" if what == "paused" else "running"
        self.tell(Changed(self._seen.time, name, what))

    def prioritise(self, cls, priority):
        if cls not in self.priorities:
            raise InputError("a class that is named", f"'{cls}'", "There are others.")
        self.calls.append(("prioritised", cls, priority))
        self.priorities[cls] = priority

    # What is made up

    def _snapshot(self):
        n, now = self._n, time.time()
        wave = 0.5 + 0.5 * math.sin(n / 15)
        load = 0.4 + 0.9 * wave
        queries = tuple(self._query(i, name, load) for i, name in enumerate(self.names))
        return made(
            Snapshot,
            time=now,
            elapsed=10.0 + n / 2,
            policy="cqc",
            shed="dilos:backlog",
            streams=(self._stream("ticks", 20_000 * load, n), self._stream("orders", 900, n)),
            tables=(
                made(TableStatus, name="symbols", snapshot=4, parts=2, bytes=9_000, age=12.0, freshness=0.9,
                     perceived=0.95, change_rate=0.01, accesses=1.0, every=30.0, refreshes=n,
                     changed=n // 2, failures=0),
                made(TableStatus, name="limits", problem="limits.csv: No such file or directory"),
            ),
            classes=tuple(self._class(name, load) for name in TARGETS),
            queries=queries,
            deadlines=(
                made(DeadlineStatus, name="board_0001", window=10.0, stride=2.0, deadline=2.0, weight=5.0,
                     iterations=n, missed=n // 9, useful=n - n // 8, kept=0.93, planned=min(1.0, 1 / load),
                     demand=0.8, finish_p50=0.9, finish_p99=2.2, worst=2.6,
                     reason="others ran for 1.20 s in between"),
            ),
            lanes=(LaneStatus("lane-1", "kernel-1"), LaneStatus("lane-2", None)),
            qos=made(QosStatus, queries=3, results=10, average=0.9, per_result=0.8, missed=1),
            accounting=made(Accounting, tuples=20_000 * n, rejected=3, late=40, shed=90 * n, results=700 * n,
                 runs=16 * n, utilisation=min(1.0, load), overhead_per_run=0.0021,
                 pending=sum(each.pending for each in queries), oldest_wait=load / 3, queries=len(queries),
                 unlisted=0, busy_seconds=0.4 * n),
        )  # fmt: skip

    def _query(self, i, name, load):
        cls = {"a": "alerts", "b": "boards", "r": "reports"}[name[0]]
        n, response = self._n, 0.02 * (1 + i % 7) + (load if cls == "boards" else load / 8)
        failed = i and i % 97 == 0
        return made(
            QueryStatus,
            name=name,
            cls=cls,
            status="failed" if failed else self.status[name],
            reason="a run took longer than the limit of 60 s" if failed else None,
            kind="PerTrain",
            unit="kernel-1" if cls == "alerts" else name,
            tuples=10_000 * n,
            shed=int(90 * n * (i % 5)),
            pending=int(1000 * load) + i % 13 + n % 3,
            oldest_wait=load / 3,
            results=n * (i % 11),
            late=0,
            runs=n,
            response_p50=response,
            response_p99=2 * response,
            recent_p50=response,
            recent_p90=1.5 * response,
            recent_p99=2 * response,
            slowdown_mean=3.0,
            qos=0.9,
            a=0.04,
            b=2e-6,
            selectivity=0.002 * (i % 11),
            busy=0.1 * n,
            guarantee="at least once",
        )

    def _class(self, name, load):
        n, target = self._n, TARGETS[name]
        drop = max(0.0, load - 1) if target else 0.0
        response = {"alerts": 0.05, "boards": 0.6, "reports": 6.0}[name] * load
        late = {"alerts": 0.002, "boards": max(0.0, load - 0.9)}.get(name)
        return made(
            ClassStatus,
            name=name,
            priority=self.priorities[name],
            delay_target=target,
            share=SHARES[name],
            headroom=1.9 * SHARES[name],
            usage=load,
            drop=drop,
            results=800 * n,
            response_mean=response,
            response_p50=response,
            response_p99=3 * response,
            recent_p50=response,
            recent_p99=3 * response,
            response_total=800 * n * response,
            below=tuple(min(800 * n, 50 * n * i) for i in range(len(BOUNDS))),
            late=late,
            late_results=int(800 * n * (late or 0)),
            offered=10_000 * n,
            processed=9_000 * n,
            shed=int(500 * drop * n),
            pending=int(900 * load),
            oldest_wait=load / 3,
            queries=sum(each.startswith(name[0]) for each in self.names),
            qos=0.8,
            order=f"d = 1 − C/L: C = 1, L = {load:.3g}, d = {drop:.3g}",
        )

    @staticmethod
    def _stream(name, rate, n):
        rejected = {"no JSON": 3} if name == "orders" else {}
        return made(
            StreamStatus,
            name=name,
            status="running",
            tuples=int(rate * n),
            rate=rate,
            watermark=time.time() - (1.5 if name == "ticks" else 3e7),
            late=12,
            rejected=rejected,
            trains=24,
            pending=3,
            bytes=3_400_000,
        )


def ran(unit, began, lane=0, **more):
    known = {"time": began, "unit": unit, "positions": {"ticks": (0, 500)}, "n": 500, "started": began}
    known |= {"finished": began + 0.08, "lane": lane, "results": 12, "response": Response(1.2, 0.3, 0.4)}
    known |= {"formula": "Σ W · w / (a + b·n)", "terms": {"W": 0.123456, "a": 0.04, "b": 2e-6}, "over": "report_0002"}
    return Ran(**(known | more))


if __name__ == "__main__":
    # A dashboard over what is made up: to work on the pages.
    from headgate.web.server import Server

    shown = Invented(1000)
    server = Server(shown, "127.0.0.1", 4051, "the token").start()
    sys.stdout.write(f"{server.address} {server.token}\n")
    while True:
        time.sleep(0.5)
        shown.tick()

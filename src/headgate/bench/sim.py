"""Speed of the simulator: executions of a query segment per second, and the time of one decision.

The compiled kernels, the event kernel and the same model in SimPy run the published query set at the same load, one
after the other in one process; runs are as long as each needs, and rates are compared.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from headgate.bench import simpy_model
from headgate.bench.report import Report, at_least, at_most
from headgate.policy.protocol import View
from headgate.sim import testbed
from headgate.sim.arrivals import OnOff, take
from headgate.sim.metrics import Floats
from headgate.sim.run import Kernel, Setting, simulate

QUERIES = 500
LOAD = 0.9
SEED = 1


def run(progress: Callable[[str], None]) -> Report:
    """Measure everything and check it against the goals."""
    bed = _Bed()
    rows: list[dict[str, Any]] = []
    reference: dict[str, float] = {}
    for policy in ("hnr", "bsd"):
        progress(f"{policy} in SimPy")
        row = _row(f"{policy}, SimPy", *bed.simpy(policy, 40 if policy == "hnr" else 20))
        reference[policy] = row["per_second"]
        rows.append(row)
    for policy, kernel, tuples in (
        ("hnr", "events", 40),
        ("bsd", "events", 20),
        ("hnr", "compiled", 40_000),
        ("hr", "compiled", 40_000),
        ("rr", "compiled", 40_000),
        ("bsd", "compiled", 4000),
        ("lsf", "compiled", 4000),
        ("fcfs", "compiled", 4000),
        ("bsd-clustered", "compiled", 20_000),
    ):
        progress(f"{policy} in the {kernel} kernel")
        rows.append(_row(f"{policy}, {kernel} kernel", *bed.headgate(policy, kernel, tuples)))  # type: ignore[arg-type]
    for row in rows:
        base = reference.get(row["what"].split(",")[0])
        row["ratio"] = row["per_second"] / base if base else None
    rate = {row["what"]: row["per_second"] for row in rows}
    checks = [
        at_least("static priorities (hnr), executions per second", rate["hnr, compiled kernel"], 10e6),
        at_least("exact BSD, executions per second", rate["bsd, compiled kernel"], 1e6),
        at_least("static priorities against SimPy", rate["hnr, compiled kernel"] / rate["hnr, SimPy"], 50, "×"),
        at_least("exact BSD against SimPy", rate["bsd, compiled kernel"] / rate["bsd, SimPy"], 50, "×"),
    ]
    for policy in ("hnr", "lsf", "bsd", "rr", "bsd-clustered"):
        progress(f"one decision of {policy}")
        checks.append(at_most(f"one decision of {policy} over {QUERIES} queries, ms", bed.decision(policy), 1.0))
    return Report("sim", tuple(rows), tuple(checks))


class _Bed:
    """The published query set at a load, with bursty arrivals."""

    def __init__(self) -> None:
        self.arrivals = take(OnOff(), 40_000, np.random.default_rng(SEED))
        self.rate = {testbed.STREAM: (len(self.arrivals) - 1) / float(self.arrivals[-1] - self.arrivals[0])}
        self.network, _ = testbed.at_utilisation(testbed.single_stream(SEED, QUERIES), self.rate, LOAD)

    def headgate(self, policy: str, kernel: Kernel, tuples: int) -> tuple[int, float]:
        """Executions and seconds in one of our kernels, which is compiled before the clock starts."""
        self._once(policy, kernel, self.arrivals[:2])
        return self._once(policy, kernel, self.arrivals[:tuples])

    def _once(self, policy: str, kernel: Kernel, times: Floats) -> tuple[int, float]:
        start = time.perf_counter()
        report = simulate(
            self.network, self.rate, {testbed.STREAM: iter([times])}, Setting(policy), SEED, kernel=kernel
        )
        return report.runs, time.perf_counter() - start

    def simpy(self, policy: str, tuples: int) -> tuple[int, float]:
        """Executions and seconds in the SimPy model."""
        queries = [
            [
                (op.cost.b, op.selectivity, self.network.ids[op.name])
                for op in self.network.operators
                if op.name.startswith(f"{query.name}.")
            ]
            for query in self.network.queries
        ]
        start = time.perf_counter()
        found = simpy_model.run(queries, self.arrivals[:tuples].tolist(), SEED, policy)
        return found.executions, time.perf_counter() - start

    def decision(self, policy: str) -> float:
        """Milliseconds of one `choose` in plain Python while tuples of all queries wait; median of many."""
        setting = Setting(policy)
        units = setting.plan(self.network, self.rate)
        chooser = setting.create()
        chooser.prepare(units)
        rng = np.random.default_rng(SEED)
        view = View(10.0, [_Waiting(float(a), k) for k, a in enumerate(rng.uniform(0, 10, len(units)))])
        spent = []
        for _ in range(300):
            start = time.perf_counter()
            chooser.choose(view)
            spent.append(time.perf_counter() - start)
        return 1000 * median(spent)


class _Waiting:
    """A queue with one tuple in it."""

    pending = 1

    def __init__(self, oldest: float, position: int) -> None:
        self.oldest = oldest
        self.position = position

    def arrived(self, _n: int) -> float:
        return self.oldest


def _row(what: str, executions: int, seconds: float) -> dict[str, Any]:
    return {"what": what, "executions": executions, "seconds": seconds, "per_second": executions / seconds}

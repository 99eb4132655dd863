"""Scenarios: a file that describes streams and queries, run under several policies on the same arrivals and draws."""

import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from headgate.document import Document, Loc, read
from headgate.errors import InputError
from headgate.model.network import Network
from headgate.model.operator import Kind
from headgate.model.parameters import load as load_of
from headgate.sim import testbed
from headgate.sim.arrivals import Arrivals, FloatArray, before, first
from headgate.sim.metrics import Interval, Summary, class_names, interval, summarise
from headgate.sim.run import Setting, simulate
from headgate.sim.scenario.file import MOST_TUPLES, PolicySpec, ScenarioFile, TestbedSpec
from headgate.sim.scenario.network import build
from headgate.sim.simulation import Report
from headgate.sim.traces import Trace

Progress = Callable[[int, int, str], None]
"""Told after each simulation how many are done, how many there are, and which comes next."""

DEMO = Path(__file__).with_name("demo.yaml")


@dataclass(frozen=True)
class Draw:
    """The arrivals of a stream in one run: drawn again, the same, each time they are asked for; never held whole."""

    source: Arrivals
    entropy: tuple[int, int]
    tuples: int | None
    duration: float | None

    def chunks(self) -> Iterator[FloatArray]:
        """The arrival times, from the first."""
        rng = np.random.default_rng(self.entropy)
        if self.duration is not None:
            return before(self.source, self.duration, rng)
        return first(self.source, self.tuples or 0, rng)


@dataclass(frozen=True)
class Workload:
    """What all policies see for one seed: the network, the factor K of its costs, arrivals, their number and rate."""

    network: Network
    K: float
    arrivals: Mapping[str, Draw]
    tuples: Mapping[str, int]
    rates: Mapping[str, float]


@dataclass(frozen=True)
class Scenario:
    """A scenario that has been checked. Its queries are a network, or a testbed that draws one for each seed."""

    name: str
    file: ScenarioFile
    document: Document
    streams: Mapping[str, Arrivals]
    queries: Network | TestbedSpec
    seeds: tuple[int, ...]

    def with_seeds(self, seeds: Iterable[int]) -> "Scenario":
        """The same scenario over other seeds."""
        return replace(self, seeds=tuple(seeds))

    def workload(self, seed: int) -> Workload:
        """Draw the arrivals of a seed, and scale the costs to the utilisation if there is one."""
        network = self.queries if isinstance(self.queries, Network) else _testbed(self.queries, seed)
        arrivals = {
            # By the name, so that another stream in the file does not change this one.
            name: Draw(source, (seed, zlib.crc32(name.encode())), self.file.tuples, self.file.duration)
            for name, source in self.streams.items()
        }
        joins = any(op.kind is Kind.WINDOW_JOIN for op in network.operators)
        needed = joins or self.file.utilisation is not None
        tuples, rates = {}, {}
        for name, draw in arrivals.items():
            tuples[name], rates[name] = self._count(name, draw, needed=needed)
        if self.file.utilisation is None:
            return Workload(network, 1.0, arrivals, tuples, rates)
        with self.document.at("utilisation"):
            if not load_of(network, rates) > 0:
                rule = "costs that are scaled to a utilisation have a part per tuple, b in a + b·n"
                raise InputError(rule, "0 everywhere", "Give an operator a cost per tuple, or remove utilisation.")
        network, K = testbed.at_utilisation(network, rates, self.file.utilisation)
        return Workload(network, K, arrivals, tuples, rates)

    def setting(self, policy: PolicySpec, K: float) -> Setting:
        """A policy of the scenario as the simulator takes it."""
        return policy.setting(K, self.file.sharing)

    def _count(self, name: str, draw: Draw, *, needed: bool) -> tuple[int, float]:
        """How many tuples arrive, and the mean rate of those: heavy tails come near that of their formula slowly."""
        n, earliest, latest = 0, math.inf, -math.inf
        with self.document.at("streams", name):
            expected = (draw.source.mean_rate() or 0.0) * (draw.duration or 0.0)
            if expected > MOST_TUPLES:
                rule = f"stream '{name}': at most {MOST_TUPLES} tuples arrive"
                raise InputError(rule, f"about {expected:.2g}", "Make the duration shorter.")
            for chunk in draw.chunks():
                n += chunk.size
                earliest, latest = min(earliest, float(chunk[0])), float(chunk[-1])
            if n == 0:
                raise InputError(f"stream '{name}': at least one tuple arrives", "none", "Make the duration longer.")
        if latest > earliest:
            return n, (n - 1) / (latest - earliest)
        if needed:
            rule = (
                f"stream '{name}': a utilisation or a window join needs a mean rate, from tuples at two times or more"
            )
            got = "1 tuple" if n == 1 else f"{n} tuples, all at the same time"
            raise InputError(rule, got, "Let more tuples arrive.", self.document.place(("streams", name)))
        return n, 1.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What the results of a policy, or of one class of queries under it, looked like over the seeds."""

    results: Interval
    avg_slowdown: Interval
    max_slowdown: Interval
    rms_slowdown: Interval
    l2_slowdown: Interval
    p50_slowdown: Interval
    p99_slowdown: Interval
    avg_response: Interval
    p50_response: Interval
    p99_response: Interval


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """How one policy did. `held` is the tuples in queues, averaged over time, where the kernel counts them."""

    label: str
    policy: str
    level: str
    figures: Figures
    utilisation: Interval
    decisions: Interval
    held: Interval | None
    per_seed: tuple[Mapping[str, float], ...]
    classes: Mapping[str, Figures]


@dataclass(frozen=True, slots=True)
class StreamResult:
    """What arrived on a stream: tuples, and their mean rate."""

    tuples: Interval
    rate: Interval


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """How the policies of a scenario did, in the order of the file."""

    scenario: str
    seeds: tuple[int, ...]
    streams: Mapping[str, StreamResult]
    policies: tuple[PolicyResult, ...]


def load(path: Path | str) -> Scenario:
    """Read and check a scenario file."""
    document = read(Path(path), noun="scenario")
    file = document.check(ScenarioFile)
    _check(file, document)
    streams: dict[str, Arrivals] = {}
    for name, spec in file.streams.items():
        with document.at("streams", name):
            streams[name] = spec.make(document.path.parent)
        _check_trace(streams[name], document, name)
    queries = file.testbed or build(file, document)
    return Scenario(file.name or document.path.stem, file, document, streams, queries, tuple(file.seeds))


def run(scenario: Scenario, progress: Progress | None = None) -> ScenarioResult:
    """Simulate every policy for every seed. For a seed all policies see the same arrivals and the same draws."""
    policies = scenario.file.policies
    total = len(policies) * len(scenario.seeds)
    reports: list[list[tuple[Report, Network]]] = [[] for _ in policies]
    workloads = []
    for s, seed in enumerate(scenario.seeds):
        workload = scenario.workload(seed)
        workloads.append(workload)
        for p, policy in enumerate(policies):
            if progress:
                progress(s * len(policies) + p, total, f"{policy.name}, seed {seed}")
            with scenario.document.at("policies", p):
                report = simulate(
                    workload.network,
                    workload.rates,
                    {name: draw.chunks() for name, draw in workload.arrivals.items()},
                    scenario.setting(policy, workload.K),
                    seed,
                    kernel=scenario.file.kernel,
                )
            reports[p].append((report, workload.network))
    if progress:
        progress(total, total, "done")
    streams = {
        name: StreamResult(
            interval([w.tuples[name] for w in workloads]), interval([w.rates[name] for w in workloads])
        )
        for name in scenario.streams
    }
    results = tuple(_result(policy, found) for policy, found in zip(policies, reports, strict=True))
    return ScenarioResult(scenario.name, scenario.seeds, streams, results)


def _result(policy: PolicySpec, reports: Sequence[tuple[Report, Network]]) -> PolicyResult:
    classes: dict[str, list[Summary]] = {}
    for report, network in reports:
        for i, name in enumerate(class_names(network)):
            classes.setdefault(name, []).append(summarise(report.tally, i))
    summaries = [summarise(report.tally) for report, _ in reports]
    held = [report.average_held for report, _ in reports if report.average_held is not None]
    return PolicyResult(
        policy.name,
        policy.policy,
        policy.level,
        _figures(summaries),
        interval([report.utilisation for report, _ in reports]),
        interval([report.decisions for report, _ in reports]),
        interval(held) if len(held) == len(reports) else None,
        tuple({name: of(summary) for name, of in _OF_SUMMARY.items()} for summary in summaries),
        {name: _figures(classes[name]) for name in sorted(classes, key=_natural)},
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts 'cost 2' before 'cost 16'."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


_OF_SUMMARY: Mapping[str, Callable[[Summary], float]] = {
    "results": lambda s: s.results,
    "avg_slowdown": lambda s: s.avg_h,
    "max_slowdown": lambda s: s.max_h,
    "rms_slowdown": lambda s: s.rms,
    "l2_slowdown": lambda s: s.l2,
    "p50_slowdown": lambda s: s.p50_h,
    "p99_slowdown": lambda s: s.p99_h,
    "avg_response": lambda s: s.avg_r,
    "p50_response": lambda s: s.p50_r,
    "p99_response": lambda s: s.p99_r,
}


def _figures(summaries: Sequence[Summary]) -> Figures:
    def over(values: Iterable[float]) -> Interval:
        # A seed without results has no slowdown; the others still do.
        there = [v for v in values if not math.isnan(v)]
        return interval(there) if there else Interval(math.nan, math.nan, math.nan, math.nan, 0)

    return Figures(**{name: over(map(of, summaries)) for name, of in _OF_SUMMARY.items()})


def _testbed(spec: TestbedSpec, seed: int) -> Network:
    drawn = seed if spec.seed is None else spec.seed
    if spec.kind == "single-stream":
        return testbed.single_stream(drawn, spec.queries)
    if spec.kind == "two-streams":
        return testbed.two_streams(drawn, spec.queries)
    return testbed.shared_select(drawn, spec.queries // spec.group, spec.group)


_READ_BY = {
    "single-stream": [testbed.STREAM],
    "two-streams": [testbed.LEFT, testbed.RIGHT],
    "shared-select": [testbed.STREAM],
}


def _check(file: ScenarioFile, document: Document) -> None:
    """The rules that hold between the parts of a scenario."""

    def refuse(loc: Loc, rule: str, got: object, remedy: str, *, key: bool = False) -> None:
        raise InputError(rule, got, remedy, document.place(loc, key=key))

    if (file.queries is None) == (file.testbed is None):
        got = "both" if file.queries else "neither"
        refuse((), "a scenario has queries, or a testbed that draws them", got, "Keep one of the two keys.")
    if file.testbed and file.operators:
        refuse(("operators",), "operators go with queries", "a testbed", "Remove operators.", key=True)
    if (file.tuples is None) == (file.duration is None):
        got = "neither" if file.tuples is None else "both"
        refuse((), "a scenario has tuples or a duration", got, "Write tuples: 20000 or duration: 60s.")
    if file.testbed:
        if file.utilisation is None:
            rule = "the costs of a testbed are relative; a utilisation makes them times"
            refuse(("testbed",), rule, "none", "Add utilisation: 0.9.", key=True)
        wanted = _READ_BY[file.testbed.kind]
        if sorted(file.streams) != sorted(wanted):
            rule = f"the testbed {file.testbed.kind} reads {' and '.join(wanted)}, and there are no other streams"
            refuse(("streams",), rule, ", ".join(file.streams), "Rename, add or remove streams.", key=True)
    for i, policy in enumerate(file.policies):
        for key, span in policy.spans().items():
            if span and span.of_K and file.utilisation is None:
                rule = "K is the factor by which a utilisation scales costs"
                refuse(("policies", i, key), rule, "no utilisation", "Add one, or give a time such as 5ms.")
        if policy.name in [other.name for other in file.policies[:i]]:
            rule = "every policy of a scenario has a name of its own"
            refuse(("policies", i), rule, f"'{policy.name}' twice", "Add a label, such as label: hnr-operator.")
    for i, seed in enumerate(file.seeds):
        if seed in file.seeds[:i]:
            refuse(("seeds", i), "a seed stands once", f"{seed} twice", "Remove one of them.")


def _check_trace(arrivals: Arrivals, document: Document, name: str) -> None:
    if isinstance(arrivals, Trace) and not arrivals.path.is_file():
        rule = "a trace is a file that exists"
        remedy = "Check the path; a relative one starts at the folder of the scenario."
        raise InputError(rule, f"'{arrivals.path}'", remedy, document.place(("streams", name, "trace")))

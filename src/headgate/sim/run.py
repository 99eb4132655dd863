"""Running a network under a policy, on the fastest kernel that covers it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headgate.errors import InputError
from headgate.model.network import Network
from headgate.model.unit import Level, Sharing, Unit, plan
from headgate.monitor.statistics import Measured, unknown
from headgate.policy.protocol import Policy
from headgate.policy.registry import create, listed
from headgate.sim.compiled.chains import Log, depart, log
from headgate.sim.compiled.dispatch import compiled
from headgate.sim.draws import Word
from headgate.sim.metrics import Floats, tally_for
from headgate.sim.simulation import Report, Result, Simulation

Kernel = Literal["auto", "events", "compiled"]
Statistics = Literal["declared", "measured"]


@dataclass(frozen=True)
class Setting:
    """A policy by name with its options, and what it works with.

    `level` is the grain at which it schedules, `sharing` how it deals with shared operators, `price` the time of one
    scheduling operation. With measured statistics it starts out knowing nothing and learns from the runs, refreshed
    every `period` seconds.
    """

    policy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    level: Level = "query"
    sharing: Sharing = Sharing()
    price: float = 0.0
    statistics: Statistics = "declared"
    period: float = 1.0
    label: str = ""

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return self.label or self.policy

    def create(self) -> Policy:
        """The policy itself."""
        return create(self.policy, self.options)

    def plan(self, network: Network, streams: Mapping[str, float]) -> tuple[Unit, ...]:
        """The units it schedules."""
        return plan(network, streams, listed(self.policy).weight, self.level, self.sharing)


def simulate(
    network: Network,
    streams: Mapping[str, float],
    arrivals: Mapping[str, Iterator[Floats]],
    setting: Setting,
    seed: int = 0,
    *,
    kernel: Kernel = "auto",
    departures: Log | None = None,
) -> Report:
    """Serve all arrivals of all streams. `streams` are their mean rates, `arrivals` their times in chunks.

    The departures are written into a log where one is given, as far as there is room in it.
    """
    units = setting.plan(network, streams)
    policy = setting.create()
    known = setting.statistics == "declared"
    fast = compiled(network, units, policy, setting.level, setting.price) if kernel != "events" and known else None
    if fast is not None and (departures is None or fast.logs):
        return fast.run(arrivals, seed, tally_for(network), departures or log())
    if kernel == "compiled":
        raise InputError(
            "a compiled kernel runs chains, groups behind a shared operator, or two-stream joins, a tuple at a time",
            f"policy {setting.name} at {setting.level} level on another network",
            "Use kernel: auto or events.",
        )
    monitor = None
    if setting.statistics == "measured":
        units = unknown(units)
        monitor = Measured(units, setting.period)
    return Simulation(
        network,
        units,
        policy,
        {name: _times(chunks) for name, chunks in arrivals.items()},
        seed,
        price=setting.price,
        monitor=monitor,
        on_result=None if departures is None else _writer(network, departures),
    ).run()


def _writer(network: Network, departures: Log) -> Callable[[Result], None]:
    numbers = {query.name: i for i, query in enumerate(network.queries)}
    return lambda result: depart(departures, numbers[result.query], Word(result.identity), result.departure)


def _times(chunks: Iterator[Floats]) -> Iterator[float]:
    for chunk in chunks:
        yield from chunk.tolist()

"""Market ticks out of nothing: a few hot symbols, prices that wander, and times that may be out of order."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice, product

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.engine.source.chance import below, uniform
from headgate.engine.source.generated import START, Rates, Schedule, instants
from headgate.engine.source.protocol import Intake, State
from headgate.engine.source.pump import Floats, Numbers, started
from headgate.engine.source.schemas import TIMESTAMP
from headgate.errors import InputError

_SCHEMA = pa.schema(
    [
        ("sym", pa.string()),
        ("price", pa.float64()),
        ("vol", pa.int64()),
        ("side", pa.string()),
        ("venue", pa.string()),
        ("ts", TIMESTAMP),
    ]
)
_SIDES = pa.array(["B", "S"])
_VENUES = pa.array(["ARCA", "BATS", "EDGX", "IEX", "NSDQ", "NYSE"])
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_SYMBOLS = 26**3
_PERIODS = 2.0 ** np.arange(10, 22)
"""In tuples of the stream. A swing of twice the period is √2 times as wide, as in a random walk."""
_SWING = 0.0005


@dataclass(frozen=True, slots=True)
class Ticks:
    """Ticks that are a function of the seed and their number."""

    schedule: Schedule
    symbols: int

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - as in the protocol
        return _SCHEMA

    def run(self, intake: Intake) -> None:
        self.schedule.feed(intake, self.rows)

    def start(self, at: float) -> State:
        return started(at)

    def rows(self, numbers: Numbers, times: Numbers) -> pa.Table:
        """The ticks with these numbers."""
        seed = self.schedule.seed
        # Inverse of a distribution with density 1/x: each doubling of the rank has the same share of the ticks.
        rank = np.floor((self.symbols + 1) ** uniform(seed, "symbol", numbers)).astype(np.int64) - 1
        sym = np.minimum(rank, self.symbols - 1)
        vol = 100 * np.ceil(-10 * np.log1p(-uniform(seed, "volume", numbers))).astype(np.int64).clip(1)
        columns = [
            _names(self.symbols).take(pa.array(sym)),
            pa.array(self._prices(sym, numbers)),
            pa.array(vol),
            _SIDES.take(pa.array(below(seed, "side", numbers, 2))),
            _VENUES.take(pa.array(below(seed, "venue", numbers, len(_VENUES)))),
            instants(times),
        ]
        return pa.Table.from_arrays(columns, schema=_SCHEMA)

    def _prices(self, sym: Numbers, numbers: Numbers) -> Floats:
        """A price per symbol that swings at every period, with phases of its own, and a little noise per tick."""
        seed = self.schedule.seed
        moved = _SWING * (uniform(seed, "noise", numbers) - 0.5)
        for k, period in enumerate(_PERIODS):
            phase = uniform(seed, f"phase {k}", sym)
            moved += _SWING * np.sqrt(period / _PERIODS[0]) * np.sin(2 * np.pi * (numbers / period + phase))
        first = 10 * 50 ** uniform(seed, "first price", sym)
        found: Floats = np.round(first * np.exp(moved), 2)
        return found


def ticks(
    seed: int = 0,
    rate: float = 1000,
    symbols: int = 50,
    count: int | None = None,
    disorder: str | float = "0s",
    rates: Rates | None = None,
    start: str | datetime = START,
    every: str | float = "50ms",
) -> Ticks:
    """Market ticks: sym, price, vol, side, venue and the event time ts, `rate` a second.

    `rates` are loads one after the other, as (seconds, rate), the last of which stays. `start` is the event time of
    the first tick; the others follow at the pace at which they arrive, less up to `disorder`.
    """
    if not 1 <= symbols <= _MOST_SYMBOLS:
        raise InputError(f"symbols is a number from 1 to {_MOST_SYMBOLS}", symbols, "Give a number such as 50.")
    return Ticks(Schedule.of(seed, rate, rates, count, disorder, start, every), symbols)


@cache
def _names(symbols: int) -> pa.Array:
    return pa.array(islice(map("".join, product(_LETTERS, repeat=3)), symbols), pa.string())

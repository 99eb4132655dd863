"""The Nexmark model: an online auction house as one sequence of events, of which each kind is a stream.

Out of every 50 events the first is a person, the next three are auctions and the rest are bids. An event is a
function of the seed and its number, so the three streams fit each other: an auction's seller and a bid's auction
and bidder have come before it. A few sellers, auctions and bidders are hot.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from headgate.engine.source.chance import below, uniform
from headgate.engine.source.generated import START, Rates, Schedule, instants
from headgate.engine.source.protocol import Intake, State
from headgate.engine.source.pump import Numbers, started
from headgate.engine.source.schemas import TIMESTAMP
from headgate.errors import InputError, choose

Kind = Literal["persons", "auctions", "bids"]

_CYCLE = 50
_FIRST_AND_SIZE = {"persons": (0, 1), "auctions": (1, 3), "bids": (4, 46)}
"""Where a kind begins in a cycle of 50 events, and how many events of a cycle it has."""
_SCHEMAS = {
    "persons": pa.schema(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("emailAddress", pa.string()),
            ("creditCard", pa.string()),
            ("city", pa.string()),
            ("state", pa.string()),
            ("dateTime", TIMESTAMP),
            ("extra", pa.string()),
        ]
    ),
    "auctions": pa.schema(
        [
            ("id", pa.int64()),
            ("itemName", pa.string()),
            ("description", pa.string()),
            ("initialBid", pa.int64()),
            ("reserve", pa.int64()),
            ("dateTime", TIMESTAMP),
            ("expires", TIMESTAMP),
            ("seller", pa.int64()),
            ("category", pa.int64()),
            ("extra", pa.string()),
        ]
    ),
    "bids": pa.schema(
        [
            ("auction", pa.int64()),
            ("bidder", pa.int64()),
            ("price", pa.int64()),
            ("channel", pa.string()),
            ("url", pa.string()),
            ("dateTime", TIMESTAMP),
            ("extra", pa.string()),
        ]
    ),
}
_FIRST_ID = 1000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_HOT_GROUP = 100  # one of so many in a row is hot
_IN_FLIGHT = 100  # auctions that still get bids
_ACTIVE = 1000  # persons that still buy and sell
_CHANNELS = 10_000
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_FIRST_NAMES = pa.array(["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jon", "Kim", "Lou"])
_LAST_NAMES = pa.array(["Abrams", "Bauer", "Costa", "Duval", "Egan", "Frost", "Gray", "Hale", "Ivers", "Jones"])
_PLACES = (
    *(("Phoenix", "AZ"), ("Los Angeles", "CA"), ("San Francisco", "CA"), ("Boise", "ID"), ("Portland", "OR")),
    *(("Bend", "OR"), ("Redmond", "WA"), ("Seattle", "WA"), ("Kent", "WA"), ("Cheyenne", "WY")),
)
_CITIES, _STATES = (pa.array(names) for names in zip(*_PLACES, strict=True))


@dataclass(frozen=True, slots=True)
class Nexmark:
    """One kind of the events."""

    kind: Kind
    schedule: Schedule

    def schema(self, spark: SparkSession) -> pa.Schema:  # noqa: ARG002 - as in the protocol
        return _SCHEMAS[self.kind]

    def run(self, intake: Intake) -> None:
        self.schedule.feed(intake, self.rows, self.events)

    def start(self, at: float) -> State:
        return started(at)

    def events(self, k: Numbers) -> Numbers:
        """The event numbers of the k-th of this kind."""
        first, size = _FIRST_AND_SIZE[self.kind]
        found: Numbers = k // size * _CYCLE + first + k % size
        return found

    def rows(self, n: Numbers, times: Numbers) -> pa.Table:
        """The events of this kind with the numbers n."""
        return _MAKERS[self.kind](self.schedule, n, times)


def nexmark(
    kind: Kind,
    seed: int = 0,
    rate: float = 1000,
    count: int | None = None,
    disorder: str | float = "0s",
    rates: Rates | None = None,
    every: str | float = "50ms",
) -> Nexmark:
    """The persons, auctions or bids of the Nexmark benchmark.

    `rate`, `rates` and `count` are those of the whole sequence of events, 92 in 100 of which are bids. Streams with
    the same seed and rate belong together.
    """
    if kind not in _SCHEMAS:
        raise InputError("Nexmark has three kinds of events", f"'{kind}'", choose(kind, _SCHEMAS))
    return Nexmark(kind, Schedule.of(seed, rate, rates, count, disorder, START, every))


def _person(n: Numbers) -> Numbers:
    """The last person, from 0, up to event n."""
    found: Numbers = n // _CYCLE
    return found


def _auction(n: Numbers) -> Numbers:
    """The last auction, from 0, up to event n."""
    first, size = _FIRST_AND_SIZE["auctions"]
    found: Numbers = n // _CYCLE * size + np.minimum(n % _CYCLE - first, size - 1)
    return found


def _recent(seed: int, purpose: str, n: Numbers, last: Numbers, most: int) -> Numbers:
    """One of the `most` last ones."""
    known = np.minimum(last + 1, most)
    return last - below(seed, purpose, n, known)


def _hot(seed: int, purpose: str, n: Numbers, ratio: int, hot: Numbers, other: Numbers) -> Numbers:
    """The hot one, but for one in `ratio` cases."""
    return np.where(below(seed, f"hot {purpose}", n, ratio) > 0, hot, other)


def _price(seed: int, purpose: str, n: Numbers) -> Numbers:
    """Cents, from 1 dollar to a million, each power of ten as likely."""
    found: Numbers = np.round(10 ** (6 * uniform(seed, purpose, n)) * 100).astype(np.int64)
    return found


def _persons(schedule: Schedule, n: Numbers, times: Numbers) -> pa.Table:
    seed = schedule.seed
    place = pa.array(below(seed, "place", n, len(_PLACES)))
    digits = pa.array([f"{k:04}" for k in range(10_000)])
    columns = [
        pa.array(_FIRST_ID + _person(n)),
        _joined(" ", _one(_FIRST_NAMES, seed, "first", n), _one(_LAST_NAMES, seed, "last", n)),
        _joined(
            "@",
            _one(_words(7), seed, "mailbox", n),
            pc.binary_join_element_wise(_one(_words(5), seed, "host", n), "com", "."),
        ),
        _joined(" ", *(_one(digits, seed, f"card {k}", n) for k in range(4))),
        _CITIES.take(place),
        _STATES.take(place),
        instants(times),
        _one(_texts(60, 120), seed, "extra", n),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMAS["persons"])


def _auctions(schedule: Schedule, n: Numbers, times: Numbers) -> pa.Table:
    seed = schedule.seed
    initial = _price(seed, "initial bid", n)
    person = _person(n)
    hot_seller = person // _HOT_GROUP * _HOT_GROUP
    seller = _hot(seed, "seller", n, 4, hot_seller, _recent(seed, "seller", n, person, _ACTIVE))
    # As long on average as it takes for so many auctions to begin.
    begin_later = n + _IN_FLIGHT * _CYCLE // _FIRST_AND_SIZE["auctions"][1]
    horizon = schedule.pace.due(begin_later) - schedule.pace.due(n)
    length = 1000 + np.floor(2e6 * horizon * uniform(seed, "length", n)).astype(np.int64)
    columns = [
        pa.array(_FIRST_ID + _auction(n)),
        _one(_words(10), seed, "item", n),
        _one(_texts(40, 100), seed, "description", n),
        pa.array(initial),
        pa.array(initial + _price(seed, "reserve", n)),
        instants(times),
        instants(times + length),
        pa.array(_FIRST_ID + seller),
        pa.array(_FIRST_CATEGORY + below(seed, "category", n, _CATEGORIES)),
        _one(_texts(100, 300), seed, "extra", n),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMAS["auctions"])


def _bids(schedule: Schedule, n: Numbers, times: Numbers) -> pa.Table:
    seed = schedule.seed
    auction, person = _auction(n), _person(n)
    hot_auction = auction // _HOT_GROUP * _HOT_GROUP
    hot_bidder = np.minimum(person // _HOT_GROUP * _HOT_GROUP + 1, person)
    channel = below(seed, "channel", n, _CHANNELS) + len(_HOT_CHANNELS)
    channel = _hot(seed, "channel", n, 2, below(seed, "which hot channel", n, len(_HOT_CHANNELS)), channel)
    names, urls = _channels()
    columns = [
        pa.array(
            _FIRST_ID + _hot(seed, "auction", n, 2, hot_auction, _recent(seed, "auction", n, auction, _IN_FLIGHT))
        ),
        pa.array(_FIRST_ID + _hot(seed, "bidder", n, 4, hot_bidder, _recent(seed, "bidder", n, person, _ACTIVE))),
        pa.array(_price(seed, "price", n)),
        names.take(pa.array(channel)),
        urls.take(pa.array(channel)),
        instants(times),
        _one(_texts(20, 60), seed, "extra", n),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMAS["bids"])


_MAKERS: Mapping[Kind, Callable[[Schedule, Numbers, Numbers], pa.Table]] = {
    "persons": _persons,
    "auctions": _auctions,
    "bids": _bids,
}


def _one(values: pa.Array, seed: int, purpose: str, n: Numbers) -> pa.Array:
    return values.take(pa.array(below(seed, purpose, n, len(values))))


def _joined(separator: str, *parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, separator)


@cache
def _texts(least: int, most: int) -> pa.Array:
    """Texts of lower-case letters, of lengths from `least` to `most`; the same for every seed."""
    rng = np.random.default_rng(least * 1000 + most)
    letters = rng.integers(ord("a"), ord("z"), size=1000 + most, endpoint=True, dtype=np.uint8).tobytes().decode()
    lengths = rng.integers(least, most, size=1000, endpoint=True)
    return pa.array([letters[k : k + length] for k, length in enumerate(lengths)])


def _words(length: int) -> pa.Array:
    return _texts(length, length)


@cache
def _channels() -> tuple[pa.Array, pa.Array]:
    """The names of all channels, hot ones first, and their addresses. Nine in ten others have a channel_id."""
    words = _words(4).to_pylist()
    names = [*_HOT_CHANNELS, *(f"channel-{k}" for k in range(_CHANNELS))]
    urls = []
    for k, name in enumerate(names):
        path = "/".join(words[(k * step) % len(words)] for step in (7, 11, 13))
        tail = "" if name in _HOT_CHANNELS or k % 10 == 0 else f"&channel_id={k * 7919 % 1_000_003}"
        urls.append(f"https://www.nexmark.com/{path}/item.htm?query=1{tail}")
    return pa.array(names), pa.array(urls)

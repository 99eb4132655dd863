"""The rounds of the demonstration: the same load, rising to three times the capacity, served in two ways.

What a machine can do is measured first, with the same queries and in the same way in which the first round serves
them: so much is offered to it for a while that it cannot keep up, and what it gets done is its capacity.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headgate.bench.played import Floats
from headgate.bench.recorded import Growing, Ran, within
from headgate.demo.market import CLASSES, SEED, Class, queries, source
from headgate.engine.engine import Engine
from headgate.engine.quiet import spoken_to
from headgate.engine.regime import AUTO
from headgate.engine.shedding import Shed
from headgate.engine.sink import discard
from headgate.engine.status import ClassStatus, Snapshot

STEPS = ((4.0, 0.5), (4.0, 1.0), (5.0, 2.0), (14.0, 3.0))
"""Seconds, and how many times the capacity is offered in them."""
SECONDS = sum(seconds for seconds, _ in STEPS)
ON_TIME = 0.99
"""A class has kept its target if so many of its results were within it."""
_WARM_UP = (300, 3000)
"""Tuples, each time within half a second, so that nothing is done for the first time when it counts."""
_OFFERED, _FOR = 20_000, 0.5
"""Tuples, and the seconds in which they come, to see how many are done in a second."""
_FASTER, _STEADY, _TRIALS = 1.25, 3, 10
"""That is tried again, so often at most, until it has not gone faster by such a factor so many times in a row: what
has just been compiled goes faster, and a machine may have something else to do for a moment.
"""
_LOOKS = 0.25
_PAUSE = 4.5
"""Seconds without ticks, in which the windows of the round before close: results of these are not of the next one."""
_CLEARING = Shed("common", "aurora", {"headroom": 1e-3})
"""What drops nearly everything that waits."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a round is served."""

    name: str
    what: str
    regime: Mapping[str, Any]


WAYS = (
    Way("FIFO", "first come first served, nothing is dropped", {"policy": "fcfs", "fuse": True, "shed": "none"}),
    Way("DILoS", "as Headgate does by default where classes have targets", {"policy": AUTO}),
)


@dataclass(frozen=True, slots=True)
class Look:
    """A class at a moment of a round, in seconds from its beginning: tuples that were processed, dropped, or wait."""

    at: float
    processed: int
    shed: int
    pending: int


@dataclass(frozen=True)
class Fared:
    """How a class fared in a round, up to the last tick that came."""

    cls: Class
    queries: int
    results: int
    mean: float | None
    p99: float | None
    late: float | None
    """The share of its results that took longer than the target."""
    runs: Sequence[Ran]
    looks: Sequence[Look]
    oldest: float
    """How long what waits at the end has waited."""

    @property
    def within(self) -> float:
        """The share of the time in which all results were within the target."""
        return within(self.cls.target, self.runs)

    @property
    def loss(self) -> float:
        """The share of its tuples that were dropped, of those that do not wait any more."""
        first, last = self.looks[0], self.looks[-1]
        shed, done = last.shed - first.shed, last.processed - first.processed
        return shed / (shed + done) if shed + done else 0.0

    @property
    def kept(self) -> bool:
        """Whether it kept its target."""
        return self.late is not None and 1 - self.late >= ON_TIME


@dataclass(frozen=True)
class Round:
    """A way, and how each class fared under it."""

    way: Way
    classes: Sequence[Fared]


@dataclass(frozen=True)
class Outcome:
    """Ticks per second that the machine can do, and all rounds."""

    capacity: float
    rounds: Sequence[Round]


Show = Callable[[str, dict[str, Any]], None]
"""Shows a snapshot under a title."""


@dataclass
class Demo:
    """An engine with the queries of the demonstration, and arrivals that it serves."""

    folder: Path
    progress: Callable[[str], None]
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        self._source = source()
        self._last = 0.0
        self._record = Growing(self.folder / "state")
        with spoken_to(self.folder / "spark.log"):
            self.engine = Engine(state=self.folder / "state")
        self.engine.spark.sparkContext.setLogLevel("ERROR")
        self.engine.stream("ticks", self._source, event_time="ts", delay="200ms", idle="1s")
        for cls in CLASSES:
            self.engine.query_class(cls.name, priority=cls.priority, delay_target=cls.target)
        listed = queries()
        for i, q in enumerate(listed):
            self.progress(f"planning query {i + 1} of {len(listed)}")
            self.engine.query(q.name, q.sql, window=q.window, slide=q.slide, sink=discard(), cls=q.cls)

    def capacity(self) -> float:
        """Ticks per second that all queries can do together."""
        self.progress("measuring what this machine can do")
        self.engine.start(**WAYS[0].regime)
        for n in _WARM_UP:
            self._play(np.linspace(0.0, 0.5, n))
            self._await(lambda status: all(q.tuples >= self._source.sent for q in status.queries))
        found, steady = self._trial(), 0
        for _ in range(_TRIALS - 1):
            before, found = found, max(found, self._trial())
            steady = 0 if found >= _FASTER * before else steady + 1
            if steady == _STEADY:
                break
        return found

    def _trial(self) -> float:
        began = time.time()
        self._play(np.linspace(0.0, _FOR, _OFFERED))
        self._await(lambda status: all(q.tuples >= self._source.sent for q in status.queries))
        return _OFFERED / (time.time() - began)

    def serve(self, way: Way, arrivals: Floats, show: Callable[[float, Snapshot], None]) -> Round:
        """One round, until the last tick has come."""
        self.engine.switch(**way.regime)
        began = time.time()
        self._record.ran(began)
        looks: dict[str, list[Look]] = {cls.name: [_look(0.0, each)] for cls, each in self._classes()}
        self._play(arrivals)
        while (gone := time.time() - began) < SECONDS:
            status = self.engine.status()
            for each in status.classes:
                looks[each.name].append(_look(gone, each))
            show(gone, status)
            time.sleep(_LOOKS)
        after, ran = self.engine.status(), self._record.ran(began)
        fared = []
        for cls, each in zip(CLASSES, after.classes, strict=True):
            looks[cls.name].append(_look(time.time() - began, each))
            mine = [q for q in after.queries if q.cls == cls.name]
            oldest = max(q.oldest_wait for q in mine)
            figures = each.results, each.response_mean, each.response_p99, each.late
            fared.append(Fared(cls, len(mine), *figures, ran.get(cls.name, ()), looks[cls.name], oldest))
        return Round(way, fared)

    def clear(self) -> None:
        """Drop what is left over, and let windows close, so that the next round begins with nothing."""
        self.engine.switch("cqc", shed=_CLEARING)
        self._await(self._nothing_waits)
        time.sleep(max(0.0, self._last + _PAUSE - time.time()))

    def _play(self, times: Floats) -> None:
        self._last = time.time() + float(times[-1])
        self._source.play(times)

    def _nothing_waits(self, status: Snapshot) -> bool:
        return status.streams[0].tuples >= self._source.sent and not any(q.pending for q in status.queries)

    def _classes(self) -> Sequence[tuple[Class, ClassStatus]]:
        return list(zip(CLASSES, self.engine.status().classes, strict=True))

    def _await(self, done: Callable[[Snapshot], bool]) -> None:
        while not done(self.engine.status()):
            time.sleep(0.05)


def _look(at: float, status: ClassStatus) -> Look:
    return Look(at, status.processed, status.shed, status.pending)


def arrivals(capacity: float) -> Floats:
    """Poisson arrivals, step by step."""
    rng = np.random.default_rng(SEED)
    found: list[Floats] = []
    begin = 0.0
    for seconds, load in STEPS:
        found.append(np.sort(rng.uniform(begin, begin + seconds, rng.poisson(capacity * load * seconds))))
        begin += seconds
    return np.concatenate(found)


def load_at(gone: float) -> float:
    """How many times the capacity is offered so many seconds after the beginning of a round."""
    end = 0.0
    for seconds, load in STEPS:
        end += seconds
        if gone < end:
            return load
    return STEPS[-1][1]


def run(progress: Callable[[str], None], show: Show, folder: Path, said: Callable[[str], None]) -> Outcome:
    """All rounds. Says where the dashboard is, once it is served."""
    demo = Demo(folder, progress)
    try:
        server = demo.engine.serve()
        said(f"dashboard: {server.address} · changes need the token {server.token}")
        rate = demo.capacity()
        said(f"this machine can do {rate:,.0f} ticks/s with these queries")
        found: list[Round] = []
        for i, way in enumerate(WAYS):
            progress("dropping what is left over" if found else "waiting for windows to close")
            demo.clear()

            def shown(title: str, gone: float, status: Snapshot) -> None:
                load = load_at(gone)
                show(f"{title} · {rate * load:,.0f} ticks/s, {load:g}× what this machine can do", asdict(status))

            title = f"round {i + 1} of {len(WAYS)}: {way.name}, {way.what}"
            found.append(demo.serve(way, arrivals(rate), partial(shown, title)))
        return Outcome(rate, found)
    finally:
        demo.engine.stop()

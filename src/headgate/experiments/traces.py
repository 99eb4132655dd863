"""The arrivals that experiments run on: a bursty surrogate, a packet trace where there is one, Poisson."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from headgate.errors import InputError
from headgate.sim.arrivals import Arrivals, OnOff, Poisson, take
from headgate.sim.metrics import Floats
from headgate.sim.traces import Trace

_NO_DRAWS = np.random.default_rng(0)


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Arrivals of a process, drawn anew for each seed."""

    name: str
    process: Arrivals
    about: str = ""

    def times(self, seed: int, n: int) -> Floats:
        """The first n arrival times of a seed."""
        return take(self.process, n, np.random.default_rng([seed, 4]))


@dataclass(frozen=True, slots=True)
class Recorded:
    """Arrivals from a file. A seed is a segment of it: the k-th of those that follow one another, or a random one."""

    name: str
    path: Path
    about: str = ""

    def times(self, seed: int, n: int) -> Floats:
        """The n arrival times of a seed's segment, from 0."""
        times = _read(self.path)
        if len(times) < n:
            raise InputError(f"the trace has at least {n} tuples", len(times), "Use a longer one.", str(self.path))
        if seed * n <= len(times):
            first = (seed - 1) * n
        else:
            first = int(np.random.default_rng([seed, 5]).integers(0, len(times) - n + 1))
        segment: Floats = times[first : first + n] - times[first]
        return segment


@cache
def _read(path: Path) -> Floats:
    return np.concatenate(list(Trace(path).chunks(_NO_DRAWS)))


SURROGATE = Synthetic("on/off", OnOff(), "bursty surrogate: 16 on/off sources, Pareto periods with α = 1.4")
POISSON = Synthetic("Poisson", Poisson(1.0), "Poisson")
BELLCORE = "bellcore-pAug89-100k.tl"


def available(file: Path | None, folders: Sequence[Path]) -> tuple[Synthetic | Recorded, ...]:
    """The bursty traces to run on: the surrogate, and the given file or else the Bellcore trace where it is found."""
    if file is not None:
        return SURROGATE, Recorded(file.name, file, f"the trace {file.name}")
    for folder in folders:
        if (folder / BELLCORE).is_file():
            return SURROGATE, Recorded("Bellcore", folder / BELLCORE, "Bellcore packet trace of August 1989")
    return (SURROGATE,)

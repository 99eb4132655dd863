"""Response times at the outputs, control period by control period: what tells a load manager how late results are."""

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Output:
    """Response times at one output, as means of control periods with results: the last, the one before, the least.

    `target` is the delay target of the output's class.
    """

    rt: float
    before: float
    least: float
    target: float


@dataclass
class OutputMonitor:
    """Collects the response times of one output whose class has this delay `target`.

    A control period of fewer than `fewest` results says too little to be a mean: its results are counted with those
    of the next. After each `refresh` periods the least mean is doubled, so that an old one which no load of today
    could reach gives way to what follows.
    """

    target: float
    fewest: int = 5
    refresh: float = math.inf
    seen: Output | None = field(default=None, init=False)
    _total: float = field(default=0.0, init=False)
    _results: float = field(default=0.0, init=False)
    _periods: int = field(default=0, init=False)

    def add(self, total: float, results: float) -> None:
        """Take so many results, by the sum of their response times."""
        self._total += total
        self._results += results

    def close(self) -> Output | None:
        """End a control period; None as long as there was no mean at all."""
        self._periods += 1
        least = self.seen.least if self.seen else math.inf
        if self._periods >= self.refresh:
            self._periods = 0
            least *= 2
        if self._results >= self.fewest:
            rt = self._total / self._results
            self._total = self._results = 0.0
            self.seen = Output(rt, self.seen.rt if self.seen else rt, min(least, rt), self.target)
        elif self.seen:
            self.seen = Output(self.seen.rt, self.seen.before, least, self.target)
        return self.seen

"""What an operator costs and yields, and how fast its input comes, control period by control period."""

import math
from dataclasses import dataclass, field

SMOOTHING = 0.175
OUTLIER = 1.5


@dataclass
class OperatorStatistics:
    """The cost per tuple and the selectivity of one operator, by exponential smoothing.

    A cost that lies more than `OUTLIER` standard deviations above its average is a spike and leaves the cost as it
    was; one that lies below is always taken, since nothing makes an operator faster than it is. Seconds are those of
    the processor, not of the clock: other load on the machine is a matter of capacity. Before the first tuple the
    cost is not a number.
    """

    cost: float = field(default=math.nan, init=False)
    selectivity: float = field(default=1.0, init=False)
    last: float = field(default=math.nan, init=False)
    _in: float = field(default=0.0, init=False)
    _out: float = field(default=0.0, init=False)
    _seconds: float = field(default=0.0, init=False)
    _average: float = field(default=0.0, init=False)
    _periods: int = field(default=0, init=False)
    _mean: float = field(default=0.0, init=False)
    _squares: float = field(default=0.0, init=False)

    def add(self, read: float, results: float, seconds: float) -> None:
        """Take a run: tuples read, results given, and how long it took."""
        self._in += read
        self._out += results
        self._seconds += seconds

    def close(self) -> None:
        """End a control period. One without a tuple changes nothing."""
        if not self._in:
            return
        x, selectivity = self._seconds / self._in, self._out / self._in
        self._in = self._out = self._seconds = 0.0
        self._spread(x)
        if self._periods == 1:
            self.cost, self.selectivity, self._average = x, selectivity, x
        else:
            self._average = _smooth(self._average, x)
            self.selectivity = _smooth(self.selectivity, selectivity)
            if x - self._average <= OUTLIER * self._deviation:
                self.cost = _smooth(self.cost, x)
        self.last = x

    def _spread(self, x: float) -> None:
        self._periods += 1
        off = x - self._mean
        self._mean += off / self._periods
        self._squares += off * (x - self._mean)

    @property
    def _deviation(self) -> float:
        """The sample standard deviation over all control periods."""
        return math.sqrt(self._squares / (self._periods - 1))


def _smooth(old: float, x: float) -> float:
    return (1 - SMOOTHING) * old + SMOOTHING * x


@dataclass
class InputRate:
    """Tuples per second of a stream, by the arrival times of what was read and not by when it was read.

    Under overload reading lags behind, and a count per second of the clock would show the capacity, not the load.
    The stream is watched from the time `upto` on.
    """

    upto: float = 0.0
    rate: float = field(default=0.0, init=False)
    _read: float = field(default=0.0, init=False)

    def add(self, tuples: float) -> None:
        """Take tuples that were read, dropped or not."""
        self._read += tuples

    def close(self, upto: float) -> None:
        """End a control period: what arrived until `upto` has been read.

        That is the arrival time of the last tuple read, or the time itself if nothing waits.
        """
        if upto > self.upto:
            self.rate = self._read / (upto - self.upto)
            self.upto, self._read = upto, 0.0

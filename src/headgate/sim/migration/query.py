"""A query as it runs on a node: its window operators one behind the other, and what a tuple costs in them."""

from dataclasses import dataclass

from headgate.control.migration.messages import Handover
from headgate.control.migration.windows import RowWindow, Shape, Stage
from headgate.errors import InputError
from headgate.sim.migration.rows import Row, Tuple
from headgate.sim.migration.signed import RangeJoin, RunningSum
from headgate.sim.migration.windows import END, Counting, Operator, RowJoin, RowSums, Timed, TimeJoin, TimeSums


@dataclass(frozen=True, slots=True)
class Costs:
    """Microseconds of work: to read a tuple, for a row in a window operator, and to give out a row."""

    read: int = 0
    row: int = 0
    out: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """A query over one stream or, with a join, two.

    `signed` has windows that move with every tuple and take results back. `earliest` gives rows between two window
    operators the time at which they begin, otherwise they have the time at which they are known.
    """

    name: str
    shape: Shape
    signed: bool = False
    earliest: bool = False
    costs: Costs = Costs()

    def __post_init__(self) -> None:
        joins = bool(self.shape.stages) and self.shape.stages[0].joins
        if self.shape.inputs != 1 + joins:
            raise InputError(
                "a query reads one stream, or two if it joins", self.shape.inputs, "Give the inputs to a join."
            )
        if self.earliest and joins:
            raise InputError("results of a join have the time of the later tuple", "earliest", "Leave that out.")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its window operators; where it has none, each tuple is a window."""
        return self.shape.stages or (self.shape.controlling,)


class Plan:
    """A query on a node."""

    def __init__(self, query: Query, *, from_the_start: bool) -> None:
        self.query = query
        self.operators = [self._operator(stage, from_the_start) for stage in query.stages]
        self.source_from = -END

    def _operator(self, stage: Stage, from_the_start: bool) -> Operator:
        window, signed = stage.window, self.query.signed
        if isinstance(window, RowWindow):
            if stage.joins:
                return RowJoin(window)
            return RunningSum(window, from_the_start=from_the_start) if signed else RowSums(window)
        if stage.joins:
            return RangeJoin(window) if signed else TimeJoin(window)
        return TimeSums(window)

    @property
    def controlling(self) -> Operator:
        """The operator closest to the output."""
        return self.operators[-1]

    @property
    def held(self) -> int:
        """How many rows its state has."""
        return sum(each.held for each in self.operators)

    @property
    def leading(self) -> int:
        """How many operators can run before the handover: what feeds the controlling window, up to one over rows."""
        before = self.operators[:-1]
        return next((i for i, each in enumerate(before) if not isinstance(each, Timed)), len(before))

    def prepare(self, ts_start: int) -> None:
        """Have what feeds the controlling window run, of tuples that are all here from `ts_start` on."""
        first = self.operators[0]
        if isinstance(first, TimeSums):
            first.begin(first.window.from_on(ts_start))

    def begin(self, handover: Handover) -> None:
        """Run from a handover on. Results that feed another window and are not as at the originator are too early."""
        first, last = self.operators[0], self.controlling
        counting = [each for each in self.operators[:-1] if isinstance(each, Counting)]
        for each, cut in zip(counting, handover.before, strict=True):
            each.begin(cut)
        if handover.rows is not None and isinstance(last, Counting):
            last.begin(handover.rows)
        elif handover.activation is not None and isinstance(last, Timed):
            last.begin(handover.activation)
            # Sources may leave out what is earlier where no result of another window is made of it.
            by_time = first is last or (self.query.earliest and not counting)
            self.source_from = handover.activation if by_time else -END

    def process(self, each: Tuple | None) -> tuple[list[Row], int]:
        """The results that a tuple brings, or the end of the streams, and the work."""
        rows, work = self.first(each)
        found, more = self.rest(rows, ended=each is None)
        return found, work + more

    def first(self, each: Tuple | None) -> tuple[list[Row], int]:
        """The same of the operators that can run before a handover; of the first one, if none can."""
        costs, operator = self.query.costs, self.operators[0]
        if each is None:
            rows, work = operator.advance(END), 0
        elif each.ts < self.source_from:
            return [], costs.read
        else:
            row = Row(each.ts, each.ts, (each.key, each.value))
            rows, work = [*operator.advance(each.ts), *operator.push(row, each.stream)], costs.read + costs.row
        found, more = self._through(self.operators[1 : self.leading], rows, ended=each is None)
        return found, work + more

    def rest(self, rows: list[Row], *, ended: bool = False) -> tuple[list[Row], int]:
        """The results of rows of those operators, and the work."""
        found, work = self._through(self.operators[max(1, self.leading) :], rows, ended=ended)
        return found, work + self.query.costs.out * len(found)

    def _through(self, operators: list[Operator], rows: list[Row], *, ended: bool) -> tuple[list[Row], int]:
        work = 0
        for operator in operators:
            # Only what comes about goes on (ISTREAM); what is taken back does not.
            given = [self.stamped(row) for row in rows if row.sign > 0]
            rows = [out for row in given for out in operator.push(row)]
            rows += operator.advance(END) if ended else []
            work += self.query.costs.row * len(given)
        return rows, work

    def stamped(self, row: Row) -> Row:
        """A row with the time by which the next window takes it."""
        return Row(row.begin, row.begin, row.value) if self.query.earliest else row

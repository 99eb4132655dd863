"""Rows, and the values of expressions for them: each expression is built once, and computed once for a batch."""

from collections.abc import Callable, Collection, Iterable, Mapping

import polars as pl
import pyarrow as pa

from headgate.engine.kernel.arrays import Ints
from headgate.engine.kernel.expressions import expression
from headgate.engine.kernel.ir import Call, Column, Node, walk


class Formulas:
    """Expressions by number; equal ones have one.

    The `columns` of one are those that it depends on. Its expression mentions some of these, and other formulas.
    """

    def __init__(self) -> None:
        self._numbers: dict[Node, int] = {}
        self.nodes: list[Node] = []
        self.expressions: list[pl.Expr] = []
        self.columns: list[frozenset[str]] = []
        self.mentioned: list[tuple[frozenset[str], frozenset[int]]] = []

    def enter(self, node: Node) -> int:
        """The number of an expression."""
        number = self._numbers.get(node)
        if number is None:
            parts: set[int] = set()

            def apart(call: Call) -> pl.Expr:
                parts.add(self.enter(call))
                return pl.col(_part(self._numbers[call]))

            built = expression(node, apart)
            number = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
            self.expressions.append(built.alias(str(number)))
            self.columns.append(frozenset(each.name for each in walk(node) if isinstance(each, Column)))
            names, named = frozenset(built.meta.root_names()), {_part(each): each for each in parts}
            self.mentioned.append((names - named.keys(), frozenset(named[name] for name in names & named.keys())))
        return number


def _part(number: int) -> str:
    """The name of the column with the values of a formula, which no column of a stream has."""
    return f"\0{number}"


class Batch:
    """Rows whose columns are fetched as they are needed. `failed` has the formulas that could not be computed.

    `arrow` gives a column as it came, where it came in Arrow's form.
    """

    def __init__(
        self,
        formulas: Formulas,
        n: int,
        column: Callable[[str], pl.Series],
        arrow: Callable[[str], pa.ChunkedArray] | None = None,
        broken: Mapping[str, str] | None = None,
    ) -> None:
        self.formulas, self.n, self.arrow = formulas, n, arrow
        self.failed: dict[int, str] = {}
        self._fetch, self._broken = column, broken or {}
        self._columns: dict[str, pl.Series] = {}
        self._values: dict[int, pl.Series] = {}

    def column(self, name: str) -> pl.Series:
        """A column."""
        if name not in self._columns:
            self._columns[name] = self._fetch(name)
        return self._columns[name]

    def values(self, numbers: Iterable[int], keep: bool = True) -> dict[int, pl.Series]:
        """The values of formulas for all rows, without those that fail."""
        wanted = list(dict.fromkeys(numbers))
        new = self._computed([each for each in wanted if each not in self._values and each not in self.failed], None)
        if keep:
            self._values |= new
        return {each: new[each] if each in new else self._values[each] for each in wanted if each not in self.failed}

    def at(self, rows: Ints, numbers: Iterable[int]) -> dict[int, pl.Series]:
        """The values of formulas for some rows, without those that fail."""
        wanted = list(dict.fromkeys(numbers))
        # Polars would look at all of them for every column.
        places = pl.Series(rows, dtype=pl.UInt32)
        if 2 * len(rows) > self.n:
            return {number: values[places] for number, values in self.values(wanted).items()}
        known = {each: self._values[each][places] for each in wanted if each in self._values}
        return known | self._computed([each for each in wanted if each not in known], places)

    def frame(
        self,
        names: Collection[str],
        rows: pl.Series | Ints | None = None,
        others: Mapping[str, pl.Series] | None = None,
    ) -> pl.DataFrame:
        """Columns as a frame, for some rows, with others that have these rows already."""
        columns = {name: self.column(name) for name in names}
        chosen = columns if rows is None else {name: values[rows] for name, values in columns.items()}
        chosen |= others or {}
        return pl.DataFrame(chosen) if chosen else pl.DataFrame(height=self.n if rows is None else len(rows))

    def _computed(self, numbers: list[int], rows: pl.Series | None) -> dict[int, pl.Series]:
        found: dict[int, pl.Series] = {}
        calls = []
        for number in numbers:
            bad = self._broken.keys() & self.formulas.columns[number] if self._broken else ()
            node = self.formulas.nodes[number]
            if bad:
                self.failed[number] = self._broken[min(bad)]
            elif isinstance(node, Column):
                values = self.column(node.name)
                found[number] = values if rows is None else values[rows]
            elif number not in self.failed:
                calls.append(number)
        parts = self._parts(calls, rows)
        calls = [number for number in calls if number not in self.failed]
        if calls:
            names = frozenset().union(*(self.formulas.mentioned[number][0] for number in calls))
            found |= self._selected(self.frame(names, rows, parts), calls)
        return found

    def _parts(self, numbers: list[int], rows: pl.Series | None) -> dict[str, pl.Series]:
        """The values of formulas that others mention, which fail with them."""
        needed = frozenset().union(*(self.formulas.mentioned[number][1] for number in numbers))
        if not needed:
            return {}
        if rows is None:
            values = self.values(needed)
        else:
            known = {each: self._values[each][rows] for each in needed if each in self._values}
            values = known | self._computed([each for each in needed if each not in known], rows)
        for number in numbers:
            if bad := self.formulas.mentioned[number][1] - values.keys():
                self.failed[number] = self.failed[min(bad)]
        return {_part(each): series for each, series in values.items()}

    def _selected(self, frame: pl.DataFrame, numbers: list[int]) -> dict[int, pl.Series]:
        """The values of formulas; where one fails, those of all others."""
        chosen, failed = by_halves(lambda some: frame.select(self.formulas.expressions[k] for k in some), numbers)
        self.failed |= failed
        series = [each for part in chosen for each in part.get_columns()]
        n = frame.height
        return {int(each.name): each if len(each) == n else each.new_from_index(0, n) for each in series}


def by_halves(
    compute: Callable[[list[int]], pl.DataFrame], numbers: list[int]
) -> tuple[list[pl.DataFrame], dict[int, str]]:
    """What is computed for all numbers, in parts if some of them fail; and why these do."""
    try:
        return [compute(numbers)], {}
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001 - it concerns one query, not its neighbours
        if len(numbers) == 1:
            return [], {numbers[0]: reason(error)}
    middle = len(numbers) // 2
    (left, failed), (right, others) = by_halves(compute, numbers[:middle]), by_halves(compute, numbers[middle:])
    return left + right, failed | others


def reason(error: BaseException) -> str:
    """The first line of what went wrong."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]

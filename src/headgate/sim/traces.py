"""Arrival times from files: recorded traffic in the place of a stochastic process.

A trace is read in one pass, a few thousand rows at a time, and checked while it is read. Times since 1970
keep about a quarter of a microsecond, the resolution of a double at that distance.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from headgate.errors import InputError
from headgate.sim.arrivals import CHUNK, FloatArray, is_count, require, require_positive

Batch = tuple[Sequence[int], FloatArray]
"""Where rows stand, as line or row numbers from 1, and their times."""

TEXT_FORMS = {"ita-packets": 6, "seconds-bytes": 2}
"""Forms of plain text, time first, and their number of columns."""

FORMS = ("auto", *TEXT_FORMS, "csv", "parquet")


@dataclass(frozen=True)
class Trace:
    """The arrival times in a file, moved so that the first one used is 0 and then stretched by `scale`.

    Forms: `ita-packets` (`timestamp src dst sport dport bytes`, of the Internet Traffic Archive),
    `seconds-bytes` (`seconds bytes`, of the Bellcore traces), `csv` with a header line, and `parquet`. The
    last two need the name of the time `column`: numbers are seconds; timestamps (ISO 8601 in csv) are taken
    too, in UTC if they name no zone. `auto` goes by the suffix, else by the number of columns in the first
    line.

    `skip` and `limit` cut out a segment of rows, so that one file gives disjoint segments. The trace ends
    with its segment, and earlier where the file does. Rows outside the segment are not checked.
    """

    path: Path
    form: str = "auto"
    column: str | None = None
    scale: float = 1.0
    skip: int = 0
    limit: int | None = None

    def __post_init__(self) -> None:
        rule = f"Trace: form is one of {', '.join(FORMS)}"
        require(self.form in FORMS, rule, repr(self.form), "Name the form that the file has.")
        require_positive("Trace", "a factor, 1.0 for none", scale=self.scale)
        rule = "Trace: skip is a whole number, 0 or more"
        require(is_count(self.skip, 0), rule, self.skip, "Give the number of rows to leave out first.")
        rule = "Trace: limit is a whole number, 1 or more"
        valid = self.limit is None or is_count(self.limit, 1)
        require(valid, rule, self.limit, "Give the number of rows to use, or None for all.")

    def chunks(self, rng: np.random.Generator) -> Iterator[FloatArray]:  # noqa: ARG002 - as in the protocol
        return self._times()

    def mean_rate(self) -> float | None:
        """(n - 1) / (last - first) of the segment, by one pass over it; None where all times are equal."""
        return self._mean_rate

    @cached_property
    def _mean_rate(self) -> float | None:
        n, last = 0, 0.0
        for times in self._times():
            n += times.size
            last = float(times[-1])
        return (n - 1) / last if last > 0 else None

    def _times(self) -> Iterator[FloatArray]:
        if not self.path.is_file():
            rule = "a trace is a file that exists"
            raise InputError(rule, self.path, "Check the path; a relative one starts at the working directory.")
        form = self._found_form()
        first: float | None = None
        last = -np.inf
        for places, times in self._batches(form):
            self._check(form, places, times, last)
            last = float(times[-1])
            if first is None:
                first = float(times[0])
            yield (times - first) * self.scale
        if first is None:
            raise self._empty()

    def _found_form(self) -> str:
        if self.form != "auto":
            return self.form
        suffix = self.path.suffix.lower().removeprefix(".")
        if suffix in ("csv", "parquet"):
            return suffix
        with self.path.open(encoding="utf-8", errors="replace") as file:
            line = next((line for line in file if not line.isspace()), None)
        if line is None:
            raise self._empty()
        columns = len(line.split())
        for form, width in TEXT_FORMS.items():
            if columns == width:
                return form
        rule = "the form of a trace shows in its suffix (.csv, .parquet) or in its 2 or 6 columns"
        remedy = f"Name the form: {', '.join(FORMS[1:])}."
        raise InputError(rule, f"{columns} columns", remedy, str(self.path))

    def _batches(self, form: str) -> Iterator[Batch]:
        if form == "parquet":
            return self._parquet()
        if form == "csv":
            return self._csv()
        rule = "Trace: column is for csv and parquet; in plain text the first column is the time"
        require(self.column is None, rule, repr(self.column), "Leave column out.")
        return self._text(TEXT_FORMS[form])

    def _text(self, columns: int) -> Iterator[Batch]:
        # Bytes that are not text become a sign that does not parse, which is then reported with its line.
        with self.path.open(encoding="utf-8", errors="replace") as file:
            lines = ((n, line) for n, line in enumerate(file, 1) if not line.isspace())
            segment = islice(lines, self.skip, None if self.limit is None else self.skip + self.limit)
            while batch := list(islice(segment, CHUNK)):
                times = [self._seconds(self._first_of(columns, line, n), n) for n, line in batch]
                yield [n for n, _ in batch], np.array(times)

    def _csv(self) -> Iterator[Batch]:
        with self.path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            names = next(csv.reader(file), None)
        if names is None:
            raise self._empty()
        column = self._require_column(names)
        # Otherwise an empty line would shift the line numbers of all errors after it.
        parse = pa.csv.ParseOptions(ignore_empty_lines=False)
        # As text, since a type inferred from the first block fails on a later one without a line number.
        convert = pa.csv.ConvertOptions(include_columns=[column], column_types={column: pa.string()})
        read = pa.csv.ReadOptions(use_threads=False)
        try:
            with pa.csv.open_csv(self.path, read, parse, convert) as reader:
                for rows, values in self._segment(reader):
                    lines = range(rows.start + 1, rows.stop + 1)
                    texts = values.to_pylist()
                    yield lines, np.array([self._seconds(t, n) for t, n in zip(texts, lines, strict=True)])
        except pa.ArrowInvalid as error:
            rule = "each line of a csv trace has the fields that its header names"
            raise InputError(rule, error, "Mend that line, or the header.", str(self.path)) from None

    def _parquet(self) -> Iterator[Batch]:
        try:
            file = pa.parquet.ParquetFile(self.path)
        except pa.ArrowInvalid as error:
            rule = "a parquet trace is a Parquet file"
            raise InputError(rule, error, "Name the form that the file has.", str(self.path)) from None
        with file:
            column = self._require_column(file.schema_arrow.names)
            kind = file.schema_arrow.field(column).type
            per_second = 1
            if pa.types.is_timestamp(kind):
                per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
            elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                rule = f"the time column '{column}' holds numbers or timestamps"
                raise InputError(rule, kind, "Name another column, or convert it to seconds.", str(self.path))
            for rows, values in self._segment(file.iter_batches(batch_size=CHUNK, columns=[column])):
                # A timestamp casts to a float only by way of its count of units. Null becomes NaN.
                units = values.cast(pa.int64()) if pa.types.is_timestamp(kind) else values
                yield rows, units.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / per_second

    def _segment(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[range, pa.Array]]:
        """The rows between `skip` and `limit`, numbered from 1."""
        stop = None if self.limit is None else self.skip + self.limit
        done = 0
        for batch in batches:
            size = batch.num_rows
            begin = min(max(self.skip - done, 0), size)
            end = size if stop is None else min(stop - done, size)
            if begin < end:
                yield range(done + begin + 1, done + end + 1), batch.column(0).slice(begin, end - begin)
            done += size
            if stop is not None and done >= stop:
                return

    def _require_column(self, names: Sequence[str]) -> str:
        if self.column is None or self.column not in names:
            rule = "Trace: column names the column of the times"
            got = "none" if self.column is None else repr(self.column)
            raise InputError(rule, got, f"The file has: {', '.join(names)}.", str(self.path))
        return self.column

    def _first_of(self, columns: int, line: str, n: int) -> str:
        fields = line.split()
        if len(fields) != columns:
            rule = f"a line of this form of trace has {columns} columns"
            raise InputError(rule, repr(line.strip()), "Mend the line or name another form.", f"{self.path}:{n}")
        return fields[0]

    def _seconds(self, text: str, n: int) -> float:
        try:
            return float(text)
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            rule = "an arrival time is a number of seconds or an ISO 8601 timestamp"
            raise InputError(rule, repr(text), "Mend or remove that row.", f"{self.path}:{n}") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

    def _check(self, form: str, places: Sequence[int], times: FloatArray, last: float) -> None:
        before = np.concatenate(([last], times[:-1]))
        good = np.isfinite(times) & (times >= before)
        if good.all():
            return
        i = int(np.argmin(good))
        place = f"{self.path}: row {places[i]}" if form == "parquet" else f"{self.path}:{places[i]}"
        if not np.isfinite(times[i]):
            raise InputError("an arrival time is finite", times[i], "Mend or remove that row.", place)
        rule = "arrival times do not run backwards"
        raise InputError(rule, f"{times[i]} after {before[i]}", "Sort the file by time.", place)

    def _empty(self) -> InputError:
        rule = "a trace has at least one row"
        got = f"none after skip={self.skip}" if self.skip else "none"
        return InputError(rule, got, "Check the file and the segment.", str(self.path))

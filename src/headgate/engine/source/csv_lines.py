"""CSV: one row per line, under a header."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headgate.engine.source.decode import check, is_utf8, unfit, values, wrong_value

_OPEN = "a quoted value does not end on its line"


@dataclass(frozen=True, slots=True)
class CsvLines:
    """Rows under this header. An empty field is NULL; a quoted one is text, so `""` is the empty text."""

    schema: pa.Schema
    header: tuple[str, ...]

    def __post_init__(self) -> None:
        check(self.schema, nested=False)

    @property
    def misfit(self) -> str | None:
        """Why no row under this header can be a tuple of the stream."""
        for name in self.schema.names:
            if name not in self.header:
                return f"column '{name}' is missing"
            if self.header.count(name) > 1:
                return f"column '{name}' is there twice"
        return None

    def decode(self, lines: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        if self.misfit:
            return self.schema.empty_table(), dict.fromkeys(range(len(lines)), self.misfit)
        reasons = _unreadable(lines)
        at = [i for i in range(len(lines)) if i not in reasons]
        texts, broken = self._texts([lines[i] for i in at])
        reasons |= {at[k]: reason for k, reason in broken.items()}
        at = [i for k, i in enumerate(at) if k not in broken]
        try:
            return self._table(texts), reasons
        except pa.ArrowInvalid:
            wrong = self._wrong(texts)
            texts = texts.take(np.delete(np.arange(len(at)), list(wrong)))
            return self._table(texts), reasons | {at[k]: reason for k, reason in wrong.items()}

    def _table(self, texts: pa.Table) -> pa.Table:
        columns = [values(texts[column.name], column.type) for column in self.schema]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _wrong(self, texts: pa.Table) -> dict[int, str]:
        reasons: dict[int, str] = {}
        for column in self.schema:
            for k in unfit(texts[column.name], column.type):
                got = f"'{texts[column.name][k].as_py()}'"
                reasons.setdefault(k, wrong_value(column.name, column.type, got))
        return reasons

    def _texts(self, lines: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        """The fields of the stream's columns as text, and the lines that have not the header's number of fields."""
        broken: dict[int, str] = {}
        # A line before, from which Arrow would take a byte order mark, and one after, for an open quote to take in.
        guard = b",".join([b"."] * len(self.header))
        block = b"\n".join([guard, *lines, guard])
        found = pa.csv.read_csv(
            io.BytesIO(block),
            read_options=pa.csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=_distinct(self.header)
            ),
            parse_options=pa.csv.ParseOptions(invalid_row_handler=lambda row: self._skip(row, broken)),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(self.schema.names, pa.string()),
                include_columns=self.schema.names,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        if found.num_rows + len(broken) == len(lines) + 2:
            return self._trimmed(found[1:-1]), broken
        if len(lines) == 1:
            return self._trimmed(found[:0]), {0: _OPEN}
        middle = len(lines) // 2
        left, broken = self._texts(lines[:middle])
        right, more = self._texts(lines[middle:])
        return pa.concat_tables([left, right]), broken | {middle + k: reason for k, reason in more.items()}

    def _skip(self, row: pa.csv.InvalidRow, broken: dict[int, str]) -> str:
        broken[row.number - 2] = f"the header has {row.expected_columns} columns, got {row.actual_columns}"
        return "skip"

    def _trimmed(self, texts: pa.Table) -> pa.Table:
        """The table without spaces around values that are not text."""
        for i, column in enumerate(self.schema):
            if column.type != pa.string():
                texts = texts.set_column(i, column.name, pc.utf8_trim_whitespace(texts.column(i)))
        return texts


def _unreadable(lines: Sequence[bytes]) -> dict[int, str]:
    """The lines that Arrow would not take as a line of text."""
    block = b"\n".join(lines)
    reasons: dict[int, str] = {}
    if b"\r" in block:
        reasons |= {i: "a carriage return within the line" for i, line in enumerate(lines) if b"\r" in line}
    if not is_utf8(block):
        reasons |= {i: "not UTF-8" for i, line in enumerate(lines) if not is_utf8(line)}
    return reasons


def _distinct(header: Sequence[str]) -> list[str]:
    """The header with names that stand twice told apart; no stream has such a column."""
    return [name if header.count(name) == 1 else f"{name}\n{i}" for i, name in enumerate(header)]

"""Alike queries from one entry: SQL with `{column}` in it, and a CSV file with a row of constants for each query.

A column of numbers is put in as numbers, any other as texts in quotes. So what stands in the file can be a constant
of a query, and never a part of its SQL.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from headgate.engine.pipeline.values import IDENTIFIER
from headgate.engine.sql.dialect import AsWritten
from headgate.errors import InputError, choose

NAME = "name"
"""The column with the names of the queries."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
"""Not 007, which is more likely to be a text."""

_BRACES = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Constants:
    """The columns of a CSV file, and the line of each row."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    lines: Sequence[int]

    def literals(self, column: str) -> list[str]:
        """The values of a column as they stand in SQL."""
        texts = self.columns[column]
        values = [text.strip() for text in texts]
        if "" in values:
            rule, line = f"column '{column}' has a value in every row", self.lines[values.index("")]
            raise InputError(rule, "none", "Fill it in, or remove the row.", f"{self.path}:{line}")
        if all(map(_NUMBER.fullmatch, values)):
            # Behind a minus, another would begin a comment.
            return [f"({value})" if value.startswith("-") else value for value in values]
        return [_quoted(text) for text in texts]

    def names(self, entry: str) -> list[str]:
        """The names of the queries: those of the file, or that of the entry with numbers."""
        if NAME not in self.columns:
            return [f"{entry}_{i + 1:06}" for i in range(len(self.lines))]
        seen: dict[str, int] = {}
        names = [name.strip() for name in self.columns[NAME]]
        for line, name in zip(self.lines, names, strict=True):
            place = f"{self.path}:{line}"
            if not re.fullmatch(IDENTIFIER, name):
                rule = "the name of a query is a letter, then letters, digits and _"
                raise InputError(rule, f"'{name}'", "Rename it, as in big_trades.", place)
            if name.lower() in seen:
                rule = "every query has a name of its own, without regard to case"
                got = f"'{name}', which stands in line {seen[name.lower()]} already"
                raise InputError(rule, got, "Rename one of them.", place)
            seen[name.lower()] = line
        return names


def filled(entry: str, sql: str, path: Path) -> dict[str, str]:
    """The queries of an entry by name: its SQL, with the constants of each row."""
    constants = _read(path)
    cuts = _placeholders(sql, list(constants.columns))
    literals = {column: constants.literals(column) for _, _, column in cuts}
    found = {}
    for row, name in enumerate(constants.names(entry)):
        parts, at = [], 0
        for start, end, column in cuts:
            parts += [sql[at:start], literals[column][row]]
            at = end
        found[name] = "".join([*parts, sql[at:]])
    return found


def _placeholders(sql: str, columns: Sequence[str]) -> list[tuple[int, int, str]]:
    """Where `{column}` begins and ends, and the column."""
    try:
        tokens = AsWritten().tokenize(sql)
    except TokenError:
        return []  # it is no SQL, as will be said of each query
    found, start = [], 0
    for token in tokens:
        if token.token_type is TokenType.L_BRACE:
            start = token.start
        elif token.token_type is TokenType.R_BRACE:
            found.append((start, token.end + 1, sql[start + 1 : token.start].strip()))
        else:
            for column in _BRACES.findall(token.text):
                if column.strip() in columns:
                    rule = "a column of for_each stands in sql without quotes, which it gets where it needs them"
                    remedy = f"Write {{{column}}}; for a part of a text, concat({{{column}}}, '...')."
                    raise InputError(rule, f"'{token.text}'", remedy)
    for _, _, column in found:
        if column not in columns:
            raise InputError("braces in sql hold a column of for_each", f"'{column}'", choose(column, columns))
    if not found:
        some = f"{{{next((each for each in columns if each != NAME), columns[0])}}}"
        raise InputError("the sql of a query with for_each uses its columns", "none", f"Write {some} in it.")
    return found


def _read(path: Path) -> Constants:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, skipinitialspace=True, strict=True)
            rows = [(reader.line_num, row) for row in reader if row]
    except OSError as error:
        rule = "for_each is a CSV file that can be read"
        remedy = "Check the path; a relative one starts at the folder of this file."
        raise InputError(rule, f"'{path}' ({error.strerror})", remedy) from None
    except (UnicodeDecodeError, csv.Error) as error:
        got = "bytes of another kind" if isinstance(error, UnicodeDecodeError) else str(error)
        raise InputError("for_each is a CSV file in UTF-8", got, "Write it anew.", str(path)) from None
    if len(rows) < 2:
        got = "a header only" if rows else "an empty file"
        raise InputError("for_each has a header and a row for each query", got, "Add rows.", str(path))
    (first, header), *rest = rows
    header = [name.strip() for name in header]
    for name in header:
        if not name or header.count(name) > 1:
            got = f"'{name}' twice" if name else "one without"
            raise InputError("every column of for_each has a name of its own", got, "Rename it.", f"{path}:{first}")
    for line, row in rest:
        if len(row) != len(header):
            rule, got = f"every row has {len(header)} values, as the header", f"{len(row)}"
            raise InputError(rule, got, "Quote values that have commas in them.", f"{path}:{line}")
    columns = {name: [row[i] for _, row in rest] for i, name in enumerate(header)}
    return Constants(path, columns, [line for line, _ in rest])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

"""What sinks that write files have in common: columns that a file can have, one writer, and errors of the system."""

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyarrow as pa

from headgate.errors import HeadgateError, InputError

_REMEDIES = {
    errno.ENOSPC: "Make room on the disk",
    errno.EDQUOT: "Make room, or raise the quota",
    errno.EFBIG: "Raise the limit on the size of files, or write to another file",
    errno.EACCES: "Allow this user to write there, or name another place",
    errno.EPERM: "Allow this user to write there, or name another place",
    errno.EROFS: "Name a place that is not read-only",
    errno.EEXIST: "Name a place that is not taken",
    errno.ENOTDIR: "Name a place below a folder",
    errno.EISDIR: "Name a file",
}


@contextmanager
def writing(query: str, path: Path) -> Iterator[None]:
    """Turns an error of the system into one that says what was written where, and what to do."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Check the path and the disk")
        msg = f"query '{query}' cannot write to {path}: {error.strerror or error}. {remedy}."
        raise HeadgateError(msg) from error


def lock(file: IO[bytes], path: Path) -> None:
    """Keep everybody else from writing there, until the file is closed or the process ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        rule = "a folder or file of results is written by one query"
        raise InputError(rule, f"{path}, which is being written", "Give each query a place of its own.") from None


def distinct(schema: pa.Schema) -> None:
    """Raise an error if two columns have the same name, which no reader of a file can tell apart."""
    seen: set[str] = set()
    for name in schema.names:
        if name.lower() in seen:
            rule = "the columns of a query that writes to files have names of their own"
            raise InputError(rule, f"'{name}' twice", f"Rename one in the query, as in `{name} AS {name}_2`.")
        seen.add(name.lower())

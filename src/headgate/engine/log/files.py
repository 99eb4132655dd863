"""Arrow files of the log: trains, and whatever else is to be there whole or not at all."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from headgate.engine.log import synced
from headgate.errors import HeadgateError

ARRIVAL = "_arrival"
STAMP = pa.timestamp("us", tz="UTC")


def write(table: pa.Table, file: Path, *, sync: bool = False) -> None:
    """Write an Arrow file under a temporary name, then give it its own; with `sync`, it outlives the machine."""
    temporary = file.with_suffix(".tmp")
    try:
        with pa.OSFile(str(temporary), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        if sync:
            synced.sync(temporary)
        temporary.rename(file)
        if sync:
            synced.sync(file.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        message = f"cannot write {file}: {error.strerror or error}. Make room or mend the folder, then resume."
        raise HeadgateError(message) from error


def read(file: Path, columns: Sequence[str | None]) -> pa.Table:
    """Columns of an Arrow file."""
    with pa.memory_map(str(file)) as source:
        return pa.ipc.open_file(source).read_all().select(columns).replace_schema_metadata()

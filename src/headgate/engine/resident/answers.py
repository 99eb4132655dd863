"""Answers as bytes: the tables of an answer as Arrow streams, one behind the other."""

import itertools
from collections.abc import Mapping, Sequence

import pyarrow as pa

from headgate.engine.kernel.program import Answer, Joined


def size(answer: Answer) -> int:
    """About how many bytes it will be."""
    return sum(table.nbytes for table in answer.parts)


def write(answer: Answer, sink: pa.NativeFile) -> list[int]:
    """Write the tables; gives the length of each."""
    ends = [0]
    for table in answer.parts:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        ends.append(sink.tell())
    return [end - start for start, end in itertools.pairwise(ends)]


def packed(answer: Answer) -> tuple[list[int], pa.Buffer]:
    """The tables in memory, and the length of each."""
    sink = pa.BufferOutputStream()
    return write(answer, sink), sink.getvalue()


def unpacked(
    sizes: Sequence[int], errors: Mapping[int, str], body: pa.Buffer, joined: Joined | None = None
) -> Answer:
    """The answer again. Its tables are views of the bytes."""
    tables, start = [], 0
    for length in sizes:
        tables.append(pa.ipc.open_stream(body.slice(start, length)).read_all())
        start += length
    return Answer(tuple(tables), errors, joined or {})
